import * as webhooks from '../../events/webhooks/webhooks.ts';
import { Problem } from '../../lib/http/problem.ts';
import { UserError } from '../../lib/user-error.ts';
import { operator } from '../../model/log/event.ts';
import { webhookOf } from '../../model/webhook.ts';
import { contentsOf } from '../../store/categories/deletion.ts';
import { listEveryMessage } from '../../store/messages/list.ts';
import { sendNotification } from '../../store/messages/messages.ts';
import { messageOf } from '../../store/messages/rows.ts';
import { reservationOf } from '../../store/pets/reservations.ts';
import { UsageError } from '../command.ts';
import { type Value, withTimes } from '../text.ts';
import { parseId } from '../values.ts';
import { readPages, type Store, type StorePage, type StoreRequest } from './store.ts';

/** The input of a command: the parts of its request, and its options. */
export interface Input extends Omit<StoreRequest, 'body' | 'path'> {
  readonly path: NonNullable<StoreRequest['path']>;
  /** Returns the body of a request at `now`, in milliseconds since the Unix epoch, from which durations count. */
  bodyAt(now: number): Promise<Value | undefined>;
  readonly options: Readonly<Record<string, string>>;
  /** The maximum number of items that a list command prints. */
  readonly limit: number;
}

/** Runs a command: returns the resource, or one page of a list. */
export type Action = (store: Store, input: Input) => Promise<Value>;

/** Returns a page of all animals, or of the animals of one account. */
function listPets(store: Store, { query, accountId }: Input): Promise<StorePage> {
  return store.page('listPets', { query: { ...query, ...(accountId !== undefined && { owner: 'me' }) }, accountId });
}

/** Returns an animal with the hold or order that reserves it; with `--history`, also with its history. */
async function showPet(store: Store, { path, options }: Input): Promise<Value> {
  if (options['history'] === undefined) return reservedPet(store, path);
  // Read the history first, because it still exists if the animal is deleted meanwhile.
  const { items: history } = await readPages(page => store.page('getPetHistory', { path, query: page }));
  const { type, at, changes } = history.at(-1)!;
  if (type !== 'deleted') return { ...(await reservedPet(store, path)), history };
  return { id: path['petId'], name: changes.name.from, categoryId: changes.categoryId.from, deletedAt: at, history };
}

async function reservedPet(store: Store, path: Input['path']): Promise<Value> {
  const pet = await store.send('getPet', { path, query: { view: 'full' } });
  const reservation = await reservationOf(store.database, pet.id);
  if (reservation === undefined) return pet;
  const { holdId, orderId, until } = reservation;
  if (until !== null && until <= store.now) return pet;
  const members = Object.entries(withTimes({ holdId, orderId, until })).filter(([, value]) => value !== null);
  return { ...pet, keptFor: Object.fromEntries(members) };
}

/** Returns a category with the number of animals and categories directly in it. */
async function showCategory(store: Store, { path }: Input): Promise<Value> {
  const category = await store.send('getCategory', { path });
  const { pets, categories } = (await contentsOf(store.database, category.id)) ?? { pets: 0, categories: 0 };
  return { ...category, animals: pets, categories };
}

/**
 * Places an order for an account.
 * @throws {UserError} naming `--hold`, when the account itself holds the animal
 */
async function placeOrder(store: Store, { accountId, bodyAt }: Input): Promise<Value> {
  const body = (await bodyAt(store.now))!;
  try {
    return await store.send('placeOrder', { accountId, body });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'pet_reserved' || body.holdId !== undefined) throw error;
    const [petId] = body.petIds;
    const { items } = await store.page('listHolds', { query: { status: ['active'], petId, limit: 1 } });
    const hold = items.find(one => one.accountId === accountId);
    if (hold === undefined) throw error;
    throw new UserError(`Account ${accountId} holds the animal ${petId}; order it with --hold ${hold.id}.`);
  }
}

/** Sends a message for an account, or from the store itself with `--to`. */
async function sendMessage(store: Store, { options: { account, to }, bodyAt }: Input): Promise<Value> {
  const accountId = parseId('--account', (to ?? account)!);
  await store.requireAccount(accountId);
  const body = (await bodyAt(store.now))!;
  if (to === undefined) {
    const { id } = await store.send('sendMessage', { accountId, body });
    return store.send('getMessage', { path: { messageId: id } });
  }
  return messageOf(await store.database.write(tx => sendNotification(tx, accountId, body.message)));
}

/** Returns a page of all messages, or of the messages of one account or of the store itself. */
async function listMessages(store: Store, { options: { account }, query }: Input): Promise<StorePage> {
  const accountId = account === undefined ? undefined : account === 'store' ? null : parseId('--account', account);
  if (typeof accountId === 'number') await store.requireAccount(accountId);
  const { box, limit, cursor } = query as { box?: 'sent' | 'inbox'; limit: number; cursor?: string };
  const filter = { ...(accountId !== undefined && { accountId }), ...(box && { box }) };
  const { rows, next } = await listEveryMessage(store.database, filter, { limit, cursor });
  return { items: rows.map(messageOf), next };
}

/** Disables a webhook as the operator. Safe to repeat. */
async function disableWebhook(store: Store, { path }: Input): Promise<Value> {
  const id = path['webhookId'] as number;
  return webhookOf(await store.database.write(tx => webhooks.disableWebhook(tx, operator, id)));
}

/** Publishes the organization of the account with this id, on behalf of the account. */
async function publishOrganization(store: Store, { path, bodyAt }: Input): Promise<Value> {
  const accountId = path['organizationId'] as number;
  await store.requireAccount(accountId);
  return store.send('replaceOrganization', { path, accountId, body: await bodyAt(store.now) });
}

/** The commands that consist of more than one operation, by name. */
export const actions: Readonly<Record<string, Action>> = {
  'pet list': listPets,
  'pet show': showPet,
  'category show': showCategory,
  'organization publish': publishOrganization,
  'order place': placeOrder,
  'message send': sendMessage,
  'message list': listMessages,
  'webhook disable': disableWebhook,
};

/** Throw a UsageError when the options of a command do not go together, by its name. */
export const checks: Readonly<Record<string, (options: Readonly<Record<string, string>>) => void>> = {
  'pet list'({ account, external }) {
    if (account === undefined && external !== undefined) throw new UsageError('--external needs --account.');
  },
  'order list'({ account, role }) {
    if (account === undefined && role !== undefined) throw new UsageError('--role needs --account.');
  },
  'message list'({ account, box }) {
    if (account !== undefined && account !== 'store') parseId('--account', account);
    if (account === undefined && box !== undefined)
      throw new UsageError('--box needs --account, for example --account store.');
  },
  'message send'({ account, to, pet, 'reply-to': replyTo }) {
    if ((account === undefined) === (to === undefined)) {
      throw new UsageError(
        'Give either --account, which sends the message, or --to, which receives a message from the store.',
      );
    }
    parseId(to === undefined ? '--account' : '--to', (to ?? account)!);
    if (to !== undefined && (pet ?? replyTo) !== undefined) {
      throw new UsageError('--pet and --reply-to go with --account, not with --to.');
    }
  },
};

import { contentsOf } from '../../categories/deletion.ts';
import { operator } from '../../events/event.ts';
import { Problem } from '../../lib/http/problem.ts';
import { UserError } from '../../lib/user-error.ts';
import { listEveryMessage } from '../../messages/list.ts';
import { sendNotification } from '../../messages/messages.ts';
import { messageOf } from '../../messages/rows.ts';
import { reservationOf } from '../../pets/reservations.ts';
import { webhookOf } from '../../webhooks/webhook.ts';
import * as webhooks from '../../webhooks/webhooks.ts';
import { type Value, withTimes } from '../text.ts';
import { parseId } from '../values.ts';
import { readPages, type Store, type StorePage, type StoreRequest } from './store.ts';

/** The input of a command: the parts of its request, and its options. */
export interface Input extends Omit<StoreRequest, 'body' | 'path'> {
  readonly path: NonNullable<StoreRequest['path']>;
  /** Returns the body of a request at this time, in milliseconds since the Unix epoch: durations count from there. */
  bodyAt(now: number): Promise<Value | undefined>;
  readonly options: Readonly<Record<string, string>>;
  /** The most items that a list command prints. */
  readonly limit: number;
}

/** Runs a command: returns the resource, or one page of a list. */
export type Action = (store: Store, input: Input) => Promise<Value>;

/** Returns a page of all animals, or of those of one account. */
function listPets(store: Store, { query, accountId }: Input): Promise<StorePage> {
  return store.page('listPets', { query: { ...query, ...(accountId !== undefined && { owner: 'me' }) }, accountId });
}

/** Returns an animal with the hold or order that reserves it; with `--history`, also with its history. */
async function showPet(store: Store, { path, options }: Input): Promise<Value> {
  if (options['history'] === undefined) return reservedPet(store, path);
  // The history comes first: an animal that is deleted meanwhile still has one.
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

/** Returns a page of everyone's messages, or of those of one account or of the store itself. */
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

/** The commands that are more than an operation, by name. */
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

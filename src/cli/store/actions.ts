import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { parseId } from '../values.ts';
import { readPages, type Store, type StorePage, type StoreRequest, type Value } from './store.ts';

/** The input of a command: the parts of its request, and its options for an action of its own. */
export interface Input extends Omit<StoreRequest, 'body' | 'path'> {
  readonly path: NonNullable<StoreRequest['path']>;
  /** Returns the body of a request at this time, in milliseconds since the Unix epoch: durations count from there. */
  bodyAt(now: number): Value | undefined;
  readonly options: Readonly<Record<string, string>>;
  /** The most items that a list command prints. */
  readonly limit: number;
}

/** Creates an animal and returns it in full. */
async function createPet(store: Store, { accountId, bodyAt }: Input): Promise<Value> {
  return store.atomically(async tx => {
    const { id } = await tx.send('createPet', { accountId, body: bodyAt(tx.now) });
    return fullPet(tx, { petId: id });
  });
}

/** Changes an animal and returns it in full. */
async function updatePet(store: Store, { path, bodyAt }: Input): Promise<Value> {
  return store.atomically(async tx => {
    await tx.send('updatePet', { path, body: bodyAt(tx.now) });
    return fullPet(tx, path);
  });
}

/** Deletes an animal and returns what identified it. */
async function deletePet(store: Store, { path }: Input): Promise<Value> {
  return store.atomically(async tx => {
    const { id, name, categoryId } = await tx.send('getPet', { path });
    await tx.send('deletePet', { path });
    return { id, name, categoryId, deletedAt: formatTime(tx.now) };
  });
}

/** Returns an animal with the hold or order that reserves it; with `--history`, also with its history. */
async function showPet(store: Store, { path, options }: Input): Promise<Value> {
  if (options['history'] === undefined) return reservedPet(store, path);
  // The history comes first: an animal that is deleted meanwhile still has one.
  const { items: history } = await readPages((limit, cursor) =>
    store.page('getPetHistory', { path, query: { limit, ...(cursor && { cursor }) } }),
  );
  const { type, at, changes } = history.at(-1)!;
  if (type !== 'deleted') return { ...(await reservedPet(store, path)), history };
  return { id: path['petId'], name: changes.name.from, categoryId: changes.categoryId.from, deletedAt: at, history };
}

async function reservedPet(store: Store, path: Input['path']): Promise<Value> {
  const { reservationOf } = await import('../../pets/reservations.ts');
  const pet = await fullPet(store, path);
  const reservation = await reservationOf(store.database, pet['id']);
  if (reservation === undefined) return pet;
  const { holdId, orderId, until } = reservation;
  if (until !== null && until <= store.now) return pet;
  const keptFor = {
    ...(holdId !== null && { holdId }),
    ...(orderId !== null && { orderId }),
    ...(until !== null && { until: formatTime(until) }),
  };
  return { ...pet, keptFor };
}

function fullPet(store: Store, path: Input['path']): Promise<Value> {
  return store.send('getPet', { path: path, query: { view: 'full' } });
}

/** Returns a category with the number of animals and categories directly in it. */
async function showCategory(store: Store, { path }: Input): Promise<Value> {
  const { contentsOf } = await import('../../categories/deletion.ts');
  const category = await store.send('getCategory', { path: path });
  const { pets, categories } = (await contentsOf(store.database, category['id'])) ?? { pets: 0, categories: 0 };
  return { ...category, animals: pets, categories };
}

/** Deletes a category and returns its last state. */
async function deleteCategory(store: Store, { path }: Input): Promise<Value> {
  return store.atomically(async tx => {
    const category = await tx.send('getCategory', { path: path });
    await tx.send('deleteCategory', { path: path });
    return { ...category, deletedAt: formatTime(tx.now) };
  });
}

/** Moves the end of a hold. A duration counts from the time of the transaction. */
async function extendHold(store: Store, { path, bodyAt }: Input): Promise<Value> {
  return store.atomically(tx => tx.send('extendHold', { path: path, body: bodyAt(tx.now) }));
}

/**
 * Places an order for an account.
 * @throws {UserError} naming `--hold`, when the account itself holds the animal
 */
async function placeOrder(store: Store, { accountId, bodyAt }: Input): Promise<Value> {
  const body = bodyAt(store.now)!;
  try {
    return await store.send('placeOrder', { accountId, body });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'pet_reserved' || body['holdId'] !== undefined) throw error;
    const { petId } = body;
    const { items } = await store.page('listHolds', { query: { status: ['active'], petId, limit: 1 } });
    const hold = items.find(one => one['accountId'] === accountId);
    if (hold === undefined) throw error;
    throw new UserError(`Account ${accountId} holds the animal ${petId}; order it with --hold ${hold['id']}.`);
  }
}

/** Sends a message for an account, or from the store itself with `--to`. */
async function sendMessage(store: Store, { options, bodyAt }: Input): Promise<Value> {
  const { account, to } = options;
  const accountId = to === undefined ? parseId('--account', account!) : parseId('--to', to);
  await store.requireAccount(accountId);
  const body = bodyAt(store.now)!;
  if (to === undefined) {
    const { id } = await store.send('sendMessage', { accountId, body });
    return store.send('getMessage', { path: { messageId: id } });
  }
  const [{ sendNotification }, { messageOf }] = await Promise.all([
    import('../../messages/messages.ts'),
    import('../../messages/rows.ts'),
  ]);
  return messageOf(await store.database.write(tx => sendNotification(tx, accountId, body['message'])));
}

/** Returns a page of everyone's messages, or of those of one account or of the store itself. */
async function listMessages(store: Store, { options, query }: Input): Promise<StorePage> {
  const { account } = options;
  const accountId = account === undefined ? undefined : account === 'store' ? null : parseId('--account', account);
  if (typeof accountId === 'number') await store.requireAccount(accountId);
  const [{ listEveryMessage }, { messageOf }] = await Promise.all([
    import('../../messages/list.ts'),
    import('../../messages/rows.ts'),
  ]);
  const { box, limit, cursor } = query as { box?: 'sent' | 'inbox'; limit: number; cursor?: string };
  const filter = { ...(accountId !== undefined && { accountId }), ...(box && { box }) };
  const { rows, next } = await listEveryMessage(store.database, filter, { limit, cursor });
  return { items: rows.map(messageOf), next };
}

/** Disables a webhook as the operator. Safe to repeat. */
async function disableWebhook(store: Store, { path }: Input): Promise<Value> {
  const [{ disableWebhook: disable }, { webhookOf }, { operator }] = await Promise.all([
    import('../../webhooks/webhooks.ts'),
    import('../../webhooks/rows.ts'),
    import('../../events/event.ts'),
  ]);
  const id = path['webhookId'] as number;
  return webhookOf(await store.database.write(tx => disable(tx, operator, id)));
}

/** Deletes a webhook and returns its id. */
async function deleteWebhook(store: Store, { path }: Input): Promise<Value> {
  await store.send('deleteWebhook', { path: path });
  return { id: path['webhookId'] };
}

/** The commands that are more than one operation, by name. */
export const actions = {
  createPet,
  updatePet,
  deletePet,
  showPet,
  showCategory,
  deleteCategory,
  extendHold,
  placeOrder,
  sendMessage,
  listMessages,
  disableWebhook,
  deleteWebhook,
};

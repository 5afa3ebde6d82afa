import { operator } from '../../events/event.ts';
import type { LoggedData } from '../../events/owners.ts';
import { redactEvents, redactEventsAfter } from '../../events/redaction.ts';
import { releaseHold } from '../../holds/holds.ts';
import { deleteImportsOf } from '../../imports/clean-up.ts';
import { bytesStored } from '../../messages/rows.ts';
import type { OrderEventData } from '../../orders/events.ts';
import { isOpen } from '../../orders/open-orders.ts';
import { cancelOrder } from '../../orders/steps.ts';
import { deleteOrganization, findOrganization, type OrganizationEventData } from '../../organizations/organizations.ts';
import { deletePet } from '../../pets/pets.ts';
import { countDeleted } from '../../plans/stored-bytes.ts';
import { type Params, query, selectJsonNumbers, type Transaction } from '../../schema.ts';
import { deleteUsageOf } from '../../usage/counts.ts';
import { deleteRequestsOf } from '../../usage/log.ts';
import { deleteWebhook } from '../../webhooks/webhooks.ts';

/**
 * Deletes some of what an account has of one kind on a deployment, by ascending id.
 * @param after the last id that earlier batches have done
 * @returns the last id that is done; `undefined` if none is left
 */
type Step = (tx: Transaction, accountId: number, after: number) => Promise<number | undefined>;

/** The steps of a deletion, in their order. */
export const steps = {
  // One that is in progress would add animals again.
  imports: deleteImports,
  orders: endOrders,
  holds: endHolds,
  pets: deletePets,
  // Its animals are deleted before, so nobody can write to the account about one any more.
  messages: (tx, accountId, after) => eraseMessages(tx, 'account_id', accountId, after),
  notifications: (tx, accountId, after) => eraseMessages(tx, 'to_account_id', accountId, after),
  sales: redactSales,
  webhooks: deleteWebhooks,
  organization: eraseOrganization,
  usage: deleteUsage,
  requests: deleteRequests,
} as const satisfies Record<string, Step>;

export type StepName = keyof typeof steps;
export const stepNames = Object.keys(steps) as StepName[];

const BATCH_SIZE = 50;

/** Deletes the imports of the account. Nothing refers to their rows, so they need no order. */
async function deleteImports(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  return (await deleteImportsOf(tx, accountId, BATCH_SIZE)) === 0 ? undefined : after + 1;
}

/** Cancels the open orders that the account placed, and deletes the notes of all of them. */
async function endOrders(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const orders = batchOf(
    await tx.all(ordersBy.account_id, { accountId, after }),
    ({ status, expiresAt }) => isOpen(status) && (expiresAt === null || expiresAt > tx.now),
  );
  if (orders.locking !== undefined) await cancelOrder(tx, operator, orders.locking.id, {});
  return eraseNotes(tx, 'order', orders.ids);
}

/** Releases the active holds of the account, and deletes the notes of all of them. */
async function endHolds(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const holds = batchOf(
    await tx.all(holdsOf, { accountId, after }),
    ({ endedAt, expiresAt }) => endedAt === null && expiresAt > tx.now,
  );
  if (holds.locking !== undefined) await releaseHold(tx, operator, holds.locking.id);
  return eraseNotes(tx, 'hold', holds.ids);
}

/** Deletes the notes of orders or holds, and of their events. Returns the last id. */
async function eraseNotes(tx: Transaction, kind: 'order' | 'hold', ids: readonly number[]) {
  await tx.run(deleteNotesOf[kind], { ids: JSON.stringify(ids) });
  await redactEvents<LoggedData>(tx, kind, ids, ({ data: { note: _, [kind]: resource, ...data } }) => ({
    ...data,
    [kind]: withoutNote(resource as object),
  }));
  return ids.at(-1);
}

/** Deletes the pets of the account, and ends the orders and holds of others that reserve them. */
async function deletePets(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const pets = batchOf(
    await tx.all(petsOf, { accountId, after }),
    ({ holdId, orderId, until }) => (holdId ?? orderId) !== null && (until === null || until > tx.now),
  );
  const { holdId, orderId } = pets.locking ?? {};
  if (orderId != null) await cancelOrder(tx, operator, orderId, {});
  if (holdId != null) await releaseHold(tx, operator, holdId);
  for (const id of pets.ids) await deletePet(tx, operator, id);
  return pets.ids.at(-1);
}

/** Deletes the texts and reply addresses of messages that the account sent, or that the store sent to it. */
async function eraseMessages(
  tx: Transaction,
  column: 'account_id' | 'to_account_id',
  accountId: number,
  after: number,
): Promise<number | undefined> {
  const messages = await tx.all(messagesBy[column], { accountId, after });
  await tx.run(eraseTexts, { ids: JSON.stringify(messages.map(({ id }) => id)), text: ERASED });
  countDeleted(
    tx,
    messages.map(({ bytes, ...message }) => ({ ...message, bytes: bytes - Buffer.byteLength(ERASED) })),
  );
  return messages.at(-1)?.id;
}

/** The text of a message that was deleted with its sender. */
const ERASED = '[deleted]';

/** Deletes the notes that the account wrote on orders of its pets. */
async function redactSales(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const ids = (await tx.all(ordersBy.owner_id, { accountId, after })).map(({ id }) => id);
  await redactEvents<OrderEventData>(tx, 'order', ids, event =>
    event.accountId === accountId ? withoutNote(event.data) : event.data,
  );
  return ids.at(-1);
}

async function deleteWebhooks(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const webhooks = await tx.all(webhooksOf, { accountId, after });
  for (const { id } of webhooks) await deleteWebhook(tx, operator, id);
  return webhooks.at(-1)?.id;
}

/** Deletes the organization of the account, and its name and contact details from its events. */
async function eraseOrganization(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  if ((await findOrganization(tx, accountId)) !== undefined) await deleteOrganization(tx, operator, accountId);
  const events = { kind: 'organization', subjectId: accountId, after, limit: BATCH_SIZE } as const;
  return redactEventsAfter<OrganizationEventData>(tx, events, ({ data: { ownerId } }) => ({
    organization: {},
    ownerId,
  }));
}

/** Deletes the usage of the account. Nothing refers to its rows, so they need no order. */
async function deleteUsage(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  return (await deleteUsageOf(tx, accountId, BATCH_SIZE)) === 0 ? undefined : after + 1;
}

/** Deletes the request log of the account. */
async function deleteRequests(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  return (await deleteRequestsOf(tx, accountId, BATCH_SIZE)) === 0 ? undefined : after + 1;
}

/**
 * Returns the rows that one transaction can change: those before the first that locks pets, or that one alone. So no
 * transaction locks pets in another order than by their ids.
 */
function batchOf<Row extends { readonly id: number }>(rows: readonly Row[], locksPets: (row: Row) => boolean) {
  const first = rows.findIndex(locksPets);
  const batch = first < 0 ? rows : rows.slice(0, Math.max(1, first));
  return { ids: batch.map(({ id }) => id), locking: first === 0 ? rows[0] : undefined };
}

function withoutNote<T extends object>({ note: _, ...rest }: T & { readonly note?: unknown }) {
  return rest;
}

type Position = { accountId: number; after: number };

const selectOrders = (party: 'account_id' | 'owner_id') =>
  query((db, p: Params<Position>) =>
    db
      .selectFrom('orders')
      .select(['id', 'status', 'expires_at as expiresAt'])
      .where(party, '=', p.accountId)
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(BATCH_SIZE),
  );
const ordersBy = { account_id: selectOrders('account_id'), owner_id: selectOrders('owner_id') };

const holdsOf = query((db, p: Params<Position>) =>
  db
    .selectFrom('holds')
    .select(['id', 'ended_at as endedAt', 'expires_at as expiresAt'])
    .where('account_id', '=', p.accountId)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(BATCH_SIZE),
);

const petsOf = query((db, p: Params<Position>) =>
  db
    .selectFrom('pets')
    .leftJoin('reservations', join =>
      join.onRef('reservations.pet_id', '=', 'pets.id').on('reservations.active', '=', 1),
    )
    .select(['pets.id', 'hold_id as holdId', 'order_id as orderId', 'until'])
    .where('pets.account_id', '=', p.accountId)
    .where('pets.id', '>', p.after)
    .orderBy('pets.id')
    .limit(BATCH_SIZE),
);

const webhooksOf = query((db, p: Params<Position>) =>
  db
    .selectFrom('webhooks')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('id', '>', p.after)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(BATCH_SIZE),
);

/** Locks messages that an account sent, or that the store sent to it: those of others stay in what these have sent. */
const selectMessages = (column: 'account_id' | 'to_account_id') =>
  query((db, p: Params<Position>, engine) =>
    db
      .selectFrom('messages')
      .select(['id', 'account_id as accountId', bytesStored.as('bytes')])
      .where(column, '=', p.accountId)
      .$if(column === 'to_account_id', rows => rows.where('arrived_at', 'is not', null).where('account_id', 'is', null))
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(BATCH_SIZE)
      .$if(engine === 'postgres', rows => rows.forUpdate()),
  );
const messagesBy = { account_id: selectMessages('account_id'), to_account_id: selectMessages('to_account_id') };

const eraseTexts = query((db, p: Params<{ ids: string; text: string }>, engine) =>
  db
    .updateTable('messages')
    .set(eb => ({ text: p.text, reply_to: null, version: eb('version', '+', 1) }))
    .where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteNotesIn = (table: 'orders' | 'holds') =>
  query((db, p: Params<{ ids: string }>, engine) =>
    db
      .updateTable(table)
      .set(eb => ({ note: null, version: eb('version', '+', 1) }))
      .where('id', 'in', selectJsonNumbers(p.ids, engine))
      .where('note', 'is not', null),
  );
const deleteNotesOf = { order: deleteNotesIn('orders'), hold: deleteNotesIn('holds') };

import { countDeleted } from '../../access/plans/stored-bytes.ts';
import { deleteWebhook } from '../../events/webhooks/webhooks.ts';
import { operator } from '../../model/log/event.ts';
import type { LoggedData } from '../../model/log/owners.ts';
import { redactEvents, redactEventsAfter } from '../../model/log/redaction.ts';
import type { Noun, NounTable } from '../../model/noun.ts';
import { type DeletionStep, nouns } from '../../model/nouns.ts';
import { type EventKind, type Params, query, selectJsonNumbers, sql, type Transaction } from '../../model/schema.ts';
import { deleteSandboxOf } from '../../store/classic/sandboxes.ts';
import { releaseHold } from '../../store/holds/holds.ts';
import { deleteImportsOf } from '../../store/imports/clean-up.ts';
import { deleteInboxOf } from '../../store/inbox/clean-up.ts';
import { bytesStored } from '../../store/messages/rows.ts';
import type { OrderEventData } from '../../store/orders/events.ts';
import { isOpen } from '../../store/orders/open-orders.ts';
import { cancelOrder } from '../../store/orders/steps.ts';
import {
  deleteOrganization,
  findOrganization,
  type OrganizationEventData,
} from '../../store/organizations/organizations.ts';
import { deletePet } from '../../store/pets/pets.ts';
import { deleteUsageOf } from '../usage/counts.ts';
import { deleteRequestsOf } from '../usage/log.ts';

/**
 * Deletes one batch of an account's data of one kind on a deployment, by ascending id.
 * @param after the last id of earlier batches
 * @returns the last id of this batch; `undefined` if no data is left
 */
type Step = (tx: Transaction, accountId: number, after: number) => Promise<number | undefined>;

/** The steps that are more than the deletion of rows, in their order. */
const ownSteps = {
  // An import in progress would add animals again.
  imports: deletingAll(deleteImportsOf),
  orders: endOrders,
  holds: endHolds,
  pets: deletePets,
  // Its animals are deleted before this step, so no visitor can write to the account about one any more.
  messages: (tx, accountId, after) => eraseMessages(tx, 'account_id', accountId, after),
  notifications: (tx, accountId, after) => eraseMessages(tx, 'to_account_id', accountId, after),
  inbox: deletingAll(deleteInboxOf),
  sales: redactSales,
  webhooks: deleteWebhooks,
  organization: eraseOrganization,
  usage: deletingAll(deleteUsageOf),
  requests: deletingAll(deleteRequestsOf),
  classic: deletingAll(deleteSandboxOf),
} as const satisfies Record<DeletionStep | 'usage' | 'requests' | 'classic', Step>;

const BATCH_SIZE = 50;

/** The steps that delete the rows of a noun, by the name of its table. */
export const rowSteps: Readonly<Record<string, Step>> = Object.fromEntries(
  Object.entries<Noun>(nouns).flatMap(([kind, { table, deletion }]) =>
    table !== null && deletion === 'rows' ? [[table.name, deletingRows(kind as EventKind, table)]] : [],
  ),
);

/** The steps of a deletion, in order. */
export const steps: typeof ownSteps & Readonly<Record<string, Step>> = { ...ownSteps, ...rowSteps };
export const stepNames = Object.keys(steps);

/** Returns the step that deletes the rows of the account, and the resources in their events. */
function deletingRows(kind: EventKind, { name, accounts: [owner] }: NounTable): Step {
  const table = name as 'holds';
  const rowsOf = query((db, p: Params<Position>) =>
    db
      .selectFrom(table)
      .select('id')
      .where(sql.ref<number>(owner!), '=', p.accountId)
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(BATCH_SIZE),
  );
  const deleteRows = query((db, p: Params<{ ids: string }>, engine) =>
    db.deleteFrom(table).where('id', 'in', selectJsonNumbers(p.ids, engine)),
  );
  return async (tx, accountId, after) => {
    const ids = (await tx.all(rowsOf, { accountId, after })).map(({ id }) => id);
    await tx.run(deleteRows, { ids: JSON.stringify(ids) });
    await redactEvents<LoggedData>(tx, kind, ids, ({ data: { ownerId, ownerIds } }) => ({
      [kind]: {},
      ownerId,
      ownerIds,
    }));
    return ids.at(-1);
  };
}

/** Returns the step that deletes rows of the account to which no other rows refer, so that their order does not matter. */
function deletingAll(deleteBatch: (tx: Transaction, accountId: number, limit: number) => Promise<number>): Step {
  return async (tx, accountId, after) => ((await deleteBatch(tx, accountId, BATCH_SIZE)) === 0 ? undefined : after + 1);
}

/** Cancels the open orders that the account placed, and deletes the notes of all its orders. */
async function endOrders(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const orders = batchOf(
    await tx.all(ordersBy.account_id, { accountId, after }),
    ({ status, expiresAt }) => isOpen(status) && (expiresAt === null || expiresAt > tx.now),
  );
  if (orders.locking !== undefined) await cancelOrder(tx, operator, orders.locking.id, {});
  return eraseNotes(tx, 'order', orders.ids);
}

/** Releases the active holds of the account, and deletes the notes of all its holds. */
async function endHolds(tx: Transaction, accountId: number, after: number): Promise<number | undefined> {
  const holds = batchOf(
    await tx.all(holdsOf, { accountId, after }),
    ({ endedAt, expiresAt }) => endedAt === null && expiresAt > tx.now,
  );
  if (holds.locking !== undefined) await releaseHold(tx, operator, holds.locking.id);
  return eraseNotes(tx, 'hold', holds.ids);
}

/** Deletes the notes of orders or holds, and of their events. Returns the last id of the batch. */
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

/** The text that replaces that of a message whose sender was deleted. */
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

/**
 * Returns the rows that one transaction may change: the rows before the first row that locks pets, or that row alone.
 * So every transaction locks pets in the order of their ids.
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

/**
 * Locks messages that an account sent, or that the store sent to it. Messages from other accounts stay, because they
 * belong to their senders.
 */
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

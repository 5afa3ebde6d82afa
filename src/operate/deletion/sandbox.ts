import { categoryColumns } from '../../model/category.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { contentsOf, deleteLocked, lockCategory } from '../../store/categories/deletion.ts';
import { lockTree } from '../../store/categories/tree.ts';
import { countEndedLater, isOpen } from '../../store/orders/open-orders.ts';
import { lockPets } from '../../store/pets/lock.ts';
import { deleteScheduledEvents, scheduleEventDeletion } from './events.ts';
import { rowSteps, steps } from './steps.ts';

/**
 * Deletes one batch of the data of a sandbox account on staging: its pets, categories, organization, messages, holds
 * and orders, with the orders and holds of its pets. Unlike for other accounts, no rows of its messages, orders and
 * holds remain. Deletes the events that `scheduleOwnEvents` has scheduled.
 * @returns false if no data is left
 */
export async function deleteSandboxBatch(tx: Transaction, accountId: number): Promise<boolean> {
  for (const step of batches) if (await step(tx, accountId)) return true;
  await deleteCategories(tx, accountId);
  await eraseOrganization(tx, accountId);
  for (const statement of deleteCounters) await tx.run(statement, { accountId });
  return (await deleteScheduledEvents(tx, EVENTS_PER_BATCH)) > 0;
}

const EVENTS_PER_BATCH = 500;
const MESSAGES_PER_BATCH = 200;

/**
 * Deletes an account of the sandbox with its keys and all references to them, except the counts of its day. Notifies
 * the topic `registry`.
 */
export async function deleteSandboxAccount(tx: Transaction, accountId: number): Promise<void> {
  for (const statement of deleteRegistry) await tx.run(statement, { accountId });
  await tx.notify('registry');
}

/** The kinds in order. Each batch deletes the first rows, so an interrupted deletion needs no stored position. */
const batches: readonly ((tx: Transaction, accountId: number) => Promise<boolean>)[] = [
  async (tx, accountId) => (await steps.imports(tx, accountId, 0)) !== undefined,
  (tx, accountId) => deleteOrders(tx, 'orders', accountId),
  deleteHolds,
  async (tx, accountId) => (await steps.pets(tx, accountId, 0)) !== undefined,
  // A sandbox key can write messages only about animals of its own account.
  async (tx, accountId) => (await tx.run(deleteMessages, { accountId, limit: MESSAGES_PER_BATCH })) > 0,
  (tx, accountId) => deleteOrders(tx, 'sales', accountId),
  async (tx, accountId) => (await steps.classic(tx, accountId, 0)) !== undefined,
  ...Object.values(rowSteps).map(
    step => async (tx: Transaction, accountId: number) => (await step(tx, accountId, 0)) !== undefined,
  ),
];

/** Ends and deletes orders of the account, or orders of other accounts for its pets, before the pets are deleted. */
async function deleteOrders(tx: Transaction, kind: 'orders' | 'sales', accountId: number): Promise<boolean> {
  const last = await steps[kind](tx, accountId, 0);
  if (last === undefined) return false;
  await deleteReservations(tx, kind, { accountId, last });
  const deleted = await tx.all(deleteOrdersOf[kind], { accountId, last });
  for (const { status, buyerId } of deleted) if (isOpen(status)) countEndedLater(tx, buyerId);
  await scheduleEventDeletion(
    tx,
    'order',
    deleted.map(({ id }) => id),
  );
  return true;
}

async function deleteHolds(tx: Transaction, accountId: number): Promise<boolean> {
  const last = await steps.holds(tx, accountId, 0);
  if (last === undefined) return false;
  await deleteReservations(tx, 'holds', { accountId, last });
  await tx.run(deleteHoldsOf, { accountId, last });
  return true;
}

/** Deletes the reservations of orders or holds. First ends those that expired without a recorded expiry. */
async function deleteReservations(tx: Transaction, kind: keyof typeof reservations, range: Up): Promise<void> {
  const { active, remove } = reservations[kind];
  const pets = await tx.all(active, range);
  if (pets.length > 0) {
    const ids = pets.map(({ petId }) => petId).sort((a, b) => a - b);
    await lockPets(tx, ids);
  }
  await tx.run(remove, range);
}

/** Deletes the empty categories of the account, children first. A category that others use loses its owner. */
async function deleteCategories(tx: Transaction, accountId: number): Promise<void> {
  if ((await tx.first(anyCategory, { accountId })) === undefined) return;
  await lockTree(tx);
  let deleted: number;
  do {
    deleted = 0;
    for (const category of await tx.all(categoriesOf, { accountId })) {
      await tx.first(lockCategory, { id: category.id });
      tx.refreshNow(category.updatedAt);
      if ((await contentsOf(tx, category.id)) !== undefined) continue;
      await deleteLocked(tx, category, 'deleted', null);
      deleted++;
    }
  } while (deleted > 0);
  await tx.run(disown, { accountId });
}

/**
 * Deletes the organization, and its contact details from all its events in one batch: the key of an account of the
 * sandbox is valid only long enough for a few hundred events.
 */
async function eraseOrganization(tx: Transaction, accountId: number): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) after = await steps.organization(tx, accountId, after);
}

/** The parameters for the rows of an account up to the last row of a batch. */
type Up = { accountId: number; last: number };
type Party = 'account_id' | 'owner_id';

const deleteOrdersBy = (party: Party) =>
  query((db, p: Params<Up>) =>
    db
      .deleteFrom('orders')
      .where(party, '=', p.accountId)
      .where('id', '<=', p.last)
      .returning(['id', 'status', 'account_id as buyerId']),
  );
const deleteOrdersOf = { orders: deleteOrdersBy('account_id'), sales: deleteOrdersBy('owner_id') };

/** Deletes messages only, because staging makes no attempts to deliver them. */
const deleteMessages = query((db, p: Params<Owner & { limit: number }>) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('messages').select('id').where('account_id', '=', p.accountId).orderBy('id').limit(p.limit),
    ),
);

const deleteHoldsOf = query((db, p: Params<Up>) =>
  db.deleteFrom('holds').where('account_id', '=', p.accountId).where('id', '<=', p.last),
);

/** The reservations of orders or holds up to the last row of a batch. */
const reservationsOf = (column: 'order_id' | 'hold_id', party: Party) => {
  const table = sql.table(column === 'order_id' ? 'orders' : 'holds');
  const ids = (p: Params<Up>) =>
    sql<number>`(select id from ${table} where ${sql.ref(party)} = ${p.accountId} and id <= ${p.last})`;
  return {
    active: query((db, p: Params<Up>) =>
      db.selectFrom('reservations').select('pet_id as petId').where('active', '=', 1).where(column, 'in', ids(p)),
    ),
    remove: query((db, p: Params<Up>) => db.deleteFrom('reservations').where(column, 'in', ids(p))),
  };
};

const reservations = {
  orders: reservationsOf('order_id', 'account_id'),
  sales: reservationsOf('order_id', 'owner_id'),
  holds: reservationsOf('hold_id', 'account_id'),
};

type Owner = { accountId: number };

const anyCategory = query((db, p: Params<Owner>) =>
  db.selectFrom('categories').select('id').where('creator_id', '=', p.accountId).limit(1),
);

const categoriesOf = query((db, p: Params<Owner>) =>
  db
    .selectFrom('categories')
    .select(categoryColumns.stored())
    .where('creator_id', '=', p.accountId)
    .orderBy('id', 'desc'),
);

const disown = query((db, p: Params<Owner>) =>
  db.updateTable('categories').set({ account_id: null, creator_id: null }).where('creator_id', '=', p.accountId),
);

/** Queries that delete the counters and the stored responses of an account on staging. */
const deleteCounters = [
  ...(['order_counts', 'stored_bytes', 'photo_bytes', 'imported_rows', 'event_bytes', 'idempotency'] as const).map(
    table => query((db, p: Params<Owner>) => db.deleteFrom(table).where('account_id', '=', p.accountId)),
  ),
  query((db, p: Params<Owner>) =>
    db
      .deleteFrom('pet_counts')
      .where('kind', '=', 'owner')
      .where('key', '=', sql<string>`cast(cast(${p.accountId} as bigint) as text)`),
  ),
  // Nodes of the previous release delete an account without this row. Accounts end in the order of their ids.
  query((db, p: Params<Owner>) => db.deleteFrom('sandbox_accounts').where('account_id', '<=', p.accountId)),
];

const deleteRegistry = [
  query((db, p: Params<Owner>) =>
    db
      .deleteFrom('bans')
      .where('key_id', 'in', ({ selectFrom }) => selectFrom('keys').select('id').where('account_id', '=', p.accountId)),
  ),
  ...(['refusals', 'usage', 'requests', 'usage_alerts', 'keys'] as const).map(table =>
    query((db, p: Params<Owner>) => db.deleteFrom(table).where('account_id', '=', p.accountId)),
  ),
  query((db, p: Params<Owner>) => db.deleteFrom('accounts').where('id', '=', p.accountId).where('sandbox', '=', 1)),
];

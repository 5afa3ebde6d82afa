import type { Expression, SelectQueryBuilder } from 'kysely';
import { type Page, type PageRequest, paginate } from '../../lib/http/pagination/paginate.ts';
import { alongIndex, type KeysetParams } from '../../lib/storage/keyset.ts';
import type { Builder } from '../../lib/storage/query.ts';
import type { Actor } from '../../model/log/event.ts';
import { type OrderRow, type OrderStatus, orderStatuses, statusAt } from '../../model/order.ts';
import { amongTexts, type Params, queriesByShape, query, type Reader, sql, type Tables } from '../../model/schema.ts';
import { withSteps } from './events.ts';
import { type OrderWithSteps, orderColumns } from './rows.ts';

export interface OrderFilter {
  /** Only orders with one of these statuses. */
  readonly status?: readonly OrderStatus[] | undefined;
  readonly petId?: number | undefined;
  /** Only orders that the actor placed, or only orders of its pets. */
  readonly role?: OrderRole | undefined;
  /** Whether the list starts with the newest order. */
  readonly newestFirst?: boolean | undefined;
}

export type OrderRole = 'placer' | 'owner';

/** Identifies a list in its cursors. Visibility is checked per reader, so sharing a cursor leaks nothing. */
export function orderList({ status = [], petId, role, newestFirst }: OrderFilter): readonly unknown[] {
  const options = [role, newestFirst && 'newest first'].filter(Boolean);
  return ['orders', [...status].sort(), petId ?? 0, ...options];
}

/**
 * Returns one page of the orders that the actor can see and the filter matches, by id ascending or with `newestFirst`
 * descending: orders that it placed and orders of its pets; admins see all.
 *
 * Every list uses an index. The list of a pet scans up to 20,000 orders per page.
 * @param now the time as of which orders are read
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function listOrders(
  reader: Reader,
  actor: Actor,
  filter: OrderFilter,
  page: PageRequest,
  now: number,
): Promise<Page<OrderWithSteps>> {
  const statuses = orderStatuses.filter(one => filter.status?.includes(one));
  const byStatus = statuses.length > 0 && statuses.length < orderStatuses.length;
  const stored = byStatus ? statuses : [];
  const ofPet = filter.petId !== undefined;
  const shape: Omit<Shape, 'descending'> = {
    role: filter.role ?? (actor.admin ? 'any' : 'either'),
    ofPet,
    byStatus,
    runs: ofPet ? 0 : stored.length,
    expired: !ofPet && stored.includes('expired'),
  };
  const values = {
    ...Object.fromEntries(stored.map((status, index) => [`status${index}`, status])),
    statuses: JSON.stringify(statuses),
    accountId: actor.accountId,
    petId: filter.petId ?? 0,
    now,
  };
  const { rows, ...links } = await paginate<OrderRow>({
    list: orderList(filter),
    page,
    descending: filter.newestFirst ?? false,
    async rows(scan) {
      const found = await reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan });
      // An order of the actor's own pet is in both runs: orders placed, and orders of its pets.
      return found.filter(({ id }, index) => id !== found[index - 1]?.id).slice(0, scan.rows);
    },
    ...(ofPet && { end: scan => reader.first(endQuery(scan), { ...values, ...scan }) }),
  });
  return { rows: await withSteps(reader, rows), ...links };
}

/** The parts of a filter that determine the SQL of a page. */
interface Shape {
  /** The role of the reader in the orders of the list; `any` for an admin, who sees all orders. */
  readonly role: OrderRole | 'either' | 'any';
  readonly ofPet: boolean;
  readonly byStatus: boolean;
  /** The number of statuses, each read as a range of an index; 0 to read all statuses together. */
  readonly runs: number;
  /** Whether to include expired orders whose rows are still `placed`. */
  readonly expired: boolean;
  readonly descending: boolean;
}

type Values = KeysetParams & { accountId: number | null; petId: number; statuses: string; now: number } & {
  readonly [status: `status${number}`]: OrderStatus;
};

type Rows<Row> = SelectQueryBuilder<Tables, 'orders', Row>;
type Party = 'account_id' | 'owner_id';

/** The parties whose orders a reader sees, each in a separate run; a run without a party has all orders. */
const partiesOf: Readonly<Record<Shape['role'], readonly (Party | undefined)[]>> = {
  placer: ['account_id'],
  owner: ['owner_id'],
  either: ['account_id', 'owner_id'],
  any: [undefined],
};

/** Merges runs of indexes, so that no filter scans more rows than it returns; see `Shape`. */
const pageQuery = queriesByShape(
  ['role', 'ofPet', 'byStatus', 'runs', 'expired', 'descending'],
  ({ role, ofPet, byStatus, runs, expired, descending }: Shape) =>
    query((db, p: Params<Values>, engine) => {
      const orders = () => db.selectFrom('orders').select(orderColumns.full(p.now));
      const along = (rows: Rows<OrderRow>, prefix: IndexPrefix) => pageAlong(engine, descending, rows, prefix, p);
      if (ofPet) {
        const rows = db
          .selectFrom(ordersOfPet(db, engine, descending, p).as('of_pet'))
          .innerJoin('orders', 'orders.id', 'of_pet.ordered_id')
          .select(orderColumns.full(p.now))
          .orderBy('of_pet.ordered_id', descending ? 'desc' : 'asc')
          .limit(p.rows);
        const visible = rows.$if(role !== 'any', rows =>
          rows.where(({ or }) => or(partiesOf[role].map(party => isUnindexed(party!, p)))),
        );
        return byStatus ? visible.where(amongTexts(statusAt(p.now), p.statuses, engine)) : visible;
      }
      const queries = partiesOf[role].flatMap(party => [
        ...(runs === 0 ? [along(orders(), ofParty(party))] : []),
        ...Array.from({ length: runs }, (_, run) => runOf(p[`status${run}`]!, party)),
        ...(expired ? [expiredOf(party)] : []),
      ]);
      if (queries.length === 1) return queries[0]!;
      const merged = queries
        .map((one, index) => db.selectFrom(one.as(`run${index}`)).selectAll())
        .reduce((union, one) => union.unionAll(one));
      const byId = db
        .selectFrom(merged.as('orders'))
        .selectAll()
        .orderBy('id', descending ? 'desc' : 'asc');
      return byId.limit(sql<number>`2 * ${p.rows}`);

      function ofParty(party: Party | undefined): IndexPrefix {
        return party === undefined ? [] : [[party, p.accountId]];
      }

      function runOf(status: Expression<OrderStatus>, party: Party | undefined) {
        return along(orders().where(isNotExpired(p.now)), [['status', status], ...ofParty(party)]);
      }

      /** The expired orders whose rows are still `placed`: few, and indexed by their expiry. */
      function expiredOf(party: Party | undefined) {
        return orders()
          .where('status', '=', sql.lit('placed'))
          .where('expires_at', '<=', p.now)
          .$if(party !== undefined, rows => rows.where(isUnindexed(party!, p)))
          .where(eb => eb(eb('id', '+', 0), descending ? '<' : '>', p.fromId))
          .orderBy(eb => eb('id', '+', 0), descending ? 'desc' : 'asc')
          .limit(p.rows);
      }
    }),
);

/** The last order of a pet that a page may scan. */
const endQuery = queriesByShape(['descending'], ({ descending }: Pick<Shape, 'descending'>) =>
  query((db, p: Params<Values & { scanLimit: number }>, engine) =>
    db
      .selectFrom(ordersOfPet(db, engine, descending, p).as('of_pet'))
      .select('ordered_id as id')
      .orderBy('ordered_id', descending ? 'desc' : 'asc')
      .limit(1)
      .offset(sql<number>`${p.scanLimit} - 1`),
  ),
);

/** The condition that the actor is this party of an order, in a form that no index serves. */
const isUnindexed = (party: Party, p: Params<Values>) => sql<boolean>`${sql.ref(party)} + 0 = ${p.accountId}`;

/** Excludes expired orders whose rows are `placed`, in a form that does not use their index. */
const isNotExpired = (now: Expression<number>) => sql<boolean>`(status <> 'placed' or expires_at + 0 > ${now})`;

/** The ids of a pet's orders on a page, by the index of its reservations, because an order can have several pets. */
function ordersOfPet(
  db: Builder<Tables>,
  engine: Reader['engine'],
  descending: boolean,
  p: Params<KeysetParams & Pick<Values, 'petId'>>,
) {
  const ids = db
    .selectFrom('reservations')
    .select(sql<number>`order_id`.as('ordered_id'))
    .where('order_id', 'is not', null)
    // PostgreSQL estimates the small number of rows from this, which it cannot do from the bounds.
    .where('pet_id', '=', p.petId);
  const range = {
    prefix: [['reservations.pet_id', p.petId]],
    key: ['reservations.order_id'],
    after: [p.fromId],
    upTo: [p.endId],
  } as const;
  return alongIndex(engine, descending, ids, range);
}

/** Restricts rows to a page of an index: those with the values of `prefix`, by id. */
function pageAlong<Row>(
  engine: Reader['engine'],
  descending: boolean,
  rows: Rows<Row>,
  prefix: IndexPrefix,
  p: Params<KeysetParams>,
): Rows<Row> {
  const range = {
    prefix: prefix.map(([column, value]) => [`orders.${column}`, value] as const),
    key: ['orders.id'],
    after: [p.fromId],
    upTo: [p.endId],
  };
  return alongIndex(engine, descending, rows, range).limit(p.rows);
}

/** The columns of an index before the id, with a value for each. */
type IndexPrefix = readonly (readonly [Party | 'status', Expression<unknown>])[];

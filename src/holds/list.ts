import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import type { Actor } from '../events/event.ts';
import type { CursorPosition } from '../lib/http/pagination/cursor.ts';
import { type Found, type Page, pageById } from '../lib/http/pagination/page-by-id.ts';
import { type Params, type Query, query, type Reader, sql, type Tables } from '../schema.ts';
import type { HoldStatus } from './hold.ts';
import { type HoldRecord, type HoldRow, holdColumns, parseHold, statusAt } from './rows.ts';

/** Which holds a list has. */
export interface HoldFilter {
  /** Only with one of these statuses. */
  readonly status?: readonly HoldStatus[] | undefined;
  /** Only those that this animal is or was in. */
  readonly petId?: number | undefined;
}

/**
 * One page of the holds that the caller may see, by rising id: those that it placed and those on its animals; for
 * admins all.
 *
 * A page ends after 20,000 rows looked at: it may then be short, even empty, and still have a next one.
 * @param limit how many holds at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @param now a hold that has run out by then is expired
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export function listHolds(
  reader: Reader,
  actor: Actor,
  { status, petId }: HoldFilter,
  limit: number,
  cursorText: string | undefined,
  now: number,
): Promise<Page<HoldRow>> {
  const list = ['holds', [...(status ?? [])].sort(), petId ?? 0];
  const seen = petId !== undefined ? 'pet' : actor.admin ? 'all' : 'own';
  return pageById(list, limit, cursorText, async (from, rowsMax) => {
    const shape: Shape = { seen, all: actor.admin, backward: from.backward, statuses: status?.length ?? 0 };
    const values = { ...valuesOf(actor, status, petId, from), rows: limit + 1, now };
    return look(reader, shape, values, rowsMax);
  });
}

async function look(reader: Reader, shape: Shape, values: Values, rowsMax: number): Promise<Found<HoldRow>> {
  const edges = await reader.all(edgeQuery(shape), { ...values, beforeEdge: rowsMax - 1 });
  const ids = edges.map(({ id }) => id);
  // Of two runs along an index the one that ends first decides how far both are looked along.
  const edge = ids.length === 0 ? undefined : shape.backward ? Math.max(...ids) : Math.min(...ids);
  const end = edge ?? (shape.backward ? 0 : Number.MAX_SAFE_INTEGER);
  const rows = await reader.all(pageQuery(shape), { ...values, edge: end });
  return { rows: rows.map(parseHold), edge };
}

/** What decides the SQL of a page; pages of one shape share one prepared statement. */
interface Shape {
  /** The run along an index: the holds of an animal, all that there are, or those of an account and on its animals. */
  readonly seen: 'pet' | 'all' | 'own';
  /** Whether the caller sees every hold. */
  readonly all: boolean;
  readonly backward: boolean;
  readonly statuses: number;
}

/** The values of a run; statuses are numbered. */
type Values = Record<`status${number}`, HoldStatus> & {
  accountId: number;
  petId: number;
  from: number;
  edge: number;
  rows: number;
  now: number;
  beforeEdge: number;
};

function valuesOf(actor: Actor, status: HoldFilter['status'], petId: number | undefined, from: CursorPosition): Values {
  const values: Record<string, unknown> = { accountId: actor.accountId, petId, from: from.id };
  for (const [index, one] of (status ?? []).entries()) values[`status${index}`] = one;
  return values as unknown as Values;
}

const pageQueries = new Map<string, Query<Values, HoldRecord>>();

function pageQuery(shape: Shape): Query<Values, HoldRecord> {
  return remember(pageQueries, shape, () =>
    query((db, p: Params<Values>) => {
      const direction = shape.backward ? 'desc' : 'asc';
      const [beyond, within] = shape.backward ? (['<', '>='] as const) : (['>', '<='] as const);
      /** The rest that every run has in common: the place, the statuses, the order. */
      const ready = <Joined extends 'holds' | 'reservations'>(
        runs: SelectQueryBuilder<Tables, Joined, unknown>,
        id: 'holds.id' | 'reservations.hold_id',
      ) => {
        let rows = runs as unknown as SelectQueryBuilder<Tables, 'holds' | 'reservations', unknown>;
        rows = rows.where(id, beyond, p.from).where(id, within, p.edge);
        if (shape.statuses > 0) {
          const among = Array.from({ length: shape.statuses }, (_, index) => p[`status${index}`]!);
          rows = rows.where(statusAt(p.now), 'in', among);
        }
        return rows.select(holdColumns(p.now)).$castTo<HoldRecord>().orderBy(id, direction).limit(p.rows);
      };
      const joined = db.selectFrom('reservations').innerJoin('holds', 'holds.id', 'reservations.hold_id');

      if (shape.seen === 'all') return ready(db.selectFrom('holds'), 'holds.id');
      if (shape.seen === 'pet') {
        const ofPet = joined.where('reservations.pet_id', '=', p.petId);
        return ready(shape.all ? ofPet : ofPet.where(isSeenBy(p.accountId)), 'reservations.hold_id');
      }
      // One run for the holds that the account placed, and one for the others that are on its animals; merged.
      const placed = ready(db.selectFrom('holds').where('holds.account_id', '=', p.accountId), 'holds.id');
      const onAnimals = ready(
        joined
          .where('reservations.owner_id', '=', p.accountId)
          .where('holds.account_id', '<>', p.accountId)
          .where(isFirstOfHold),
        'reservations.hold_id',
      );
      const merged = db
        .selectFrom(placed.as('one'))
        .selectAll()
        .unionAll(db.selectFrom(onAnimals.as('other')).selectAll());
      return db.selectFrom(merged.as('holds')).selectAll().orderBy('id', direction).limit(p.rows);
    }),
  );
}

/** Whether a hold on an animal is seen by an account: by who owns the animal, placed the hold, or owns another of it. */
function isSeenBy(accountId: Params<Values>['accountId']) {
  return ({ or, eb, exists, selectFrom }: ExpressionBuilder<Tables, 'holds' | 'reservations'>) =>
    or([
      eb('reservations.owner_id', '=', accountId),
      eb('holds.account_id', '=', accountId),
      exists(
        selectFrom('reservations as others')
          .select('others.id')
          .whereRef('others.hold_id', '=', 'reservations.hold_id')
          .where('others.owner_id', '=', accountId),
      ),
    ]);
}

/** Of several animals of an owner in one hold the first stands for it. */
function isFirstOfHold({ not, exists, selectFrom }: ExpressionBuilder<Tables, 'reservations' | 'holds'>) {
  return not(
    exists(
      selectFrom('reservations as before')
        .select('before.id')
        .whereRef('before.hold_id', '=', 'reservations.hold_id')
        .whereRef('before.owner_id', '=', 'reservations.owner_id')
        .whereRef('before.pet_id', '<', 'reservations.pet_id'),
    ),
  );
}

const edgeQueries = new Map<string, Query<Values, { id: number }>>();

/** The last hold that a run may look at, of each run that is so long. */
function edgeQuery(shape: Shape): Query<Values, { id: number }> {
  return remember(edgeQueries, shape, () =>
    query((db, p: Params<Values>) => {
      const direction = shape.backward ? 'desc' : 'asc';
      const beyond = shape.backward ? '<' : '>';
      const last = (by: 'holds' | 'owner' | 'pet') => {
        if (by === 'holds') {
          const holds = db.selectFrom('holds').select('id').where('id', beyond, p.from);
          const own = shape.all ? holds : holds.where('account_id', '=', p.accountId);
          return own.orderBy('id', direction).limit(1).offset(p.beforeEdge);
        }
        const reservations = db
          .selectFrom('reservations')
          .select(sql<number>`hold_id`.as('id'))
          .where('hold_id', 'is not', null)
          .where('hold_id', beyond, p.from);
        return (
          by === 'pet' ? reservations.where('pet_id', '=', p.petId) : reservations.where('owner_id', '=', p.accountId)
        )
          .orderBy('hold_id', direction)
          .limit(1)
          .offset(p.beforeEdge);
      };
      if (shape.seen === 'pet') return last('pet');
      if (shape.seen === 'all') return last('holds');
      return db
        .selectFrom(last('holds').as('one'))
        .selectAll()
        .unionAll(db.selectFrom(last('owner').as('other')).selectAll());
    }),
  );
}

function remember<Q>(queries: Map<string, Q>, shape: Shape, make: () => Q): Q {
  const key = Object.values(shape).join();
  let found = queries.get(key);
  if (found === undefined) {
    found = make();
    queries.set(key, found);
  }
  return found;
}

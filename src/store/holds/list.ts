import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import { type Page, type PageRequest, paginate } from '../../lib/http/pagination/paginate.ts';
import { type KeysetParams, keysetEnd, keysetPage } from '../../lib/storage/keyset.ts';
import { type HoldRow, type HoldStatus, statusAt } from '../../model/hold.ts';
import type { Actor } from '../../model/log/event.ts';
import { amongTexts, type Params, queriesByShape, query, type Reader, sql, type Tables } from '../../model/schema.ts';
import { type HoldRecord, parseHold, selectHold } from './rows.ts';

export interface HoldFilter {
  /** Only holds with one of these statuses. */
  readonly status?: readonly HoldStatus[] | undefined;
  /** Only holds of this pet, including ended ones. */
  readonly petId?: number | undefined;
}

/**
 * Returns one page of the holds that the actor can see, by id ascending: holds that it placed and holds on its pets;
 * admins see all. A page scans up to 20,000 rows.
 * @param now the time as of which holds are read
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listHolds(
  reader: Reader,
  actor: Actor,
  { status, petId }: HoldFilter,
  page: PageRequest,
  now: number,
): Promise<Page<HoldRow>> {
  const scope = petId !== undefined ? 'pet' : actor.admin ? 'all' : 'own';
  const shape = { scope, all: actor.admin, byStatus: status !== undefined } as const;
  const statuses = JSON.stringify(status ?? []);
  const values = { accountId: actor.accountId ?? 0, petId: petId ?? 0, statuses, now };
  return paginate({
    list: ['holds', [...(status ?? [])].sort(), petId ?? 0],
    page,
    rows: async scan => (await reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan })).map(parseHold),
    async end(scan) {
      const ends = await reader.all(endQuery({ ...shape, ...scan }), { ...values, ...scan });
      const ids = ends.map(({ id }) => id);
      // If the page scans two indexes, it ends where the first of the two scans does.
      return ids.length === 0 ? undefined : { id: scan.descending ? Math.max(...ids) : Math.min(...ids) };
    },
  });
}

/** The parts of a filter that determine the SQL of a page. */
interface Shape {
  /** The index to scan: holds of a pet, all holds, or holds that an account placed and holds on its pets. */
  readonly scope: 'pet' | 'all' | 'own';
  /** Whether the reader sees every hold. */
  readonly all: boolean;
  readonly byStatus: boolean;
  readonly descending: boolean;
}

type Values = KeysetParams & { accountId: number; petId: number; statuses: string; now: number };
type HoldTables = 'holds' | 'reservations';

const pageQuery = queriesByShape(
  ['scope', 'all', 'byStatus', 'descending'],
  ({ scope, all, byStatus, descending }: Shape) =>
    query((db, p: Params<Values>, engine) => {
      const finish = <Joined extends HoldTables>(
        rows: SelectQueryBuilder<Tables, Joined, unknown>,
        id: 'holds.id' | 'reservations.hold_id',
      ) => {
        const matching = (rows as unknown as SelectQueryBuilder<Tables, HoldTables, unknown>)
          .select(selectHold(p.now))
          .$castTo<HoldRecord>()
          .$if(byStatus, rows => rows.where(amongTexts(statusAt(p.now), p.statuses, engine)));
        return keysetPage(matching, id, descending, p);
      };
      const reservations = db.selectFrom('reservations').innerJoin('holds', 'holds.id', 'reservations.hold_id');

      if (scope === 'all') return finish(db.selectFrom('holds'), 'holds.id');
      if (scope === 'pet') {
        const ofPet = reservations.where('reservations.pet_id', '=', p.petId);
        return finish(all ? ofPet : ofPet.where(isVisibleTo(p.accountId)), 'reservations.hold_id');
      }
      const placed = finish(db.selectFrom('holds').where('holds.account_id', '=', p.accountId), 'holds.id');
      const onOwnPets = reservations
        .where('reservations.owner_id', '=', p.accountId)
        .where('holds.account_id', '<>', p.accountId)
        .where(isFirstOfHold);
      const merged = db
        .selectFrom(placed.as('placed'))
        .selectAll()
        .unionAll(db.selectFrom(finish(onOwnPets, 'reservations.hold_id').as('others')).selectAll());
      const byId = db
        .selectFrom(merged.as('holds'))
        .selectAll()
        .orderBy('id', descending ? 'desc' : 'asc');
      return byId.limit(p.rows);
    }),
);

/**
 * The condition that a hold is visible to an account: it owns the pet, has placed the hold, or owns another pet of it.
 */
function isVisibleTo(accountId: Params<Values>['accountId']) {
  return ({ or, eb, exists, selectFrom }: ExpressionBuilder<Tables, HoldTables>) =>
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

/** The condition that a pet is the first pet of its owner in a hold, so that the hold is listed once. */
function isFirstOfHold({ not, exists, selectFrom }: ExpressionBuilder<Tables, HoldTables>) {
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

/** The last hold that a page may scan, for each index with enough holds. */
const endQuery = queriesByShape(['scope', 'all', 'descending'], ({ scope, all, descending }: Shape) =>
  query((db, p: Params<Values & { scanLimit: number }>) => {
    const holds = db.selectFrom('holds').select('id');
    const placed = keysetEnd(all ? holds : holds.where('account_id', '=', p.accountId), 'id', descending, p);
    if (scope === 'all') return placed;
    const reservations = db.selectFrom('reservations').select(sql<number>`hold_id`.as('id'));
    const of = scope === 'pet' ? (['pet_id', p.petId] as const) : (['owner_id', p.accountId] as const);
    const onPets = keysetEnd(
      reservations.where('hold_id', 'is not', null).where(of[0], '=', of[1]),
      'hold_id',
      descending,
      p,
    );
    if (scope === 'pet') return onPets;
    const both = db.selectFrom(placed.as('placed')).selectAll();
    return both.unionAll(db.selectFrom(onPets.as('others')).selectAll());
  }),
);

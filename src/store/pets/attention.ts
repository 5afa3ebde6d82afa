import type { Expression, RawBuilder, SelectQueryBuilder } from 'kysely';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { type ScanRequest, startScan } from '../../lib/http/pagination/scan-queue.ts';
import { alongIndex } from '../../lib/storage/keyset.ts';
import type { EngineName } from '../../lib/storage/query.ts';
import { petFields } from '../../model/pet.ts';
import { type Params, query, type Reader, sql, type Tables } from '../../model/schema.ts';

/** An available animal, and the day since which it has waited. */
export interface WaitingPet {
  readonly id: number;
  readonly name: string;
  /** The date of its intake, otherwise that on which it was added: `2026-11-20`. */
  readonly since: string;
}

/** Numbers of the animals of an account that have not left it. */
export interface PetAttention {
  readonly withoutPhoto: number;
  readonly withoutDescription: number;
  readonly withPhoto: number;
  /** Animals whose hold ends between `now` and `until`. */
  readonly holdEnds: number;
  /** The available animals that have waited longest. */
  readonly longest: readonly WaitingPet[];
  /** Whether the account has more animals than were read. */
  readonly isPartial: boolean;
}

/** The maximum number of animals in `longest`. */
const LONGEST_MAX = 5;
/** The rows of a turn, which takes a few milliseconds. */
const ROWS_PER_TURN = 2000;

/**
 * Returns what the animals of an account lack, among the newest 20,000. It waits in the scan queue before each
 * 2,000.
 * @param until the end of the time in which holds end, in milliseconds since the Unix epoch, like `now`
 * @throws {Problem} `overloaded`
 */
export async function petAttention(
  reader: Reader,
  accountId: number,
  { now, until }: { readonly now: number; readonly until: number },
  request?: ScanRequest,
): Promise<PetAttention> {
  const sums = { withoutPhoto: 0, withoutDescription: 0, withPhoto: 0, holdEnds: 0 };
  let longest: readonly WaitingPet[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  using scan = startScan(request);
  for (let read = 0; read < SCAN_LIMIT && (await scan.turn()); read += ROWS_PER_TURN) {
    const end = await reader.first(endOfRange, { accountId, before, rows: ROWS_PER_TURN });
    const range = { accountId, before, end: end?.id ?? 0, now, until };
    const counted = (await reader.first(countsOfRange, range))!;
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counted[name];
    const found = await reader.all(longestOfRange, { ...range, most: LONGEST_MAX });
    longest = [...longest, ...found].toSorted(bySince).slice(0, LONGEST_MAX);
    if (end === undefined) return { ...sums, longest, isPartial: false };
    before = end.id;
  }
  return { ...sums, longest, isPartial: true };
}

function bySince(one: WaitingPet, other: WaitingPet): number {
  if (one.since !== other.since) return one.since < other.since ? -1 : 1;
  return one.id - other.id;
}

type RangeValues = { accountId: number; before: number; end: number; now: number; until: number };

/** The status as of `now`. */
const statusAt = (now: Expression<number>) => petFields.status.at!(now) as RawBuilder<string>;

/** Restricts pets to those of an account with ids below `before`, down to `end`. */
function inRange<Row>(
  pets: SelectQueryBuilder<Tables, 'pets', Row>,
  p: Params<Pick<RangeValues, 'accountId' | 'before'>> & { readonly end?: Expression<number> },
  engine: EngineName,
) {
  const range = { prefix: [['pets.account_id', p.accountId]], key: ['pets.id'], after: [p.before] } as const;
  return alongIndex(engine, true, pets, { ...range, ...(p.end && { upTo: [p.end] }) });
}

/** The last animal of a turn; no row if there are fewer. */
const endOfRange = query((db, p: Params<Pick<RangeValues, 'accountId' | 'before'> & { rows: number }>, engine) => {
  const { accountId, before } = p;
  const ids = inRange(db.selectFrom('pets').select('id'), { accountId, before }, engine);
  return ids.limit(1).offset(sql<number>`${p.rows} - 1`);
});

const countsOfRange = query((db, p: Params<RangeValues>, engine) => {
  const isHeld = sql`exists (select 1 from reservations where pet_id = pets.id and active = 1 and hold_id is not null)`;
  const sum = (condition: RawBuilder<unknown>) =>
    sql<number>`cast(coalesce(sum(case when ${condition} then 1 else 0 end), 0) as bigint)`;
  const pets = db
    .selectFrom('pets')
    .select([
      sum(sql`status <> 'sold' and photos is null`).as('withoutPhoto'),
      sum(sql`status <> 'sold' and description is null`).as('withoutDescription'),
      sum(sql`photos is not null`).as('withPhoto'),
      sum(sql`reserved_until > ${p.now} and reserved_until <= ${p.until} and ${isHeld}`).as('holdEnds'),
    ]);
  return inRange(pets, p, engine).clearOrderBy();
});

const longestOfRange = query((db, p: Params<RangeValues & { most: number }>, engine) => {
  const pets = db
    .selectFrom('pets')
    .select(['id', 'name', sinceOf(engine).as('since')])
    .where(statusAt(p.now), '=', sql.lit('available'));
  return inRange(pets, p, engine).clearOrderBy().orderBy('since').orderBy('id').limit(p.most);
});

/** The day of the intake, or that on which the animal was added. Texts, because databases cannot hold all dates. */
function sinceOf(engine: EngineName) {
  return engine === 'sqlite'
    ? sql<string>`coalesce(intake ->> 'date', strftime('%Y-%m-%d', created_at / 1000, 'unixepoch'))`
    : sql<string>`coalesce(intake::json ->> 'date', to_char(to_timestamp(created_at / 1000) at time zone 'UTC', 'YYYY-MM-DD')) collate "C"`;
}

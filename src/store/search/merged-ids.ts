import type { Kysely, SelectQueryBuilder } from 'kysely';
import { alongIndex } from '../../lib/storage/keyset.ts';
import { type KeysetParams, type Params, queriesByShape, query, type Reader, type Tables } from '../../model/schema.ts';

/** The pets in several ranges of indexes to merge: of some accounts, or of some words and categories. */
export type Runs =
  | WordRuns
  | { readonly by: 'account'; readonly keys: readonly number[]; readonly categories?: undefined };

export interface WordRuns {
  readonly by: 'word';
  readonly keys: readonly string[];
  readonly categories: readonly number[];
}

/** The range of ids to read, in reading order. */
interface IdsRange {
  readonly descending: boolean;
  readonly fromId: number;
  readonly endId: number;
}

/** The ids of pets, and the id after which there may be more. */
export interface FoundIds {
  readonly ids: readonly number[];
  readonly end: number | undefined;
}

/**
 * Returns the ids of the pets in one of the runs, in reading order, up to `end`.
 * @param runs at most `MERGED_MAX` keys and categories each
 * @param rows the number of ids to read of each run; if a run has more, at least this many are returned
 */
export async function mergedIds(
  reader: Reader,
  runs: Runs,
  { descending, fromId, endId }: IdsRange,
  rows: number,
): Promise<FoundIds> {
  if (runCount(runs) === 0) return { ids: [], end: undefined };
  const scan = { fromId, endId, rows, ...runValues(runs) };
  const found = await reader.all(idsByRuns({ ...runsInQuery(runs), descending }), scan);
  const byRun = Map.groupBy(found, ({ run }) => run);
  const precedes = (one: number, other: number) => (descending ? one > other : one < other);
  let end: number | undefined;
  for (const run of byRun.values()) {
    const last = run.at(-1)!.id;
    if (run.length === rows && (end === undefined || precedes(last, end))) end = last;
  }
  const ids = [...new Set(found.map(({ id }) => id))].filter(id => end === undefined || !precedes(end, id));
  return { ids: ids.sort((one, other) => (descending ? other - one : one - other)), end };
}

/** Returns the number of runs. */
export function runCount({ keys, categories = [] }: Runs): number {
  return keys.length + categories.length;
}

/** Returns the shape of a query for these runs. */
export function runsInQuery({ by, keys, categories = [] }: Runs): Omit<RunsShape, 'descending'> {
  const runs = categories.length > 0 ? keys.length : Math.max(1, keys.length);
  return { by, runs: padded(runs), runCategories: padded(categories.length) };
}

/** Returns the parameters of that query. */
export function runValues(runs: Runs): RunValues {
  const shape = runsInQuery(runs);
  const values: Record<string, unknown> = {};
  for (let run = 0; run < shape.runs; run++) values[`key${run}`] = runs.keys[run] ?? ABSENT[runs.by];
  // The id 0 matches no category.
  for (let run = 0; run < shape.runCategories; run++) values[`runCategory${run}`] = runs.categories?.[run] ?? 0;
  return values as RunValues;
}

/** A word and an account without pets. */
const ABSENT = { word: '', account: 0 };

/** Rounds up a number of ranges to merge, so that few queries serve all of them; infinite beyond `MERGED_MAX`. */
export function padded(ranges: number): number {
  return SIZES.find(size => size >= ranges) ?? Number.POSITIVE_INFINITY;
}

/** The maximum number of merged ranges of an index. */
export const MERGED_MAX = 50;
const SIZES = [0, 1, 2, 4, 8, 16, 32, MERGED_MAX];

export interface RunsShape {
  readonly by: Runs['by'];
  /** The numbers of runs of keys and of categories. */
  readonly runs: number;
  readonly runCategories: number;
  readonly descending: boolean;
}

export type RunValues = { readonly [Key in `key${number}` | `runCategory${number}`]: never };
type Db = Kysely<Tables>;
type Values = Params<KeysetParams & RunValues>;

const idsByRuns = queriesByShape(['by', 'runs', 'runCategories', 'descending'], (shape: RunsShape) =>
  query((db, p: Values, engine) => {
    const [first, ...others] = Array.from({ length: shape.runs + shape.runCategories }, (_, run) => {
      const ids = idsOfRun(db, shape, run, p, engine).as('ids');
      return db.selectFrom(ids).select(eb => ['pet_id as id', eb.lit(run).as('run')]);
    });
    return others.reduce((all, other) => all.unionAll(other), first!);
  }),
);

/** Selects the first `rows` distinct ids of all runs in reading order, as `pet_id`. */
export function selectMergedIds(db: Db, shape: RunsShape, p: Values, engine: Reader['engine']) {
  const [first, ...others] = Array.from({ length: shape.runs + shape.runCategories }, (_, run) => {
    // SQLite merges runs in the order of their index, as far as needed; PostgreSQL would read all rows of each run.
    if (shape.by === 'word' && engine === 'sqlite') return wholeRun(db, shape, run, p);
    return db.selectFrom(idsOfRun(db, shape, run, p, engine).as('ids')).select('pet_id');
  }) as SelectQueryBuilder<Tables, never, { pet_id: number }>[];
  const ids = others.reduce((all, other) => all.union(other), first!);
  return ids.orderBy('pet_id' as never, shape.descending ? 'desc' : 'asc').limit(p.rows);
}

/** Selects up to `rows` ids of one run. */
function idsOfRun(db: Db, shape: RunsShape, run: number, p: Values, engine: Reader['engine']) {
  if (shape.by === 'word') {
    const ids = wholeRun(db, shape, run, p);
    return ids.orderBy('pet_id', shape.descending ? 'desc' : 'asc').limit(p.rows);
  }
  const prefix = [['pets.account_id', p[`key${run}`]!]] as const;
  const range = { prefix, key: ['pets.id'], after: [p.fromId], upTo: [p.endId] };
  return alongIndex(engine, shape.descending, db.selectFrom('pets').select('id as pet_id'), range).limit(p.rows);
}

/** Selects all ids of the run of a word, or of a category. */
function wholeRun(db: Db, shape: RunsShape, run: number, p: Values) {
  if (run < shape.runs) return idsOfWord(db, shape, run, p);
  return db
    .selectFrom('pets')
    .select('id as pet_id')
    .where('category_id', '=', p[`runCategory${run - shape.runs}`]!)
    .where('id', shape.descending ? '<' : '>', p.fromId)
    .where('id', shape.descending ? '>=' : '<=', p.endId) as unknown as ReturnType<typeof idsOfWord>;
}

function idsOfWord(db: Db, { descending }: RunsShape, run: number, p: Values) {
  return db
    .selectFrom('pet_words')
    .select('pet_id')
    .where('word', '=', p[`key${run}`]!)
    .where('pet_id', descending ? '<' : '>', p.fromId)
    .where('pet_id', descending ? '>=' : '<=', p.endId);
}

import type { SelectQueryBuilder } from 'kysely';
import { alongIndex } from '../lib/storage/keyset.ts';
import {
  type KeysetParams,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  type Tables,
} from '../schema.ts';
import { MERGED_MAX } from './page-query.ts';

/** Pets in several ranges of an index, to merge: those with each of some words, or those of each of some accounts. */
export type Runs =
  | { readonly by: 'word'; readonly keys: readonly string[] }
  | { readonly by: 'account'; readonly keys: readonly number[] };

/** The range of ids to read, in reading order. */
export interface IdsRange {
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
 * @param runs at most `MERGED_MAX`
 * @param rows how many ids to read of each run: if one has more, at least as many are returned
 */
export async function mergedIds(
  reader: Reader,
  { by, keys }: Runs,
  { descending, fromId, endId }: IdsRange,
  rows: number,
): Promise<FoundIds> {
  if (keys.length === 0) return { ids: [], end: undefined };
  const size = SIZES.find(size => size >= keys.length)!;
  const values: Record<string, unknown> = { fromId, endId, rows };
  for (let index = 0; index < size; index++) values[`key${index}`] = keys[index] ?? ABSENT[by];
  const found = await reader.all(idsByRuns({ by, runs: size, descending }), values as never);
  const runs = Map.groupBy(found, ({ run }) => run);
  const precedes = (one: number, other: number) => (descending ? one > other : one < other);
  let end: number | undefined;
  for (const run of runs.values()) {
    const last = run.at(-1)!.id;
    if (run.length === rows && (end === undefined || precedes(last, end))) end = last;
  }
  const ids = [...new Set(found.map(({ id }) => id))].filter(id => end === undefined || !precedes(end, id));
  return { ids: ids.sort((one, other) => (descending ? other - one : one - other)), end };
}

/** A word and an account that no pet has. */
const ABSENT = { word: '', account: 0 };

/** Numbers of runs, rounded up so that few queries serve all of them. */
const SIZES = [1, 2, 4, 8, 16, 32, MERGED_MAX];

interface RunsShape {
  readonly by: Runs['by'];
  readonly runs: number;
  readonly descending: boolean;
}

type IdsValues = KeysetParams & { readonly [Key in `key${number}`]: never };
type Rows<Table extends keyof Tables> = SelectQueryBuilder<Tables, Table, { id: number; run: number }>;

const idsByRuns = queriesByShape(['by', 'runs', 'descending'], ({ by, runs, descending }: RunsShape) =>
  query((db, p: Params<IdsValues>, engine) => {
    const wordRun = (run: number): Rows<'pet_words'> => {
      const rows = db.selectFrom('pet_words').select(eb => ['pet_id as id', eb.lit(run).as('run')]);
      return keysetPage(rows.where('word', '=', p[`key${run}`]!) as Rows<'pet_words'>, 'pet_id', descending, p);
    };
    const accountRun = (run: number): Rows<'pets'> => {
      const rows: Rows<'pets'> = db.selectFrom('pets').select(eb => ['id', eb.lit(run).as('run')]);
      const prefix = [['pets.account_id', p[`key${run}`]!]] as const;
      const range = { prefix, key: ['pets.id'], after: [p.fromId], upTo: [p.endId] };
      return alongIndex(engine, descending, rows, range).limit(p.rows);
    };
    const [first, ...others] = Array.from({ length: runs }, (_, run) => {
      const rows = by === 'word' ? wordRun(run).as(`run${run}`) : accountRun(run).as(`run${run}`);
      return db.selectFrom(rows).select(['id', 'run']);
    });
    return others.reduce((all, other) => all.unionAll(other), first!);
  }),
);

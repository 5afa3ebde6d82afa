import { batchJob } from '../../lib/jobs/batch-job.ts';
import { onePer, onePerVersion } from '../../lib/one-per.ts';
import { factNamed, lockedFact, storeFact } from '../../model/facts.ts';
import {
  type CounterSums,
  type Database,
  type Params,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { type SearchedRow, wordsOf } from './words.ts';

/** A pet with the columns whose words are indexed. */
type Indexed = SearchedRow & { readonly id: number };

/**
 * Changes the indexed words of a pet, in the transaction of the change.
 * @param before the pet before the change; `undefined` for a new pet
 * @param after the pet after the change; `undefined` for a deleted pet
 */
export async function updateWords(
  tx: Transaction,
  before: Indexed | undefined,
  after: Indexed | undefined,
): Promise<void> {
  if (before !== undefined && after !== undefined && searchedColumns.every(key => before[key] === after[key])) return;
  const hasDescription = !!before?.description || !!after?.description;
  const described = hasDescription && (await describedIn(tx));
  for (const [pet, by] of [[before, -1] as const, [after, 1] as const]) {
    if (pet === undefined) continue;
    for (const word of wordsOf(pet, described).keys()) tx.increment(petWords, `${word} ${pet.id}`, by);
  }
}

/** Returns whether the index includes the words of descriptions, which no other transaction changes until this one ends. */
const describedIn = onePer(async (tx: Transaction) => (await tx.first(sharedFact, { name: DESCRIBED }))?.value === ON);

const searchedColumns = ['name', 'breeds', 'colors', 'tags', 'description'] as const;

/** The state of the index. */
interface WordIndexState {
  /** The id up to which it has the words of all pets; infinite once it is complete. */
  readonly filledTo: number;
  /** Whether searches can use it, which is also true while the words of descriptions are added or removed. */
  readonly usable: boolean;
  /** Whether it includes the words of descriptions. */
  readonly described: boolean;
  /** The number of ids per second by which it was filled. */
  readonly idsPerSecond: number;
}

/**
 * Returns the state for searches. It is cached until it changes; on PostgreSQL, changes by other nodes take effect
 * within a second.
 */
export const knownWordIndexState = onePerVersion(
  (database: Reader & Partial<Pick<Database, 'dataVersion' | 'topicVersion'>>) =>
    database.dataVersion?.('facts') ?? database.topicVersion?.(PROGRESS),
  wordIndexState,
);

export async function wordIndexState(reader: Reader): Promise<WordIndexState> {
  const facts = new Map((await reader.all(stateFacts, {})).map(({ name, value }) => [name, value]));
  const [state, filledTo, idsPerSecond = IDS_PER_SECOND] = (facts.get(PROGRESS) ?? COMPLETE).split(' ');
  return {
    filledTo: state === COMPLETE ? Number.POSITIVE_INFINITY : Number(filledTo),
    usable: state !== FILLING,
    described: facts.get(DESCRIBED) === ON,
    idsPerSecond: Number(idsPerSecond),
  };
}

/** Returns the estimated time in seconds until an index that is being filled is complete: from 1 to an hour. */
export async function secondsToFill(reader: Reader, { filledTo, idsPerSecond }: WordIndexState): Promise<number> {
  const last = (await reader.first(lastPetId, {}))?.id ?? 0;
  return Math.min(Math.max(1, Math.ceil((last - filledTo) / idsPerSecond)), 3600);
}

/**
 * The progress is a fact of the deployment: `complete`; `filling <id>` while the words of pets after that id are
 * missing; or `refilling <id>` while only the words of their descriptions are. A third word is the speed of the job.
 */
const PROGRESS = 'words';
const COMPLETE = 'complete';
const FILLING = 'filling';
const REFILLING = 'refilling';
/** The fact that stores whether the index includes the words of descriptions. */
const DESCRIBED = 'words_of_descriptions';
const ON = 'on';
const OFF = 'off';

interface WordIndexDeps {
  readonly database: Database;
  /** Whether to include the words of descriptions. */
  readonly described: boolean;
  /** Returns milliseconds since the Unix epoch. */
  now(): number;
}

/**
 * Returns the job that fills the index once per process: it adds the words of pets that an earlier release stored, and
 * adds or removes the words of descriptions after the setting has changed. Several processes with the same setting can
 * run it.
 */
export function wordIndexJob({ database, described, now }: WordIndexDeps) {
  let applied = false;
  let start: { readonly id: number; readonly at: number } | undefined;
  let complete = false;
  const fill = async () => {
    const state = await wordIndexState(database);
    complete = state.filledTo === Number.POSITIVE_INFINITY && state.described === described;
    if (complete) return 0;
    if (!applied) await database.write(tx => applySetting(tx, described));
    applied = true;
    const { filledTo } = state;
    if (Number.isFinite(filledTo)) start ??= { id: filledTo, at: now() };
    const rows = await fillWordBatch(database, start && speedSince(start, { id: filledTo, at: now() }));
    complete = rows === 0;
    return rows;
  };
  return { type: batchJob('words', fill, PAUSE_MS), dueAt: () => (complete ? Number.POSITIVE_INFINITY : 0) };
}

/** Returns the number of ids per second by which the index was filled; `undefined` if it is unknown. */
function speedSince(start: { id: number; at: number }, end: typeof start): number | undefined {
  const speed = Math.round(((end.id - start.id) * 1000) / (end.at - start.at));
  return speed >= 1 && Number.isFinite(speed) ? speed : undefined;
}

/** Starts to fill the index again if the setting has changed. */
async function applySetting(tx: Transaction, described: boolean): Promise<void> {
  const wanted = described ? ON : OFF;
  if (((await tx.first(factNamed, { name: DESCRIBED }))?.value ?? OFF) === wanted) return;
  const progress = (await tx.first(lockedFact, { name: PROGRESS }))?.value;
  await tx.run(storeFact, { name: DESCRIBED, value: wanted });
  await storeProgress(tx, `${progress?.startsWith(FILLING) ? FILLING : REFILLING} 0`);
}

/**
 * Adds the words of some pets to the index; returns 0 once it is complete.
 * @param idsPerSecond the number of ids per second by which it was filled
 */
export async function fillWordBatch(database: Database, idsPerSecond = IDS_PER_SECOND): Promise<number> {
  return database.write(async tx => {
    const [state, after] = ((await tx.first(lockedFact, { name: PROGRESS }))?.value ?? COMPLETE).split(' ');
    if (state === COMPLETE) return 0;
    const described = (await tx.first(factNamed, { name: DESCRIBED }))?.value === ON;
    const pets = await tx.all(lockedPetsAfter, { after: Number(after), most: PETS_PER_BATCH });
    const rows = (one: boolean) => pets.map(pet => ({ id: pet.id, words: new Set(wordsOf(pet, one).keys()) }));
    const wanted = rows(described);
    await tx.run(insertWords, { rows: pairsOf(wanted) });
    if (!described && state === REFILLING) {
      const kept = new Map(wanted.map(({ id, words }) => [id, words]));
      const unwanted = rows(true).map(({ id, words }) => ({ id, words: words.difference(kept.get(id)!) }));
      await tx.run(deleteWords, { rows: pairsOf(unwanted) });
    }
    const last = pets.at(-1);
    await storeProgress(tx, last === undefined ? COMPLETE : `${state} ${last.id} ${idsPerSecond}`);
    return pets.length + 1;
  });
}

/** Stores the progress and notifies its topic. */
export async function storeProgress(tx: Transaction, value: string): Promise<void> {
  await tx.run(storeFact, { name: PROGRESS, value });
  await tx.notify(PROGRESS);
}

/** The number of pets per transaction, few enough to keep it short, and the pause after it. */
const PETS_PER_BATCH = 200;
const PAUSE_MS = 10;
/** The assumed speed until it is measured: a million pets take about 70 s. */
const IDS_PER_SECOND = 14_000;

/** Returns the rows of words as JSON. */
function pairsOf(pets: readonly { readonly id: number; readonly words: ReadonlySet<string> }[]): string {
  return JSON.stringify(pets.flatMap(({ id, words }) => Array.from(words, word => [word, id])));
}

/** Selects the value of a fact, and prevents changes of it until the transaction ends. */
const sharedFact = query((db, p: Params<{ name: string }>, engine) =>
  db
    .selectFrom('facts')
    .select('value')
    .where('name', '=', p.name)
    .$if(engine === 'postgres', fact => fact.forShare()),
);

const stateFacts = query(db =>
  db
    .selectFrom('facts')
    .select(['name', 'value'])
    .where('name', 'in', [sql.lit(PROGRESS), sql.lit(DESCRIBED)]),
);

const lastPetId = query(db => db.selectFrom('pets').select('id').orderBy('id', 'desc').limit(1));

/** Selects rows `word` and `id` from a JSON array of rows that begin with them. */
const pairs = (rows: unknown, engine: Reader['engine']) =>
  engine === 'sqlite'
    ? sql<never>`select value ->> 0, cast(value ->> 1 as integer) from json_each(${rows}) where true`
    : sql<never>`select (row ->> 0) collate "C", (row ->> 1)::bigint
                 from json_array_elements(cast(${rows} as json)) as rows (row)`;

const insertWords = query((db, p: Params<Pick<CounterSums, 'rows'>>, engine) =>
  db
    .insertInto('pet_words')
    .columns(['word', 'pet_id'])
    .expression(pairs(p.rows, engine))
    .onConflict(conflict => conflict.doNothing()),
);

const deleteWords = query((db, p: Params<Pick<CounterSums, 'rows'>>, engine) =>
  db.deleteFrom('pet_words').where(sql<boolean>`(word, pet_id) in (${pairs(p.rows, engine)})`),
);

/**
 * The index as counters, whose increments are written once per commit: each word of a pet is added once and removed
 * once, so that a sum of 1 inserts its row, and a sum of -1 deletes it.
 */
const petWords = { table: 'pet_words', add: insertWords, subtract: deleteWords };

const lockedPetsAfter = query((db, p: Params<{ after: number; most: number }>, engine) =>
  db
    .selectFrom('pets')
    .select(['id', 'name', 'breeds', 'colors', 'tags', 'description'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.most)
    .$if(engine === 'postgres', pets => pets.forUpdate()),
);

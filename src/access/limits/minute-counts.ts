import { type Database, type Params, query, sql, type Tables } from '../../model/schema.ts';

/**
 * The requests of a subject or an address in one second, saved at a clean shutdown. The first element is the name of
 * the `Subject`, or `address 192.0.2.1`.
 */
export type MinuteCount = readonly [subject: string, second: number, requests: number];

/** Saves counts for the next start. */
export async function saveMinuteCounts(database: Database, counts: readonly MinuteCount[]): Promise<void> {
  for (let i = 0; i < counts.length; i += ROWS_AT_ONCE) {
    const rows = JSON.stringify(counts.slice(i, i + ROWS_AT_ONCE));
    await database.write(tx => tx.run(upsertCounts, { rows }));
  }
}

/** Returns the saved counts, oldest first. */
export async function readMinuteCounts(database: Database): Promise<readonly Tables['minute_counts'][]> {
  return await database.all(allCounts, {});
}

export async function deleteMinuteCounts(database: Database): Promise<void> {
  await database.write(tx => tx.run(deleteCounts, {}));
}

/** The number of rows per transaction, so that a transaction does not block other writes for long. */
const ROWS_AT_ONCE = 5000;

const allCounts = query(db => db.selectFrom('minute_counts').selectAll().orderBy('second'));

const deleteCounts = query(db => db.deleteFrom('minute_counts'));

const upsertCounts = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('minute_counts')
    .columns(['subject', 'second', 'requests'])
    .expression(
      engine === 'sqlite'
        ? sql`select value ->> 0, value ->> 1, value ->> 2 from json_each(${p.rows}) where true`
        : sql`select r ->> 0, (r ->> 1)::bigint, (r ->> 2)::bigint from json_array_elements(cast(${p.rows} as json)) as r`,
    )
    .onConflict(conflict =>
      conflict.columns(['subject', 'second']).doUpdateSet({
        requests: sql<number>`minute_counts.requests + excluded.requests`,
      }),
    ),
);

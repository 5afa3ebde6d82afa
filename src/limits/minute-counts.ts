import { type Database, type Params, query, sql } from '../schema.ts';

/** One second's requests of an account or address, as a clean stop leaves them behind. */
export interface MinuteCount {
  /** `account production 7`, or `address 192.0.2.1`. */
  readonly subject: string;
  readonly second: number;
  readonly requests: number;
}

/** Leaves counts behind for the next start. */
export async function keepMinuteCounts(database: Database, counts: readonly MinuteCount[]): Promise<void> {
  for (let i = 0; i < counts.length; i += ROWS_AT_ONCE) {
    const rows = counts.slice(i, i + ROWS_AT_ONCE).map(({ subject, second, requests }) => [subject, second, requests]);
    await database.write(tx => tx.run(keep, { rows: JSON.stringify(rows) }));
  }
}

/** What the last stop left behind, oldest first. */
export async function readMinuteCounts(database: Database): Promise<readonly MinuteCount[]> {
  return await database.all(kept, {});
}

/** Removes what was left behind, once it was read. */
export async function removeMinuteCounts(database: Database): Promise<void> {
  await database.write(tx => tx.run(remove, {}));
}

/** How many rows one transaction writes, so that it blocks nobody for long. */
const ROWS_AT_ONCE = 5000;

const kept = query(db => db.selectFrom('minute_counts').selectAll().orderBy('second'));

const remove = query(db => db.deleteFrom('minute_counts'));

const keep = query((db, p: Params<{ rows: string }>, engine) =>
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

import { deleteOldDeliveries, purgeDeletedWebhooks } from './deliveries/retention.ts';
import { deleteExpiredResponses } from './idempotency/retention.ts';
import type { Work } from './lib/jobs/job-loop.ts';
import { deleteOldDayCounts } from './limits/retention.ts';
import { type Database, type MaybePromise, type NextDue, type Params, query, sql, type Transaction } from './schema.ts';
import { deleteExpiredSecrets } from './webhooks/secrets.ts';

/**
 * Deletes some rows that nobody needs any more at `tx.now`; how many. It looks at an index, and asks nobody to wait: on
 * PostgreSQL it passes over rows that others have locked.
 * @param most how many at most
 */
export type Forget = (tx: Transaction, most: number) => MaybePromise<number>;

/**
 * What is forgotten. Everything else is kept; `docs/decisions/work-that-waits.md` goes through every table. A room that
 * keeps something for a time only adds a line here.
 */
const everything = (eventsKeptMs = Number.MAX_SAFE_INTEGER): readonly Forget[] => [
  deleteExpiredResponses,
  deleteOldDayCounts,
  deleteExpiredSecrets,
  purgeDeletedWebhooks,
  (tx, most) => deleteOldDeliveries(tx, eventsKeptMs, most),
];

/**
 * The work of deleting what nobody needs any more: once an hour until nothing is left, a hundred rows at a time, and
 * most of the time it rests.
 *
 * What it breaks off is due at once. Safe to repeat, also by several processes at once.
 */
export function forgetting({
  database,
  eventsKeptMs,
  forgotten = everything(eventsKeptMs),
}: {
  database: Database;
  eventsKeptMs?: number;
  forgotten?: readonly Forget[];
}): Work<never> {
  return {
    name: 'retention',
    atOnce: 1,
    restMs: REST_MS,
    async take() {
      const rows = await database.write(async tx => {
        for (const forget of forgotten) {
          const some = await forget(tx, ROWS_AT_ONCE);
          if (some > 0) return some;
        }
        await tx.run(noteEnd, { now: String(tx.now) });
        return 0;
      });
      return { rows, jobs: [] };
    },
    async work() {},
  };
}

/** An hour after it was done with everything; at once where it never was. */
export const nextToForget: NextDue = (db, engine) => {
  const integer = sql.raw(engine === 'postgres' ? 'bigint' : 'integer');
  return db.selectNoFrom(({ fn, selectFrom, lit }) =>
    fn
      .coalesce(
        selectFrom('facts')
          .select(sql<number>`cast(value as ${integer}) + ${sql.lit(EVERY_MS)}`.as('dueAt'))
          .where('name', '=', sql.lit(FACT)),
        lit(0),
      )
      .as('dueAt'),
  );
};

/** The fact of when it was last done with everything. */
const FACT = 'forgotten';
const EVERY_MS = 60 * 60 * 1000;

/** How many rows one transaction deletes, so that it holds up nobody for long; and how long others then have it to themselves. */
const ROWS_AT_ONCE = 100;
const REST_MS = 10;

const noteEnd = query((db, p: Params<{ now: string }>) =>
  db
    .insertInto('facts')
    .values({ name: FACT, value: p.now })
    .onConflict(conflict => conflict.column('name').doUpdateSet(eb => ({ value: eb.ref('excluded.value') }))),
);

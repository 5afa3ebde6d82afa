import { sweepHolds } from './holds/sweep-holds.ts';
import type { Clock } from './lib/clock.ts';
import { Episodes } from './lib/episodes.ts';
import type { Log } from './lib/log.ts';
import { sweepOrders } from './orders/sweep-orders.ts';
import { sweepPets } from './pets/sweep-pets.ts';
import { bounded } from './plans/bounded.ts';
import { type Database, type Params, query, sql } from './schema.ts';

/** What sweeps a database until it is closed. */
export interface Expiry {
  /** Takes nothing new in hand, and waits for what is in hand, two seconds at most; storage ends the rest. */
  close(): Promise<void>;
}

/**
 * Ends holds and orders at the instant at which they run out, frees their animals and has the log say so, from now on.
 *
 * Nobody who reads relies on it: what has run out counts as gone from that very moment, swept or not. It looks for the
 * next end once a second, one query, and sleeps until then. What goes wrong is logged once an episode and tried again.
 * Several processes may do so on one database.
 */
export function sweepWhenDue({ database, clock, log }: { database: Database; clock: Clock; log: Log }): Expiry {
  const episodes = new Episodes();
  let closed = false;
  let timer: NodeJS.Timeout;
  let turn = Promise.resolve();
  /** The end that the last sweep was for. */
  let swept: number | undefined;

  wait(0);
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await bounded(turn, PATIENCE_MS);
    },
  };

  function wait(ms: number) {
    if (closed) return;
    timer = setTimeout(() => {
      turn = look().then(wait);
    }, ms).unref();
  }

  /** Sweeps what is due; for how many milliseconds there is nothing to do then. */
  async function look(): Promise<number> {
    try {
      const end = await earliestEnd(database);
      if (end === undefined) return LOOK_MS;
      const now = Math.floor(clock.now());
      if (end > now) return Math.min(LOOK_MS, end - now);
      // Others have it in hand, or it cannot be ended: no need to hurry after it.
      if (end === swept) {
        swept = undefined;
        return LOOK_MS;
      }
      swept = end;
      for (const sweep of [sweepPets, sweepHolds, sweepOrders]) if (!closed) await sweep(database, now);
      return 0;
    } catch (error) {
      swept = undefined;
      if (!closed && episodes.begins('expiry')) {
        log.warn(
          { err: error },
          'Holds and orders that have run out cannot be ended for now; they count as gone anyway.',
        );
      }
      return LOOK_MS;
    }
  }
}

/** How often to look, at least: a hold may be placed that ends a second from now, also by another process. */
const LOOK_MS = 1000;
const PATIENCE_MS = 2000;

/** The earliest end of anything that is not ended yet, passed or not. */
async function earliestEnd(database: Database): Promise<number | undefined> {
  const { pets, holds, orders } = (await database.first(earliestEnds, {}))!;
  const ends = [pets, holds, orders].filter(end => end !== null);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Each the first entry of an index. */
const earliestEnds = query((db, _: Params<Record<never, never>>) =>
  db.selectNoFrom(({ selectFrom }) => [
    selectFrom('pets')
      .select('reserved_until')
      .where('reserved_until', 'is not', null)
      .orderBy('reserved_until')
      .limit(1)
      .as('pets'),
    selectFrom('holds').select('expires_at').where('ended_at', 'is', null).orderBy('expires_at').limit(1).as('holds'),
    selectFrom('orders')
      .select('expires_at')
      .where('status', '=', sql.lit('placed'))
      .orderBy('expires_at')
      .limit(1)
      .as('orders'),
  ]),
);

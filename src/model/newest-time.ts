import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { formatTime } from '../lib/time.ts';
import { type Database, type DeploymentName, query, type Reader } from './schema.ts';

/** How far the clocks of nodes may differ. */
const TOLERANCE_MS = 60_000;

/**
 * Returns the time of the latest change or logged request, in milliseconds since the Unix epoch; 0 if there is none.
 * Reads one entry of two indexes.
 */
export async function newestTime(reader: Reader): Promise<number> {
  const { event, request } = (await reader.first(newestTimes, {}))!;
  return Math.max(event ?? 0, request ?? 0);
}

/** Logs a warning for each database whose data is more than a minute later than the clock. */
export async function warnOfEarlyClock(
  databases: Readonly<Partial<Record<DeploymentName, Database>>>,
  clock: Clock,
  log: Log,
): Promise<void> {
  for (const [deployment, database] of Object.entries(databases)) {
    const newest = await newestTime(database);
    const now = Math.floor(clock.now());
    if (newest - now > TOLERANCE_MS) {
      log.warn({ deployment, now: formatTime(now), newest: formatTime(newest) }, EARLY_CLOCK);
    }
  }
}

const EARLY_CLOCK =
  'The clock is earlier than the newest data: correct the clock and restart. If the clock was ahead when that data was stored, nothing is lost, but pending jobs and expiries can be late by up to the difference.';

const newestTimes = query(db =>
  db.selectNoFrom(({ selectFrom }) => [
    selectFrom('events')
      .select(({ fn }) => fn.max<number | null>('at').as('at'))
      .as('event'),
    selectFrom('requests').select('at').orderBy('id', 'desc').limit(1).as('request'),
  ]),
);

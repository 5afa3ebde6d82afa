import type { SystemClock } from '../lib/clock.ts';
import { formatTime } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import { query, type Reader } from '../schema.ts';

/**
 * Sets a clock that was given its start (`PETSTORE_NOW`) to the latest time that is stored, where that is a little
 * later, so that commands and starts that share one setting follow each other: what has happened never lies in the
 * future.
 * @throws {UserError} naming both times, when the clock is earlier by more than five minutes
 */
export async function catchUp(clock: SystemClock, database: Reader): Promise<void> {
  const times = await database.first(latestTimes, {});
  const latest = Math.max(...Object.values(times!).map(time => time ?? 0));
  const now = clock.now();
  if (latest - now > CATCH_UP_MS) {
    throw new UserError(
      `PETSTORE_NOW is ${formatTime(now)}, earlier than what is stored (${formatTime(latest)}); set it later, or use another data directory.`,
    );
  }
  clock.advanceTo(latest);
}

/** What a rehearsal's commands take together, and less than anybody sets a clock back by. */
const CATCH_UP_MS = 5 * 60_000;

const latestTimes = query(db =>
  db.selectNoFrom(eb => [
    eb
      .selectFrom('pets')
      .select(e => e.fn.max('updated_at').as('at'))
      .as('pet'),
    eb
      .selectFrom('events')
      .select(e => e.fn.max('at').as('at'))
      .as('event'),
    eb
      .selectFrom('accounts')
      .select(e => e.fn.max('created_at').as('at'))
      .as('account'),
    eb
      .selectFrom('keys')
      .select(e => e.fn.max('created_at').as('at'))
      .as('key'),
    eb
      .selectFrom('keys')
      .select(e => e.fn.max('revoked_at').as('at'))
      .as('revocation'),
    eb
      .selectFrom('keys')
      .select(e => e.fn.max('last_used_at').as('at'))
      .as('use'),
    eb
      .selectFrom('bans')
      .select(e => e.fn.max('banned_at').as('at'))
      .as('ban'),
  ]),
);

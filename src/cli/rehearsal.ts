import { Refusal } from '../lib/refusal.ts';
import { formatTime } from '../lib/time.ts';
import { query, type Reader } from '../schema.ts';

/**
 * Refuses a clock that was set (`PETSTORE_NOW`) to a time before the latest one that is stored: what has happened must
 * not lie in the future.
 * @param now milliseconds since the Unix epoch
 * @throws {Refusal} naming both times
 */
export async function refuseEarlier(database: Reader, now: number): Promise<void> {
  const times = await database.first(latestTimes, {});
  const latest = Math.max(...Object.values(times!).map(time => time ?? 0));
  if (now < latest) {
    throw new Refusal(
      `PETSTORE_NOW is ${formatTime(now)}, earlier than what is stored (${formatTime(latest)}); set it later, or use another data directory.`,
    );
  }
}

const latestTimes = query(db =>
  db.selectNoFrom(eb => [
    eb
      .selectFrom('pets')
      .select(e => e.fn.max('updated_at').as('at'))
      .as('pet'),
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

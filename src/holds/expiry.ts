import type { Clock } from '../lib/clock.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { lockPets } from '../pets/lock-pets.ts';
import { type Database, type NextDue, type Params, query, type Transaction } from '../schema.ts';
import { recordHoldEvent } from './events.ts';

/**
 * Ends every hold that has run out by `now`, each at its own moment, frees the animals that it still keeps, and writes
 * it down.
 *
 * Reads count them as expired anyway; this is what the log hears of it from. Nothing is lost when it breaks off or is
 * left out. Costs one look at an index where nothing is due; else a transaction for each hold. Safe to repeat, also by
 * several processes at once: each hold expires once.
 * @throws {StorageError} as `Database.write`
 */
export async function expireHolds(database: Database, now: number): Promise<void> {
  // What is still due where none was ended, another process has ended meanwhile.
  while ((await sweepSome(database, now)) > 0);
}

/** The work of ending the holds that have run out, a few at a time. */
export function holdExpiryJob({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): Work<never> {
  return {
    name: 'holds',
    atOnce: 1,
    async take() {
      return { rows: await sweepSome(database, Math.floor(clock.now())), jobs: [] };
    },
    async work() {},
  };
}

/** When the next hold runs out. */
export const nextHoldExpiry: NextDue = db =>
  db.selectFrom('holds').select('expires_at as dueAt').where('ended_at', 'is', null).orderBy('expires_at').limit(1);

/** How many holds it ended. */
async function sweepSome(database: Database, now: number): Promise<number> {
  const due = await database.all(someDue, { now });
  const ended = await Promise.all(due.map(({ id }) => database.write(tx => expireHold(tx, id))));
  return ended.filter(Boolean).length;
}

/** So many transactions share a flush, and leave room for others. */
const HOLDS_AT_ONCE = 8;

/**
 * Ends a hold that has run out, at the moment at which it did; its animals are available.
 * @returns false where it has not, or is ended already
 */
async function expireHold(tx: Transaction, id: number): Promise<boolean> {
  const pets = await tx.all(petsOfHold, { id });
  const petIds = pets.map(({ petId }) => petId);
  if (petIds.length > 0) await lockPets(tx, petIds);
  const row = await tx.first(endRunOut, { id, now: tx.now });
  if (row === undefined) return false;
  await recordHoldEvent(
    tx,
    'expired',
    { ...row, petIds, ownerIds: pets.map(({ ownerId }) => ownerId), status: 'expired' },
    null,
    {
      was: { status: 'active' },
      at: row.expiresAt,
    },
  );
  return true;
}

const someDue = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('holds')
    .select('id')
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .limit(HOLDS_AT_ONCE),
);

const petsOfHold = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('reservations')
    .select(['pet_id as petId', 'owner_id as ownerId'])
    .where('hold_id', '=', p.id)
    .orderBy('pet_id'),
);

const endRunOut = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('holds')
    .set(eb => ({
      ended_at: eb.ref('expires_at'),
      outcome: 'expired' as const,
      version: eb('version', '+', 1),
      updated_at: eb.ref('expires_at'),
    }))
    .where('id', '=', p.id)
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', p.now)
    .returning([
      'id',
      'account_id as accountId',
      'note',
      'expires_at as expiresAt',
      'ended_at as endedAt',
      'created_at as createdAt',
      'updated_at as updatedAt',
      'version',
    ]),
);

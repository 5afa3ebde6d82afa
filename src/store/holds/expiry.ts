import { type Database, type NextDue, type Params, query, type Transaction } from '../../model/schema.ts';
import { lockPets } from '../pets/lock.ts';
import { recordHoldEvent } from './events.ts';
import { holdColumns } from './rows.ts';

/**
 * Ends holds that have expired by `now`, at most eight, as of their expiry: makes their remaining pets available and
 * records `hold.expired`.
 *
 * Reads treat such a hold as expired anyway, so a late or interrupted run has no visible effect. Costs one index lookup
 * if no hold is due, otherwise one transaction per hold. Idempotent and safe to run in several processes: a hold
 * expires once.
 * @returns the number of ended holds; 0 if other processes have ended those that were due
 * @throws {StorageError} like `Database.write`
 */
export async function expireHolds(database: Database, now: number): Promise<number> {
  const due = await database.all(findExpired, { now });
  const ended = await Promise.all(due.map(({ id }) => database.write(tx => expireHold(tx, id))));
  return ended.filter(Boolean).length;
}

export const nextHoldExpiry: NextDue = db =>
  db.selectFrom('holds').select('expires_at as dueAt').where('ended_at', 'is', null).orderBy('expires_at').limit(1);

/**
 * Ends an expired hold as of its expiry. Locking its pets makes them available.
 * @returns false if the hold has not expired or has already ended
 */
async function expireHold(tx: Transaction, id: number): Promise<boolean> {
  const pets = await tx.all(petsOfHold, { id });
  const petIds = pets.map(({ petId }) => petId);
  if (petIds.length > 0) await lockPets(tx, petIds);
  const row = await tx.first(endExpired, { id, now: tx.now });
  if (row === undefined) return false;
  const hold = { ...row, petIds, ownerIds: pets.map(({ ownerId }) => ownerId), status: 'expired' as const };
  await recordHoldEvent(tx, 'expired', hold, null, { was: { status: 'active' }, at: row.expiresAt });
  return true;
}

/** Few enough for other writes to get their turn, and enough to share a flush. */
const BATCH_SIZE = 8;

const findExpired = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('holds')
    .select('id')
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .limit(BATCH_SIZE),
);

const petsOfHold = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('reservations')
    .select(['pet_id as petId', 'owner_id as ownerId'])
    .where('hold_id', '=', p.id)
    .orderBy('pet_id'),
);

const endExpired = query((db, p: Params<{ id: number; now: number }>) =>
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
    .returning(holdColumns.stored()),
);

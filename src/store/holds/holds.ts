import { lockBound } from '../../access/plans/lock.ts';
import { etagOf } from '../../lib/etag.ts';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import type { Problem } from '../../lib/http/problem.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { invalidBody, problem } from '../../model/errors.ts';
import type { HoldExtension, HoldOutcome, HoldRow, HoldStatus, holdFields, NewHold } from '../../model/hold.ts';
import type { Actor } from '../../model/log/event.ts';
import { HOLD_DEFAULT_MS, HOLD_MAX_MS, HOLD_MIN_MS } from '../../model/rules.ts';
import { insertingOne, type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import type { LockedPet } from '../pets/change.ts';
import { requireWholeGroups } from '../pets/groups.ts';
import { lockEveryPet, lockPets, requestedIds } from '../pets/lock.ts';
import { changeExpiry, endReservation, reserve } from '../pets/reservations.ts';
import { recordHoldEvent } from './events.ts';
import { type HoldRecord, holdColumns, parseHold, selectHold } from './rows.ts';

/**
 * createHold reserves all given pets for an account, or none of them, and records `hold.created`.
 *
 * Holds of one account are placed one at a time, so that concurrent requests cannot exceed `heldMax`.
 * @throws {Problem} `pet_not_found`; `bonded_animals`; `pet_reserved` or `invalid_status_transition` if a pet is not
 *   available; `hold_limit_exceeded`; `invalid_body`, also if the expiry is out of range
 */
export async function createHold(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { expiresAt: requested, note, ...named }: NewHold,
  heldMax: number,
): Promise<HoldRow> {
  const expiryFrom = (now: number) =>
    requested === undefined ? now + HOLD_DEFAULT_MS : requireExpiryInRange(requested, now, now);
  expiryFrom(tx.now);
  // Take this lock before any other.
  await lockBound(tx, 'holds', accountId);
  const pets = await lockEveryPet(tx, requestedIds(named));
  await requireWholeGroups(tx, pets);
  // Read the time after the locks, because waiting for them may have taken a while.
  const { now } = tx;
  const expiresAt = expiryFrom(now);
  const held = await countHeld(tx, accountId, now);
  if (held + pets.length > heldMax) throw limitExceeded(held, heldMax, pets.length);

  const row = { accountId, note: note ?? null, expiresAt, endedAt: null, createdAt: now, updatedAt: now };
  const id = await tx.insert(insertHold, row);
  for (const pet of pets) await reserve(tx, pet, { holdId: id, until: expiresAt }, accountId);
  const [petIds, ownerIds] = [pets.map(pet => pet.id), pets.map(pet => pet.accountId)];
  const hold: HoldRow = { ...row, id, petIds, ownerIds, status: 'active', version: 1 };
  await recordHoldEvent(tx, 'created', hold, accountId);
  return hold;
}

/**
 * Returns the hold with this id. It is visible to the account that placed it, to the owners of its pets and to admins.
 * @param now the time as of which the hold is read
 * @throws {Problem} `hold_not_found`, also if the hold is not visible to the actor
 */
export async function getHold(reader: Reader, actor: Actor, id: number, now: number): Promise<HoldRow> {
  const row = await reader.first(holdById, { id, now });
  const hold = row && parseHold(row);
  if (hold === undefined || !isVisibleTo(actor, hold)) throw holdNotFound(id);
  return hold;
}

function isVisibleTo({ accountId, admin }: Actor, hold: HoldRow): boolean {
  return admin || (accountId !== null && [hold.accountId, ...hold.ownerIds].includes(accountId));
}

/**
 * extendHold changes the expiry of a hold to a later or an earlier time, for all its remaining pets, and records
 * `hold.extended`.
 * @throws {Problem} `hold_not_found`; `not_owner` for an owner of its pets who did not place it; `hold_ended`;
 *   `invalid_body` if the expiry is out of range; any error of `precondition`
 */
export async function extendHold(
  tx: Transaction,
  actor: Actor,
  id: number,
  { expiresAt: requested }: HoldExtension,
  precondition: PreconditionCheck = () => {},
): Promise<HoldRow> {
  const { hold, held } = await lockHoldAndPets(tx, actor, id, ({ accountId }) => {
    if (actor.admin || accountId === actor.accountId) return;
    throw problem('not_owner', 'The hold belongs to another account; only that account or an admin can extend it.');
  });
  const expiresAt = requireExpiryInRange(requested, tx.now, hold.createdAt);
  precondition(etagOf(hold));
  if (expiresAt === hold.expiresAt) return hold;

  requireVisibleBeforeExpiry(tx, hold);
  const extended = { ...hold, expiresAt, updatedAt: tx.now, version: hold.version + 2 };
  await tx.queue(updateExpiry, extended);
  for (const pet of held) await changeExpiry(tx, pet.id, expiresAt);
  await recordHoldEvent(tx, 'extended', extended, actor.accountId, { was: { expiresAt: formatTime(hold.expiresAt) } });
  return extended;
}

/**
 * releaseHold ends a hold before its expiry, makes its remaining pets available and records `hold.released`.
 * @throws {Problem} `hold_not_found`; `hold_ended`; any error of `precondition`
 */
export async function releaseHold(
  tx: Transaction,
  actor: Actor,
  id: number,
  precondition: PreconditionCheck = () => {},
): Promise<HoldRow> {
  const { hold, held } = await lockHoldAndPets(tx, actor, id);
  precondition(etagOf(hold));
  requireVisibleBeforeExpiry(tx, hold);
  for (const pet of held) {
    await endReservation(tx, pet, 'available', { accountId: actor.accountId, reason: 'hold_released', holdId: id });
  }
  return endHold(tx, hold, 'released', actor.accountId);
}

/** Returns the number of pets in all active holds of an account as of `now`. */
export async function countHeld(reader: Reader, accountId: number, now: number): Promise<number> {
  return (await reader.first(heldPets, { accountId, now }))!.held;
}

/**
 * Locks and returns an active hold of the actor's account, for an order from it. Lock the ordered pet first.
 * @throws {Problem} `hold_not_found` if it belongs to another account; `hold_ended`
 */
export async function lockActiveHold(tx: Transaction, { accountId }: Actor, id: number): Promise<HoldRow> {
  const hold = await lockHold(tx, id);
  if (hold?.accountId !== accountId) throw problem('hold_not_found', `There is no hold ${id} of this account.`);
  if (hold.status !== 'active') throw holdEnded(hold);
  requireVisibleBeforeExpiry(tx, hold);
  return hold;
}

/**
 * Ends a hold as `used` if all its pets have been ordered.
 * @param hold an active hold that is locked in this transaction
 */
export async function endIfUsed(tx: Transaction, hold: HoldRow): Promise<void> {
  if ((await tx.first(anyHeldPet, { id: hold.id })) === undefined) await endHold(tx, hold, 'used', hold.accountId);
}

/** Returns the requested expiry in milliseconds; throws `invalid_body` if it is out of range. */
function requireExpiryInRange(text: string, now: number, createdAt: number): number {
  const expiresAt = parseTime(text)!;
  const [earliest, latest] = [now + HOLD_MIN_MS, createdAt + HOLD_MAX_MS];
  if (expiresAt >= earliest && expiresAt <= latest) return expiresAt;
  const message = `Must be a time from ${formatTime(earliest)} to ${formatTime(latest)}.`;
  throw invalidBody('/expiresAt', 'out_of_range', message);
}

function limitExceeded(held: number, heldMax: number, more: number): Problem {
  const message = `The account holds ${held} animals, and ${more} more would exceed ${heldMax}, the maximum of its plan.`;
  return problem('hold_limit_exceeded', `${message} Release a hold, or wait until one expires.`);
}

/**
 * Locks an active hold and its pets: the pets first, as every transaction does.
 * @param authorize throws if the actor may not change the hold
 * @returns the hold and its remaining pets
 */
async function lockHoldAndPets(
  tx: Transaction,
  actor: Actor,
  id: number,
  authorize: (hold: HoldRow) => void = () => {},
): Promise<{ hold: HoldRow; held: LockedPet[] }> {
  const visible = await getHold(tx, actor, id, tx.now);
  authorize(visible);
  const pets = visible.petIds.length > 0 ? await lockPets(tx, visible.petIds) : [];
  const hold = await lockHold(tx, id);
  if (hold === undefined) throw holdNotFound(id);
  if (hold.status !== 'active') throw holdEnded(hold);
  const held = pets.filter(pet => pet.reservation?.holdId === id);
  // While this transaction waited for the locks, the hold may have expired and another transaction may have reserved a
  // pet.
  const expired = pets.some(pet => pet.reservation?.holdId !== id && pet.updatedAt >= hold.expiresAt);
  if (expired) throw holdEnded({ ...hold, status: 'expired' });
  return { hold, held };
}

/** Locks a hold and returns it as of the time after the lock. */
async function lockHold(tx: Transaction, id: number): Promise<HoldRow | undefined> {
  tx.claim?.(`hold ${id}`);
  const row = await tx.first(lockedHold, { id });
  tx.refreshNow(row?.updatedAt);
  if (row === undefined) return undefined;
  const hold = parseHold(row);
  return hold.status === 'active' && hold.expiresAt <= tx.now ? { ...hold, status: 'expired' } : hold;
}

/** Requires the transaction to become visible before the expiry, because readers then see the hold as expired. */
function requireVisibleBeforeExpiry(tx: Transaction, { id, expiresAt }: HoldRow): void {
  tx.requireVisibleBefore(expiresAt, () => {
    const message = `Hold ${id} expires at ${formatTime(expiresAt)}, too soon to change it.`;
    return problem('hold_ended', `${message} Place a new hold when the animals are available.`);
  });
}

async function endHold(
  tx: Transaction,
  hold: HoldRow,
  outcome: Exclude<HoldOutcome, 'expired'>,
  accountId: number | null,
): Promise<HoldRow> {
  const { now } = tx;
  const ended = { ...hold, status: outcome, endedAt: now, updatedAt: now, version: hold.version + 2 };
  await tx.queue(updateOutcome, { ...ended, outcome });
  await recordHoldEvent(tx, outcome, ended, accountId, { was: { status: 'active' } });
  return ended;
}

function holdNotFound(id: number): Problem {
  return problem('hold_not_found', `There is no hold ${id}.`);
}

function holdEnded({ id, status, expiresAt }: HoldRow): Problem {
  const states: Record<HoldStatus, string> = {
    active: 'has ended',
    released: 'was released',
    used: 'was used up by orders',
    expired: `expired at ${formatTime(expiresAt)}`,
  };
  return problem('hold_ended', `Hold ${id} ${states[status]}. Place a new hold while the animals are available.`);
}

const heldPets = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('holds')
    .innerJoin('reservations', 'reservations.hold_id', 'holds.id')
    .select(eb => eb.fn.countAll<number>().as('held'))
    .where('holds.account_id', '=', p.accountId)
    .where('holds.ended_at', 'is', null)
    .where('holds.expires_at', '>', p.now)
    .where('reservations.active', '=', 1),
);

const insertHold = query((db, p: Params<InsertRowOf<typeof holdFields>>, engine) =>
  insertingOne(db.insertInto('holds').values(holdColumns.inserted(p)), engine),
);

const holdById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('holds').select(selectHold(p.now)).$castTo<HoldRecord>().where('holds.id', '=', p.id),
);

/** The hold as stored, even if its expiry has passed. SQLite needs no row lock, because it runs one write at a time. */
const lockedHold = query((db, p: Params<{ id: number }>, engine) => {
  const never = sql.lit(0);
  const hold = db.selectFrom('holds').select(selectHold(never)).$castTo<HoldRecord>().where('holds.id', '=', p.id);
  return engine === 'postgres' ? hold.forUpdate() : hold;
});

const anyHeldPet = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('reservations').select('id').where('hold_id', '=', p.id).where('active', '=', 1).limit(1),
);

const updateExpiry = query((db, p: Params<HoldRow>) =>
  db
    .updateTable('holds')
    .set(holdColumns.updated(p, ['expiresAt', 'version', 'updatedAt']))
    .where('id', '=', p.id),
);

const updateOutcome = query((db, p: Params<HoldRow & { outcome: HoldOutcome }>) =>
  db
    .updateTable('holds')
    .set(holdColumns.updated(p, ['endedAt', 'outcome', 'version', 'updatedAt']))
    .where('id', '=', p.id),
);

import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { Problem } from '../lib/http/problem.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import type { LockedPet } from '../pets/change-pet.ts';
import { lockPets } from '../pets/lock-pets.ts';
import type { Expectation } from '../pets/pets.ts';
import { endReservation, moveEnd, reserve } from '../pets/reservations.ts';
import { type HoldOutcome, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { recordHoldEvent } from './events.ts';
import type { HoldExtension, NewHold } from './hold.ts';
import { lockHoldsOf, requireWithinLimit } from './limit.ts';
import { type HoldRecord, type HoldRow, holdColumns, holdEtag, parseHold } from './rows.ts';

/**
 * Keeps animals for the account until a time: all of them, or none.
 *
 * The account's holds come one after the other, so that together they never have more than `heldMax` animals, whoever
 * else is at it.
 * @throws {Problem} `pet_not_found`; `pet_reserved`, `invalid_status_transition` for an animal that cannot be had;
 *   `hold_limit_exceeded`; `invalid_body` for an end out of bounds
 */
export async function createHold(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { petIds, expiresAt, note }: NewHold,
  heldMax: number,
): Promise<HoldRow> {
  const endFrom = (now: number) => (expiresAt === undefined ? now + USUAL_MS : endOf(expiresAt, now, now));
  endFrom(tx.now);
  await lockHoldsOf(tx, accountId);
  const pets = await lockPets(tx, petIds);
  requireAll(petIds, pets);
  // It took a while, maybe.
  const until = endFrom(tx.now);
  await requireWithinLimit(tx, accountId, pets.length, heldMax);

  const values = { accountId, note: note ?? null, expiresAt: until, now: tx.now };
  const { id } = (await tx.first(insertHold, values))!;
  for (const pet of pets) await reserve(tx, pet, { holdId: id, until }, accountId);
  const hold: HoldRow = {
    id,
    petIds: pets.map(pet => pet.id),
    ownerIds: pets.map(pet => pet.accountId),
    accountId,
    status: 'active',
    note: note ?? null,
    expiresAt: until,
    endedAt: null,
    createdAt: tx.now,
    updatedAt: tx.now,
    version: 1,
  };
  await recordHoldEvent(tx, 'created', hold, accountId);
  return hold;
}

/**
 * The hold with this id, for those who may see it: who placed it, who owns any of its animals, and admins.
 * @param now a hold that has run out by then is expired
 * @throws {Problem} `hold_not_found`, also for everybody else
 */
export async function getHold(reader: Reader, actor: Actor, id: number, now: number): Promise<HoldRow> {
  const row = await reader.first(holdSeenBy, { id, now, accountId: actor.accountId, admin: actor.admin ? 1 : 0 });
  if (row === undefined) throw problem('hold_not_found', `There is no hold ${id}.`);
  return parseHold(row);
}

/**
 * Moves the end of a hold, to a later or an earlier time, with that of every animal that is still kept.
 * @throws {Problem} `hold_not_found`; `not_owner` for an owner of its animals who did not place it; `hold_ended`;
 *   `invalid_body` for an end out of bounds; what `expect` throws
 */
export async function extendHold(
  tx: Transaction,
  actor: Actor,
  id: number,
  { expiresAt }: HoldExtension,
  expect: Expectation = () => {},
): Promise<HoldRow> {
  const { hold, held } = await lockActive(tx, actor, id, ({ accountId }) => {
    if (actor.admin || accountId === actor.accountId) return;
    throw problem('not_owner', 'The hold belongs to another account; only that account or an admin extends it.');
  });
  const until = endOf(expiresAt, tx.now, hold.createdAt);
  expect(holdEtag(hold));
  if (until === hold.expiresAt) return hold;

  settle(tx, hold);
  const extended = { ...hold, expiresAt: until, updatedAt: tx.now, version: hold.version + 2 };
  await tx.run(moveHold, { id, expiresAt: until, now: tx.now });
  for (const pet of held) await moveEnd(tx, pet.id, until);
  await recordHoldEvent(tx, 'extended', extended, actor.accountId, { was: { expiresAt: formatTime(hold.expiresAt) } });
  return extended;
}

/**
 * Ends a hold before its time; every animal that is still kept is available again.
 * @throws {Problem} `hold_not_found`; `hold_ended`; what `expect` throws
 */
export async function releaseHold(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Expectation = () => {},
): Promise<HoldRow> {
  const { hold, held } = await lockActive(tx, actor, id);
  expect(holdEtag(hold));
  settle(tx, hold);
  for (const pet of held) {
    await endReservation(tx, pet, 'available', { accountId: actor.accountId, reason: 'hold_released', holdId: id });
  }
  return end(tx, hold, 'released', actor.accountId);
}

/**
 * A hold that the caller may order from: its own, and active; locked. The animal that is ordered has to be locked before.
 * @throws {Problem} `hold_not_found` where it is not the caller's own; `hold_ended`
 */
export async function lockActiveHold(tx: Transaction, { accountId }: Actor, id: number): Promise<HoldRow> {
  const hold = await lockHold(tx, id);
  if (hold?.accountId !== accountId) throw problem('hold_not_found', `There is no hold ${id} of this account.`);
  if (hold.status !== 'active') throw ended(hold);
  settle(tx, hold);
  return hold;
}

/**
 * Takes note that an animal of a hold was passed on to an order: with the last one the hold is used up.
 * @param hold active, and locked in this transaction
 */
export async function endIfUsed(tx: Transaction, hold: HoldRow): Promise<void> {
  // Several may be ordered at once: who has the row sees what the others did.
  if ((await tx.first(anyHeld, { id: hold.id })) === undefined) await end(tx, hold, 'used', hold.accountId);
}

/** Without a word about the end a hold lasts a quarter of an hour. */
const USUAL_MS = 15 * 60 * 1000;
const SHORTEST_MS = 1000;
const LONGEST_MS = 30 * 24 * 60 * 60 * 1000;

/** The end that a caller wishes, within its bounds. */
function endOf(text: string, now: number, createdAt: number): number {
  const until = parseTime(text)!;
  if (until >= now + SHORTEST_MS && until <= createdAt + LONGEST_MS) return until;
  const from = formatTime(now + SHORTEST_MS);
  const message = `Must be a time from ${from} to ${formatTime(createdAt + LONGEST_MS)}.`;
  throw problem('invalid_body', `Invalid body. /expiresAt: ${message}`, {
    errors: [{ path: '/expiresAt', code: 'out_of_range', message }],
  });
}

function requireAll(petIds: readonly number[], pets: readonly LockedPet[]): void {
  const found = new Set(pets.map(({ id }) => id));
  const absent = petIds.filter(id => !found.has(id)).sort((a, b) => a - b);
  if (absent.length === 0) return;
  const message =
    absent.length === 1 ? `There is no animal ${absent[0]}.` : `There are no animals ${absent.join(', ')}.`;
  throw problem('pet_not_found', message);
}

/** An active hold with the animals that it still keeps, locked; the animals first, as everybody does. */
async function lockActive(
  tx: Transaction,
  actor: Actor,
  id: number,
  judge: (hold: HoldRow) => void = () => {},
): Promise<{ hold: HoldRow; held: LockedPet[] }> {
  const seen = await getHold(tx, actor, id, tx.now);
  judge(seen);
  const pets = seen.petIds.length > 0 ? await lockPets(tx, seen.petIds) : [];
  const hold = await lockHold(tx, id);
  if (hold === undefined) throw problem('hold_not_found', `There is no hold ${id}.`);
  if (hold.status !== 'active') throw ended(hold);
  const held = pets.filter(pet => pet.reservation?.holdId === id);
  // While this waited for the lock, the end may have come and somebody may have seen it: then it has.
  const gone = pets.some(pet => pet.reservation?.holdId !== id && pet.updatedAt >= hold.expiresAt);
  if (gone) throw ended({ ...hold, status: 'expired' });
  return { hold, held };
}

/** A hold, locked, as it is once it is. */
async function lockHold(tx: Transaction, id: number): Promise<HoldRow | undefined> {
  const row = await tx.first(lockedHold, { id });
  tx.refreshNow(row?.updatedAt);
  if (row === undefined) return undefined;
  const hold = parseHold(row);
  return hold.status === 'active' && hold.expiresAt <= tx.now ? { ...hold, status: 'expired' } : hold;
}

/** Demands that a change of an active hold is seen before its end, as of which everybody sees that it has expired. */
function settle(tx: Transaction, { id, expiresAt }: HoldRow): void {
  tx.requireVisibleBefore(expiresAt, () => {
    const message = `Hold ${id} ends at ${formatTime(expiresAt)}; it is too late to change that.`;
    return problem('hold_ended', `${message} Place a new one when the animals are available.`);
  });
}

async function end(
  tx: Transaction,
  hold: HoldRow,
  outcome: Exclude<HoldOutcome, 'expired'>,
  accountId: number | null,
): Promise<HoldRow> {
  const over = { ...hold, status: outcome, endedAt: tx.now, updatedAt: tx.now, version: hold.version + 2 };
  await tx.run(endHold, { id: hold.id, outcome, now: tx.now });
  await recordHoldEvent(tx, outcome, over, accountId, { was: { status: 'active' } });
  return over;
}

function ended({ id, status, expiresAt }: HoldRow): Problem {
  const how = {
    active: 'has ended',
    released: 'was released',
    used: 'was used up by orders',
    expired: `expired at ${formatTime(expiresAt)}`,
  };
  return problem('hold_ended', `Hold ${id} ${how[status]}. Place a new one while the animals are available.`);
}

const insertHold = query((db, p: Params<{ accountId: number; note: string | null; expiresAt: number; now: number }>) =>
  db
    .insertInto('holds')
    .values({
      account_id: p.accountId,
      note: p.note,
      expires_at: p.expiresAt,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);

const holdSeenBy = query((db, p: Params<{ id: number; now: number; accountId: number | null; admin: number }>) =>
  db
    .selectFrom('holds')
    .select(holdColumns(p.now))
    .$castTo<HoldRecord>()
    .where('holds.id', '=', p.id)
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb(sql.lit(1), '=', p.admin),
        eb('holds.account_id', '=', p.accountId),
        exists(
          selectFrom('reservations')
            .select('reservations.id')
            .whereRef('reservations.hold_id', '=', 'holds.id')
            .where('reservations.owner_id', '=', p.accountId as never),
        ),
      ]),
    ),
);

/** As it is stored, its end passed or not; on the embedded engine writes come one by one. */
const lockedHold = query((db, p: Params<{ id: number }>, engine) => {
  const never = sql.lit(0);
  const hold = db.selectFrom('holds').select(holdColumns(never)).$castTo<HoldRecord>().where('holds.id', '=', p.id);
  return engine === 'postgres' ? hold.forUpdate() : hold;
});

const anyHeld = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('reservations').select('id').where('hold_id', '=', p.id).where('active', '=', 1).limit(1),
);

const moveHold = query((db, p: Params<{ id: number; expiresAt: number; now: number }>) =>
  db
    .updateTable('holds')
    .set(eb => ({ expires_at: p.expiresAt, version: eb('version', '+', 2), updated_at: p.now }))
    .where('id', '=', p.id),
);

const endHold = query((db, p: Params<{ id: number; outcome: HoldOutcome; now: number }>) =>
  db
    .updateTable('holds')
    .set(eb => ({ ended_at: p.now, outcome: p.outcome, version: eb('version', '+', 2), updated_at: p.now }))
    .where('id', '=', p.id),
);

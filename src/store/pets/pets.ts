import { etagOf } from '../../lib/etag.ts';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { invalidMembers, problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { type NewPet, type PetFields, type PetPatch, type PetRow, petColumns, petValues } from '../../model/pet.ts';
import { UNLIMITED } from '../../model/plan.ts';
import { insertingOne, newIdColumn, type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import type { NewCategories } from '../categories/bound.ts';
import { ensureCategory } from '../categories/placeholders.ts';
import { addPhotos, type PhotoOfPet, releasePhotos } from '../photo-references.ts';
import { checkProfile } from '../profile/profile-rules.ts';
import { updateWords } from '../search/word-index.ts';
import { requireRoomForPet } from './bound.ts';
import { changePet, type LockedPet, type PetChange, petEvent } from './change.ts';
import { updateCounts } from './counts.ts';
import { updateFacets } from './facets.ts';
import { lockPet } from './lock.ts';
import { petReserved } from './reservations.ts';

interface CreateOptions {
  readonly photos?: readonly PhotoOfPet[];
  readonly petsMax?: number;
  readonly petsPlanned?: number;
}

/**
 * Inserts a pet that belongs to the account, updates the counters and records `pet.created`. Ids increase and are never
 * reused. Not idempotent.
 * @param options.photos stored photos, whose references are counted
 * @param options.petsMax the maximum number of pets of the account
 * @param options.petsPlanned the number of pets of a dry run, which count in addition
 * @returns the columns of the new row
 * @throws {Problem} `external_id_taken`; `invalid_body` for a birth in the future; `category_not_found` if categories
 *   are strict; `category_limit_exceeded`; `pet_limit_exceeded`
 */
export async function createPet(
  tx: Transaction,
  accountId: number,
  pet: NewPet,
  categories: NewCategories,
  { photos = [], petsMax = UNLIMITED, petsPlanned = 0 }: CreateOptions = {},
): Promise<PetRow> {
  // This may wait for a lock, so the time of the pet is read afterwards.
  const [id] = await Promise.all([
    tx.newId?.('pets'),
    requireRoomForPet(tx, accountId, petsMax, petsPlanned),
    ensureCategory(tx, pet.categoryId, categories, accountId),
  ]);
  const values = petValues.toRow(pet);
  const isBrief = petColumns.isBrief(pet);
  if (!isBrief) await checkProfile(tx, accountId, values);
  const insert = isBrief && photos.length === 0 ? insertPetBriefly : insertPet;
  const row = {
    ...values,
    id,
    photos: photos.length === 0 ? null : await addPhotos(tx, accountId, photos),
    accountId,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const created = { ...row, id: await tx.insert(insert, row, id), version: 1 };
  updateCounts(tx, row, 1);
  updateFacets(tx, undefined, row);
  await updateWords(tx, undefined, created);
  await record(tx, petEvent('created', accountId, created));
  return created;
}

/** Returns the pet with this id as of `now`; throws `pet_not_found`. */
export async function getPet(reader: Reader, id: number, now: number): Promise<PetRow> {
  const pet = await reader.first(petById, { id, now });
  if (pet === undefined) throw problem('pet_not_found', `There is no animal ${id}.`);
  return pet;
}

/**
 * Applies a merge patch (RFC 7396) to a pet; see `changePet`.
 * @throws {Problem} `pet_not_found`; `not_owner`; `invalid_body` if an object would lack a member, or for a birth in
 *   the future; `external_id_taken`; `pet_reserved` for a new status of a reserved pet; `category_not_found` if
 *   categories are strict; `category_limit_exceeded`; also any error of `checkPreconditions`
 */
export async function updatePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: PetPatch,
  categories: NewCategories,
  checkPreconditions?: PreconditionCheck,
): Promise<PetRow> {
  const pet = await lockOwnPet(tx, actor, id, checkPreconditions);
  return updateLockedPet(tx, actor, pet, () => patch, categories);
}

/** Applies the merge patch for a pet that the transaction has locked; see `updatePet`. */
export async function updateLockedPet(
  tx: Transaction,
  actor: Actor,
  pet: LockedPet,
  patchOf: (pet: LockedPet) => PetPatch,
  categories: NewCategories,
): Promise<PetRow> {
  requireOwner(actor, pet);
  return change(tx, actor, pet, categories, petValues.merge(pet, patchOf(pet), invalidMembers));
}

/**
 * Replaces all fields of a pet that callers write. Optional fields that `pet` lacks lose their values; the status
 * becomes `available`.
 * @throws {Problem} like `updatePet`
 */
export async function replacePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  pet: NewPet,
  categories: NewCategories,
  checkPreconditions?: PreconditionCheck,
): Promise<PetRow> {
  const locked = await lockOwnPet(tx, actor, id, checkPreconditions);
  return change(tx, actor, locked, categories, petValues.toRow(pet));
}

/**
 * Deletes a pet and records `pet.deleted` with its last state. The id is never reused.
 * @throws {Problem} `pet_not_found`; `not_owner`; `pet_reserved`; also any error of `checkPreconditions`
 */
export async function deletePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  await deleteLockedPet(tx, actor, await lockOwnPet(tx, actor, id, checkPreconditions));
}

/** Deletes a pet that the transaction has locked; see `deletePet`. */
export async function deleteLockedPet(tx: Transaction, actor: Actor, pet: LockedPet): Promise<void> {
  const { id } = pet;
  requireOwner(actor, pet);
  if (pet.reservation !== undefined) throw petReserved(id, pet.reservation, tx.now);
  await tx.queue(removePet, { id });
  await releasePhotos(tx, [pet]);
  updateCounts(tx, pet, -1);
  updateFacets(tx, pet, undefined);
  await updateWords(tx, pet, undefined);
  await record(tx, petEvent('deleted', actor.accountId, pet));
}

async function change(
  tx: Transaction,
  actor: Actor,
  pet: LockedPet,
  categories: NewCategories,
  change: PetChange,
): Promise<PetRow> {
  const { id } = pet;
  await checkProfile(tx, pet.accountId, change, id);
  if (change.categoryId !== undefined && change.categoryId !== pet.categoryId) {
    await ensureCategory(tx, change.categoryId, categories, actor.accountId);
  }
  if (change.status !== undefined && change.status !== pet.status && pet.reservation !== undefined) {
    throw petReserved(id, pet.reservation, tx.now);
  }
  return changePet(tx, pet, change, { accountId: actor.accountId });
}

/**
 * Locks a pet of the actor until the transaction ends.
 * @throws {Problem} `pet_not_found`; `not_owner`; also any error of `checkPreconditions`
 */
export async function lockOwnPet(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions: PreconditionCheck | undefined,
): Promise<LockedPet> {
  const pet = await lockPet(tx, id);
  requireOwner(actor, pet);
  checkPreconditions?.(etagOf(pet));
  return pet;
}

/** @throws {Problem} `not_owner` */
function requireOwner({ admin, accountId }: Actor, pet: PetRow): void {
  if (!admin && pet.accountId !== accountId) throw problem('not_owner');
}

type InsertedPet = InsertRowOf<PetFields> & { id: number | undefined };

const insertPet = query((db, p: Params<InsertedPet>, engine) =>
  insertingOne(db.insertInto('pets').values({ ...newIdColumn(p.id, engine), ...petColumns.inserted(p) }), engine),
);

/** Inserts a pet without optional values. This takes half the time, because it binds fewer columns. */
const insertPetBriefly = query((db, p: Params<InsertedPet>, engine) =>
  insertingOne(
    db.insertInto('pets').values({ ...newIdColumn(p.id, engine), ...petColumns.inserted(p, 'brief') }),
    engine,
  ),
);

const petById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('pets').select(petColumns.full(p.now)).where('id', '=', p.id),
);

const removePet = query((db, p: Params<{ id: number }>) => db.deleteFrom('pets').where('id', '=', p.id));

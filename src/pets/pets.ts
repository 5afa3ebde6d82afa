import type { NewCategories } from '../categories/bound.ts';
import { ensureCategory } from '../categories/placeholders.ts';
import { invalidMembers, problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { etagOf } from '../lib/etag.ts';
import type { InsertRowOf } from '../lib/fields/field.ts';
import type { PreconditionCheck } from '../lib/http/route.ts';
import { addPhotos, type PhotoOfPet, releasePhotos } from '../photos/references.ts';
import { UNLIMITED } from '../plans/plan.ts';
import { insertingOne, type Params, query, type Reader, type Transaction } from '../schema.ts';
import { requireRoomForPet } from './bound.ts';
import { changePet, type LockedPet, type PetChange, petEvent } from './change.ts';
import { updateCounts } from './counts.ts';
import { updateFacets } from './facets.ts';
import { lockPet } from './lock.ts';
import { type NewPet, type PetFields, type PetPatch, type PetRow, petColumns, petValues } from './pet.ts';
import { checkProfile } from './profile-rules.ts';
import { petReserved } from './reservations.ts';
import { updateWords } from './word-index.ts';

interface CreateOptions {
  readonly photos?: readonly PhotoOfPet[];
  readonly petsMax?: number;
  readonly petsPlanned?: number;
}

/**
 * Inserts a pet that belongs to the account, updates the counters and records `pet.created`. Ids increase and are never
 * reused. Not idempotent.
 * @param options.photos photos that are stored already; their references are counted
 * @param options.petsMax how many pets the account may have
 * @param options.petsPlanned how many pets count as its own that it does not have: those of a dry run
 * @returns the columns of the new row
 * @throws {Problem} `external_id_taken`; `invalid_body` for a birth in the future; `category_not_found` where categories are
 *   strict; `category_limit_exceeded`; `pet_limit_exceeded`
 */
export async function createPet(
  tx: Transaction,
  accountId: number,
  pet: NewPet,
  categories: NewCategories,
  { photos = [], petsMax = UNLIMITED, petsPlanned = 0 }: CreateOptions = {},
): Promise<PetRow> {
  await requireRoomForPet(tx, accountId, petsMax, petsPlanned);
  // This may wait for a lock; the pet is created once it is held.
  await ensureCategory(tx, pet.categoryId, categories, accountId);
  const values = petValues.toRow(pet);
  await checkProfile(tx, accountId, values);
  const insert = photos.length === 0 && petColumns.isBrief(pet) ? insertPetBriefly : insertPet;
  const row = {
    ...values,
    photos: await addPhotos(tx, accountId, photos),
    accountId,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const created = { ...row, id: await tx.insert(insert, row), version: 1 };
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
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws; `invalid_body` where an object would lack a member, or for
 *   a birth in the future; `external_id_taken`;
 *   `pet_reserved` for a new status of a reserved pet; `category_not_found` where categories are strict; `category_limit_exceeded`
 */
export async function updatePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: PetPatch,
  categories: NewCategories,
  checkPreconditions?: PreconditionCheck,
): Promise<PetRow> {
  return change(tx, actor, id, categories, checkPreconditions, pet => petValues.merge(pet, patch, invalidMembers));
}

/**
 * Replaces all fields of a pet that callers write. Optional fields that `pet` leaves out lose their values; the status
 * becomes `available`.
 * @throws {Problem} as `updatePet`
 */
export async function replacePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  pet: NewPet,
  categories: NewCategories,
  checkPreconditions?: PreconditionCheck,
): Promise<PetRow> {
  return change(tx, actor, id, categories, checkPreconditions, () => petValues.toRow(pet));
}

/**
 * Deletes a pet and records `pet.deleted` with its last state. The id is never reused.
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws; `pet_reserved`
 */
export async function deletePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const pet = await lockOwnPet(tx, actor, id, checkPreconditions);
  if (pet.reservation !== undefined) throw petReserved(id, pet.reservation, tx.now);
  await tx.run(removePet, { id });
  await releasePhotos(tx, [pet]);
  updateCounts(tx, pet, -1);
  updateFacets(tx, pet, undefined);
  await updateWords(tx, pet, undefined);
  await record(tx, petEvent('deleted', actor.accountId, pet));
}

async function change(
  tx: Transaction,
  actor: Actor,
  id: number,
  categories: NewCategories,
  checkPreconditions: PreconditionCheck | undefined,
  changeOf: (pet: LockedPet) => PetChange,
): Promise<PetRow> {
  const pet = await lockOwnPet(tx, actor, id, checkPreconditions);
  const change = changeOf(pet);
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
 * @throws {Problem} `pet_not_found`; `not_owner`; what `checkPreconditions` throws
 */
export async function lockOwnPet(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions: PreconditionCheck | undefined,
): Promise<LockedPet> {
  const pet = await lockPet(tx, id);
  if (!actor.admin && pet.accountId !== actor.accountId) throw problem('not_owner');
  checkPreconditions?.(etagOf(pet));
  return pet;
}

const insertPet = query((db, p: Params<InsertRowOf<PetFields>>, engine) =>
  insertingOne(db.insertInto('pets').values(petColumns.inserted(p)), engine),
);

/** Inserts a pet without optional values, in half the time: of its many columns, it binds few. */
const insertPetBriefly = query((db, p: Params<InsertRowOf<PetFields>>, engine) =>
  insertingOne(db.insertInto('pets').values(petColumns.inserted(p, 'brief')), engine),
);

const petById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('pets').select(petColumns.full(p.now)).where('id', '=', p.id),
);

const removePet = query((db, p: Params<{ id: number }>) => db.deleteFrom('pets').where('id', '=', p.id));

import { ensureCategory } from '../categories/categories.ts';
import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { type Params, type PetStatus, query, type Reader, type Transaction } from '../schema.ts';
import { changePet, type LockedPet, type PetChange, type PetEventData, stateOf } from './change-pet.ts';
import { lockPet } from './lock-pets.ts';
import type { NewPet, Pet, PetPatch, PricePatch } from './pet.ts';
import { count, countNew } from './pet-counts.ts';
import { fullPetColumns, type PetRow, petEtag } from './pet-rows.ts';
import { petReserved } from './reservations.ts';

/** Whether categories that were never seen before get a placeholder, or are refused. */
type Categories = 'open' | 'strict';

/** Throws when the caller has another version in mind than the one with this entity tag. */
export type Expectation = (etag: string) => void;

/**
 * Adds an animal, which belongs to the account, counts it and writes it down.
 *
 * Not safe to repeat: each call adds one. The id is above every id that was ever given.
 * @throws {Problem} `category_not_found` where categories are strict
 */
export async function createPet(
  tx: Transaction,
  accountId: number,
  pet: NewPet,
  categories: Categories,
): Promise<Required<Pet>> {
  const { name, categoryId, status = 'available' } = pet;
  await ensureCategory(tx, categoryId, categories);
  const row = { name, categoryId, status, ...optionalColumns(pet) };
  const { id } = (await tx.first(insertPet, { ...row, accountId, now: tx.now }))!;
  await countNew(tx, status, categoryId);
  const data: PetEventData = { pet: stateOf(row), ownerId: accountId };
  await record(tx, { kind: 'pet', action: 'created', subjectId: id, accountId, data });
  return { id, name, categoryId, status };
}

/**
 * The animal with this id, with all there is to say about it.
 * @param now a hold or order that has run out by then counts as gone
 * @throws {Problem} `pet_not_found`
 */
export async function getPet(reader: Reader, id: number, now: number): Promise<PetRow> {
  const pet = await reader.first(petById, { id, now });
  if (pet === undefined) throw problem('pet_not_found');
  return pet;
}

/**
 * Changes some members of an animal; `null` takes an optional one away. A new status lets go of the reason for the one
 * before.
 * @throws {Problem} `pet_not_found`; `not_owner`; what `expect` throws; `invalid_body` where half a price would be left;
 *   `pet_reserved` for another status while a hold or an order is in force; `category_not_found` where categories are strict
 */
export async function updatePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: PetPatch,
  categories: Categories,
  expect: Expectation = () => {},
): Promise<PetRow> {
  const { name, categoryId, status, statusReason, price } = patch;
  return change(tx, actor, id, categories, expect, pet => ({
    ...(name !== undefined && { name }),
    ...(categoryId !== undefined && { categoryId }),
    ...(status !== undefined && { status }),
    ...(statusReason !== undefined && { statusReason }),
    ...(price !== undefined && patchedPrice(pet, price)),
  }));
}

/**
 * Replaces all members of an animal by those of another: optional ones that are left out are gone, and the status is
 * `available` again.
 * @throws {Problem} as `updatePet`
 */
export async function replacePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  pet: NewPet,
  categories: Categories,
  expect: Expectation = () => {},
): Promise<PetRow> {
  const { name, categoryId, status = 'available' } = pet;
  const whole = { name, categoryId, status, ...optionalColumns(pet) };
  return change(tx, actor, id, categories, expect, () => whole);
}

/**
 * Takes an animal out of the store. The log keeps what it was, so that mirrors hear of it; its id is never given again.
 * @throws {Problem} `pet_not_found`; `not_owner`; what `expect` throws; `pet_reserved` while a hold or an order is in force
 */
export async function deletePet(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Expectation = () => {},
): Promise<void> {
  const pet = await lockOwn(tx, actor, id, expect);
  if (pet.reservation !== undefined) throw petReserved(id, pet.reservation, tx.now);
  await tx.run(removePet, { id });
  await count(tx, [{ status: pet.status, categoryId: pet.categoryId, by: -1 }]);
  const data: PetEventData = { pet: stateOf(pet), ownerId: pet.accountId };
  await record(tx, { kind: 'pet', action: 'deleted', subjectId: id, accountId: actor.accountId, data });
}

async function change(
  tx: Transaction,
  actor: Actor,
  id: number,
  categories: Categories,
  expect: Expectation,
  wish: (pet: LockedPet) => PetChange,
): Promise<PetRow> {
  const pet = await lockOwn(tx, actor, id, expect);
  const wanted = wish(pet);
  if (wanted.categoryId !== undefined && wanted.categoryId !== pet.categoryId) {
    await ensureCategory(tx, wanted.categoryId, categories);
  }
  if (wanted.status !== undefined && wanted.status !== pet.status && pet.reservation !== undefined) {
    throw petReserved(id, pet.reservation, tx.now);
  }
  return changePet(tx, pet, wanted, { accountId: actor.accountId });
}

async function lockOwn(tx: Transaction, actor: Actor, id: number, expect: Expectation): Promise<LockedPet> {
  const pet = await lockPet(tx, id);
  if (!actor.admin && pet.accountId !== actor.accountId) throw problem('not_owner');
  expect(petEtag(pet));
  return pet;
}

function optionalColumns({ statusReason, price }: NewPet) {
  return { statusReason: statusReason ?? null, ...priceColumns(price) };
}

/** A price after some of it changed: what is left out stays (RFC 7396). */
function patchedPrice({ priceAmount, priceCurrency }: PetRow, patch: PricePatch | null) {
  if (patch === null) return priceColumns(undefined);
  const { amount = priceAmount, currency = priceCurrency } = patch;
  const absent = Object.entries({ amount, currency }).filter(([, value]) => value === null);
  if (absent.length === 0) return { priceAmount: amount, priceCurrency: currency };
  const errors = absent.map(([name]) => ({
    path: `/price/${name}`,
    code: 'required',
    message: `${name} is required where there is no price yet.`,
  }));
  throw problem('invalid_body', `Invalid body. ${errors.map(one => `${one.path}: ${one.message}`).join(' ')}`, {
    errors,
  });
}

function priceColumns(price: NewPet['price']) {
  return { priceAmount: price?.amount ?? null, priceCurrency: price?.currency ?? null };
}

const insertPet = query(
  (
    db,
    p: Params<{
      name: string;
      categoryId: number;
      status: PetStatus;
      statusReason: string | null;
      priceAmount: number | null;
      priceCurrency: string | null;
      accountId: number;
      now: number;
    }>,
  ) =>
    db
      .insertInto('pets')
      .values({
        name: p.name,
        category_id: p.categoryId,
        status: p.status,
        status_reason: p.statusReason,
        price_amount: p.priceAmount,
        price_currency: p.priceCurrency,
        account_id: p.accountId,
        created_at: p.now,
        updated_at: p.now,
      })
      .returning('id'),
);

const petById = query((db, p: Params<{ id: number; now: number }>) =>
  db.selectFrom('pets').select(fullPetColumns(p.now)).where('id', '=', p.id),
);

const removePet = query((db, p: Params<{ id: number }>) => db.deleteFrom('pets').where('id', '=', p.id));

import { ensureCategory } from '../categories/categories.ts';
import { problem } from '../errors.ts';
import { type Params, type PetStatus, query, type Reader, type Transaction } from '../schema.ts';
import type { NewPet, Pet } from './pet.ts';

/**
 * Adds an animal, which belongs to the account, and counts it.
 *
 * Not safe to repeat: each call adds one. The id is above every id that was ever given.
 * @throws {Problem} `category_not_found` where categories are strict
 */
export async function createPet(
  tx: Transaction,
  accountId: number,
  pet: NewPet,
  categories: 'open' | 'strict',
): Promise<Pet> {
  const { name, categoryId, status = 'available' } = pet;
  await ensureCategory(tx, categoryId, categories);
  const row = await tx.first(insertPet, { name, categoryId, status, accountId, now: tx.now });
  await tx.run(countOne, { status, category: String(categoryId), slot: slotOf(tx) });
  return { id: row!.id, name, categoryId, status };
}

/**
 * The animal with this id.
 * @throws {Problem} `pet_not_found`
 */
export async function getPet(reader: Reader, id: number): Promise<Pet> {
  const pet = await reader.first(petById, { id });
  if (pet === undefined) throw problem('pet_not_found');
  return pet;
}

/**
 * How many animals a filter lets through, from kept counters: without one, or by one status or one category.
 * `undefined` for every other filter, which would have to be counted.
 */
export async function countPets(
  reader: Reader,
  {
    id,
    status,
    categoryId,
  }: { id?: unknown; status?: readonly PetStatus[] | undefined; categoryId?: number | undefined },
): Promise<number | undefined> {
  if (id !== undefined || (status !== undefined && (status.length > 1 || categoryId !== undefined))) return undefined;
  const rows =
    categoryId !== undefined
      ? await reader.all(countsOf, { kind: 'category', key: String(categoryId) })
      : status !== undefined
        ? await reader.all(countsOf, { kind: 'status', key: status[0]! })
        : await reader.all(countsOfAll, {});
  return rows.reduce((sum, { pets }) => sum + pets, 0);
}

/**
 * On PostgreSQL many transactions count at once, and each would wait for the row of the one before: there a counter is
 * spread over slots that add up.
 */
function slotOf(tx: Transaction): number {
  return tx.engine === 'sqlite' ? 0 : Math.floor(Math.random() * SLOTS);
}

const SLOTS = 32;

const insertPet = query(
  (db, p: Params<{ name: string; categoryId: number; status: PetStatus; accountId: number; now: number }>) =>
    db
      .insertInto('pets')
      .values({
        name: p.name,
        category_id: p.categoryId,
        status: p.status,
        account_id: p.accountId,
        created_at: p.now,
        updated_at: p.now,
      })
      .returning('id'),
);

const countOne = query((db, p: Params<{ status: string; category: string; slot: number }>) =>
  db
    .insertInto('pet_counts')
    .values([
      { kind: 'category', key: p.category, slot: p.slot, pets: 1 },
      { kind: 'status', key: p.status, slot: p.slot, pets: 1 },
    ])
    .onConflict(conflict =>
      conflict.columns(['kind', 'key', 'slot']).doUpdateSet(eb => ({ pets: eb('pet_counts.pets', '+', 1) })),
    ),
);

const petById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select(['id', 'name', 'category_id as categoryId', 'status']).where('id', '=', p.id),
);

const countsOf = query((db, p: Params<{ kind: 'status' | 'category'; key: string }>) =>
  db.selectFrom('pet_counts').select('pets').where('kind', '=', p.kind).where('key', '=', p.key),
);

const countsOfAll = query(db => db.selectFrom('pet_counts').select('pets').where('kind', '=', 'status'));

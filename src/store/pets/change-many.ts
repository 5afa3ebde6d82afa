import { Problem } from '../../lib/http/problem.ts';
import type { Origin } from '../../lib/origin.ts';
import type { Actor } from '../../model/log/event.ts';
import type { PetPatch } from '../../model/pet.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import type { NewCategories } from '../categories/bound.ts';
import type { LockedPet } from './change.ts';
import { lockPets } from './lock.ts';
import { deleteLockedPet, updateLockedPet } from './pets.ts';

/**
 * The number of pets that one transaction changes, few enough not to delay others. On SQLite, all other writes wait for
 * it. On PostgreSQL, those of the same pets do, and each transaction adds several round trips.
 */
const PETS_PER_TRANSACTION = { sqlite: 25, postgres: 100 };

/** A pet that was not changed, and the code of the reason. */
export interface RefusedPet {
  readonly id: number;
  readonly code: string;
}

/** The results of the same change of several pets. */
export interface ManyChanges {
  readonly changed: number;
  /** The number of pets that were as wanted before. */
  readonly unchanged: number;
  readonly refused: readonly RefusedPet[];
}

/** A change of one of several locked pets. Returns false if the pet is as wanted already. Rejects a pet before any write. */
type ChangeOne = (tx: Transaction, pet: LockedPet) => Promise<boolean>;

/**
 * Changes pets one after the other, some in each transaction. A pet that is rejected stays as it is; the others change.
 * After an error of the database, some transactions may have been committed: the same change can be repeated.
 */
export async function changePets(
  database: Pick<Database, 'write' | 'engine'>,
  ids: readonly number[],
  change: ChangeOne,
  origin: Origin,
): Promise<ManyChanges> {
  const results: (boolean | RefusedPet)[] = [];
  // Transactions that lock in the same order do not deadlock.
  const ordered = ids.toSorted((one, other) => one - other);
  const most = PETS_PER_TRANSACTION[database.engine];
  for (let from = 0; from < ordered.length; from += most) {
    const part = ordered.slice(from, from + most);
    results.push(...(await database.write(tx => resultsOf(tx, part, change), origin)));
  }
  return {
    changed: results.filter(result => result === true).length,
    unchanged: results.filter(result => result === false).length,
    refused: results.filter(result => typeof result === 'object'),
  };
}

async function resultsOf(tx: Transaction, ids: readonly number[], change: ChangeOne) {
  const pets = new Map((await lockPets(tx, ids)).map(pet => [pet.id, pet]));
  const results: (boolean | RefusedPet)[] = [];
  for (const id of ids) {
    const pet = pets.get(id);
    try {
      results.push(pet === undefined ? { id, code: 'pet_not_found' } : await change(tx, pet));
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      results.push({ id, code: error.code });
    }
  }
  return results;
}

/** Returns the change that applies a patch, which may depend on the pet. */
export function patching(actor: Actor, categories: NewCategories, patchOf: (pet: LockedPet) => PetPatch): ChangeOne {
  return async (tx, pet) => (await updateLockedPet(tx, actor, pet, patchOf, categories)).version !== pet.version;
}

/** Returns the change that deletes a pet. */
export function deleting(actor: Actor): ChangeOne {
  return async (tx, pet) => {
    await deleteLockedPet(tx, actor, pet);
    return true;
  };
}

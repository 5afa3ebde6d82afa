import { nowOf } from '../../access/deployment.ts';
import { Problem } from '../../lib/http/problem.ts';
import { anyone, type FullPet, fullPetOf } from '../../model/pet.ts';
import { withBonds } from '../../store/pets/groups.ts';
import { getPet } from '../../store/pets/pets.ts';
import { idOf } from '../lists.ts';
import type { Visit } from '../page.ts';

/** Returns the animal of the path with its public fields; `undefined` if it does not exist. */
export async function findPet({ deployment, parameters }: Visit): Promise<FullPet | undefined> {
  const petId = idOf(parameters['petId']);
  if (petId === undefined) return undefined;
  try {
    const now = nowOf(deployment);
    const pet = fullPetOf(await getPet(deployment.database, petId, now), anyone, now);
    return (await withBonds(deployment.database, [pet]))[0];
  } catch (error) {
    if (error instanceof Problem && error.code === 'pet_not_found') return undefined;
    throw error;
  }
}

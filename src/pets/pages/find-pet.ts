import { nowOf } from '../../deployment.ts';
import { Problem } from '../../lib/http/problem.ts';
import { idOf } from '../../web/lists.ts';
import type { Visit } from '../../web/page.ts';
import { withBonds } from '../groups.ts';
import { anyone, type FullPet, fullPetOf } from '../pet.ts';
import { getPet } from '../pets.ts';

/** Returns the animal of the path as everyone sees it; `undefined` if there is none. */
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

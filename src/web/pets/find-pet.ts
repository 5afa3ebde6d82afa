import { nowOf } from '../../access/deployment.ts';
import { anyone, type FullPet, fullPetOf } from '../../model/pet.ts';
import { withBonds } from '../../store/pets/groups.ts';
import { getPet } from '../../store/pets/pets.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import type { Visit } from '../page.ts';

/** Returns the animal of the path with its public fields; `undefined` if it does not exist. */
export async function findPet({ deployment, parameters }: Visit): Promise<FullPet | undefined> {
  const petId = idOf(parameters['petId']);
  const now = nowOf(deployment);
  const row = petId && (await found(getPet(deployment.database, petId, now)));
  return row ? (await withBonds(deployment.database, [fullPetOf(row, anyone, now)]))[0] : undefined;
}

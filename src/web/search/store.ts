import { nowOf } from '../../deployment.ts';
import { Problem } from '../../lib/http/problem.ts';
import { wordsIn } from '../../lib/text.ts';
import { listOrganizations } from '../../organizations/list.ts';
import type { OrganizationRow } from '../../organizations/organization.ts';
import { findPets } from '../../pets/find.ts';
import { scanOf } from '../../pets/pages/list-page.ts';
import type { FullPet } from '../../pets/pet.ts';
import type { Visit } from '../page.ts';

/** What a search finds in the store. */
export interface FoundInStore {
  readonly animals: readonly FullPet[];
  readonly organizations: readonly OrganizationRow[];
}

/** How many of each a search shows. */
const SHOWN_MAX = 4;

/** Returns animals with the words of a query that are available, and organizations whose names begin with it. */
export async function searchStore(visit: Visit, query: string): Promise<FoundInStore> {
  const { deployment } = visit;
  const words = wordsIn(query);
  if (words.length === 0) return { animals: [], organizations: [] };
  const page = () => ({ limit: SHOWN_MAX, cursor: undefined, request: scanOf(visit) });
  const filter = { words, status: ['available'], sort: 'relevance' } as const;
  try {
    const animals = await findPets(deployment.database, filter, page(), nowOf(deployment), 'full');
    const organizations = await listOrganizations(deployment.database, { name: query, sort: 'name' }, page());
    return { animals: animals.rows, organizations: organizations.rows };
  } catch (error) {
    // Without animals, because their words are being indexed, the documentation can still be searched.
    if (error instanceof Problem) return { animals: [], organizations: [] };
    throw error;
  }
}

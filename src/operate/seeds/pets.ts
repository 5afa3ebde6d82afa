import type { PetStatus } from '../../model/pet.ts';
// By category, unique within each category: common names of pets in several languages and scripts, collected by hand.
import names from './names.json' with { type: 'json' };

export interface SamplePet {
  readonly name: string;
  /** A built-in category, 1–8. */
  readonly categoryId: number;
  readonly status: PetStatus;
}

/**
 * Returns the sample pets in the order of creation; always the same ones. Categories are mixed in proportion to their
 * size, and most pets are available.
 */
export function samplePets(): readonly SamplePet[] {
  return Object.entries(names)
    .flatMap(([category, ofCategory]) =>
      ofCategory.map((name, index) => ({
        name,
        categoryId: Number(category),
        fraction: (index + 0.5) / ofCategory.length,
      })),
    )
    .sort((one, other) => one.fraction - other.fraction || one.categoryId - other.categoryId)
    .map(({ name, categoryId }, index) => ({ name, categoryId, status: statuses[index % statuses.length]! }));
}

/** Seventeen statuses, so that their cycle does not coincide with the cycles of categories and owners. */
const statuses = (
  'available available pending available available sold available available available ' +
  'pending available sold available available available sold available'
).split(' ') as readonly PetStatus[];

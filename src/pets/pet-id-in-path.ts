import { PetId } from './pet.ts';

/** An animal in the path. */
export const petIdInPath = {
  schema: PetId,
  description: 'The identifier of the animal.',
  notFound: 'pet_not_found',
  absent: 'There is no animal with this id.',
} as const;

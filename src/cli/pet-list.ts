import type { FullPet } from '../pets/pet.ts';
import type { PetFilter } from '../pets/pet-list.ts';
import type { Option } from './command.ts';
import { priceText } from './money.ts';
import { readOptionalId, storeCommand } from './store-command.ts';
import { listed, readPages, readSection, readSeveral, sectionOptions } from './store-list.ts';

/** Availability of an animal, as an option. */
export const statusOption: Option = {
  sentence: 'Its availability.',
  value: 'STATUS',
  choices: ['available', 'pending', 'sold'],
};

/** `petstore pet list` */
export const command = storeCommand({
  name: 'pet list',
  sentence: 'Lists animals, by id.',
  options: {
    status: {
      ...statusOption,
      sentence: 'Only animals with this availability; given several times, with one of these.',
      repeatable: true,
    },
    category: { sentence: 'Only animals of this category; see `petstore category list`.', value: 'ID' },
    ...sectionOptions,
  },
  examples: [
    { line: 'petstore pet list --status pending', sentence: 'what is held, ordered or set aside' },
    { line: 'petstore pet list --deployment staging --limit 1000 --json', sentence: 'for a program' },
  ],
  read: call => {
    const filter: PetFilter = {
      status: readSeveral(call.options['status']),
      categoryId: readOptionalId('--category', call.options['category']),
      sort: 'id',
    };
    return { filter, section: readSection(call) };
  },
  async work({ database, now, name }, { filter, section }) {
    const { listPets } = await import('../pets/list-pets.ts');
    const found = await readPages(section, async (limit, cursor) => {
      const { pets, next } = await listPets(database, filter, limit, cursor, now, 'full');
      return { items: pets, next };
    });
    const all = filter.status === undefined && filter.categoryId === undefined && section.cursor === undefined;
    return listed(found, columns, all ? `There are no animals; ${adding[name]}` : NONE_SUCH);
  },
});

const columns = {
  ID: (pet: FullPet) => String(pet.id),
  NAME: (pet: FullPet) => pet.name,
  CATEGORY: (pet: FullPet) => String(pet.categoryId),
  STATUS: (pet: FullPet) => statusText(pet),
  PRICE: (pet: FullPet) => (pet.price === undefined ? '-' : priceText(pet.price)),
  ACCOUNT: (pet: FullPet) => String(pet.accountId),
  UPDATED: (pet: FullPet) => pet.updatedAt,
};

const adding = {
  production:
    '`petstore pet create --account ID --name NAME --category ID` adds one. Those of staging are listed with --deployment staging.',
  staging: '`petstore staging reset` fills it with sample animals.',
};

const NONE_SUCH = 'There are no such animals; `petstore pet list` lists all that there are.';

/** Availability and the reason for it: `pending (in foster)`. */
export function statusText({ status, statusReason }: Pick<FullPet, 'status' | 'statusReason'>): string {
  return statusReason === undefined ? status : `${status} (${statusReason})`;
}

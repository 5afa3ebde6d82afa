import type { PetFilter } from '../pets/filter.ts';
import type { FullPet } from '../pets/pet.ts';
import { type Option, UsageError } from './command.ts';
import { priceText } from './money.ts';
import { readId, readOptionalId, storeCommand } from './store-command.ts';
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
      sentence: 'Only animals with this availability; several, with commas or given several times, are alternatives.',
      repeatable: true,
    },
    id: { sentence: 'Only animals with these ids, with commas or given several times.', value: 'ID', repeatable: true },
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
      id: readIds(call.options['id']),
      categoryId: readOptionalId('--category', call.options['category']),
      sort: 'id',
    };
    return { filter, section: readSection(call) };
  },
  async work({ database, now, name }, { filter, section }) {
    const { listPets } = await import('../pets/list.ts');
    const found = await readPages(section, async (limit, cursor) => {
      const { pets, next } = await listPets(database, filter, limit, cursor, now, 'full');
      return { items: pets, next };
    });
    const { status, id, categoryId } = filter;
    const all = [status, id, categoryId, section.cursor].every(one => one === undefined);
    return listed(found, columns, all ? `There are no animals; ${adding[name]}` : NONE_SUCH);
  },
});

function readIds(text: string | undefined): number[] | undefined {
  const ids = readSeveral(text)?.map(id => readId('--id', id));
  if (ids !== undefined && ids.length > IDS_MAX) throw new UsageError(`--id takes ${IDS_MAX} ids at most.`);
  return ids;
}

/** As many as over HTTP. */
const IDS_MAX = 100;

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

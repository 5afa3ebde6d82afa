import type { Migration } from '../../lib/storage/migration.ts';

const columns = {
  sex: 'sex',
  age: 'age',
  size: 'size',
  coat: 'coat',
  goodWithChildren: 'good_with_children',
  goodWithDogs: 'good_with_dogs',
  goodWithCats: 'good_with_cats',
  goodWithElderly: 'good_with_elderly',
  goodWithFarmAnimals: 'good_with_farm_animals',
  houseTrained: 'house_trained',
  crateTrained: 'crate_trained',
  leashTrained: 'leash_trained',
  spayedNeutered: 'spayed_neutered',
  vaccinated: 'vaccinated',
  declawed: 'declawed',
  specialNeeds: 'special_needs',
};

const DAY = '(birth_date / 86400000)';

/** Counts the pets with each value of each trait in a category and status, and in all categories (`0`). */
export const traitCounts: Migration = {
  name: '0026-trait-counts',
  work: { title: 'counts the pets with each trait', table: 'pets', rowUs: { sqlite: 9, postgres: 4 } },
  up({ int }) {
    const count = (value: string, condition: string) =>
      `insert into pet_counts (kind, key, slot, pets)
       select 'trait', key, 0, count(*) from (
         select category_id || '/' || status || '/${value} as key from pets where ${condition}
       ) as counted group by key`;
    const traits = Object.entries(columns).map(([name, column]) => [`${name}/' || ${column}`, `${column} is not null`]);
    const born = [4096, 256, 16, 1].map(days => {
      const name = days === 4096 ? 'born' : `~${days}`;
      // Division of integers rounds towards 0, and births before 1970 are negative.
      const index = `(${DAY} - ((${DAY} % ${days}) + ${days}) % ${days}) / ${days}`;
      return [`${name}/' || cast(${index} as text)`, 'age is null and birth_date is not null'];
    });
    return [
      ...[...traits, ...born].map(([value, condition]) => count(value!, condition!)),
      // Each key begins with the id of its category.
      `insert into pet_counts (kind, key, slot, pets)
       select 'trait', key, 0, cast(sum(pets) as ${int}) from (
         select '0' || ltrim(key, '0123456789') as key, pets from pet_counts where kind = 'trait'
       ) as counted group by key`,
    ];
  },
};

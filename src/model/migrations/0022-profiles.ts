import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the profile of pets. Long texts come last, so that reading a short column never reads them. */
export const profiles: Migration = {
  name: '0022-profiles',
  work: { title: 'adds the profile of pets', table: 'pets', rowUs: { sqlite: 17, postgres: 0 } },
  up({ int, text }) {
    const texts = (columns: readonly string[]) =>
      columns.map(column => `alter table pets add column ${column} ${text}`);
    return [
      ...texts(['external_id', 'breeds', 'colors', 'pattern', 'coat', 'sex']),
      `alter table pets add column birth_date ${int}`,
      ...texts(['birth_date_precision', 'age', 'size', 'weight']),
      ...texts([
        'good_with_children',
        'good_with_dogs',
        'good_with_cats',
        'good_with_elderly',
        'good_with_farm_animals',
      ]),
      ...texts(['house_trained', 'crate_trained', 'leash_trained', 'spayed_neutered', 'vaccinated', 'declawed']),
      ...texts(['special_needs']),
      `alter table pets add column energy ${int}`,
      ...texts(['group_id', 'group_kind', 'tags', 'videos', 'special_needs_notes', 'microchips', 'tattoo']),
      ...texts(['intake', 'outcome', 'extra', 'description']),
      'create index pets_by_external_id on pets (account_id, external_id) where external_id is not null',
      'create index pets_by_group on pets (account_id, group_id) where group_id is not null',
    ];
  },
};

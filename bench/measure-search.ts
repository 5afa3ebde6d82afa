import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { dialects } from '../src/lib/storage/migration.ts';
import { traitCounts } from '../src/model/migrations/0026-trait-counts.ts';
import { load, type Measured } from './load.ts';
import type { Effort } from './measure-requests.ts';
import { createStore, startProduct } from './product.ts';
import { interleave, median } from './rounds.ts';
import { uncached } from './workloads.ts';

const ORGANIZATIONS = 11_000;
/** Few enough that searches do not wait for each other. */
const CONNECTIONS = 8;

/** A search, and how many times the processor time of a plain page it may take. */
interface Search {
  readonly title: string;
  readonly path: string;
  readonly target?: number;
}

/** The processor time of a search per response, in microseconds, and that of a plain page in the same rounds. */
export interface SearchTime {
  readonly search: Search;
  readonly processorUs: number;
  readonly plainUs: number;
}

/** Measures searches and a plain page of the list, alternately, in a store of many organizations. */
export async function measureSearch(pets: number, { progress, ...effort }: Effort): Promise<readonly SearchTime[]> {
  progress(`searches among ${pets} pets`);
  using store = await createStore(0);
  const name = fillSearched(join(store.directory, 'production.db'), pets);
  await using product = await startProduct(store);
  const searches: readonly Search[] = [
    { title: '`q` of one word', path: `/pets?q=${name}`, target: 1.5 },
    { title: '`q` of a two-letter beginning', path: '/pets?q=ba', target: 30 },
    { title: '`q` of two words', path: `/pets?q=${name}+hound` },
    { title: '`near`, sorted by distance', path: `/pets?${NEAR}&sort=distance`, target: 10 },
    { title: '`near`, available only, sorted by distance', path: `/pets?${NEAR}&status=available&sort=distance` },
    { title: 'facets of one category', path: '/pets/facets?categoryId=3', target: 25 },
    { title: 'facets of one category and `goodWithDogs=yes`', path: '/pets/facets?categoryId=3&goodWithDogs=yes' },
  ];
  const read = (path: string) => () =>
    load(
      product,
      [{ method: 'GET', path: `${path}${path.includes('?') ? '&' : '?'}${uncached}` }],
      effort.seconds,
      CONNECTIONS,
    );
  const sides = { '': read('/pets'), ...Object.fromEntries(searches.map(({ path }) => [path, read(path)])) };
  const rounds: Readonly<Record<string, readonly Measured[]>> = await interleave(sides, effort);
  const timeOf = (path: string) => median(rounds[path]!.map(({ processorUs }) => processorUs!));
  return searches.map(search => ({ search, processorUs: timeOf(search.path), plainUs: timeOf('') }));
}

/** Los Angeles. */
const NEAR = 'near=34.05,-118.24&within=100km';

/**
 * Adds rows directly, because creating a million pets would take longer than the measurement.
 * @returns a name that begins no other one
 */
function fillSearched(file: string, pets: number): string {
  const sqlite = new SqliteDatabase(file);
  sqlite.pragma('journal_mode = off');
  sqlite.pragma('synchronous = off');
  const number = (salt: number, below: number) => `((numbers.id * 2654435761 + ${salt} * 40503) / 65536 % ${below})`;
  const letters = (salt: number) => `substr('bebabilolamimanoraro', 1 + 2 * ${number(salt, 10)}, 2)`;
  const numbers = (rows: number) =>
    `with recursive numbers(id) as (select 1 union all select id + 1 from numbers where id < ${rows})`;
  sqlite.exec(`
    insert into organizations (id, name, name_key, location, created_at, updated_at, version)
      ${numbers(ORGANIZATIONS)}
      select id, 'Shelter ' || id, 'shelter ' || id,
        json_object('latitude', 25 + ${number(1, 2400)} / 100.0, 'longitude', -124 + ${number(2, 5700)} / 100.0), 1, 1, 1
      from numbers;
    insert into pets (id, name, category_id, status, account_id, created_at, updated_at, breeds, tags, sex, size,
                      good_with_dogs, birth_date)
      ${numbers(pets)}
      select id, ${letters(3)} || ${letters(4)} || ${number(5, 40)}, 1 + ${number(6, 8)},
        case ${number(7, 4)} when 0 then 'pending' when 1 then 'sold' else 'available' end,
        1 + ${number(8, ORGANIZATIONS)}, 1, 1,
        json_object('primary', ${letters(9)} || ${number(10, 30)} || ' hound'),
        json_array(${letters(11)} || ${letters(12)}),
        case ${number(13, 2)} when 0 then 'female' else 'male' end, case ${number(14, 2)} when 0 then 'small' else 'large' end,
        case ${number(15, 3)} when 0 then 'no' when 1 then 'yes' end, 86400000 * (15000 + ${number(16, 5000)})
      from numbers;
    insert or ignore into pet_words (word, pet_id)
      select word, id from (
        select name as word, id from pets union all select json_extract(tags, '$[0]'), id from pets
        union all select 'hound', id from pets
        union all select replace(json_extract(breeds, '$.primary'), ' hound', ''), id from pets
      ) order by word, id;
    insert into pet_counts (kind, key, slot, pets) select 'category', category_id, 0, count(*) from pets group by 2;
    insert into pet_counts (kind, key, slot, pets) select 'status', status, 0, count(*) from pets group by 2;
    ${traitCounts.up(dialects.sqlite).join(';\n')};`);
  // Two digits after the letters: no other name begins so.
  const name = sqlite
    .prepare("select name from pets where name glob '*[a-z][1-9][0-9]' limit 1")
    .pluck()
    .get() as string;
  sqlite.close();
  return name;
}

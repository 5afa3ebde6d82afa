import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { systemClock } from '../src/lib/clock.ts';
import { openSqlite } from '../src/lib/storage/sqlite/database.ts';
import { traitCounts } from '../src/migrations/0026-trait-counts.ts';
import { migrations } from '../src/migrations/index.ts';
import { organizationsNear } from '../src/organizations/locations.ts';
import { countFacets } from '../src/pets/facets.ts';
import { listPets } from '../src/pets/list.ts';
import { listNearestPets } from '../src/pets/near.ts';
import { anyone } from '../src/pets/pet.ts';
import { beginningsIn } from '../src/pets/words.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * Compares searches with a plain page of the list, in processor time, on the embedded engine:
 * `node_modules/.bin/node bench/search.ts [PETS]`, by default 1,000,000 pets of 11,000 organizations. Ends by itself.
 */
const pets = Number(process.argv[2] ?? 1_000_000);
if (!Number.isInteger(pets) || pets < 1000 || pets > 10_000_000) throw new Error('Name a number of pets from 1,000.');
const ORGANIZATIONS = 11_000;
const ROUNDS = 7;

using directory = temporaryDirectory();
const file = join(directory.path, 'search.db');
const open = () =>
  openSqlite({
    ...{ file, migrations, clock: systemClock(), role: 'server' as const },
    log: { info() {}, warn() {}, error() {} },
    onFailed(error: unknown) {
      throw error;
    },
  });
await (await open()).close();
const name = fill();
const database = await open();

const now = Date.now();
const losAngeles = { latitude: 34.05, longitude: -118.24 };
const page = { limit: 20 };
const list = (filter: object) => async () => void (await listPets(database, { sort: 'id', ...filter }, page, now));
const near = (withinKm: number, filter: object) => async () => {
  const organizations = await organizationsNear(database, losAngeles, withinKm);
  await listNearestPets(database, filter, organizations, page, now, undefined, anyone);
};
const facets = (filter: object, categories?: number[]) => async () =>
  void (await countFacets(database, filter, categories, undefined, now));

/** The searches, and how many times as long as a plain page each may take. */
const searches: Readonly<Record<string, { readonly run: () => Promise<void>; readonly target?: number }>> = {
  'plain page': { run: list({}) },
  '`q` of one word': { run: list({ words: beginningsIn(name) }), target: 1.5 },
  '`q` of a two-letter beginning': { run: list({ words: beginningsIn('ba') }), target: 30 },
  '`q` of two words': { run: list({ words: beginningsIn(`${name} hound`) }) },
  '`near`, sorted by distance': { run: near(100, {}), target: 10 },
  '`near`, available only, sorted by distance': { run: near(100, { status: ['available'] }) },
  'facets of one category': { run: facets({ categoryId: 3 }, [3]), target: 25 },
  'facets of one category and `goodWithDogs=yes`': {
    run: facets({ categoryId: 3, traits: { goodWithDogs: ['yes'] } }, [3]),
  },
};

const times = new Map(Object.keys(searches).map(name => [name, [] as number[]]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { run }] of Object.entries(searches)) {
    const runs = name === 'plain page' ? 1000 : 50;
    const before = process.cpuUsage();
    for (let index = 0; index < runs; index++) await run();
    const { user, system } = process.cpuUsage(before);
    // The first round warms up.
    if (round > 0) times.get(name)!.push((user + system) / runs);
  }
}
const plain = Math.min(...times.get('plain page')!);
console.log('| Search | Processor time, best of 7 | Times a plain page | Target |\n|---|---|---|---|');
for (const [name, values] of times) {
  const best = Math.min(...values);
  const { target } = searches[name]!;
  console.log(`| ${name} | ${best.toFixed(0)} µs | ${(best / plain).toFixed(1)} | ${target ? `≤ ${target}` : ''} |`);
}
await database.close();

/** Adds rows directly, because creating a million pets would take longer than the measurement. Returns a pet's name. */
function fill(): string {
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
    ${(traitCounts.up as () => string[])().join(';\n')};`);
  const name = sqlite
    .prepare('select name from pets where id = ?')
    .pluck()
    .get(pets >> 1) as string;
  sqlite.close();
  return name;
}

import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import type { OfflineDatabase } from '../src/lib/storage/offline.ts';
import { openOffline } from '../src/lib/storage/open.ts';
import { migrations } from '../src/model/migrations/index.ts';
import { createDatabase } from '../test/support/engines.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const upgradeHelp = `Measures how long the upgrade of a database takes, by its number of pets.

Usage
  npm run bench -- upgrade [OPTIONS]

Options
  --pets N        Pets, each with a profile, an event, a message, five words, a delivery and a photo. Repeatable
                  (10,000, 100,000 and 1,000,000).
  --from NAME     The newest migration of the database, or the beginning of its name. Repeatable (0001, 0021, 0024 and
                  0035).
  --engine NAME   sqlite or postgres (PETSTORE_TEST_DATABASE_URL); both by default.
`;

/** Migrations that take less are not listed. */
const LISTED_MS = 50;

/** Fills databases of older schemas, upgrades them, and prints the time of each upgrade and of its slow migrations. */
export async function measureUpgrades(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      pets: { type: 'string', multiple: true, default: ['10000', '100000', '1000000'] },
      from: { type: 'string', multiple: true, default: ['0001', '0021', '0024', '0035'] },
      engine: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(upgradeHelp);
    return;
  }
  for (const engine of values.engine) {
    for (const from of values.from) {
      for (const pets of values.pets) await measureUpgrade(engine, from, Number(pets));
    }
  }
}

async function measureUpgrade(engine: string, from: string, pets: number): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const database = await openOffline(await newLocation(engine, opened));
  opened.defer(() => database.close());
  const now = systemClock().now();
  const earlier = migrations.filter(({ name }) => name.slice(0, from.length) <= from);
  await database.migrate(earlier, now);
  for (const statement of fillingOf(database, earlier.at(-1)!.name, pets)) await database.rows(statement);
  let totalMs = 0;
  const slow: string[] = [];
  for (let count = earlier.length + 1; count <= migrations.length; count++) {
    const [startMs, before] = [performance.now(), process.cpuUsage()];
    await database.migrate(migrations.slice(0, count), now);
    const ms = performance.now() - startMs;
    const { user, system } = process.cpuUsage(before);
    totalMs += ms;
    // Of a busy machine, only the processor time says what a quiet one would need. That of PostgreSQL is not known here.
    const processor = engine === 'sqlite' ? `, ${((user + system) / 1e6).toFixed(2)} s of processor time` : '';
    if (ms >= LISTED_MS) slow.push(`${migrations[count - 1]!.name} ${(ms / 1000).toFixed(2)} s${processor}`);
  }
  process.stdout.write(
    `${engine}, ${pets} pets, from ${from}: ${(totalMs / 1000).toFixed(2)} s (${slow.join('; ') || 'no slow migration'})\n`,
  );
}

async function newLocation(engine: string, opened: AsyncDisposableStack) {
  if (engine === 'sqlite') return { file: join(opened.use(temporaryDirectory()).path, 'production.db') };
  const { url, remove } = await createDatabase({ empty: true });
  opened.defer(remove);
  return { url };
}

/** Returns statements that fill the tables of a database, as far as it has them. */
function fillingOf({ engine }: OfflineDatabase, newest: string, pets: number): string[] {
  const number = (salt: number, below: number) => `((numbers.id * 2654435761 + ${salt} * 40503) / 65536 % ${below})`;
  const letters = (salt: number) => `substr('bebabilolamimanoraro', cast(1 + 2 * ${number(salt, 10)} as int), 2)`;
  const numbers = `with recursive numbers(id) as (
    select cast(1 as bigint) union all select id + 1 from numbers where id < ${pets})`;
  const profile = {
    breeds: `'{"primary":"' || ${letters(9)} || ${letters(10)} || ' hound"}'`,
    tags: `'["' || ${letters(11)} || ${letters(12)} || '"]'`,
    sex: `case ${number(13, 2)} when 0 then 'female' else 'male' end`,
    size: `case ${number(14, 2)} when 0 then 'small' else 'large' end`,
    good_with_dogs: `case ${number(15, 3)} when 0 then 'no' when 1 then 'yes' end`,
    birth_date: `86400000 * (15000 + ${number(16, 5000)})`,
    description: `'A friendly animal that likes long walks and short naps'`,
  };
  const pet = {
    name: `${letters(3)} || ${letters(4)} || ${number(5, 40)}`,
    category_id: `1 + ${number(6, 8)}`,
    status: `case ${number(7, 4)} when 0 then 'pending' when 1 then 'sold' else 'available' end`,
    account_id: `1 + ${number(8, 1000)}`,
    created_at: '1',
    updated_at: '1',
    ...(newest >= '0022' && profile),
  };
  const seq = engine === 'postgres';
  const filling: readonly (readonly [since: string, statement: string])[] = [
    [
      '0001',
      `insert into pets (${Object.keys(pet).join(', ')}) ${numbers} select ${Object.values(pet).join(', ')} from numbers`,
    ],
    [
      '0002',
      `insert into events (at, kind, action, subject_id, account_id, data${seq ? ', seq' : ''})
       select 1, 'pet', 'created', id, account_id,
         '{"pet":{"name":"' || name || '","categoryId":' || category_id || ',"status":"' || status || '"}}'${seq ? ', id' : ''}
       from pets order by id`,
    ],
    [
      '0003',
      `insert into messages (to_account_id, pet_id, reply_to, text, status, arrived_at, created_at, updated_at)
       select account_id, id, 'visitor@example.org', 'Is this animal still looking for a home?', 'delivered', 1, 1, 1
       from pets order by id`,
    ],
    [
      '0004',
      `insert into webhooks (account_id, url, status, created_at, updated_at)
       values (1, 'https://example.org', 'inactive', 1, 1)`,
    ],
    [
      '0004',
      `insert into deliveries (webhook_id, place, type, lane, status, created_at, updated_at)
       select 1, id, 'pet.created', 'pet ' || id, 'delivered', 1, 1 from pets order by id`,
    ],
    [
      '0024',
      `insert into photos (hash, type, bytes, width, height, refs)
       select substr('${'0'.repeat(64)}' || id, length('' || id) + 1), 'image/jpeg', 1, 1, 1, 1 from pets order by id`,
    ],
    [
      '0025',
      `insert into pet_words (word, pet_id) select word, id from (
         select name as word, id from pets union select 'hound', id from pets union select substr(breeds, 13, 4), id from pets
         union select substr(tags, 3, 4), id from pets union select sex, id from pets) as words
       order by word, id`,
    ],
  ];
  return filling.filter(([since]) => newest >= since).map(([, statement]) => statement);
}

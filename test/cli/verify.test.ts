import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Sqlite from 'better-sqlite3';
import { systemClock } from '../../src/lib/clock.ts';
import { openDatabase } from '../../src/lib/storage/open.ts';
import { readConfig } from '../../src/model/config.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { checks } from '../../src/operate/verify/checks.ts';
import { createHold } from '../../src/store/holds/holds.ts';
import { type Environment, jsonOf, petstore, refused } from '../support/commands.ts';
import { emptyPlaces } from '../support/empty-places.ts';
import { createDatabase, onServer, run, silent, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { addPet, onData } from './store-commands.ts';

/** A webhook of account 1 with a secret and a pending delivery. */
const WEBHOOK = `
  insert into webhooks (account_id, url, status, created_at, updated_at, pending)
    values (1, 'https://example.org', 'active', 0, 0, 1);
  insert into webhook_secrets (webhook_id, secret, created_at) values (1, 'x', 0);
  insert into deliveries (webhook_id, place, type, lane, status, due_at, created_at, updated_at)
    values (1, 1, 'pet.created', 'pet 1', 'pending', 0, 0, 0);`;

/** For each check: statements that break what it checks, and a finding. Animal 2 is on hold, and animal 3 is ordered. */
const breaks: Readonly<Record<string, readonly [statements: string, finding: RegExp]>> = {
  'one reservation per animal': [
    `drop index reservations_in_force; insert into reservations (pet_id, owner_id, order_id, until, active)
      select pet_id, owner_id, order_id, until, 1 from reservations where pet_id = 3`,
    /^Animal 3 has 2 active reservations\.$/,
  ],
  'status of reserved animals': [
    `update pets set status = 'available' where id = 2`,
    /^Animal 2 is reserved, but its status is available\.$/,
  ],
  'expiry of animals': [
    'update pets set reserved_until = 9 where id = 1',
    /^Animal 1 has the expiry of a reservation, but no active one\.$/,
  ],
  'reservations of holds': [
    `update holds set ended_at = 1, outcome = 'released'`,
    /^Animal 2 is reserved by hold 1, which has ended\.$/,
  ],
  'reservations of orders': [
    `update orders set status = 'cancelled'`,
    /^Animal 3 is reserved by order 1, which is cancelled\.$/,
  ],
  'second factors': [
    "insert into recovery_codes (person_id, hash, created_at) values (999, 'x', 0)",
    /^A row of recovery_codes belongs to person 999, who does not exist\.$/,
  ],
  'open orders': [
    'update reservations set active = 0 where order_id = 1',
    /^Order 1 is placed, but does not reserve animal 3\.$/,
  ],
  'numbers of animals': [
    `update pet_counts set pets = pets + 4 where kind = 'category'`,
    /^The stored number of animals by category 2 is \d+, and the rows have 3\.$/,
  ],
  'numbers of open orders': [
    'delete from order_counts',
    /^The stored number of open orders of account 1 is 0, and the rows have 1\.$/,
  ],
  'stored bytes': [
    'update stored_bytes set bytes = bytes + 1',
    /^The stored number of stored bytes of account 1 is 6, and the rows have 5\.$/,
  ],
  'bytes of photos': [
    'insert into photo_bytes (account_id, bytes) values (1, 7)',
    /^The stored number of bytes of photos of account 1 is 7, and the rows have 0\.$/,
  ],
  'sizes of photos': [
    [
      `insert into photos (hash, type, bytes, width, height, refs, sizes_bytes) values ('cd', 'image/png', 5, 1, 1, 1, 3)`,
      `update pets set photos = '[{"id":"cd","width":1,"height":1,"bytes":9,"original":5}]' where id = 2`,
    ].join(';'),
    /^A photo of account 1 counts 9 bytes, and has 8: cd\.$/,
  ],
  'uses of photos': [
    `insert into photos (hash, type, bytes, width, height, refs) values ('ab', 'image/png', 1, 1, 1, -1)`,
    /^The stored number of uses of photo ab is -1, and the rows have 0\.$/,
  ],
  'numbers of pending deliveries': [
    'update webhooks set pending = 5',
    /^The stored number of pending deliveries of webhook 1 is 5, and the rows have 1\.$/,
  ],
  'notes and replies': [
    `insert into messages (to_account_id, text, status, arrived_at, created_at, updated_at) values (1, '', 'delivered', 0, 0, 0);
     insert into message_notes (message_id, account_id, text, created_at) select max(id), 2, '', 0 from messages`,
    /^Message \d+ has a note or a reply of an account that did not receive it\.$/,
  ],
  'pending deliveries': [
    'update deliveries set due_at = null',
    /^Delivery 1 is pending and never due, although no other one precedes it\.$/,
  ],
  'secrets of webhooks': ['update webhook_secrets set expires_at = 9', /^Webhook 1 has no secret\.$/],
  'members of accounts': ['delete from people where id = 1', /^Person 1 is a member of account 1, but has no row\.$/],
  'positions of events': [
    'delete from events where id = 2',
    /^The log ends at position \d+, but has \d+ events, and 0 were deleted\.$/,
  ],
  'positions of the dispatch': [
    `update facts set value = '9000' where name = 'dispatched'`,
    /^Events are dispatched up to position 9000, beyond the end of the log\.$/,
  ],
  'last events of animals': [
    `update pets set name = 'Other' where id = 1`,
    /^Animal 1 differs from its last event, 3\.$/,
  ],
  'animals of events': ['delete from pets where id = 1', /^Animal 1 does not exist, but event 3 does not delete it\.$/],
  'long values of animals': [
    `insert into replaced_values (pet_id, member, event_id) values (1, 'description', 3)`,
    /^The description that animal 1 had before event 3 is missing\.$/,
  ],
  'versions of organizations': [
    `insert into organizations (id, name, name_key, created_at, updated_at, version) values (1, 'x', 'x', 0, 0, 3)`,
    /^Organization 1 has version 3, but 0 events\.$/,
  ],
  'tree of categories': ['update categories set parent_id = 5 where id = 5', /^Category 5 is below itself\.$/],
  'words of animals': [
    `delete from pet_words where pet_id = 3 and word = (select min(word) from pet_words where pet_id = 3)`,
    /^Animal 3 has words that the index lacks\.$/,
  ],
  accounts: ['update pets set account_id = 77 where id = 1', /^Account 77 does not exist, but rows refer to it\.$/],
};

/** A store in which everything agrees, and how to change its production database behind the product's back. */
interface Place {
  readonly environment: Environment;
  execute(statements: string): Promise<void>;
  close(): Promise<void>;
}

const places: { name: string; skip: string | false; ids: string; oneByOne: boolean; create(): Promise<Place> }[] = [
  {
    name: 'on the embedded engine',
    skip: false,
    oneByOne: true,
    ids: `update sqlite_sequence set seq = 1 where name = 'pets'`,
    async create() {
      const directory = temporaryDirectory();
      return {
        environment: { PETSTORE_DATA_DIR: directory },
        async execute(statements) {
          const file = new Sqlite(join(directory, 'production.db'));
          file.unsafeMode();
          file.pragma('foreign_keys = off');
          file.exec(statements);
          file.close();
        },
        async close() {},
      };
    },
  },
  {
    name: 'on PostgreSQL',
    skip: skipFor(withoutPostgres),
    // Each restore takes a second.
    oneByOne: false,
    ids: 'alter table pets alter column id restart with 2',
    async create() {
      const { url, remove } = await createDatabase({ empty: true });
      return {
        environment: { PETSTORE_DATABASE_URL: url },
        execute: statements =>
          onServer(
            async connection => void (await run(connection, `set session_replication_role = replica; ${statements}`)),
            url,
          ),
        close: remove,
      };
    },
  },
];

for (const { name, skip, ids, oneByOne, create } of places) {
  describe(`petstore verify ${name}`, { skip }, () => {
    let template: string;
    let first: Place;
    const opened: Place[] = [];
    before(async () => {
      first = await create();
      opened.push(first);
      await fill(first);
      template = join(temporaryDirectory(), 'backup');
      await jsonOf(first.environment, 'backup', template);
    });
    after(() => Promise.all(opened.map(place => place.close())));

    it('finds nothing in a store where everything agrees, and leaves nothing behind', async () => {
      const { code, printed } = await petstore(first.environment, 'verify');
      assert.deepEqual([printed, code], ['No findings in production and staging.\n', 0]);
      const { PETSTORE_DATA_DIR: directory } = first.environment;
      if (directory !== undefined)
        assert.deepEqual(
          readdirSync(directory).filter(file => /^verify/.test(file)),
          [],
        );
    });

    it('has a case for every check', () => {
      assert.deepEqual(
        [...checks.map(check => check.name), 'words of animals', 'accounts'].sort(),
        [...Object.keys(breaks), 'ids'].sort(),
      );
    });

    const cases = { ...breaks, ids: [ids, /^The next id of pets is \d, but id 3 exists\.$/] as const };
    for (const [check, [statements, sentence]] of Object.entries(oneByOne ? cases : {})) {
      it(`reports broken ${check}, and exits with 1`, async () => {
        const place = await create();
        await jsonOf(place.environment, 'restore', template);
        await place.execute(statements);
        const findings = await findingsIn(place);
        const found = findings.filter(one => one.check === check);
        assert.ok(
          found.some(({ finding }) => sentence.test(finding)),
          JSON.stringify(findings),
        );
      });
    }

    it('reports what is broken at once', async () => {
      const place = await create();
      opened.push(place);
      await jsonOf(place.environment, 'restore', template);
      // These need a running server, or rows that others delete.
      const conflicting = [
        ...['open orders', 'numbers of open orders', 'accounts', 'expiry of animals', 'positions of events'],
      ];
      const together = Object.entries(cases).filter(([check]) => !conflicting.includes(check));
      for (const [, [statements]] of together) await place.execute(statements);
      const found = new Set((await findingsIn(place)).map(({ check }) => check));
      assert.deepEqual(
        together.map(([check]) => check).filter(check => !found.has(check)),
        [],
      );
    });

    it('reports an account of staging that production lacks, one line per finding', async () => {
      await first.execute('delete from members where account_id = 2; delete from accounts where id = 2');
      const { code, printed } = await petstore(first.environment, 'verify');
      assert.deepEqual([printed, code], ['staging, accounts: Account 2 does not exist, but rows refer to it.\n', 1]);
    });
  });
}

for (const { name, skip, create } of emptyPlaces) {
  describe(`petstore verify and backup ${name} of another schema`, { skip }, () => {
    it('name the command that is missing', async t => {
      const { environment, close } = await create();
      t.after(close);
      const places = readConfig(environment).locations;
      const options = { clock: systemClock(), role: 'cli', migrate: true, log: silent, onFailed() {} } as const;
      for (const location of [places.production, places.staging]) {
        const earlier = await openDatabase(location, { ...options, migrations: migrations.slice(0, -1) });
        await earlier.close();
      }
      const sentence = /^The database at .* is not up to date: run "petstore migrate" first\.$/m;
      await refused(environment, sentence, 'verify');
      // A backup before an upgrade.
      await jsonOf(environment, 'backup', join(temporaryDirectory(), 'backup'));

      const empty = await create();
      t.after(empty.close);
      const missing = 'PETSTORE_DATABASE_URL' in environment ? sentence : /^There is no pet store in /;
      for (const command of [['verify'], ['backup', join(temporaryDirectory(), 'empty')]]) {
        await refused(empty.environment, missing, ...command);
      }
    });
  });
}

describe('petstore verify on the embedded engine', () => {
  it('reports a damaged page and a broken reference, each on one line', async () => {
    const place = await places[0]!.create();
    await fill(place);
    await place.execute('update reservations set hold_id = 99 where hold_id = 1');
    const path = join(place.environment['PETSTORE_DATA_DIR']!, 'production.db');
    const database = new Sqlite(path);
    const page = database
      .prepare("select rootpage from sqlite_schema where name = 'pets_by_status'")
      .pluck()
      .get() as number;
    const size = database.pragma('page_size', { simple: true }) as number;
    database.close();
    const file = openSync(path, 'r+');
    // The entries of an index are at the end of its page.
    writeSync(file, Buffer.alloc(100), 0, 100, page * size - 100);
    closeSync(file);
    const { code, printed } = await petstore(place.environment, 'verify');
    assert.equal(code, 1);
    assert.match(printed, /^production, file: Row 2 of reservations refers to a missing row of holds\.$/m);
    assert.match(printed, /^production, file: .*pets_by_status/m);
    for (const line of printed.trimEnd().split('\n')) assert.match(line, /^production, /);
  });
});

/** Runs the command, which must find something in production only. */
async function findingsIn({ environment }: Place): Promise<{ check: string; finding: string }[]> {
  const { code, printed, errors } = await petstore(environment, 'verify', '--json');
  assert.deepEqual([code, errors], [1, '']);
  const { findings } = JSON.parse(printed);
  assert.ok(findings.every(({ deployment }: { deployment: string }) => deployment === 'production'));
  return findings;
}

/** Creates a hold on animal 2, an order of animal 3, a message and a webhook. */
async function fill({ environment, execute }: Place): Promise<void> {
  await jsonOf(environment, 'migrate');
  for (const name of ['Owner', 'Other']) {
    await jsonOf(environment, 'account', 'create', '--email', `${name}@example.org`, '--name', name);
  }
  for (const name of ['Minka', 'Bella', 'Rex']) await addPet(environment, { name });
  await addPet(environment, { account: '2', deployment: 'staging' });
  await jsonOf(environment, 'order', 'place', '--account', '1', '--pet', '3');
  await jsonOf(environment, 'message', 'send', '--account', '1', '--message', 'Hello');
  const actor = { accountId: 1, admin: false };
  await onData(environment, 'production', database =>
    database.write(tx => createHold(tx, actor, { petIds: [2] }, 100)),
  );
  await execute(WEBHOOK);
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Generated } from 'kysely';
import { openLimiter } from '../../src/access/limits/open.ts';
import { storedBytes } from '../../src/access/plans/stored-bytes.ts';
import { testClock } from '../../src/lib/clock.ts';
import type { Migration } from '../../src/lib/storage/migration.ts';
import { createQueryFactory } from '../../src/lib/storage/query.ts';
import { UserError } from '../../src/lib/user-error.ts';
import { factNamed } from '../../src/model/facts.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { FOUNDERS_FACT } from '../../src/model/migrations/0047-people.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { foldedName } from '../../src/model/organization.ts';
import { type Database, type Params, type Query, query, type Tables } from '../../src/model/schema.ts';
import { sendMessage } from '../../src/store/messages/messages.ts';
import type { PetEventData } from '../../src/store/pets/change.ts';
import { wordsOf } from '../../src/store/search/words.ts';
import { countedCaller, verdictFields } from '../support/counted-caller.ts';
import { onEachEngine, silent } from '../support/engines.ts';

/** The schema after the migration of these tests. */
interface NextTables extends Tables {
  notes: { pet_id: number; text: string };
}
const nextQuery = createQueryFactory<NextTables & { pets: { chip: string | null } }>();

/** The schema after the first migration. */
const oldQuery = createQueryFactory<{
  categories: { id: number; name: string; placeholder: number; created_at: number };
  pets: {
    name: string;
    category_id: number;
    status: string;
    account_id: number;
    created_at: number;
    updated_at: number;
  };
}>();

/** The webhooks before migration 0012. */
const oldWebhooks = createQueryFactory<{
  webhooks: {
    id: Generated<number>;
    account_id: number;
    url: string;
    status: string;
    disabled_reason: string;
    pending: number;
    created_at: number;
    updated_at: number;
  };
}>();

const noTexts = { breeds: null, colors: null, tags: null };
/** How texts were compared before migration 0035. */
const earlierFold = (text: string) => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
const insertWord = query((db, p: Params<{ word: string; id: number }>) =>
  db.insertInto('pet_words').values({ word: p.word, pet_id: p.id }),
);
const everyWord = query(db => db.selectFrom('pet_words').select(['word', 'pet_id as id']));
const everyNameKey = query(db => db.selectFrom('organizations').select('name_key as key').orderBy('id'));
const insertOrganization = query((db, p: Params<{ id: number; name: string; key: string }>) =>
  db
    .insertInto('organizations')
    .values({ id: p.id, name: p.name, name_key: p.key, version: 1, created_at: now, updated_at: now, hidden: 0 }),
);

/** The days before migration 0015. */
const oldDays = createQueryFactory<{
  day_counts: { account_id: number; deployment: string; day: number; node: string; reserved: number };
}>();

const insertOldAccount = query((db, p: Params<{ now: number }>) =>
  db
    .insertInto('accounts')
    .values({ email: 'old@example.org', name: 'Old', plan: 'free', admin: 0, created_at: p.now } as never),
);

const next: Migration = {
  name: '9998-a-next-step',
  up: ({ int, text, end }) => [
    `alter table pets add column chip ${text}`,
    `create table notes (pet_id ${int} not null references pets (id), text ${text} not null) ${end}`,
    `insert into notes (pet_id, text) select id, 'was here' from pets`,
  ],
};
const broken: Migration = {
  name: '9999-a-broken-step',
  up: ({ int, end }) => [`create table half (id ${int}) ${end}`, `update pets set name = 'half'`, 'this is not SQL'],
};

const petsByName = query(db => db.selectFrom('pets').selectAll().orderBy('id'));
const everything = {
  categories: query(db => db.selectFrom('categories').selectAll().orderBy('id')),
  pets: petsByName,
  accounts: query(db => db.selectFrom('accounts').selectAll().orderBy('id')),
  keys: query(db => db.selectFrom('keys').selectAll().orderBy('id')),
  bans: query(db => db.selectFrom('bans').selectAll().orderBy('key_id')),
  dayCounts: query(db => db.selectFrom('day_counts').selectAll().orderBy('subject')),
  facts: query(db => db.selectFrom('facts').selectAll().orderBy('name')),
  holds: query(db => db.selectFrom('holds').selectAll().orderBy('id')),
  orders: query(db => db.selectFrom('orders').selectAll().orderBy('id')),
  reservations: query(db => db.selectFrom('reservations').selectAll().orderBy('id')),
  events: query(db => db.selectFrom('events').selectAll().orderBy('id')),
  idempotency: query(db => db.selectFrom('idempotency').selectAll().orderBy('key')),
  messages: query(db => db.selectFrom('messages').selectAll().orderBy('id')),
  messageAttempts: query(db => db.selectFrom('message_attempts').selectAll().orderBy('message_id')),
};

const now = 1_800_000_000_000;
const filling = [
  query(db =>
    db.insertInto('accounts').values({
      email: 'a@example.org',
      name: 'Ada',
      plan: 'enterprise',
      per_minute: 7,
      per_day: 9_007_199_254_740_991,
      admin: 1,
      created_at: now,
    }),
  ),
  query(db =>
    db
      .insertInto('categories')
      .values({ id: 1001, name: 'Otters', slug: 'otters', placeholder: 1, created_at: now, updated_at: now }),
  ),
  query(db =>
    db.insertInto('pets').values(
      Array.from({ length: 500 }, (_, index) => ({
        name: `Rex ${index} 🐕`,
        category_id: index % 2 === 0 ? 1 : 1001,
        status: 'available' as const,
        account_id: 1,
        created_at: now,
        updated_at: now,
      })),
    ),
  ),
  query(db =>
    db.insertInto('keys').values({
      id: 'abc',
      account_id: 1,
      deployment: 'production',
      hash: 'x',
      scopes: '*',
      created_at: now,
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    }),
  ),
  query(db =>
    db.insertInto('bans').values({ key_id: 'abc', step: 3, banned_at: now, until: now + 1, lifted_at: null }),
  ),
  query(db => db.insertInto('day_counts').values({ subject: 'account staging 1', day: 1, node: 'n', reserved: 7 })),
  query(db => db.insertInto('facts').values({ name: 'a', value: 'b' })),
  query(db =>
    db.insertInto('holds').values({ account_id: 1, note: 'x', expires_at: now, created_at: now, updated_at: now }),
  ),
  query(db =>
    db.insertInto('orders').values({
      pet_id: 1,
      account_id: 1,
      owner_id: 1,
      status: 'placed',
      quantity: 1,
      price_amount: 9_007_199_254_740_991,
      price_currency: 'EUR',
      created_at: now,
      updated_at: now,
    }),
  ),
  query(db => db.insertInto('order_counts').values({ account_id: 2, open: 1 })),
  query(db => db.insertInto('reservations').values({ pet_id: 1, owner_id: 1, hold_id: 1, until: now, active: 1 })),
  query(db => db.insertInto('events').values({ at: now, kind: 'pet', action: 'created', subject_id: 1, data: '{}' })),
  query(db =>
    db.insertInto('idempotency').values({ account_id: 1, key: 'k', fingerprint: 'f', body: '{}', created_at: now }),
  ),
  query(db =>
    db
      .insertInto('messages')
      .values({ account_id: 1, text: 'a\nb', status: 'queued', created_at: now, updated_at: now }),
  ),
  query(db =>
    db
      .insertInto('message_attempts')
      .values({ message_id: 1, number: 1, at: now, outcome: 'failed', reason: 'refused' }),
  ),
];

/** Rows of the schema before migration 0012: a key of each kind, and two webhooks, of which one was deleted. */
const filledBeforeWebhookKeys: readonly Query<unknown, unknown>[] = [
  query(db => db.insertInto('accounts').values({ email: 'a', name: 'A', plan: 'free', admin: 0, created_at: now })),
  ...['*', 'pets:read', 'pets:read webhooks:write'].map((scopes, index) =>
    query(db =>
      db
        .insertInto('keys')
        .values({ id: `k${index}`, account_id: 1, deployment: 'production', hash: 'x', scopes, created_at: now }),
    ),
  ),
  ...[1, 2].map(() =>
    oldWebhooks(db =>
      db.insertInto('webhooks').values({
        account_id: 1,
        url: 'https://a.example/',
        status: 'disabled',
        disabled_reason: 'gone',
        pending: 7,
        created_at: now,
        updated_at: now,
      }),
    ),
  ),
  oldWebhooks(db => db.deleteFrom('webhooks').where('id', '=', 2)),
  query(db => db.insertInto('webhook_secrets').values({ webhook_id: 1, secret: 's', created_at: now })),
];
const everyWebhook = query(db =>
  db.selectFrom('webhooks').select(['id', 'url', 'status', 'disabled_reason', 'pending', 'key_id', 'scopes']),
);
const scopesOfKeys = query(db => db.selectFrom('keys').select('scopes').orderBy('id'));

async function fill(database: Database) {
  await database.write(async tx => {
    for (const statement of filling) await tx.run(statement, {});
  });
}

async function contents(database: Database) {
  const rows: Record<string, unknown[]> = {};
  for (const [table, statement] of Object.entries<Query<unknown, unknown>>(everything))
    rows[table] = await database.all(statement, {});
  return rows;
}

const refusal = (pattern: RegExp) => (error: Error) => error instanceof UserError && pattern.test(error.message);

describe('migrations', () => {
  it('have unique names that sort in their order', () => {
    const names = migrations.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)].toSorted());
    for (const name of names) assert.match(name, /^\d{4}-[a-z0-9-]+$/);
  });
});

onEachEngine(engine => {
  describe('0002', () => {
    it('adds slugs to categories and a creation event to every pet', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location, migrations: migrations.slice(0, 1) });
      await before.write(async tx => {
        await tx.run(
          oldQuery(db =>
            db.insertInto('categories').values({ id: 77, name: 'Category 77', placeholder: 1, created_at: now }),
          ),
          {},
        );
        const animal = { name: 'Żółw "1" \\ 🐢', category_id: 77, status: 'sold', account_id: 3 } as const;
        await tx.run(
          oldQuery(db => db.insertInto('pets').values({ ...animal, created_at: now, updated_at: now })),
          {},
        );
      });
      await before.close();

      const after = await engine.open({ location });
      const [event, ...others] = await eventsOf<PetEventData>(after, 'pet', 1);
      assert.deepEqual(others, []);
      const data: PetEventData = { pet: { name: 'Żółw "1" \\ 🐢', categoryId: 77, status: 'sold' } };
      assert.deepEqual(event, { id: 1, at: now, kind: 'pet', action: 'created', subjectId: 1, accountId: 3, data });
      const slugs = query(db => db.selectFrom('categories').select(['id', 'slug', 'updated_at']).orderBy('id'));
      const rows = await after.all(slugs, {});
      assert.deepEqual(rows.at(-1), { id: 77, slug: 'category-77', updated_at: now });
      assert.deepEqual(rows.map(({ slug }) => slug).slice(0, 8), [
        'dog',
        'cat',
        'rabbit',
        'small-furry',
        'horse',
        'bird',
        'scales-fins-other',
        'barnyard',
      ]);
    });
  });

  describe('0011', () => {
    it('counts the texts that each account stores already', async () => {
      const location = await engine.newLocation({ empty: true });
      const earlier = migrations.filter(({ name }) => name < '0011');
      const before = await engine.open({ location, migrations: earlier });
      await before.write(async tx => {
        for (const message of [
          { account_id: 1, text: 'ab' },
          { account_id: 1, text: '🐈', reply_to: 'jo@example.org' },
          { account_id: null, text: 'From the store' },
        ]) {
          const row = { ...message, status: 'queued', created_at: now, updated_at: now } as const;
          await tx.run(
            query(db => db.insertInto('messages').values(row)),
            {},
          );
        }
        for (const account_id of [1, 2]) {
          const response = { account_id, key: 'k', fingerprint: 'f', body: '{"id":1}', created_at: now };
          await tx.run(
            query(db => db.insertInto('idempotency').values(response)),
            {},
          );
        }
      });
      await before.close();

      const after = await engine.open({ location });
      assert.equal(await storedBytes.read(after, 1), 2 + 4 + 14 + 8);
      assert.equal(await storedBytes.read(after, 2), 8);
      const { sequence } = await after.write(tx => sendMessage(tx, { accountId: 1, admin: false }, { message: 'x' }));
      assert.equal(sequence, 1);
    });
  });

  describe('0012', () => {
    it('keeps webhooks with their secrets, gives them every scope, and lets their makers read them', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location, migrations: migrations.filter(({ name }) => name < '0012') });
      await before.write(async tx => {
        for (const statement of filledBeforeWebhookKeys) await tx.run(statement, {});
      });
      await before.close();

      const after = await engine.open({ location });
      const kept = { url: 'https://a.example/', status: 'disabled', disabled_reason: 'gone', pending: 7 };
      const [row, ...others] = await after.all(everyWebhook, {});
      assert.deepEqual([row, others], [{ id: 1, ...kept, key_id: null, scopes: '*' }, []]);
      const scopes = await after.all(scopesOfKeys, {});
      assert.deepEqual(
        scopes.map(({ scopes }) => scopes),
        ['*', 'pets:read', 'pets:read webhooks:read webhooks:write'],
      );
      const insert = query(db =>
        db
          .insertInto('webhooks')
          .values({ account_id: 1, url: 'x', status: 'active', scopes: '*', created_at: now, updated_at: now })
          .returning('id'),
      );
      assert.deepEqual(await after.write(tx => tx.first(insert, {})), { id: 3 }, 'no id is reused');
      const orphan = query(db =>
        db.insertInto('webhook_secrets').values({ webhook_id: 99, secret: 's', created_at: now }),
      );
      await assert.rejects(
        after.write(tx => tx.run(orphan, {})),
        /foreign key/i,
      );
    });
  });

  describe('0035', () => {
    it('folds the letters of searched words and names as new ones are', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location, migrations: migrations.filter(({ name }) => name < '0035') });
      const names = ['Große ΣΑΣ', 'Ørsted Łódź', `Æ${'x'.repeat(120)}`, 'Rex'];
      await before.write(async tx => {
        for (const [index, name] of names.entries()) {
          const keys = { id: index + 1, key: [...earlierFold(name)].slice(0, 100).join('') };
          await tx.run(insertOrganization, { ...keys, name });
          for (const word of new Set(earlierFold(name).split(' ')))
            await tx.run(insertWord, { word: word.slice(0, 40), id: index + 1 });
        }
        // Both spellings of a word become one.
        await tx.run(insertWord, { word: 'orsted', id: 2 });
      });
      await before.close();

      const after = await engine.open({ location });
      const expected = names.flatMap((name, index) =>
        [...wordsOf({ ...noTexts, name }, false).keys()].map(word => ({ word, id: index + 1 })),
      );
      const byWord = (one: { word: string }, other: { word: string }) => (one.word < other.word ? -1 : 1);
      assert.deepEqual((await after.all(everyWord, {})).toSorted(byWord), expected.toSorted(byWord));
      assert.deepEqual(
        (await after.all(everyNameKey, {})).map(({ key }) => key),
        names.map(foldedName),
      );
    });
  });

  describe('0015', () => {
    it('keeps the requests that each account has sent today', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location, migrations: migrations.filter(({ name }) => name < '0015') });
      const row = {
        account_id: 7,
        deployment: 'staging',
        day: Math.floor(now / 86_400_000),
        node: 'alone',
        reserved: 42,
      };
      await before.write(tx =>
        tx.run(
          oldDays(db => db.insertInto('day_counts').values(row)),
          {},
        ),
      );
      await before.close();

      const clock = testClock(now);
      const limiter = await openLimiter({ database: await engine.open({ location, clock }), clock, log: silent });
      const counted = await limiter.count(countedCaller({ accountId: 7, deployment: 'staging' }));
      assert.match(verdictFields(counted)['RateLimit']!, /"day";r=957;/);
      await limiter.close();
    });

    it('carries over later what nodes of the previous release change, where there can be such nodes', async () => {
      for (const hasAccounts of [true, false]) {
        const location = await engine.newLocation({ empty: true });
        const before = await engine.open({ location, migrations: migrations.filter(({ name }) => name < '0047') });
        if (hasAccounts) await before.write(tx => tx.run(insertOldAccount, { now }));
        await before.close();
        const database = await engine.open({ location });
        const isOn = (await database.first(factNamed, { name: FOUNDERS_FACT })) !== undefined;
        assert.equal(isOn, hasAccounts && database.engine === 'postgres');
      }
    });
  });

  describe('migrating a database', () => {
    it('keeps all data, and supports the new operations', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location });
      await fill(before);
      const held = await contents(before);
      await before.close();

      const after = await engine.open({ location, migrations: [...migrations, next] });
      const now = await contents(after);
      now.pets = (now.pets as Record<string, unknown>[]).map(({ chip, ...pet }) => {
        assert.equal(chip, null);
        return pet;
      });
      assert.deepEqual(now, held);
      const notes = nextQuery(db => db.selectFrom('notes').select(db.fn.countAll<number>().as('notes')));
      assert.deepEqual(await after.first(notes, {}), { notes: 500 });
      const add = nextQuery(db =>
        db
          .insertInto('pets')
          .values({
            name: 'New',
            category_id: 1,
            status: 'sold',
            account_id: 1,
            created_at: 0,
            updated_at: 0,
            chip: '900',
          })
          .returning(['id', 'chip']),
      );
      assert.deepEqual(await after.write(tx => tx.first(add, {})), { id: 501, chip: '900' });
    });

    it('reports what an upgrade runs, how far it is and how long it takes, but nothing about a new database', async () => {
      const location = await engine.newLocation({ empty: true });
      const lines: string[] = [];
      const log = { ...silent, info: (...words: unknown[]) => lines.push(words.at(-1) as string) };
      const before = await engine.open({ location, log });
      await fill(before);
      await before.close();
      assert.deepEqual(lines, []);

      const slow: Migration = {
        name: '9999-a-slow-step',
        // Expected to take 15 s for 500 pets, and reported every 5 s.
        work: { title: 'weighs pets', table: 'pets', rowUs: { sqlite: 30_000, postgres: 30_000 } },
        up: ({ int }) => [
          `alter table pets add column weighed ${int}`,
          ...Array.from({ length: 3 }, (_, index) => `update pets set weighed = ${index}`),
        ],
      };
      await (await engine.open({ location, log, migrations: [...migrations, next, slow] })).close();
      const [started, announced, first, second, ended, ...others] = lines;
      assert.match(
        started!,
        /^Upgrading the database \S.* from \S+ to 9999-a-slow-step, which takes about 15 s\. Nothing is served meanwhile\.$/,
      );
      assert.equal(announced, 'Migration 2 of 2 weighs pets: 500 rows, about 15 s.');
      assert.match(first!, /^Migration 2 of 2: 50 %, about [\d.]+ s left\.$/);
      assert.match(second!, /^Migration 2 of 2: 75 %, about [\d.]+ s left\.$/);
      assert.match(ended!, /^Upgraded the database \S.* to 9999-a-slow-step in [\d.]+ s\.$/);
      assert.deepEqual(others, []);
    });

    it('runs once for concurrent processes', async () => {
      const location = await engine.newLocation({ empty: true });
      // The embedded engine allows one server connection and any number of CLI connections.
      const databases = await Promise.all(
        Array.from({ length: 6 }, () => engine.open({ location, role: 'cli', migrations: [...migrations, next] })),
      );
      const steps = query(db => db.selectFrom('migrations').select('name').orderBy('name'));
      for (const database of databases) {
        assert.deepEqual(
          (await database.all(steps, {})).map(({ name }) => name),
          [...migrations, next].map(({ name }) => name),
        );
        await database.close();
      }
    });

    it('leaves the database unchanged if a migration fails, and continues from there', async () => {
      const location = await engine.newLocation({ empty: true });
      const before = await engine.open({ location });
      await fill(before);
      const held = await contents(before);
      await before.close();
      await assert.rejects(engine.open({ location, migrations: [...migrations, broken] }));
      const after = await engine.open({ location });
      assert.deepEqual(await contents(after), held);
      await after.close();
      const further = await engine.open({ location, migrations: [...migrations, next, { ...broken, up: () => [] }] });
      assert.equal((await further.all(petsByName, {})).length, 500);
    });

    it('creates nothing if the first migration fails', async () => {
      const location = await engine.newLocation({ empty: true });
      await assert.rejects(engine.open({ location, migrations: [broken] }));
      const database = await engine.open({ location });
      assert.deepEqual(await database.all(petsByName, {}), []);
    });

    it('rejects a database with a migration that the program does not know', async () => {
      const location = await engine.newLocation({ empty: true });
      await (await engine.open({ location, migrations: [...migrations, next] })).close();
      for (const role of ['server', 'cli'] as const) {
        await assert.rejects(
          engine.open({ location, role }),
          refusal(/^The database at .* is newer than this program: it has 9998-a-next-step\. Use a newer release\.$/),
        );
      }
    });

    it('happens only by command if several machines may serve the database', async t => {
      if (engine.name === 'sqlite') return t.skip('the embedded engine does it by itself');
      const location = await engine.newLocation({ empty: true });
      const behind = refusal(/^The database at .* is not up to date: run "petstore migrate" first\.$/);
      await assert.rejects(engine.open({ location, migrate: false }), behind);
      await engine.open({ location });
      await engine.open({ location, migrate: false });
      await assert.rejects(engine.open({ location, migrate: false, migrations: [...migrations, next] }), behind);
      return undefined;
    });
  });
});

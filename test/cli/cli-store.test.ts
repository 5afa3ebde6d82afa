import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Terminal } from '../../src/cli/command.ts';
import { withDatabase } from '../../src/cli/databases.ts';
import { main } from '../../src/cli/main.ts';
import { plain, widthOf } from '../../src/cli/terminal.ts';
import { readConfig } from '../../src/config.ts';
import { createHold } from '../../src/holds/holds.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import { createPet } from '../../src/pets/pets.ts';
import { type Database, type DeploymentName, query } from '../../src/schema.ts';
import { createWebhook } from '../../src/webhooks/webhooks.ts';
import { onServer, postgresUrl, run, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';

type Environment = Readonly<Record<string, string>>;

/** The exit code and output of a command. */
interface Outcome {
  readonly code: number;
  readonly printed: string;
  readonly errors: string;
}

/** Runs a command line in this process, beside a server of the same data. */
async function petstore(environment: Environment, ...args: string[]): Promise<Outcome> {
  const outcome = { printed: '', errors: '' };
  const terminal: Terminal = {
    print: text => {
      outcome.printed += `${text}\n`;
    },
    printError: text => {
      outcome.errors += `${text}\n`;
    },
    style: plain,
  };
  return { code: await main(args, environment, terminal), ...outcome };
}

/** Runs a command that must succeed and returns the JSON value that it prints. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the shape
async function jsonOf(environment: Environment, ...args: string[]): Promise<any> {
  const { code, printed, errors } = await petstore(environment, ...args, '--json');
  assert.equal(code, 0, `petstore ${args.join(' ')}: ${errors}`);
  assert.match(printed, /^[^\n]+\n$/);
  return JSON.parse(printed);
}

/** Runs a command that must succeed and returns its text. */
async function textOf(environment: Environment, ...args: string[]): Promise<string> {
  const { code, printed, errors } = await petstore(environment, ...args);
  assert.equal(code, 0, `petstore ${args.join(' ')}: ${errors}`);
  return printed;
}

/** Asserts that a command fails with one sentence. */
async function refused(environment: Environment, sentence: RegExp, ...args: string[]) {
  const { code, printed, errors } = await petstore(environment, ...args);
  assert.deepEqual([code, printed], [1, ''], `petstore ${args.join(' ')}: ${errors}`);
  assert.match(errors, sentence);
  assert.match(errors, /^[^\n]+\n$/);
}

/** Options of `pet create`. */
type PetOptions = Readonly<Record<string, string>>;

/** Creates an animal: a cat of account 1, unless overridden. */
function addPet(environment: Environment, overrides: PetOptions) {
  const options = { account: '1', name: 'Minka', category: '2', ...overrides };
  return jsonOf(environment, 'pet', 'create', ...Object.entries(options).map(([name, value]) => `--${name}=${value}`));
}

/** Accesses the database directly. */
function onData<T>(environment: Environment, deployment: DeploymentName, work: (database: Database) => Promise<T>) {
  const { config } = readConfig(environment);
  const terminal: Terminal = { print: assert.fail, printError: assert.fail, style: plain };
  return withDatabase({ config, clock: systemClock(config.startAtMs), terminal }, config.locations[deployment], work);
}

const directories: string[] = [];
async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-test-'));
  directories.push(directory);
  return directory;
}
after(() => Promise.all(directories.map(directory => rm(directory, { recursive: true, force: true }))));

const NOON = { NODE_ENV: 'test', PETSTORE_NOW: '2027-01-01T12:00:00Z' };

describe('beside a server', () => {
  let server: Process;
  let here: Environment;
  let key: string;
  let accountId: number;
  before(async () => {
    server = await spawnService();
    here = { PETSTORE_DATA_DIR: server.directory };
    key = await newProcessKey(server);
    accountId = (await jsonOf(here, 'account', 'list')).at(-1).id;
  });
  after(async () => {
    await server.stop();
    await server.remove();
  });

  const get = async (path: string) => (await send(`${server.urls.production}${path}`, { key })).body;
  const post = async (path: string, body: object) =>
    (await send(`${server.urls.production}${path}`, { method: 'POST', key, body })).body;
  const newPet = (overrides: PetOptions = {}) => addPet(here, { account: String(accountId), ...overrides });

  it('creates, updates and deletes an animal, visible to the next request', async () => {
    await get('/pets?limit=100');
    const made = await server.petstore(
      'pet',
      'create',
      '--account',
      String(accountId),
      '--name',
      'Mia',
      '--category',
      '2',
    );
    const plainPet = { id: made['id'], name: 'Mia', categoryId: 2, status: 'available' };
    assert.deepEqual(await get(`/pets/${made['id']}`), plainPet);
    assert.deepEqual((await get('/pets?limit=1&sort=-id'))[0], plainPet);

    await server.petstore('pet', 'update', String(made['id']), '--status', 'pending', '--reason', 'medical');
    assert.equal((await get(`/pets/${made['id']}`)).status, 'pending');
    assert.equal((await get('/pets?limit=1&sort=-id&view=full'))[0].statusReason, 'medical');

    const removed = await server.petstore('pet', 'delete', String(made['id']));
    assert.deepEqual(Object.keys(removed), ['id', 'name', 'categoryId', 'deletedAt']);
    assert.equal((await get(`/pets/${made['id']}`)).code, 'pet_not_found');
    assert.ok(!(await get('/pets?limit=100')).some((pet: { id: unknown }) => pet.id === made['id']));
  });

  it('releases and extends a hold, visible to the next request', async () => {
    const one = await newPet();
    const other = await newPet();
    const hold = await post('/holds', { petIds: [one.id, other.id] });
    assert.equal((await get(`/pets/${one.id}`)).status, 'pending');
    const extended = await jsonOf(here, 'hold', 'extend', String(hold.id), '--until', '3h');
    assert.equal((await get(`/holds/${hold.id}`)).expiresAt, extended.expiresAt);
    assert.deepEqual(await jsonOf(here, 'hold', 'show', String(hold.id)), await get(`/holds/${hold.id}`));

    await server.petstore('hold', 'release', String(hold.id));
    assert.equal((await get(`/holds/${hold.id}`)).status, 'released');
    for (const { id } of [one, other]) assert.equal((await get(`/pets/${id}`)).status, 'available');
  });

  it('takes every step of an order, visible to the next request', async () => {
    const { id: petId } = await newPet({ price: '125.00 EUR' });
    const { id } = await post('/store/orders', { petId });
    const path = `/store/orders/${id}`;
    for (const [step, orderStatus, petStatus] of [
      ['approve', 'approved', 'pending'],
      ['deliver', 'delivered', 'sold'],
      ['return', 'returned', 'available'],
    ]) {
      const printed = await server.petstore('order', step!, String(id), '--note', `${step}, by telephone`);
      assert.deepEqual([(await get(path)).status, (await get(`/pets/${petId}`)).status], [orderStatus, petStatus]);
      assert.equal(printed['status'], orderStatus);
    }
    const placed = await jsonOf(here, 'order', 'place', '--account', String(accountId), '--pet', String(petId));
    assert.deepEqual(await get(`/store/orders/${placed.id}`), placed);
    await jsonOf(here, 'order', 'cancel', String(placed.id));
    assert.equal((await get(`/store/orders/${placed.id}`)).status, 'cancelled');
  });

  it('creates, updates, merges and deletes categories, visible to the next request', async () => {
    const kind = await jsonOf(here, 'category', 'create', '--name', 'Maine Coon', '--parent', '2');
    assert.deepEqual(await get(`/categories/${kind.id}`), kind);
    const moved = await jsonOf(here, 'category', 'update', String(kind.id), '--slug', 'coon', '--parent', 'none');
    assert.deepEqual(await get(`/categories/${kind.id}`), moved);
    const pet = await newPet({ category: '9000' });
    assert.equal((await get('/categories/9000')).placeholder, true);
    const into = await jsonOf(here, 'category', 'merge', '9000', '--into', String(kind.id));
    assert.equal(into.id, kind.id);
    assert.equal((await get(`/pets/${pet.id}`)).categoryId, kind.id);
    assert.equal((await get('/categories/9000')).code, 'no_such_category');
    await refused(here, /Merge it into another/, 'category', 'delete', String(kind.id));
    await jsonOf(here, 'pet', 'delete', String(pet.id));
    const removed = await jsonOf(here, 'category', 'delete', String(kind.id));
    assert.deepEqual([removed.id, removed.slug], [kind.id, 'coon']);
    assert.equal((await get(`/categories/${kind.id}`)).code, 'no_such_category');
  });

  it('prints the JSON of the API, with the additional members of commands', async () => {
    const pet = await newPet({ status: 'pending', reason: 'in foster', price: '99.90 EUR' });
    const id = String(pet.id);
    await jsonOf(here, 'pet', 'update', id, '--status', 'available');
    const placing = ['--account', String(accountId), '--pet', id, '--note', 'two\nlines'];
    const order = await jsonOf(here, 'order', 'place', ...placing);

    const pending = (await get(`/pets?id=${id}&view=full`))[0];
    const full = { ...pending, keptFor: { orderId: order.id, until: order.expiresAt } };
    assert.deepEqual(await jsonOf(here, 'pet', 'show', id), full);
    const history = await get(`/pets/${id}/history`);
    assert.deepEqual(await jsonOf(here, 'pet', 'show', id, '--history'), { ...full, history });
    assert.deepEqual(await jsonOf(here, 'pet', 'list', '--limit', '100'), await get('/pets?limit=100&view=full'));
    assert.deepEqual(await jsonOf(here, 'category', 'list'), await get('/categories'));
    const animals = Number((await get('/pets?categoryId=2&limit=100')).length);
    const cats = { ...(await get('/categories/2')), animals, categories: 0 };
    assert.deepEqual(await jsonOf(here, 'category', 'show', '2'), cats);
    assert.deepEqual(await jsonOf(here, 'hold', 'list'), await get('/holds'));
    assert.deepEqual(await jsonOf(here, 'order', 'list'), await get('/store/orders'));
  });

  it('rejects what the API rejects, including a second order of an animal', async () => {
    const { id } = await newPet();
    const hold = await post('/holds', { petIds: [id] });
    const place = ['order', 'place', '--account', String(accountId), '--pet', String(id)];
    await refused(
      here,
      new RegExp(`Account ${accountId} holds the animal ${id}; order it with --hold ${hold.id}`),
      ...place,
    );
    await refused(here, /is on hold until/, 'order', 'place', '--account', '1', '--pet', String(id));
    await refused(here, /is on hold until/, 'pet', 'update', String(id), '--status', 'sold');
    await refused(here, /is on hold until/, 'pet', 'delete', String(id));
    const placed = await jsonOf(here, ...place, '--hold', String(hold.id));
    assert.equal(placed.holdId, hold.id);
    await refused(here, /is ordered until/, ...place);
    await refused(here, /was used up by orders/, 'hold', 'release', String(hold.id));
    await refused(here, /is placed; it can be approved or cancelled now/, 'order', 'deliver', String(placed.id));
  });

  it('sends messages that a running server delivers', async () => {
    const { id } = await jsonOf(here, 'message', 'send', '--to', String(accountId), '--message', 'From the store');
    const read = async () => (await send(`${server.urls.messages}/messages?box=inbox`, { key })).body;
    let inbox = await read();
    while (inbox.length === 0) {
      await pause(20);
      inbox = await read();
    }
    assert.deepEqual([inbox.length, inbox[0].id, inbox[0].message], [1, id, 'From the store']);
    assert.equal(inbox[0].status, 'delivered');
    assert.deepEqual(await jsonOf(here, 'message', 'show', id), inbox[0]);
    assert.deepEqual(await jsonOf(here, 'message', 'list', '--account', String(accountId)), inbox);
    const sent = await send(`${server.urls.messages}/messages`, { method: 'POST', key, body: { message: 'To it' } });
    const { message, accountId: from } = await jsonOf(here, 'message', 'show', sent.body.id);
    assert.deepEqual([message, from], ['To it', accountId]);
  });

  it('uses production unless --deployment names staging', async () => {
    const animals = await jsonOf(here, 'pet', 'list', '--deployment', 'staging', '--limit', '1000');
    assert.ok(animals.length > 100);
    const args = ['--account', String(accountId), '--name', 'Stagy', '--category', '2', '--deployment', 'staging'];
    const pet = await jsonOf(here, 'pet', 'create', ...args);
    assert.equal(pet.id, animals.at(-1).id + 1);
    await refused(here, /^There is no animal/, 'pet', 'show', String(pet.id));
    assert.equal((await jsonOf(here, 'pet', 'show', String(pet.id), '--deployment', 'staging')).name, 'Stagy');
  });

  it('prints long lists completely through a pipe', async () => {
    await onData(here, 'production', database =>
      database.write(async tx => {
        for (let count = 0; count < 3000; count++)
          await createPet(tx, accountId, { name: 'Rex', categoryId: 1 }, 'open');
      }),
    );
    const rows = await server.petstore('pet', 'list', '--category', '1', '--limit', '100000');
    assert.equal(rows['length'], 3000);
  });
});

const postgresName = `petstore_cli_store_${process.pid}`;

const engines: { name: string; skip: string | false; open(): Promise<Environment>; close(): Promise<unknown> }[] = [
  {
    name: 'on the embedded engine',
    skip: false,
    open: async () => ({ PETSTORE_DATA_DIR: await newDirectory() }),
    close: async () => {},
  },
  {
    name: 'on PostgreSQL',
    skip: skipFor(withoutPostgres),
    async open() {
      await onServer(connection =>
        run(connection, `create database ${postgresName} template template0 encoding 'UTF8'`),
      );
      const url = Object.assign(new URL(postgresUrl), { pathname: `/${postgresName}` }).href;
      await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
      return { PETSTORE_DATABASE_URL: url };
    },
    close: () => onServer(connection => run(connection, `drop database ${postgresName} with (force)`)),
  },
];

for (const engine of engines) {
  describe(engine.name, { skip: engine.skip }, () => {
    let here: Environment;
    before(async () => {
      here = { ...(await engine.open()), ...NOON };
      await jsonOf(here, 'account', 'create', '--email', 'owner@example.org', '--name', 'Owner');
      await jsonOf(here, 'account', 'create', '--email', 'buyer@example.org', '--name', 'Buyer');
    });
    after(() => engine.close());

    const newPet = (overrides: PetOptions = {}) => addPet(here, overrides);

    it('prints what to do next when a list is empty', async () => {
      for (const [args, sentence] of [
        [['pet', 'list'], /^There are no animals; `petstore pet create .*--deployment staging\.\n$/],
        [['pet', 'list', '--deployment', 'staging'], /^There are no animals; `petstore staging reset`/],
        [['pet', 'list', '--status', 'sold'], /^There are no such animals; `petstore pet list`/],
        [['hold', 'list'], /^There are no holds; /],
        [['hold', 'list', '--status', 'active'], /^There are no such holds; /],
        [['hold', 'list', '--status', 'active,used'], /^There are no such holds; /],
        [['webhook', 'list'], /^There are no webhooks; /],
        [['order', 'list'], /^There are no orders; `petstore order place /],
        [['order', 'list', '--pet', '7'], /^There are no such orders; /],
        [['order', 'list', '--status', 'placed,approved'], /^There are no such orders; /],
        [['pet', 'list', '--id', '1,2'], /^There are no such animals; /],
        [['category', 'list', '--placeholders'], /^There are no such categories; /],
        [['message', 'list'], /^There are no messages; /],
        [['message', 'list', '--account', 'store'], /^There are no such messages; /],
      ] as const) {
        assert.match(await textOf(here, ...args), sentence);
        assert.deepEqual(await jsonOf(here, ...args), []);
      }
    });

    it('moves an animal through a whole order, on either deployment', async () => {
      for (const deployment of ['production', 'staging']) {
        const on = ['--deployment', deployment];
        const pet = await newPet({ price: '125 EUR', deployment });
        const placed = await jsonOf(here, 'order', 'place', '--account=2', '--pet', String(pet.id), ...on);
        assert.deepEqual([placed.status, placed.price], ['placed', { amount: 12_500, currency: 'EUR' }]);
        const id = String(placed.id);
        const statusOf = async () => (await jsonOf(here, 'pet', 'show', String(pet.id), ...on)).status;
        assert.equal(await statusOf(), 'pending');
        assert.match(
          await textOf(here, 'pet', 'show', String(pet.id), ...on),
          new RegExp(`kept for  order ${id} until`),
        );
        await jsonOf(here, 'order', 'approve', id, ...on);
        await jsonOf(here, 'order', 'deliver', id, ...on);
        assert.equal(await statusOf(), 'sold');
        const back = await jsonOf(here, 'order', 'return', id, '--not-ready', '--note', 'to the vet', ...on);
        assert.equal(await statusOf(), 'pending');
        assert.deepEqual([back.return.note, back.return.accountId], ['to the vet', undefined]);
        assert.equal((await jsonOf(here, 'order', 'list', '--pet', String(pet.id), ...on)).length, 1);
      }
    });

    it('lists webhooks without secrets, disables and deletes them, without the encryption key', async () => {
      const secret = await onData(here, 'production', async database => {
        const newWebhook = { url: 'https://receiver.example/petstore', types: ['pet.*' as const] };
        const rules = { max: 10, networks: [] };
        const box = createEncryptor(Buffer.alloc(32, 7));
        return (await database.write(tx => createWebhook(tx, { accountId: 1, admin: false }, newWebhook, rules, box)))
          .secret;
      });
      const [webhook] = await jsonOf(here, 'webhook', 'list');
      assert.deepEqual(await jsonOf(here, 'webhook', 'show', String(webhook.id)), webhook);
      assert.deepEqual([webhook.status, webhook.accountId, webhook.types], ['inactive', 1, ['pet.*']]);
      const off = await jsonOf(here, 'webhook', 'disable', String(webhook.id));
      assert.deepEqual([off.status, off.disabledReason], ['disabled', 'operator']);
      const texts = [await textOf(here, 'webhook', 'list'), await textOf(here, 'webhook', 'show', String(webhook.id))];
      for (const text of texts) {
        assert.match(text, /disabled \(operator\)/);
        assert.match(text, /https:\/\/receiver\.example\/petstore/);
        assert.ok(!text.includes(secret));
      }
      assert.deepEqual(await jsonOf(here, 'webhook', 'delete', String(webhook.id)), { id: webhook.id });
      assert.deepEqual(await jsonOf(here, 'webhook', 'list'), []);
    });

    it('rejects an unknown account, on either deployment', async () => {
      for (const deployment of ['production', 'staging']) {
        const on = ['--account', '4711', '--deployment', deployment];
        const create = ['pet', 'create', '--name', 'Rex', '--category', '1', ...on];
        await refused(here, /^There is no account 4711; `petstore account list` shows all of them\.$/m, ...create);
        await refused(here, /^There is no account 4711/, 'order', 'place', '--pet', '1', ...on);
      }
    });

    it('creates a placeholder for an unknown category, unless categories are strict', async () => {
      const pet = await newPet({ category: '9000' });
      assert.equal((await jsonOf(here, 'category', 'show', '9000')).placeholder, true);
      assert.match(
        await textOf(here, 'category', 'show', '9000'),
        /Category 9000 \(a placeholder\)[\s\S]*animals +1\n/,
      );
      const strict = { ...here, PETSTORE_CATEGORIES: 'strict' };
      const create = ['pet', 'create', '--account', '1', '--name', 'Rex', '--category', '9001'];
      await refused(strict, /^There is no category 9001\.$/m, ...create);
      await refused(strict, /^There is no category 9001\.$/m, 'pet', 'update', String(pet.id), '--category', '9001');
      assert.equal((await jsonOf(strict, 'pet', 'update', String(pet.id), '--category', '8')).categoryId, 8);
      await jsonOf(here, 'category', 'update', '9000', '--name', 'Alpacas', '--slug', 'alpacas');
      assert.deepEqual(await jsonOf(here, 'category', 'list', '--placeholders'), []);
    });

    it('reports errors of operations in the terms of the command line', async () => {
      for (const [sentence, ...args] of [
        [/^There is no animal/, 'pet', 'show', '4711'],
        [/^There never was an animal 4711/, 'pet', 'show', '4711', '--history'],
        [/^There is no animal 4711/, 'pet', 'update', '4711', '--name', 'x'],
        [/^There is no animal 4711|^There is no animal with this id/, 'pet', 'delete', '4711'],
        [/^There is no category 4711/, 'category', 'show', '4711'],
        [/^There is no category 4711/, 'category', 'delete', '4711'],
        [/^There is no category 4711/, 'category', 'merge', '2', '--into', '4711'],
        [/category 2/i, 'category', 'update', '2', '--parent', '2'],
        [/has the slug dog/, 'category', 'create', '--name', 'Hound', '--slug', 'dog'],
        [/^There is no hold 4711/, 'hold', 'show', '4711'],
        [/^There is no hold 4711/, 'hold', 'extend', '4711', '--until', '1h'],
        [/^There is no hold 4711/, 'hold', 'release', '4711'],
        [/^There is no order 4711/, 'order', 'show', '4711'],
        [/^There is no webhook 4711/, 'webhook', 'show', '4711'],
        [/^There is no webhook 4711/, 'webhook', 'disable', '4711'],
        [/^There is no webhook 4711/, 'webhook', 'delete', '4711'],
        [/^There is no order 4711/, 'order', 'approve', '4711'],
        [/^There is no animal 4711/, 'order', 'place', '--account', '1', '--pet', '4711'],
        [/^--cursor must be a cursor printed below a list/, 'pet', 'list', '--cursor', 'abc'],
        [/^--cursor must be/, 'category', 'list', '--cursor', 'abc'],
        [/^--cursor must be/, 'hold', 'list', '--cursor', 'abc'],
        [/^--cursor must be/, 'order', 'list', '--cursor', 'abc'],
        [/^--cursor must be/, 'message', 'list', '--cursor', 'abc'],
        [/^There is no message msg_4711/, 'message', 'show', 'msg_4711'],
        [/^There is no account 4711/, 'message', 'list', '--account', '4711'],
        [/^There is no account 4711/, 'message', 'send', '--to', '4711', '--message', 'x'],
        [/^There is no account 4711/, 'message', 'send', '--account', '4711', '--message', 'x'],
        [/^There is no animal/, 'message', 'send', '--account', '1', '--pet', '4711', '--message', 'x'],
      ] as [RegExp, ...string[]][]) {
        await refused(here, sentence, ...args);
      }
    });

    it('treats a hold as expired from its end on, and records that in the history', async () => {
      const { id } = await newPet();
      const hold = await onData(here, 'production', database =>
        database.write(tx => createHold(tx, { accountId: 2, admin: false }, { petIds: [id] }, 100)),
      );
      const holdId = String(hold.id);
      assert.equal((await jsonOf(here, 'hold', 'list', '--pet', String(id)))[0].status, 'active');
      await refused(here, /^--until must be a time from /, 'hold', 'extend', holdId, '--until', '31d');
      await refused(here, /^--until must be a time from /, 'hold', 'extend', holdId, '--until', '2026-12-31T12:00:00Z');
      const until = '2027-01-01T14:00:00.000Z';
      assert.equal((await jsonOf(here, 'hold', 'extend', holdId, '--until', until)).expiresAt, until);

      const later = { ...here, PETSTORE_NOW: '2027-01-01T14:00:00Z' };
      assert.equal((await jsonOf(later, 'pet', 'show', String(id))).status, 'available');
      assert.doesNotMatch(await textOf(later, 'pet', 'show', String(id)), /kept for/);
      assert.equal((await jsonOf(later, 'hold', 'show', holdId)).status, 'expired');
      await refused(later, /expired at 2027-01-01T14:00:00/, 'hold', 'release', holdId);
      const { history } = await jsonOf(later, 'pet', 'show', String(id), '--history');
      assert.deepEqual([history.at(-1).reason, history.at(-1).at], ['hold_expired', until]);
      assert.match(
        await textOf(later, 'pet', 'show', String(id), '--history'),
        new RegExp(`14:00:00\\.000Z  -  +updated \\(hold expired, hold ${holdId}\\): status pending → available\\n$`),
      );
      here = { ...here, PETSTORE_NOW: '2027-01-01T14:00:00Z' };
    });

    it('shows a deleted animal only with --history', async () => {
      const { id } = await newPet({ reason: 'new here' });
      assert.equal(
        await textOf(here, 'pet', 'delete', String(id)),
        `Deleted the animal ${id}, Minka; \`petstore pet show ${id} --history\` still shows its history.\n`,
      );
      await refused(here, /^There is no animal/, 'pet', 'show', String(id));
      const shown = await jsonOf(here, 'pet', 'show', String(id), '--history');
      assert.deepEqual([shown.name, shown.categoryId, shown.deletedAt], ['Minka', 2, shown.history.at(-1).at]);
      assert.match(
        await textOf(here, 'pet', 'show', String(id), '--history'),
        /^animal +\d+\nname +Minka\n[\s\S]* account 1 +created: name Minka, category 2, status available, reason new here\n.* operator +deleted\n$/,
      );
    });

    it('sends messages for accounts and from the store, and lists all messages', async () => {
      const send = async (deployment: string, ...args: string[]) =>
        (await jsonOf(here, 'message', 'send', ...args, '--deployment', deployment)).id;
      for (const deployment of ['production', 'staging']) {
        const on = ['--deployment', deployment];
        const pet = await newPet({ deployment });
        const long = `${'Is she still there? '.repeat(9)}\n— Buyer`;
        const toOwner = ['--account=2', '--pet', String(pet.id), '--reply-to=jo@example.org', '--message', long];
        const ids = [
          await send(deployment, '--account=2', '--message=Hello'),
          await send(deployment, ...toOwner),
          await send(deployment, '--to=2', '--message=Your animals are on the first page.'),
          await send(deployment, '--account=1', '--pet', String(pet.id), '--message=A note to myself'),
        ];
        const listed = async (...args: string[]) =>
          (await jsonOf(here, 'message', 'list', ...args, ...on)).map(({ id }: { id: string }) => ids.indexOf(id));
        assert.deepEqual(await listed(), [0, 1, 2, 3]);
        assert.deepEqual(await listed('--account=2', '--box=inbox'), [], 'no message is delivered yet');
        await onData(here, deployment as DeploymentName, database => database.write(tx => tx.run(deliver, {})));

        assert.deepEqual(await listed('--account=2'), [0, 1, 2]);
        assert.deepEqual(await listed('--account=2', '--box=sent'), [0, 1]);
        assert.deepEqual(await listed('--account=2', '--box=inbox'), [2]);
        assert.deepEqual(await listed('--account=1'), [1, 3]);
        assert.deepEqual(await listed('--account=1', '--box=inbox'), [1, 3]);
        assert.deepEqual(await listed('--account=store'), [0, 2]);
        assert.deepEqual(await listed('--account=store', '--box=sent'), [2]);
        assert.deepEqual(await listed('--account=store', '--box=inbox'), [0]);
        const { errors } = await petstore(here, 'message', 'list', '--account=1', '--limit=1', '--json', ...on);
        assert.deepEqual(await listed('--account=1', /--cursor=\S+/.exec(errors)![0]), [3]);
        await refused(here, /^--cursor must be/, 'message', 'list', /--cursor=\S+/.exec(errors)![0], ...on);

        const table = await textOf(here, 'message', 'list', ...on);
        assert.match(table, /^ID +FROM +TO +ANIMAL +STATUS +SENT +TEXT\n/);
        assert.match(table, /account 2 +the store +- +\w+ +\S+ +Hello\n/);
        assert.match(
          table,
          new RegExp(`account 2 +account 1 +${pet.id} .* Is she still there\\? Is she still there\\?…\n`),
        );
        assert.match(table, /the store +account 2 +- /);
        const shown = await textOf(here, 'message', 'show', ids[1], ...on);
        assert.match(
          shown,
          /^message +msg_\d+\nfrom +account 2\nto +account 1\nanimal +\d+\nreply to +jo@example\.org\n/,
        );
        assert.match(shown, /\ntext +(Is she still there\? ){9}\n +— Buyer\n$/);
        const { message, replyTo, toAccountId } = await jsonOf(here, 'message', 'show', ids[1], ...on);
        assert.deepEqual([message, replyTo, toAccountId], [long, 'jo@example.org', 1]);
      }
    });

    it('continues a long list at a cursor, without gaps or repetitions', async () => {
      await onData(here, 'staging', async database => {
        await database.write(async tx => {
          for (let count = 0; count < 250; count++) {
            const status = count % 5 === 0 ? 'sold' : 'available';
            await createPet(tx, 1, { name: `Rex ${count}`, categoryId: 7, status }, 'open');
          }
        });
      });
      const list = ['pet', 'list', '--deployment', 'staging', '--category', '7'];
      const first = await petstore(here, ...list, '--limit', '230', '--json');
      const cursor = /^There are more: run the same command with (--cursor=\S+) to continue\.\n$/.exec(
        first.errors,
      )![1]!;
      const second = await petstore(here, ...list, '--limit', '230', cursor, '--json');
      assert.equal(second.errors, '');
      const ids = [first, second].flatMap(({ printed }) => JSON.parse(printed).map((pet: { id: number }) => pet.id));
      assert.deepEqual([ids.length, new Set(ids).size], [250, 250]);
      const sold = await jsonOf(here, ...list, '--status', 'sold', '--limit', '1000');
      assert.equal(sold.length, 50);
      const both = await jsonOf(here, ...list, '--status', 'sold,pending,sold', '--limit', '1000');
      assert.deepEqual(both, sold);
      const every = await jsonOf(here, ...list, '--status', 'sold,pending', '--status', 'available', '--limit', '1000');
      assert.equal(every.length, 250);
      const some = await jsonOf(here, ...list, '--id', `${ids[3]},${ids[249]}`, '--id', `${ids[0]}`);
      assert.deepEqual(
        some.map((pet: { id: number }) => pet.id),
        [ids[0], ids[3], ids[249]],
      );
      await refused(here, /^--cursor must be/, ...list, '--status', 'sold', cursor);
    });

    it('aligns names in every script', async () => {
      for (const name of ['小雪', '🐈‍⬛ Luna', 'Änn', 'Rex']) await newPet({ name, category: '6' });
      const lines = (await textOf(here, 'pet', 'list', '--category', '6')).trimEnd().split('\n');
      // Where the third column begins, on a terminal.
      const beginnings = lines.map(line => widthOf(/^.*?(?=(?:CATEGORY|6 {8}) )/.exec(line)![0]));
      assert.deepEqual([lines.length, new Set(beginnings).size], [5, 1]);
    });

    it('escapes control characters in stored text', async () => {
      const { id } = await newPet({ reason: 'x', category: '5' });
      const message = await jsonOf(here, 'message', 'send', '--to', '1', '--message', HOSTILE);
      await onData(here, 'production', database => database.write(tx => tx.run(spoil, {})));
      for (const args of [
        ['pet', 'list'],
        ['pet', 'show', String(id)],
        ['category', 'list'],
        ['category', 'show', '5'],
        ['category', 'merge', '5', '--into', '4'],
        ['pet', 'delete', String(id)],
        ['pet', 'show', String(id), '--history'],
        ['message', 'list'],
        ['message', 'show', message.id],
      ]) {
        for (const json of [[], ['--json']]) {
          const { printed, errors } = await petstore(here, ...args, ...json);
          assert.doesNotMatch(printed.replaceAll('\n', '') + errors.replaceAll('\n', ''), /[\p{Cc}\u202a-\u202e]/u);
        }
      }
      assert.equal((await jsonOf(here, 'pet', 'list', '--limit', '1'))[0].name, HOSTILE);
    });
  });
}

/** Marks every message as delivered, like a server. */
const deliver = query(db => db.updateTable('messages').set({ arrived_at: 0, status: 'delivered' }));

/** Stores a name that the API rejects. */
const spoil = query(db => db.updateTable('pets').set({ name: HOSTILE }));
const HOSTILE = '\u001b[2J\u009b31m\u202eRex\u0007';

import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { createWebhook } from '../../src/events/webhooks/webhooks.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import { type DeploymentName, query } from '../../src/model/schema.ts';
import { createHold } from '../../src/store/holds/holds.ts';
import { type Environment, jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { addPet, onData, onEachEngine, type PetOptions } from './store-commands.ts';

onEachEngine(environment => {
  let here: Environment;
  before(() => {
    here = environment();
  });

  const newPet = (overrides: PetOptions = {}) => addPet(here, overrides);

  it('moves an animal through a whole order, on either deployment', async () => {
    for (const deployment of ['production', 'staging']) {
      const on = ['--deployment', deployment];
      const pet = await newPet({ price: '125 EUR', deployment });
      const placed = await jsonOf(here, 'order', 'place', '--account=2', '--pet', String(pet.id), ...on);
      assert.deepEqual([placed.status, placed.price], ['placed', { amount: 12_500, currency: 'EUR' }]);
      const id = String(placed.id);
      const statusOf = async () => (await jsonOf(here, 'pet', 'show', String(pet.id), ...on)).status;
      assert.equal(await statusOf(), 'pending');
      assert.match(await textOf(here, 'pet', 'show', String(pet.id), ...on), new RegExp(`kept for  order ${id} until`));
      await jsonOf(here, 'order', 'approve', id, ...on);
      await jsonOf(here, 'order', 'deliver', id, ...on);
      assert.equal(await statusOf(), 'sold');
      const back = await jsonOf(here, 'order', 'return', id, '--not-ready', '--note', 'to the vet', ...on);
      assert.equal(await statusOf(), 'pending');
      assert.deepEqual([back.return.note, back.return.accountId], ['to the vet', undefined]);
      assert.equal((await jsonOf(here, 'order', 'list', '--pet', String(pet.id), ...on)).length, 1);
    }
  });

  it('has every change by a command in the audit log, with the command and without an address', async () => {
    const pet = await newPet({ account: '2' });
    await jsonOf(here, 'pet', 'update', String(pet.id), '--name', 'Mia');
    const resource = `--resource=pet:${pet.id}`;
    const entriesOf = async (...args: string[]) => {
      const entries = await jsonOf(here, 'audit', 'list', resource, ...args);
      return entries.map(({ id: _, time, eventId, ...entry }: Record<string, unknown>) => entry);
    };
    const created = { type: 'pet.created', resourceId: pet.id, accountId: 2, command: 'pet create' };
    const updated = { type: 'pet.updated', resourceId: pet.id, command: 'pet update' };
    assert.deepEqual(await entriesOf(), [updated, created]);
    assert.deepEqual(await entriesOf('--account=2', '--since=1h'), [updated, created]);
    assert.deepEqual(await entriesOf('--account=1'), []);
    assert.deepEqual(await entriesOf('--until=1h'), []);
    assert.match(await textOf(here, 'audit', 'list', resource), /pet\.updated +\d+ +- +- +- +pet update/);
    assert.deepEqual(await jsonOf(here, 'audit', 'refusals'), []);
    assert.match(await textOf(here, 'audit', 'refusals', '--account=1'), /No request with a known key was refused/);
  });

  it('lists the animals of an account, and the orders that it placed or those of its animals', async () => {
    const mine = await newPet({ account: '2' });
    const theirs = await newPet();
    const placed = await jsonOf(here, 'order', 'place', '--account=2', '--pet', String(theirs.id));
    const idsOf = async (...args: string[]) =>
      (await jsonOf(here, ...args, '--limit=1000')).map(({ id }: { id: number }) => id);
    const pets = await idsOf('pet', 'list', '--account=2', '--status=available');
    assert.deepEqual([pets.includes(mine.id), pets.includes(theirs.id)], [true, false]);
    assert.ok((await idsOf('order', 'list', '--account=2')).includes(placed.id));
    assert.ok((await idsOf('order', 'list', '--account=2', '--role=placer')).includes(placed.id));
    assert.ok(!(await idsOf('order', 'list', '--account=2', '--role=owner')).includes(placed.id));
    assert.equal((await petstore(here, 'order', 'list', '--role', 'owner')).code, 2);
    await refused(here, /There is no account 999/, 'pet', 'list', '--account=999');
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
    assert.match(await textOf(here, 'category', 'show', '9000'), /Category 9000 \(a placeholder\)[\s\S]*animals +1\n/);
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
});

/** Marks every message as delivered, like a server. */
const deliver = query(db => db.updateTable('messages').set({ arrived_at: 0, status: 'delivered' }));

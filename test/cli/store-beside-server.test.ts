import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createPet } from '../../src/store/pets/pets.ts';
import { type Environment, jsonOf, refused } from '../support/commands.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { addPet, onData, type PetOptions } from './store-commands.ts';

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

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../../../test/support/engines-over-http.ts';
import { type Reply, type SendOptions, send, serve, type TestService } from '../../../test/support/serving.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import type { IssuedKey } from '../../model/key.ts';

const START = Date.parse('2026-11-21T12:00:00Z');

overEachEngine(engine => {
  const clock = testClock(START);
  let serving: TestService;
  let key: IssuedKey;
  let admin: IssuedKey;
  before(async () => {
    serving = await serve({
      clock,
      environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' },
    });
    key = await serving.newKey();
    const registry = serving.app.databases.production;
    const { id } = await registry.write(tx =>
      createAccount(tx, { email: 'a@example.org', name: 'An admin', plan: 'pro', admin: true }),
    );
    admin = await serving.newKey({ accountId: id });
  });
  after(() => serving.stop());

  const ask = (path: string, sending: SendOptions = {}) =>
    send(`${serving.urls.production}${path}`, { key, ...sending });
  const post = (path: string, body: unknown, sending: SendOptions = {}) =>
    ask(path, { method: 'POST', body, ...sending });
  const add = async (pet: object) => (await post('/pets', { categoryId: 2, ...pet })).body.id as number;
  const ids = (reply: Reply) => reply.body.map(({ id }: { id: number }) => id);

  describe('listPets', () => {
    it('shows a held pet as available at the millisecond of the expiry, also in cached responses', async () => {
      const id = await add({ name: 'held', categoryId: 6 });
      const lists = ['status=available', 'status=pending', '', 'view=full', 'includeDescendants=true'];
      const look = async () => {
        const replies = await Promise.all(lists.map(query => ask(`/pets?categoryId=6&limit=100&${query}`)));
        return [replies.map(({ body }) => body.map((pet: { status: string }) => pet.status)), replies] as const;
      };
      const free = [['available'], [], ['available'], ['available'], ['available']];
      const held = [[], ['pending'], ['pending'], ['pending'], ['pending']];
      assert.deepEqual((await look())[0], free);
      const expiresAt = new Date(clock.now() + 2000).toISOString();
      assert.equal((await post('/holds', { petIds: [id], expiresAt })).status, 201);
      assert.deepEqual((await look())[0], held);
      clock.advance(1999);
      const [then, replies] = await look();
      assert.deepEqual(then, held);
      clock.advance(1);
      const [now, later] = await look();
      assert.deepEqual(now, free);
      for (const [index, reply] of replies.entries()) {
        assert.notEqual(reply.headers.etag, later[index]!.headers.etag, lists[index]!);
        const again = await ask(`/pets?categoryId=6&limit=100&${lists[index]}`, {
          headers: { 'If-None-Match': String(reply.headers.etag) },
        });
        assert.equal(again.status, 200);
      }
    });

    it('lists the pets of a category and its descendants by the current tree', async () => {
      const { body: child } = await post('/categories', { name: 'Small birds', parentId: 6 });
      const id = await add({ name: 'Tweety', categoryId: child.id });
      const list = '/pets?categoryId=6&includeDescendants=true&limit=100';
      const has = async () => ids(await ask(list)).includes(id);
      const counted = async () =>
        Number((await ask(list, { headers: { Prefer: 'count=exact' } })).headers['x-total-count']);
      assert.ok(await has());
      const total = await counted();
      assert.equal(total, ids(await ask(list)).length);
      const move = (parentId: number | null) =>
        ask(`/categories/${child.id}`, { method: 'PATCH', body: { parentId }, key: admin });
      assert.equal((await move(null)).status, 200);
      assert.ok(!(await has()));
      assert.equal(await counted(), total - 1);
      assert.equal((await move(6)).status, 200);
      assert.ok(await has());
      assert.ok(!ids(await ask('/pets?categoryId=6&limit=100')).includes(id));
      assert.ok(!ids(await ask('/pets?categoryId=6&includeDescendants=false&limit=100')).includes(id));
    });

    it('lists only the animals of the caller with owner=me, also in changes and cached responses', async () => {
      clock.advance(1000);
      const since = new Date(clock.now()).toISOString();
      const [mine, theirs] = [
        await add({ name: 'mine' }),
        (await post('/pets', { name: 'x', categoryId: 2 }, { key: admin })).body.id,
      ];
      const removed = (await post('/pets', { name: 'removed', categoryId: 2 }, { key: admin })).body.id;
      assert.equal((await ask(`/pets/${removed}`, { method: 'DELETE', key: admin })).status, 204);
      for (const filter of [
        'sort=-id',
        'sort=-id&status=available',
        'sort=-name&categoryId=2',
        `id=${mine},${theirs}`,
      ]) {
        for (let times = 0; times < 2; times++) {
          const headers = { Prefer: 'count=exact' };
          const own = await ask(`/pets?owner=me&limit=100&${filter}`, { headers });
          assert.ok(ids(own).includes(mine) && !ids(own).includes(theirs), filter);
          assert.equal(own.headers['x-total-count'], undefined);
          assert.equal(own.headers['preference-applied'], undefined);
          assert.deepEqual(
            ids(await ask(`/pets?owner=me&limit=100&${filter}`, { key: admin, headers })),
            [theirs],
            filter,
          );
        }
      }
      const changes = `/pets?owner=me&updatedSince=${since}&includeRemoved=true`;
      // Animals that were added before may have changed since by an expiry.
      const changed = ids(await ask(changes));
      assert.ok(changed.includes(mine) && !changed.includes(theirs) && !changed.includes(removed));
      assert.deepEqual(ids(await ask(changes, { key: admin })), [theirs, removed]);
    });

    it('rejects parameters that exclude each other', async () => {
      for (const [query, path] of [
        ['includeDescendants=true', 'includeDescendants'],
        ['includeDescendants=true&updatedSince=2026-11-21T00:00:00Z', 'includeDescendants'],
        ['includeRemoved=true', 'includeRemoved'],
        ['updatedSince=2026-11-21T00:00:00Z&sort=id', 'sort'],
        ['updatedSince=2026-11-21T00:00:00Z&id=1', 'id'],
        ['updatedSince=2026-11-21T00:00:00%2B', 'updatedSince'],
        ['updatedSince=2026-11-21T00:00:00+01:00', 'updatedSince'],
        ['updatedSince=abc', 'updatedSince'],
        ['updatedSince=2026-11-21T00:00:00Z&cursor=abc', 'cursor'],
        ['view=whole', 'view'],
        ['owner=1', 'owner'],
        ['owner=me&updatedSince=2026-11-21T00:00:00Z&sort=id', 'sort'],
        ['view=full&view=full', 'view'],
        ['includeRemoved=1&updatedSince=2026-11-21T00:00:00Z', 'includeRemoved'],
        ['includeDescendants=True&categoryId=1', 'includeDescendants'],
      ] as const) {
        const reply = await ask(`/pets?${query}`);
        assert.deepEqual([reply.status, reply.body.code], [400, 'invalid_parameter'], query);
        assert.deepEqual(
          reply.body.errors.map((error: { path: string }) => error.path),
          [path],
          query,
        );
      }
      for (const query of ['includeRemoved=false', 'includeDescendants=false', 'view=plain']) {
        assert.equal((await ask(`/pets?${query}`)).status, 200, query);
      }
    });

    it('leads a client from page to page, and on from the token', async () => {
      // The first request records the expired reservations.
      await ask('/pets?updatedSince=2100-01-01T00:00:00Z');
      const since = new Date(clock.now() + 60_000).toISOString();
      clock.advance(60_000);
      const added = [await add({ name: 'm1' }), await add({ name: 'm2' }), await add({ name: 'm3' })];
      const first = await ask(`/pets?limit=2&includeRemoved=true&updatedSince=${since}`);
      assert.deepEqual(ids(first), added.slice(0, 2));
      assert.equal(first.headers['x-sync-token'], undefined);
      assert.match(String(first.headers.link), /rel="first".*rel="next"/);
      assert.doesNotMatch(String(first.headers.link), /rel="prev"/);
      const second = await send(String(first.headers['x-next']), { key });
      assert.deepEqual(ids(second), added.slice(2));
      assert.deepEqual([second.headers['x-next'], /"next"/.test(String(second.headers.link))], [undefined, false]);
      const token = String(second.headers['x-sync-token']);
      assert.match(token, /^[\w-]+$/);

      assert.equal((await ask(`/pets/${added[0]}`, { method: 'DELETE' })).status, 204);
      const patch = { method: 'PATCH', body: { price: { amount: 1, currency: 'EUR' } } };
      assert.equal((await ask(`/pets/${added[1]}`, patch)).status, 200);
      const deletedAt = new Date(clock.now()).toISOString();
      const third = await ask(`/pets?view=full&includeRemoved=true&updatedSince=${token}`);
      assert.deepEqual(third.body[0], { id: added[0], name: 'm1', categoryId: 2, deletedAt });
      assert.deepEqual(
        [third.body[1].id, third.body[1].price, third.body[1].etag],
        [added[1], { amount: 1, currency: 'EUR' }, `"${added[1]}.2"`],
      );
      assert.equal(third.body.length, 2);
      const plain = await ask(`/pets?updatedSince=${token}`);
      assert.equal(plain.text, JSON.stringify([{ id: added[1], name: 'm2', categoryId: 2, status: 'available' }]));
      assert.ok(plain.headers['x-sync-token']);
      const counted = await ask(`/pets?updatedSince=${token}`, { headers: { Prefer: 'count=exact' } });
      assert.deepEqual(
        [counted.headers['x-total-count'], counted.headers['preference-applied']],
        [undefined, undefined],
      );
    });
  });

  describe('getPet', () => {
    it('returns the current animal, also after reads that are cached', async () => {
      const id = await add({ name: 'Read often', categoryId: 6 });
      const read = async (view = '') => {
        const replies = [await ask(`/pets/${id}${view}`), await ask(`/pets/${id}${view}`)];
        const [first, again] = replies.map(({ status, headers, text }) => ({ status, etag: headers.etag, text }));
        assert.deepEqual(again, first);
        return replies[0]!;
      };
      const first = await read();
      assert.deepEqual(first.body, { id, name: 'Read often', categoryId: 6, status: 'available' });
      assert.equal((await read('?view=full')).body.etag, first.headers.etag);
      const headers = { 'If-None-Match': String(first.headers.etag) };
      assert.equal((await ask(`/pets/${id}`, { headers })).status, 304);

      assert.equal((await ask(`/pets/${id}`, { method: 'PATCH', body: { name: 'Renamed' } })).status, 200);
      assert.equal((await ask(`/pets/${id}`, { headers })).body.name, 'Renamed');
      const expiresAt = new Date(clock.now() + 2000).toISOString();
      assert.equal((await post('/holds', { petIds: [id], expiresAt })).status, 201);
      assert.equal((await read()).body.status, 'pending');
      clock.advance(1999);
      const held = await read();
      assert.equal(held.body.status, 'pending');
      clock.advance(1);
      const free = await read();
      assert.equal(free.body.status, 'available');
      assert.notEqual(free.headers.etag, held.headers.etag);
      assert.equal((await ask(`/pets/${id}`, { method: 'DELETE' })).status, 204);
      assert.equal((await read()).status, 404);
    });

    it('shows the full view with view=full, with an etag for If-Match', async () => {
      const id = await add({ name: 'whole', price: { amount: 12, currency: 'EUR' }, statusReason: 'new' });
      const full = await ask(`/pets/${id}?view=full`);
      const at = new Date(clock.now()).toISOString();
      assert.deepEqual(full.body, {
        id,
        name: 'whole',
        categoryId: 2,
        status: 'available',
        statusReason: 'new',
        price: { amount: 12, currency: 'EUR' },
        accountId: key.accountId,
        createdAt: at,
        updatedAt: at,
        etag: `"${id}.1"`,
      });
      assert.equal(full.headers.etag, full.body.etag);
      const plain = await ask(`/pets/${id}`);
      assert.equal(plain.text, `{"id":${id},"name":"whole","categoryId":2,"status":"available"}`);
      assert.equal((await ask(`/pets/${id}?view=plain`)).text, plain.text);
      assert.equal((await ask(`/pets/${id}?view=whole`)).body.code, 'invalid_parameter');
      const change = (tag: string) =>
        ask(`/pets/${id}`, { method: 'PATCH', body: { name: 'changed' }, headers: { 'If-Match': tag } });
      assert.equal((await change(full.body.etag)).status, 200);
      assert.equal((await change(full.body.etag)).status, 412);
      const { body } = await ask(`/pets?id=${id}&view=full`);
      assert.equal((await change(body[0].etag)).status, 200);
    });
  });

  describe('getPetHistory', () => {
    it('lists an unrecorded expiry page by page, and the history of a deleted pet', async () => {
      const id = await add({ name: 'old' });
      const until = new Date(clock.now() + 1000).toISOString();
      const stranger = await serving.newKey();
      const hold = await post('/holds', { petIds: [id], expiresAt: until }, { key: stranger });
      clock.advance(1500);
      const history = await ask(`/pets/${id}/history`);
      assert.deepEqual(
        history.body.map((entry: { type: string; reason?: string; holdId?: number }) => [
          entry.type,
          entry.reason,
          entry.holdId,
        ]),
        [
          ['created', undefined, undefined],
          ['updated', 'held', hold.body.id],
          ['updated', 'hold_expired', hold.body.id],
        ],
      );
      assert.equal(history.body[2].at, until);
      assert.equal((await ask(`/pets/${id}`, { method: 'DELETE' })).status, 204);
      const seen: unknown[] = [];
      let url: string | undefined = `${serving.urls.production}/pets/${id}/history?limit=3`;
      for (; url !== undefined; ) {
        const page: Reply = await send(url, { key: stranger });
        assert.equal(page.status, 200, page.text);
        seen.push(...page.body.map((entry: { type: string; accountId?: number }) => [entry.type, entry.accountId]));
        url = page.headers['x-next'] as string | undefined;
      }
      assert.deepEqual(seen, [
        ['created', undefined],
        ['updated', stranger.accountId],
        ['updated', undefined],
        ['deleted', undefined],
      ]);
      for (const path of ['/pets/99999999/history', '/pets/0/history', '/pets/01/history', '/pets/x/history']) {
        const reply = await ask(path);
        assert.deepEqual([reply.status, reply.body.code], [404, 'pet_not_found'], path);
      }
      assert.equal((await ask(`/pets/${id}/history?cursor=abc`)).body.code, 'invalid_parameter');
    });
  });
});

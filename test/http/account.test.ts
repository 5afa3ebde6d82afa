import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

overEachEngine(engine => {
  describe('the account and its bounds over HTTP', () => {
    let serving: TestService;
    let owner: string;

    before(async () => {
      serving = await serve({ environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '' } });
      owner = (await serving.newKey()).token;
    });
    after(() => serving?.stop());

    const call = (key: string, method: string, path: string, body?: unknown): Promise<Reply> =>
      send(serving.urls.production + path, { method, key, ...(body !== undefined && { body }) });

    const post = (key: string, path: string, body: object, headers: Record<string, string>): Promise<Reply> =>
      send(serving.urls.production + path, { method: 'POST', key, body, headers });

    /** Adds pets, and returns their ids. */
    const addPets = async (count: number): Promise<number[]> => {
      const replies = Array.from({ length: count }, () =>
        call(owner, 'POST', '/pets', { name: 'Minka', categoryId: 2 }),
      );
      return (await Promise.all(replies)).map(({ body }) => body.id);
    };

    const boundsOf = async (key: string) => (await call(key, 'GET', '/account')).body.bounds;

    it('shows the account with its plan, limits and bounds', async () => {
      const { token, accountId } = await serving.newKey({ plan: 'free' });
      const petIds = await addPets(2);
      await call(token, 'POST', '/holds', { petIds });
      await call(token, 'POST', '/webhooks', { url: 'https://receiver.example/' });
      const { status, body } = await call(token, 'GET', '/account');
      const { email, bounds, ...account } = body;
      assert.match(email, /^caller-\d+@example\.org$/);
      assert.deepEqual(
        [status, account],
        [200, { id: accountId, name: 'A caller', plan: 'free', rateLimits: { perMinute: 60, perDay: 1000 } }],
      );
      assert.deepEqual(bounds.heldPets, { used: 2, maximum: 100 });
      assert.deepEqual(bounds.webhooks, { used: 1, maximum: 10 });
      assert.deepEqual(bounds.categories, { used: 0, maximum: 100 });
      assert.deepEqual(bounds.streams, { used: 0, maximum: 5 });
    });

    it('needs the scope account:read, which a key with every scope has', async () => {
      const { token } = await serving.newKey({ scopes: ['pets:read'] });
      const { status, body } = await call(token, 'GET', '/account');
      assert.deepEqual([status, body.code], [403, 'insufficient_scope']);
      const allowed = await serving.newKey({ scopes: ['account:read'] });
      assert.equal((await call(allowed.token, 'GET', '/account')).status, 200);
    });

    it('bounds the open orders of an account, and frees a place with each that ends', async () => {
      const { token } = await serving.newKey({ plan: 'free' });
      const pets = await addPets(52);
      const order = (petId: number) => call(token, 'POST', '/store/orders', { petId });
      const first = await order(pets[0]!);
      const parallel = await Promise.all(pets.slice(1, 51).map(order));
      const codes = parallel.map(({ status, body }) => body.code ?? status).sort();
      assert.deepEqual(codes, [...Array(49).fill(201), 'order_limit_exceeded']);
      assert.deepEqual((await boundsOf(token)).openOrders, { used: 50, maximum: 50 });

      const step = (name: string) => call(owner, 'POST', `/store/orders/${first.body.id}/${name}`);
      await step('approval');
      assert.equal((await order(pets[51]!)).body.code, 'order_limit_exceeded');
      await step('delivery');
      const placed = await order(pets[51]!);
      assert.equal(placed.status, 201);
      await call(token, 'POST', `/store/orders/${placed.body.id}/cancellation`);
      assert.deepEqual((await boundsOf(token)).openOrders, { used: 49, maximum: 50 });
    });

    it('bounds the webhooks of an account by its plan', async () => {
      const { token } = await serving.newKey({ plan: 'free' });
      const create = () => call(token, 'POST', '/webhooks', { url: 'https://receiver.example/' });
      const replies = await Promise.all(Array.from({ length: 12 }, create));
      const codes = replies.map(({ status, body }) => body.code ?? status).sort();
      assert.deepEqual(codes, [...Array(10).fill(201), ...Array(2).fill('webhook_limit_exceeded')]);
      assert.deepEqual((await boundsOf(token)).webhooks, { used: 10, maximum: 10 });
    });

    it('bounds the messages to one recipient by the plan, and counts a retry with the same key once', async () => {
      const { token } = await serving.newKey({ plan: 'free' });
      const [petId] = await addPets(1);
      const send = (body: object, key?: string) =>
        post(token, '/messages', { message: 'Hello', ...body }, key === undefined ? {} : { 'Idempotency-Key': key });
      for (let tries = 0; tries < 3; tries++) assert.equal((await send({}, 'a')).status, 202);
      const replies = await Promise.all(Array.from({ length: 11 }, () => send({})));
      const codes = replies.map(({ status, body }) => body.code ?? status).sort();
      assert.deepEqual(codes, [...Array(9).fill(202), ...Array(2).fill('message_limit_exceeded')]);
      const rejected = replies.find(({ status }) => status === 409)!;
      const seconds = Number(rejected.headers['retry-after']);
      assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`);
      assert.equal((await send({}, 'a')).headers['idempotency-replayed'], 'true');
      assert.equal((await send({ petId })).status, 202);
      assert.deepEqual((await boundsOf(token)).messagesPerRecipient, { maximum: 10, windowSeconds: 60 });
    });

    it('bounds the bytes that an account stores, its idempotent responses included', async () => {
      const small = await serve({
        environment: {
          ...(await engine.settings()),
          PETSTORE_STAGING_PORT: '',
          PETSTORE_STORAGE_QUOTA_MIB: '1',
        },
      });
      try {
        const { token } = await small.newKey();
        const post = (path: string, body: object, headers = {}) =>
          send(small.urls.production + path, { method: 'POST', key: token, body, headers });
        const long = '🐈'.repeat(10_000);
        const replies = await Promise.all(Array.from({ length: 27 }, () => post('/messages', { message: long })));
        const codes = replies.map(({ status, body }) => body.code ?? status).sort();
        assert.deepEqual(codes, [...Array(26).fill(202), 'storage_limit_exceeded']);
        const left = 2 ** 20 - 26 * 40_000;
        assert.equal((await post('/messages', { message: 'x'.repeat(left) })).status, 202);
        const { body: account } = await send(`${small.urls.production}/account`, { key: token });
        assert.deepEqual(account.bounds.storedBytes, { used: 2 ** 20, maximum: 2 ** 20 });

        const pet = { name: 'Minka', categoryId: 2 };
        const rejected = await post('/pets', pet, { 'Idempotency-Key': 'a' });
        assert.deepEqual([rejected.status, rejected.body.code], [409, 'storage_limit_exceeded']);
        assert.equal((await post('/pets', pet)).status, 201);
        const { body: pets } = await send(`${small.urls.production}/pets`, { key: token });
        assert.equal(pets.length, 1, 'the rejected request left nothing');
      } finally {
        await small.stop();
      }
    });

    it('stores the text of a message once, also with Idempotency-Key', async () => {
      const { token } = await serving.newKey();
      const message = '🐈'.repeat(10_000);
      const [first, retry] = [
        await post(token, '/messages', { message }, { 'Idempotency-Key': 'a' }),
        await post(token, '/messages', { message }, { 'Idempotency-Key': 'a' }),
      ];
      assert.equal(retry!.text, first!.text);
      assert.equal(first!.body.message, message);
      const { used } = (await boundsOf(token)).storedBytes;
      assert.ok(used >= 40_000 && used < 40_200, `${used} bytes`);
    });
  });
});

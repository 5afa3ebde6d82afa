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
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, type SendOptions, send, serve, type TestService } from '../support/serving.ts';

overEachEngine(engine =>
  describe('the classic Petstore, version 3', () => {
    const clock = testClock(Date.UTC(2026, 10, 24, 10));
    let service: TestService;
    let base: string;
    before(async () => {
      service = await serve({ clock, environment: await engine.settings() });
      base = `${new URL(service.urls.staging).origin}/api/v3`;
    });
    after(() => service.stop());

    const at =
      (sandbox: string) =>
      (method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Reply> =>
        send(base + path, { method, body, ...options, headers: { 'X-Sandbox': sandbox, ...options.headers } });

    const doggie = {
      ...{ id: 7, category: { id: 1, name: 'Dogs' }, name: 'doggie', photoUrls: ['u'] },
      ...{ tags: [{ id: 3, name: 'loud' }], status: 'available' },
    };
    const shown = ({ status, text }: Reply) => [status, text];
    const inputError = (message: string) => ({ code: 400, message: `Input error: ${message}` });

    it('stores, returns, replaces and deletes pets', async () => {
      const call = at('pets');
      assert.deepEqual(shown(await call('PUT', '/pet', doggie)), [404, 'Pet not found']);
      for (const method of ['POST', 'PUT']) {
        const stored = await call(method, '/pet', { ...doggie, name: method });
        assert.deepEqual([stored.status, stored.body], [200, { ...doggie, name: method }]);
      }
      assert.deepEqual((await call('GET', '/pet/7')).body, { ...doggie, name: 'PUT' });
      for (const _ of [1, 2]) assert.deepEqual(shown(await call('DELETE', '/pet/7')), [200, 'Pet deleted']);
      assert.deepEqual(shown(await call('GET', '/pet/7')), [404, 'Pet not found']);
    });

    it('fails without the id of a pet or the name of a user, as the original does', async () => {
      const call = at('ids');
      for (const [method, path] of [
        ['POST', '/pet'],
        ['PUT', '/pet'],
        ['POST', '/user'],
        ['PUT', '/user/a'],
      ] as const) {
        const { status, body } = await call(method, path, { name: 'x' });
        assert.deepEqual([status, body.code], [500, 500]);
        assert.match(body.message, /^There was an error processing your request. It has been logged \(ID: .+\)$/);
      }
      assert.equal((await call('POST', '/pet', { id: 0 })).body.id, 0);
    });

    it('rejects ids and bodies that it cannot convert', async () => {
      const call = at('errors');
      for (const [method, path] of [
        ['GET', '/pet/'],
        ['POST', '/pet/'],
        ['DELETE', '/pet/'],
        ['GET', '/store/order/'],
        ['DELETE', '/store/order/'],
      ] as const) {
        const { status, body } = await call(method, `${path}abc`);
        assert.deepEqual([status, body], [400, inputError("couldn't convert `abc` to type `class java.lang.Long`")]);
      }
      for (const [path, type, bodies] of [
        ['/pet', 'Pet', ['{', '[]', '{"id":"abc"}']],
        ['/store/order', 'Order', ['{', '5', '{"quantity":{}}']],
        ['/user', 'User', ['{', '[]', '{"id":[]}']],
        ['/user/createWithList', 'User', ['{', '{}', '[1]']],
      ] as const) {
        for (const sent of bodies) {
          const { status, body } = await call('POST', path, sent);
          const expected = inputError(`unable to convert input to io.swagger.petstore.model.${type}`);
          assert.deepEqual([status, body], [400, expected], `${path} ${sent}`);
        }
        assert.deepEqual(shown(await call('POST', path)), [400, `No ${type} provided. Try again?`]);
        assert.equal((await call('POST', path, 'x', { headers: { 'Content-Type': 'text/plain' } })).status, 415);
      }
      const xml = { 'Content-Type': 'application/xml', Accept: 'application/xml' };
      const { status, text } = await call('POST', '/pet', '<Pet><id>x</id></Pet>', { headers: xml });
      assert.equal(status, 400);
      assert.match(text, /<ApiError><code>400<\/code><message>Input error: unable to convert /);
    });

    it('finds pets by status and tags', async () => {
      const call = at('finding');
      await call('POST', '/pet', doggie);
      await call('POST', '/pet', { ...doggie, id: 8, status: 'sold', tags: [] });
      const ids = async (path: string) => (await call('GET', path)).body.map(({ id }: { id: number }) => id);
      assert.deepEqual(await ids('/pet/findByStatus?status=available'), [7]);
      assert.deepEqual(await ids('/pet/findByStatus?status=available,sold'), [7, 8]);
      assert.deepEqual(await ids('/pet/findByTags?tags=loud&tags=x'), [7]);
      assert.deepEqual(shown(await call('GET', '/pet/findByStatus')), [400, 'No status provided. Try again?']);
      assert.deepEqual(shown(await call('GET', '/pet/findByTags')), [400, 'No tags provided. Try again?']);
      const unknown = await call('GET', '/pet/findByStatus?status=lost');
      const values = 'query parameter `status value `lost` is not in the allowable values `[available, pending, sold]`';
      assert.deepEqual([unknown.status, unknown.body], [400, inputError(values)]);
    });

    it('updates pets with query parameters, and adds images to them', async () => {
      const call = at('forms');
      assert.deepEqual(shown(await call('POST', '/pet/7?name=x')), [404, 'Pet not found']);
      await call('POST', '/pet', doggie);
      assert.deepEqual(shown(await call('POST', '/pet/7')), [400, 'No Name provided. Try again?']);
      const changed = await call('POST', '/pet/7?name=Max&status=sold');
      assert.deepEqual([changed.status, changed.body], [200, { ...doggie, name: 'Max', status: 'sold' }]);
      const headers = { 'Content-Type': 'application/octet-stream' };
      const upload = (id: number, body?: string) =>
        call('POST', `/pet/${id}/uploadImage?additionalMetadata=x`, body, { headers });
      assert.match((await upload(7, 'image')).body.photoUrls[1], /^\/tmp\/inflector\d+\.tmp$/);
      assert.equal((await call('GET', '/pet/7')).body.photoUrls.length, 2);
      assert.deepEqual(shown(await upload(7)), [400, 'No file uploaded']);
      assert.deepEqual(shown(await upload(8, 'image')), [404, 'Pet not found']);
      assert.equal((await call('POST', '/pet/7/uploadImage', {})).status, 415);
    });

    it('places, returns and deletes orders, and counts them', async () => {
      const call = at('orders');
      const order = {
        id: 3,
        petId: 7,
        quantity: 2,
        shipDate: '2026-11-24T10:00:00Z',
        status: 'placed',
        complete: true,
      };
      const placed = { ...order, shipDate: '2026-11-24T10:00:00.000+00:00' };
      assert.deepEqual((await call('POST', '/store/order', order)).body, placed);
      await call('POST', '/store/order', { ...order, id: 4, quantity: 5 });
      assert.deepEqual((await call('GET', '/store/order/3')).body, placed);
      assert.deepEqual((await call('GET', '/store/inventory')).body, { placed: 7 });
      for (const _ of [1, 2]) assert.deepEqual(shown(await call('DELETE', '/store/order/3')), [200, '']);
      assert.deepEqual(shown(await call('GET', '/store/order/3')), [404, 'Order not found']);
    });

    it('stores, returns, replaces and deletes users', async () => {
      const call = at('users');
      const theUser = { id: 10, username: 'theUser', email: 'a@example.org', userStatus: 1 };
      assert.deepEqual((await call('POST', '/user', theUser)).body, theUser);
      assert.deepEqual((await call('GET', '/user/theUser')).body, theUser);
      assert.deepEqual((await call('PUT', '/user/theUser', { ...theUser, id: 11 })).body, { ...theUser, id: 11 });
      assert.deepEqual((await call('GET', '/user/theUser')).body, { ...theUser, id: 11 });
      assert.deepEqual(shown(await call('PUT', '/user/nobody', theUser)), [404, 'User not found']);
      assert.deepEqual((await call('POST', '/user/createWithList', [theUser])).body, [theUser]);
      assert.deepEqual(shown(await call('POST', '/user/createWithList', [])), [400, 'No User provided. Try again?']);
      for (const _ of [1, 2]) assert.deepEqual(shown(await call('DELETE', '/user/theUser')), [200, '']);
      assert.deepEqual(shown(await call('GET', '/user/theUser')), [404, 'User not found']);
      const login = await call('GET', '/user/login?username=a&password=b');
      assert.match(login.text, /^Logged in user session: \d+$/);
      assert.equal(login.headers['x-expires-after'], 'Tue Nov 24 11:00:00 UTC 2026');
      assert.equal(login.headers['x-rate-limit'], '5000');
      assert.deepEqual(shown(await call('GET', '/user/logout')), [200, 'User logged out']);
    });

    it('reads and writes XML', async () => {
      const call = at('xml');
      const xml = { headers: { 'Content-Type': 'application/xml', Accept: 'application/xml' } };
      const stored = await call('POST', '/pet', '<pet><id>7</id><name>a</name><status>sold</status></pet>', xml);
      assert.ok(
        stored.text.endsWith(
          '<Pet><id>7</id><name>a</name><photoUrls></photoUrls><tags></tags><status>sold</status></Pet>',
        ),
      );
      assert.equal((await call('GET', '/pet/7')).body.name, 'a');
    });

    it('responds to unknown paths and methods as the original does', async () => {
      const call = at('paths');
      assert.deepEqual((await call('GET', '/pets')).body, { code: 404, message: 'HTTP 404 Not Found' });
      assert.deepEqual((await call('PATCH', '/pet')).body, { code: 405, message: 'HTTP 405 Method Not Allowed' });
      assert.equal((await call('POST', '/user/createWithArray', [])).status, 405);
    });

    it('describes itself with the address of the request', async () => {
      const { body } = await send(`${base}/openapi.json`);
      assert.deepEqual([body.openapi, body.servers], ['3.0.4', [{ url: base }]]);
      assert.equal(Object.values(body.paths as object).flatMap(Object.keys).length, 19);
      const yaml = await send(`${base}/openapi.yaml`);
      assert.match(yaml.text, new RegExp(`^openapi: "3.0.4"\\ninfo:\\n[^]*servers:\\n  -\\n    url: "${base}"\\n`));
    });
  }),
);

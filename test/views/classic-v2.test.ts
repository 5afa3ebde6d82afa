import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import {
  assertApiResponse,
  type Reply,
  type SendOptions,
  send,
  sendRaw,
  serve,
  type TestService,
} from '../support/serving.ts';

overEachEngine(engine =>
  describe('the classic Petstore, version 2', () => {
    const clock = testClock(Date.UTC(2026, 10, 24, 10));
    let service: TestService;
    let base: string;
    before(async () => {
      const limits = { PETSTORE_CLASSIC_PER_MINUTE: '100000', PETSTORE_CLASSIC_PER_DAY: '1000000' };
      service = await serve({ clock, environment: { ...(await engine.settings()), ...limits } });
      base = `${new URL(service.urls.staging).origin}/v2`;
    });
    after(() => service.stop());

    /** Sends a request to a sandbox of its own for each test. */
    const at =
      (sandbox: string) =>
      (method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Reply> =>
        send(base + path, { method, body, ...options, headers: { 'X-Sandbox': sandbox, ...options.headers } });

    const message = ({ status, body }: Reply) => [status, body];
    const doggie = {
      id: 7,
      category: { id: 1, name: 'Dogs' },
      name: 'doggie',
      photoUrls: ['http://example.org/1.jpg'],
      tags: [{ id: 3, name: 'loud' }],
      status: 'available',
    };

    it('stores, returns, replaces and deletes pets', async () => {
      const call = at('pets');
      for (const method of ['POST', 'PUT']) {
        const stored = await call(method, '/pet', { ...doggie, name: method, color: 'red' });
        assert.deepEqual([stored.status, stored.body], [200, { ...doggie, name: method }]);
        assert.equal(stored.headers['content-type'], 'application/json');
        assert.equal(stored.headers['transfer-encoding'], 'chunked');
        assert.equal(stored.headers['access-control-allow-origin'], '*');
        assert.equal(stored.headers['access-control-allow-methods'], 'GET, POST, DELETE, PUT');
        assert.equal(stored.headers['access-control-allow-headers'], 'Content-Type, api_key, Authorization');
        assert.match(String(stored.headers['x-ratelimit-limit']), /^\d+$/);
      }
      assert.deepEqual((await call('GET', '/pet/7')).body, { ...doggie, name: 'PUT' });
      assert.deepEqual(message(await call('DELETE', '/pet/7')), [200, { code: 200, type: 'unknown', message: '7' }]);
      const gone = await call('DELETE', '/pet/7');
      assert.deepEqual([gone.status, gone.text], [404, '']);
      assert.deepEqual(message(await call('GET', '/pet/7')), [
        404,
        { code: 1, type: 'error', message: 'Pet not found' },
      ]);
    });

    it('sends lengths to clients of HTTP/1.0, in responses to HEAD, and of empty bodies', async () => {
      const { replies } = await sendRaw(base, 'GET /v2/store/inventory HTTP/1.0\r\n\r\n');
      assert.deepEqual([replies[0]!.headers['content-length'], replies[0]!.text], ['2', '{}']);
      const head = await at('head')('HEAD', '/store/inventory');
      assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '2', '']);
      assert.equal((await at('head')('DELETE', '/pet/1')).headers['content-length'], '0');
    });

    it('chooses the id of a pet without one, and keeps members missing', async () => {
      const call = at('ids');
      const ids = new Set<number>();
      for (const body of [{}, { id: 0 }, { id: null }, { id: -5 }]) {
        const { body: pet, text } = await call('POST', '/pet', body);
        const { id, ...rest } = pet;
        assert.equal((await call('GET', `/pet/${id}`)).text, text);
        assert.ok(Number.isSafeInteger(id) && id > 1e15);
        assert.deepEqual(rest, { photoUrls: [], tags: [] });
        ids.add(id);
      }
      assert.equal(ids.size, 4);
    });

    it('keeps all digits of ids', async () => {
      const call = at('digits');
      const { text } = await call('POST', '/pet', '{"id": 9223372036854775807, "tags": [{"id": 9007199254740993}]}');
      assert.equal(text, '{"id":9223372036854775807,"photoUrls":[],"tags":[{"id":9007199254740993}]}');
      assert.equal((await call('GET', '/pet/9223372036854775807')).text, text);
    });

    it('responds to ids that are no numbers as Java does', async () => {
      const call = at('numbers');
      for (const [method, path] of [
        ['GET', '/pet/'],
        ['POST', '/pet/'],
        ['DELETE', '/pet/'],
        ['GET', '/store/order/'],
        ['DELETE', '/store/order/'],
      ] as const) {
        for (const id of ['abc', '1.5', '9223372036854775808', '0x1']) {
          const text = `java.lang.NumberFormatException: For input string: "${id}"`;
          assert.deepEqual(message(await call(method, path + id)), [
            404,
            { code: 404, type: 'unknown', message: text },
          ]);
        }
      }
    });

    it('finds pets by statuses and tags', async () => {
      const call = at('finding');
      for (const [id, status, tag] of [
        [1, 'available', 'a'],
        [2, 'sold', 'b'],
        [3, 'on holiday', 'a'],
      ] as const) {
        await call('POST', '/pet', { id, status, tags: [{ name: tag }, null] });
      }
      const ids = async (path: string) => (await call('GET', path)).body.map(({ id }: { id: number }) => id);
      assert.deepEqual(await ids('/pet/findByStatus?status=available'), [1]);
      assert.deepEqual(await ids('/pet/findByStatus?status=available,sold'), [1, 2]);
      assert.deepEqual(await ids('/pet/findByStatus?status=sold&status=on%20holiday'), [2, 3]);
      assert.deepEqual(await ids('/pet/findByStatus?status=none'), []);
      assert.deepEqual(await ids('/pet/findByStatus'), []);
      assert.deepEqual(await ids('/pet/findByTags?tags=a'), [1, 3]);
      assert.deepEqual(await ids('/pet/findByTags?tags=a,b'), [1, 2, 3]);
      assert.deepEqual(await ids('/pet/findByTags'), []);
      assert.deepEqual((await call('GET', '/store/inventory')).body, { available: 1, sold: 1, 'on holiday': 1 });
    });

    it('updates pets with a form', async () => {
      const call = at('forms');
      await call('POST', '/pet', doggie);
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const form = (body: string) => call('POST', '/pet/7', body, { headers });
      assert.deepEqual(message(await form('name=Max+M%C3%BCller&status=')), [
        200,
        { code: 200, type: 'unknown', message: '7' },
      ]);
      assert.deepEqual((await call('GET', '/pet/7')).body, { ...doggie, name: 'Max Müller' });
      await form('status=sold');
      assert.deepEqual((await call('GET', '/pet/7')).body, { ...doggie, name: 'Max Müller', status: 'sold' });
      const unknown = await call('POST', '/pet/8', 'name=x', { headers });
      assert.deepEqual(message(unknown), [404, { code: 404, type: 'unknown', message: 'not found' }]);
      const json = await call('POST', '/pet/7', { name: 'x' });
      assert.deepEqual(message(json), [415, { code: 415, type: 'unknown' }]);
    });

    it('counts the bytes of uploaded images', async () => {
      const call = at('images');
      const upload = (...parts: readonly string[]) =>
        call('POST', '/pet/7/uploadImage', `${parts.map(part => `--x\r\n${part}\r\n`).join('')}--x--\r\n`, {
          headers: { 'Content-Type': 'multipart/form-data; boundary=x' },
        });
      const file =
        'Content-Disposition: form-data; name="file"; filename="cat.jpg"\r\nContent-Type: image/jpeg\r\n\r\na\r\nb';
      const metadata = 'Content-Disposition: form-data; name="additionalMetadata"\r\n\r\nA cat';
      for (const parts of [
        [file, metadata],
        [metadata, file],
      ]) {
        const text = 'additionalMetadata: A cat\nFile uploaded to ./cat.jpg, 4 bytes';
        assert.deepEqual(message(await upload(...parts)), [200, { code: 200, type: 'unknown', message: text }]);
      }
      assert.match((await upload(file)).body.message, /^additionalMetadata: null\n/);
      for (const long of [file.replace('cat', 'c'.repeat(70_000)), metadata + 'c'.repeat(70_000)]) {
        assert.deepEqual(message(await upload(long, file)), [
          400,
          { code: 400, type: 'unknown', message: 'bad input' },
        ]);
      }
      const large = await upload(file + 'c'.repeat(70_000), metadata);
      assert.match(large.body.message, /, 70004 bytes$/);
      const none = await upload(metadata);
      assert.deepEqual([none.status, none.text], [500, '']);
      assert.equal((await call('POST', '/pet/7/uploadImage', 'x')).status, 415);
    });

    it('places, returns and deletes orders', async () => {
      const call = at('orders');
      const order = {
        id: 3,
        petId: 7,
        quantity: 2,
        shipDate: '2026-11-24T12:00:00+02:00',
        status: 'placed',
        complete: true,
      };
      const placed = { ...order, shipDate: '2026-11-24T10:00:00.000+0000' };
      assert.deepEqual((await call('POST', '/store/order', order)).body, placed);
      assert.deepEqual((await call('GET', '/store/order/3')).body, placed);
      assert.deepEqual(message(await call('DELETE', '/store/order/3')), [
        200,
        { code: 200, type: 'unknown', message: '3' },
      ]);
      assert.deepEqual(message(await call('DELETE', '/store/order/3')), [
        404,
        { code: 404, type: 'unknown', message: 'Order Not Found' },
      ]);
      assert.deepEqual(message(await call('GET', '/store/order/3')), [
        404,
        { code: 1, type: 'error', message: 'Order not found' },
      ]);
      const { id, ...rest } = (await call('POST', '/store/order', {})).body;
      assert.ok(id > 0);
      assert.deepEqual(rest, { petId: 0, quantity: 0, complete: false });
      assert.deepEqual(message(await call('POST', '/store/order')), [
        400,
        { code: 1, type: 'error', message: 'No data' },
      ]);
    });

    it('stores, returns, replaces and deletes users', async () => {
      const call = at('users');
      const theUser = { id: 10, username: 'theUser', firstName: 'John', password: '12345', userStatus: 1 };
      assert.deepEqual(message(await call('POST', '/user', theUser)), [
        200,
        { code: 200, type: 'unknown', message: '10' },
      ]);
      assert.deepEqual((await call('GET', '/user/theUser')).body, theUser);
      const renamed = { ...theUser, username: 'other' };
      assert.equal((await call('PUT', '/user/theUser', renamed)).body.message, '10');
      assert.deepEqual(message(await call('GET', '/user/theUser')), [
        404,
        { code: 1, type: 'error', message: 'User not found' },
      ]);
      assert.deepEqual((await call('GET', '/user/other')).body, renamed);
      assert.equal((await call('PUT', '/user/nobody', { id: 11, username: 'new' })).body.message, '11');
      assert.equal((await call('GET', '/user/new')).status, 200);
      assert.equal((await call('DELETE', '/user/new')).body.message, 'new');
      const gone = await call('DELETE', '/user/new');
      assert.deepEqual([gone.status, gone.text], [404, '']);
      for (const path of ['/user/createWithArray', '/user/createWithList']) {
        const list = [{ username: path }, { username: 'Jürgen\u0000' }];
        assert.deepEqual(message(await call('POST', path, list)), [200, { code: 200, type: 'unknown', message: 'ok' }]);
        const { id, ...rest } = (await call('GET', `/user/${encodeURIComponent(path)}`)).body;
        assert.ok(id > 0);
        assert.deepEqual(rest, { username: path, userStatus: 0 });
        assert.equal((await call('GET', `/user/${encodeURIComponent('Jürgen\u0000')}`)).status, 200);
      }
      assert.equal((await call('POST', '/user', {})).body.message, '0');
    });

    it('logs everyone in and out', async () => {
      const call = at('logins');
      const login = await call('GET', '/user/login?username=a&password=b');
      assert.deepEqual(message(login), [
        200,
        { code: 200, type: 'unknown', message: `logged in user session:${clock.now()}` },
      ]);
      assert.equal(login.headers['x-expires-after'], 'Tue Nov 24 11:00:00 UTC 2026');
      assert.equal(login.headers['x-rate-limit'], '5000');
      assert.deepEqual((await call('GET', '/user/logout')).body, { code: 200, type: 'unknown', message: 'ok' });
    });

    it('rejects bodies that do not fit, are malformed, missing, or of another type', async () => {
      const call = at('bodies');
      const lists = ['/user/createWithArray', '/user/createWithList'];
      const misfits: Readonly<Record<string, readonly unknown[]>> = {
        '/pet': [[], 'text', { id: 'abc' }, { id: {} }, { name: {} }, { tags: {} }, { category: 'Dogs' }, { id: 1e30 }],
        '/store/order': [{ quantity: 2 ** 31 }, { shipDate: 'tomorrow' }, { complete: 'maybe' }],
        '/user': [{ username: ['a'] }, 5],
        [lists[0]!]: [{}, [null], ['a']],
        [lists[1]!]: [{}, 1],
      };
      for (const [path, bodies] of Object.entries(misfits)) {
        for (const body of bodies) {
          const reply = await call('POST', path, JSON.stringify(body));
          const expected = { code: 500, type: 'unknown', message: 'something bad happened' };
          assert.deepEqual(message(reply), [500, expected], `${path} ${JSON.stringify(body)}`);
        }
        for (const text of ['{', '{"id": }', 'pet', '\ufeff{}x', '['.repeat(60_000)]) {
          const bad = { code: 400, type: 'unknown', message: 'bad input' };
          assert.deepEqual(message(await call('POST', path, text)), [400, bad], `${path} ${text.slice(0, 9)}`);
        }
        const invalid = await call('POST', path, Buffer.from([0x22, 0xff, 0x22]));
        assert.equal(invalid.status, 400);
        const other = await call('POST', path, '{}', { headers: { 'Content-Type': 'text/plain' } });
        assert.deepEqual(message(other), [415, { code: 415, type: 'unknown' }]);
        if (path === '/store/order') continue;
        const none = { code: 405, type: 'unknown', message: 'no data' };
        for (const body of [undefined, 'null']) assert.deepEqual(message(await call('POST', path, body)), [405, none]);
      }
      const large = await call('POST', '/pet', { name: 'x'.repeat(65_536) });
      assert.deepEqual(message(large), [413, { code: 413, type: 'error', message: 'The body is larger than 64 KiB.' }]);
    });

    it('reads numbers and texts for each other', async () => {
      const call = at('coercion');
      const sent = { id: '12', name: 5, status: true, category: { id: 1.9 }, photoUrls: [1, null] };
      assert.deepEqual((await call('POST', '/pet', sent)).body, {
        ...{ id: 12, category: { id: 1 }, name: '5', photoUrls: ['1', null], tags: [], status: 'true' },
      });
    });

    it('responds to unknown paths and methods as the original does', async () => {
      const call = at('paths');
      const origin = base.slice(0, -3);
      assert.deepEqual(message(await call('GET', '/pets')), [
        404,
        { code: 404, type: 'unknown', message: `null for uri: ${origin}/v2/pets` },
      ]);
      const wrong = await call('DELETE', '/pet');
      assert.deepEqual(message(wrong), [405, { code: 405, type: 'unknown' }]);
      assert.equal(wrong.headers['allow'], 'POST, PUT');
    });

    it('reads and writes XML', async () => {
      const call = at('xml');
      const xml = { headers: { 'Content-Type': 'application/xml', Accept: 'application/xml' } };
      const body = `<?xml version="1.0"?><!-- a pet --><Pet><id>7</id><name>Tom &amp; <![CDATA[<J>]]>&#233;</name>
        <photoUrls><photoUrl>u</photoUrl><photoUrl/></photoUrls><tags><tag><id>1</id><name>t</name></tag></tags></Pet>`;
      const stored = await call('POST', '/pet', body, xml);
      const inXml =
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Pet><id>7</id><name>Tom &amp; &lt;J&gt;é</name>' +
        '<photoUrls><photoUrl>u</photoUrl><photoUrl></photoUrl></photoUrls><tags><tag><id>1</id><name>t</name></tag></tags></Pet>';
      assert.deepEqual([stored.status, stored.text], [200, inXml]);
      assert.equal(stored.headers['content-type'], 'application/xml');
      assert.deepEqual((await call('GET', '/pet/7')).body, {
        ...{ id: 7, name: 'Tom & <J>é', photoUrls: ['u', ''], tags: [{ id: 1, name: 't' }] },
      });
      const list = await call('GET', '/pet/findByTags?tags=t', undefined, xml);
      assert.ok(list.text.endsWith(`?><pets>${inXml.slice(inXml.indexOf('<Pet>'))}</pets>`));
      const missing = await call('GET', '/pet/8', undefined, xml);
      assert.deepEqual(missing.status, 404);
      assert.ok(missing.text.endsWith('<apiResponse><message>Pet not found</message><type>error</type></apiResponse>'));
      const order =
        '<Order><id>1</id><petId>7</petId><shipDate>2026-11-24T10:00:00Z</shipDate><complete>true</complete></Order>';
      const placed = await call('POST', '/store/order', order, xml);
      assert.match(placed.text, /<complete>true<\/complete><id>1<\/id><petId>7<\/petId><quantity>0<\/quantity>/);
      const users = '<users><User><username>a</username></User><User><username>b</username></User></users>';
      assert.equal((await call('POST', '/user/createWithList', users, xml)).status, 200);
      assert.equal((await call('GET', '/user/b')).status, 200);
    });

    it('rejects hostile XML', async () => {
      const call = at('hostile');
      const headers = { 'Content-Type': 'application/xml' };
      const laughs = `<!DOCTYPE p [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><Pet><name>&b;</name></Pet>`;
      for (const body of [
        laughs,
        '<!DOCTYPE p SYSTEM "file:///etc/passwd"><Pet/>',
        '<Pet><name>&b;</name></Pet>',
        '<Pet><name>&#0;</name></Pet>',
        '<Pet><?php x?></Pet>',
        '<Pet>',
        '<Pet></Tag>',
        '<Pet/><Pet/>',
        'Pet',
        '<a>'.repeat(10_000),
        `<a${' '.repeat(60_000)}`,
        `<!--${'-'.repeat(60_000)}`,
        `<a ${'b="c" '.repeat(10_000)}`,
      ]) {
        const reply = await call('POST', '/pet', body, { headers });
        assert.deepEqual([reply.status, reply.body?.message], [400, 'bad input'], body.slice(0, 40));
      }
      const misfit = await call('POST', '/pet', '<Pet><id><x/></id></Pet>', { headers });
      assert.equal(misfit.status, 500);
      const stored = await call('POST', '/pet', { id: 1, name: 'a\u0000\ud800<' });
      assert.equal(stored.status, 200);
      const shown = await call('GET', '/pet/1', undefined, { headers: { Accept: 'text/xml' } });
      assert.match(shown.text, /<name>a\ufffd\ufffd&lt;<\/name>/);
    });

    it('describes itself with the address of the request', async () => {
      const { body } = await send(`${base}/swagger.json`);
      assert.deepEqual([body.swagger, body.basePath, body.schemes], ['2.0', '/v2', ['http']]);
      assert.equal(body.host, new URL(base).host);
      assert.equal(Object.values(body.paths as object).flatMap(Object.keys).length, 20);
      assert.deepEqual(body.definitions.Pet.required, ['name', 'photoUrls']);
    });

    it('leaves the API and the pages of the address alone', async () => {
      const { staging, production } = service.urls;
      assertApiResponse(await send(`${staging}/pets`));
      assert.equal((await send(new URL(staging).origin, { headers: { Accept: 'text/html' } })).status, 200);
      assert.equal((await send(`${new URL(production).origin}/v2/pet/1`)).status, 404);
      assert.equal((await send(`${new URL(production).origin}/v2/store/inventory`)).status, 404);
    });
  }),
);

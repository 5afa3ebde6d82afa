import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { testClock } from '../../src/lib/clock.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { type Scope, scopes } from '../../src/model/scopes.ts';
import { RESULT_BYTES_MAX } from '../../src/views/mcp/results.ts';
import { invalidValues, validValues } from '../contract/json-schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import { type KeyOptions, type Reply, type SendOptions, send, serve, type TestService } from '../support/serving.ts';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const meta = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const allTools = [
  ...['search_pets', 'get_pet', 'list_organizations', 'hold_pet', 'release_hold', 'place_order', 'cancel_order'],
  ...['send_message', 'get_usage', 'explain_error'],
];
/** The required arguments of the tools that have some. */
const inputs: Readonly<Record<string, object>> = {
  get_pet: { petId: 1 },
  release_hold: { holdId: 1 },
  cancel_order: { orderId: 1 },
  send_message: { message: 'Hello' },
  explain_error: { code: 'pet_reserved' },
};
const TOKENS_MAX = 4000;
const RUNS_PER_TOOL = long ? 500 : 20;
/** Generated messages are repeated exactly by their seed: `PETSTORE_TEST_SEED=…`. */
const seed = Number(process.env['PETSTORE_TEST_SEED'] ?? randomInt(2 ** 31));

overEachEngine(engine => {
  describe('the MCP server', () => {
    const clock = testClock(Date.parse('2026-11-22T12:00:00Z'));
    let service: TestService;
    let url: string;
    let owner: IssuedKey;
    let key: IssuedKey;

    before(async () => {
      const environment = {
        ...(await engine.settings()),
        PETSTORE_ACCESS_LOG: 'true',
        PETSTORE_MCP_ORIGINS: 'https://chat.example.org',
      };
      service = await serve({ clock, environment });
      url = addressOf('production');
      [owner, key] = await Promise.all([service.newKey(), service.newKey()]);
    });
    after(() => service?.stop());

    const addressOf = (name: 'production' | 'staging') => new URL('/mcp', service.urls[name]).href;
    const post = (body: unknown, options: SendOptions = {}) => send(url, { method: 'POST', key, body, ...options });
    const ask = (method: string, params: unknown = {}, options: SendOptions = {}) =>
      post({ jsonrpc: '2.0', id: 1, method, params }, options);
    const call = async (name: string, input: unknown = {}, options: SendOptions = {}) => {
      const reply = await ask('tools/call', { name, arguments: input }, options);
      return { reply, ...reply.body.result, value: reply.body.result?.structuredContent };
    };
    /** Sends a request of the modern revision with all its headers. */
    const modern = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
      ask(
        method,
        { _meta: meta, ...params },
        {
          headers: {
            'MCP-Protocol-Version': MODERN,
            'Mcp-Method': method,
            ...('name' in params && { 'Mcp-Name': String(params['name']) }),
            ...headers,
          },
        },
      );
    const newPet = async (members: object = {}) => {
      const body = { name: 'Minka', categoryId: 2, ...members };
      return (await send(`${service.urls.production}/pets`, { method: 'POST', key: owner, body })).body.id as number;
    };
    const toolsOf = async (options: KeyOptions) => {
      const { body } = await ask('tools/list', {}, { key: await service.newKey(options) });
      return body.result.tools.map(({ name }: { name: string }) => name);
    };

    it('requires a key of its deployment for every message', async () => {
      const revoked = await service.newKey();
      await service.app.databases.production.write(tx => revokeKey(tx, revoked.id));
      const staging = await service.newKey({ deployment: 'staging' });
      for (const method of ['initialize', 'server/discover', 'ping', 'tools/list', 'notifications/initialized']) {
        for (const [other, code] of [
          ['', 'missing_api_key'],
          [revoked.token, 'revoked_api_key'],
          [staging.token, 'wrong_deployment'],
        ] as const) {
          const reply = await ask(method, {}, { key: other });
          assertFailure(reply, 401, 401, `${method} ${code}`);
          assert.equal(reply.body.error.data.code, code);
          assert.equal(reply.headers['www-authenticate'], 'Bearer');
        }
      }
      assert.equal((await send(addressOf('staging'), { method: 'POST', key: staging, body: ping })).status, 200);
    });

    it('shows the tools that the scopes of the key allow, in a fixed order', async () => {
      assert.deepEqual(await toolsOf({}), allTools);
      assert.deepEqual(await toolsOf({ scopes: ['pets:read'] }), [...allTools.slice(0, 3), 'explain_error']);
      assert.deepEqual(await toolsOf({ scopes: ['messages:write'] }), ['send_message', 'explain_error']);
      for (const scope of Object.keys(scopes) as Scope[]) {
        const narrow = await service.newKey({ scopes: [scope] });
        const { tools } = (await ask('tools/list', {}, { key: narrow })).body.result;
        const shown = tools.map(({ name }: { name: string }) => name);
        for (const name of allTools) {
          const { reply } = await call(name, inputs[name], { key: narrow });
          if (shown.includes(name)) assert.equal(reply.status, 200, `${scope} ${name}`);
          else {
            assertFailure(reply, 403, 403, `${scope} ${name}`);
            assert.deepEqual([reply.body.error.data.code, reply.body.id], ['insufficient_scope', 1]);
          }
        }
      }
    });

    it('describes its tools in at most 4,000 tokens, at four characters each', async t => {
      const { tools } = (await ask('tools/list')).body.result;
      const tokens = Math.ceil(JSON.stringify(tools).length / 4);
      t.diagnostic(`${tokens} tokens`);
      assert.ok(tokens <= TOKENS_MAX);
      for (const { name, description, inputSchema, annotations } of tools) {
        assert.equal(inputSchema.additionalProperties, false);
        assert.equal(annotations.readOnlyHint, !('idempotencyKey' in inputSchema.properties), name);
        assert.equal(description.includes('a repeated call acts again'), !annotations.readOnlyHint, name);
        for (const argument of Object.values<{ description: string }>(inputSchema.properties)) {
          assert.ok(argument.description.length > 0);
        }
      }
    });

    it('counts each message as one request', async () => {
      const counted = await service.newKey({ plan: 'free' });
      const remaining: number[] = [];
      for (const method of ['initialize', 'tools/list', 'ping', 'notifications/initialized']) {
        remaining.push(Number((await ask(method, {}, { key: counted })).headers['x-ratelimit-remaining']));
      }
      const { reply } = await call('search_pets', {}, { key: counted });
      remaining.push(Number(reply.headers['x-ratelimit-remaining']));
      assert.deepEqual(
        remaining,
        [0, 1, 2, 3, 4].map(sent => remaining[0]! - sent),
      );
    });

    it('responds to a request over the limit with 429, the headers and an error', async () => {
      const limited = await service.newKey({ plan: 'free' });
      let reply: Reply;
      do reply = await post(ping, { key: limited });
      while (reply.status === 200);
      assertFailure(reply, 429, 429);
      assert.equal(reply.body.error.data.code, 'rate_limit_exceeded');
      assert.ok(Number(reply.headers['retry-after']) > 0);
    });

    it('serves the revision that begins with initialize, with bare results', async () => {
      const initialized = await ask('initialize', { protocolVersion: LEGACY, capabilities: {}, clientInfo: {} });
      assert.equal(initialized.status, 200);
      const { protocolVersion, capabilities, serverInfo } = initialized.body.result;
      assert.deepEqual([protocolVersion, capabilities, serverInfo.name], [LEGACY, { tools: {} }, 'pet-store']);
      assert.equal(initialized.headers['mcp-session-id'], undefined);
      const newer = await ask(
        'initialize',
        { protocolVersion: '2024-11-05' },
        { headers: { 'MCP-Protocol-Version': '1' } },
      );
      assert.equal(newer.body.result.protocolVersion, LEGACY);
      const notified = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
      assert.deepEqual([notified.status, notified.text], [202, '']);
      const headers = { 'MCP-Protocol-Version': LEGACY };
      assert.deepEqual((await ask('ping', {}, { headers })).body, { jsonrpc: '2.0', id: 1, result: {} });
      assert.deepEqual(Object.keys((await ask('tools/list', {}, { headers })).body.result), ['tools']);
      const { reply } = await call('explain_error', { code: 'pet_reserved' }, { headers });
      assert.deepEqual(Object.keys(reply.body.result), ['content', 'structuredContent']);
      assertFailure(await ask('server/discover', {}, { headers }), 200, -32601);
      assertFailure(await ask('tools/list', {}, { headers: { 'MCP-Protocol-Version': '2099-01-01' } }), 400, -32022);
      assertFailure(await ask('tools/list', { cursor: 'x' }), 200, -32602);
    });

    it('serves the revision without a handshake', async () => {
      const { status, body } = await modern('server/discover');
      assert.equal(status, 200);
      const { supportedVersions, capabilities, resultType, ttlMs, cacheScope, _meta } = body.result;
      assert.deepEqual([supportedVersions, capabilities, resultType], [[MODERN, LEGACY], { tools: {} }, 'complete']);
      assert.deepEqual([ttlMs > 0, cacheScope], [true, 'private']);
      assert.equal(_meta['io.modelcontextprotocol/serverInfo'].name, 'pet-store');
      const list = (await modern('tools/list')).body.result;
      assert.deepEqual([list.resultType, list.ttlMs, list.tools.length], ['complete', ttlMs, allTools.length]);
      const explained = (await modern('tools/call', { name: 'explain_error', arguments: { code: 'pet_reserved' } }))
        .body;
      assert.deepEqual([explained.result.resultType, explained.result.ttlMs], ['complete', undefined]);
      assert.equal(explained.result.structuredContent.status, 409);
      for (const removed of ['initialize', 'ping', 'subscriptions/listen', 'prompts/list', 'toString', '__proto__']) {
        assertFailure(await modern(removed), 404, -32601, removed);
      }
    });

    it('rejects headers that do not repeat the body, and unknown revisions', async () => {
      const name = 'explain_error';
      const params = { name, arguments: { code: 'pet_reserved' } };
      const base64 = Buffer.from(name).toString('base64');
      for (const accepted of [name, `  ${name}  `, `=?base64?${base64}?=`]) {
        assert.equal((await modern('tools/call', params, { 'Mcp-Name': accepted })).status, 200, accepted);
      }
      for (const headers of [
        { 'MCP-Protocol-Version': '' },
        { 'MCP-Protocol-Version': LEGACY },
        { 'Mcp-Method': '' },
        { 'Mcp-Method': 'tools/list' },
        { 'Mcp-Method': 'TOOLS/CALL' },
        { 'Mcp-Name': '' },
        { 'Mcp-Name': 'get_pet' },
        { 'Mcp-Name': `=?base64?${base64.replaceAll('=', '')}!?=` },
      ]) {
        assertFailure(await modern('tools/call', params, headers), 400, -32020, JSON.stringify(headers));
      }
      const other = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
      const unknown = await modern('tools/list', { _meta: other }, { 'MCP-Protocol-Version': '2099-01-01' });
      assertFailure(unknown, 400, -32022);
      assert.deepEqual(unknown.body.error.data, { supported: [MODERN, LEGACY], requested: '2099-01-01' });
      for (const _meta of [undefined, {}, [], { ...meta, 'io.modelcontextprotocol/clientCapabilities': undefined }]) {
        assertFailure(await modern('tools/list', { _meta }), 400, -32602, JSON.stringify(_meta));
      }
    });

    it('rejects other methods, batches, large bodies and what is no message', async () => {
      for (const method of ['GET', 'DELETE', 'PUT']) {
        for (const options of [{ key }, {}]) {
          const reply = await send(url, { method, ...options });
          assertFailure(reply, 405, 405, method);
          assert.equal(reply.headers.allow, 'POST', method);
        }
        assertFailure(await send(url, { method, key: 'x' }), 401, 401, method);
      }
      assertFailure(await post([ping, ping]), 400, -32600);
      assertFailure(await post({ ...ping, params: { text: 'x'.repeat(64 * 1024) } }), 413, 413);
      for (const text of ['', '{', 'null x', '\ufeff{}', '{"jsonrpc":"2.0","id":1,"method":"ping"']) {
        assertFailure(await post(text), 400, -32700, text);
      }
      const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
      for (const body of [
        ...[
          null,
          1,
          '"ping"',
          {},
          { ...ping, jsonrpc: '1.0' },
          { ...ping, method: 1 },
          { jsonrpc: '2.0', id: 1, result: {} },
        ],
        ...[
          { ...ping, id: null },
          { ...ping, id: 1.5 },
          { ...ping, id: {} },
          { ...ping, id: true },
        ],
        ...[
          { ...ping, params: [] },
          { ...ping, params: 'x' },
          { ...ping, params: null },
        ],
        ...['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
        ...[nested, `{"jsonrpc":"2.0","id":1,"method":"ping","params":${nested}}`],
      ]) {
        assertFailure(await post(body), 400, -32600, String(body).slice(0, 80));
      }
      const id = 'i'.repeat(60_000);
      assert.equal((await post({ ...ping, id })).body.id, id);
    });

    it('rejects hostile calls as errors that an agent can read', async () => {
      for (const params of [
        {},
        { name: 1 },
        { name: '__proto__' },
        { name: 'constructor' },
        { name: 'get_pet', arguments: [] },
      ]) {
        assertFailure(await ask('tools/call', params), 200, -32602, JSON.stringify(params));
      }
      const nested = `${'['.repeat(15_000)}${']'.repeat(15_000)}`;
      for (const input of [
        ...['{"__proto__":{"petId":1}}', '{"constructor":1}', '{"petId":null}', `{"petId":${nested}}`, '{"petId":{}}'],
        ...[`{"petId":1,"note":${nested}}`, '{"petIds":[]}', '{"petIds":[[1]]}', '{"petId":1,"idempotencyKey":1}'],
      ]) {
        const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold_pet","arguments":${input}}}`;
        const { result } = (await post(text)).body;
        assert.equal(result.isError, true, input.slice(0, 80));
        assert.equal(result.structuredContent.code, 'invalid_parameter', input.slice(0, 80));
      }
      for (const petId of [0, -1, 1e300, 'x', '../1', '1?view=plain', true, '\ud800']) {
        assert.equal((await call('get_pet', { petId })).value.code, 'pet_not_found', String(petId));
      }
      const { value } = await call('search_pets', { statu: 'sold' });
      assert.match(value.message, /did you mean status\?/);
    });

    it('responds to generated messages by the protocol, whatever they contain', async t => {
      t.diagnostic(`PETSTORE_TEST_SEED=${seed}`);
      const text = fc.string({ unit: 'binary', maxLength: 8 });
      const value = fc.oneof(fc.jsonValue(), text, fc.constantFrom(1, '1', MODERN, LEGACY, meta));
      const names = ['__proto__', 'constructor', 'name', 'petId', 'petIds', 'q', 'note', 'cursor', 'idempotencyKey'];
      const members = fc.dictionary(fc.oneof(fc.constantFrom(...names), text), value, { noNullPrototype: true });
      const params = fc.record(
        { name: fc.oneof(fc.constantFrom(...allTools), value), arguments: fc.oneof(members, value), _meta: value },
        { requiredKeys: [] },
      );
      const methods = ['tools/call', 'tools/list', 'initialize', 'ping', 'server/discover', 'notifications/x'];
      const message = fc.record(
        { jsonrpc: fc.constant('2.0'), id: fc.oneof(fc.integer(), value), method: fc.constantFrom(...methods), params },
        { requiredKeys: ['jsonrpc', 'method'] },
      );
      for (const body of fc.sample(fc.oneof({ weight: 9, arbitrary: message }, value), { seed, numRuns: 300 })) {
        const reply = await post(JSON.stringify(body));
        const said = `${JSON.stringify(body)} ${reply.status} ${reply.text}`;
        if (reply.status === 202) assert.equal(reply.text, '', said);
        else {
          assert.ok([200, 400, 404].includes(reply.status), said);
          assert.equal(reply.body.jsonrpc, '2.0', said);
          assert.notEqual('error' in reply.body, 'result' in reply.body, said);
        }
      }
    });

    it('accepts or rejects generated arguments by the schemas of its tools', async t => {
      t.diagnostic(`PETSTORE_TEST_SEED=${seed}`);
      const { tools } = (await ask('tools/list')).body.result;
      for (const { name, inputSchema } of tools) {
        for (const given of fc.sample(validValues(inputSchema), { seed, numRuns: RUNS_PER_TOOL })) {
          const { value, reply } = await call(name, given);
          const said = `${name} ${JSON.stringify(given)} ${reply.text}`;
          assert.equal(reply.status, 200, said);
          // What the shown keywords do not say, the API checks.
          if (value.code === 'invalid_parameter') assert.doesNotMatch(value.message, /no argument|Is required/, said);
        }
        for (const { value: given } of fc.sample(invalidValues(inputSchema), { seed, numRuns: RUNS_PER_TOOL })) {
          const { value, reply, isError } = await call(name, given);
          const said = `${name} ${JSON.stringify(given)} ${reply.text}`;
          if (reply.body.error !== undefined) assert.equal(reply.body.error.code, -32602, said);
          else assert.ok(isError && /^(invalid_|\w+_not_found$)/.test(value.code), said);
        }
      }
    });

    it('accepts web pages of its own addresses and of the setting only, and its own host names only', async () => {
      const { origin, port } = new URL(url);
      const staging = new URL(service.urls.staging).origin;
      for (const allowed of [origin, staging, 'https://chat.example.org']) {
        assert.equal((await post(ping, { headers: { Origin: allowed } })).status, 200, allowed);
      }
      for (const headers of [
        ...['http://evil.example', 'null', `http://evil.example:${port}`, 'https://chat.example.org.evil.example'].map(
          name => ({ Origin: name }),
        ),
        ...['evil.example', `evil.example:${port}`, 'localhost.evil.example'].map(name => ({ Host: name })),
      ]) {
        for (const method of ['POST', 'OPTIONS']) {
          const reply = await send(url, { method, key, headers, ...(method === 'POST' && { body: ping }) });
          assertFailure(reply, 403, 403, JSON.stringify(headers));
          assert.equal(reply.body.error.data.code, 'origin_not_allowed');
        }
      }
      for (const Host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
        assert.equal((await post(ping, { headers: { Host } })).status, 200, Host);
      }
    });

    it('finds animals page by page, and shows one with everything', async () => {
      const tag = 'mcp-pages';
      for (let n = 0; n < 21; n++) await newPet({ name: `Rex ${n}`, tags: [tag], sex: 'male', description: 'Nice.' });
      const first = await call('search_pets', { q: tag, sex: ['male'] });
      assert.equal(first.value.items.length, 20);
      assert.deepEqual(JSON.parse(first.content[0].text), first.value);
      const { id, name, sex, tags, description } = first.value.items[0];
      assert.deepEqual([name, sex, tags, description], ['Rex 0', 'male', [tag], undefined]);
      const next = await call('search_pets', { q: tag, sex: ['male'], cursor: first.value.nextCursor });
      assert.deepEqual([next.value.items.length, next.value.nextCursor], [1, undefined]);
      assert.equal((await call('get_pet', { petId: id })).value.description, 'Nice.');
      const none = await call('search_pets', { near: 'Atlantis' });
      assert.deepEqual([none.isError, none.value.code], [true, 'invalid_parameter']);
    });

    const bytesOf = ({ body }: Reply) => Buffer.byteLength(JSON.stringify(body.result));

    it('limits results to 25 KB and says what it left out', async () => {
      const tag = 'mcp-large';
      for (let n = 0; n < 40; n++)
        await newPet({ name: '🐈'.repeat(255), tags: [tag], breeds: { primary: '🐈'.repeat(100) } });
      const found: number[] = [];
      let cursor: string | undefined;
      let cut = 0;
      do {
        const { value, reply } = await call('search_pets', { q: tag, ...(cursor && { cursor }) });
        assert.ok(bytesOf(reply) <= RESULT_BYTES_MAX);
        if ('leftOut' in value) cut++;
        found.push(...value.items.map((item: { id: number }) => item.id));
        cursor = value.nextCursor;
      } while (cursor !== undefined);
      assert.equal(new Set(found).size, 40);
      assert.ok(cut > 0);
      const petId = await newPet({ description: '🐈'.repeat(10_000) });
      const { value, reply } = await call('get_pet', { petId });
      assert.deepEqual([value.leftOut, value.description, value.name], [['description'], undefined, 'Minka']);
      assert.ok(bytesOf(reply) <= RESULT_BYTES_MAX);
    });

    it('holds, orders and cancels for the account, once for each idempotency key', async () => {
      const petId = await newPet();
      const held = await call('hold_pet', { petId, idempotencyKey: 'hold-1' });
      assert.equal(held.value.status, 'active');
      const again = await call('hold_pet', { petId, idempotencyKey: 'hold-1' });
      assert.deepEqual(again.value, held.value);
      const other = await call('hold_pet', { petId, note: 'x', idempotencyKey: 'hold-1' });
      assert.equal(other.value.code, 'idempotency_key_reused');
      const repeated = await call('hold_pet', { petId });
      assert.deepEqual([repeated.isError, repeated.value.code], [true, 'pet_reserved']);
      assert.ok(repeated.value.nextStep.length > 0);
      const order = { petId, holdId: held.value.id, idempotencyKey: 'order-1' };
      const placed = await call('place_order', order);
      assert.equal(placed.value.status, 'placed');
      assert.deepEqual((await call('place_order', order)).value, placed.value);
      assert.equal((await call('cancel_order', { orderId: placed.value.id, note: 'Sorry' })).value.status, 'cancelled');
      const second = await call('hold_pet', { petId });
      assert.equal((await call('release_hold', { holdId: second.value.id })).value.status, 'released');
      const sent = await call('send_message', { message: 'Is Minka calm?', petId });
      assert.equal(sent.value.status, 'queued');
    });

    it('explains errors, and counts the requests of the account', async () => {
      const { value } = await call('explain_error', { code: 'pet_reserved' });
      assert.deepEqual(Object.keys(value), ['code', 'status', 'message', 'meaning', 'nextStep']);
      assert.match((await call('explain_error', { code: 'pet_reservd' })).value.message, /did you mean pet_reserved\?/);
      await service.app.usage.write();
      assert.ok((await call('get_usage', { interval: 'day' })).value.total.requests > 0);
      const [from, to] = ['2026-11-15T00:00:00Z', '2026-11-23T00:00:00Z'];
      const long = (await call('get_usage', { from, to })).value;
      assert.deepEqual([long.leftOut, long.total.requests > 0], [['buckets'], true]);
    });

    it('appears in the logs by tool, without what was sent', async () => {
      const logged = await service.newKey();
      const secret = 'a-secret-text';
      await call('search_pets', { q: secret }, { key: logged });
      await call('send_message', { message: secret, replyTo: 'x', idempotencyKey: secret }, { key: logged });
      await call(secret, {}, { key: logged });
      await ask(secret, {}, { key: logged });
      await send(`${url}?key=${secret}`, { method: 'POST', key: logged, body: ping });
      await service.app.usage.write();
      const { body, text } = await send(`${service.urls.production}/account/requests`, { key: logged });
      assert.deepEqual(
        body.map(({ operation, path, status, code }: Record<string, unknown>) => [operation, path, status, code]),
        [
          ['mcp.ping', '/mcp', 200, undefined],
          ['mcp.request', '/mcp', 200, 'invalid_body'],
          ['mcp.tools/call', '/mcp', 200, 'invalid_body'],
          ['mcp.send_message', '/mcp', 200, 'invalid_body'],
          ['mcp.search_pets', '/mcp', 200, undefined],
        ],
      );
      assert.ok(service.lines.some(line => line.includes('mcp.search_pets')));
      for (const shown of [text, ...service.lines]) {
        assert.ok(!shown.includes(secret) && !shown.includes(logged.token));
      }
    });
  });

  describe('the Host header', () => {
    const statusOf = async (environment: Record<string, string>, hosts: readonly string[]) => {
      const service = await serve({ environment: { ...(await engine.settings()), ...environment } });
      const key = await service.newKey();
      const { port } = new URL(service.urls.production);
      const url = `http://127.0.0.1:${port}/mcp`;
      try {
        const replies = await Promise.all(
          hosts.map(Host => send(url, { method: 'POST', key, body: ping, headers: { Host } })),
        );
        return replies.map(({ status }) => status);
      } finally {
        await service.stop();
      }
    };

    it('may name the public URL on a loopback address, as behind a proxy', async () => {
      const environment = { PETSTORE_PUBLIC_URL: 'https://store.example' };
      assert.deepEqual(await statusOf(environment, ['store.example', 'evil.example']), [200, 403]);
    });

    it('may be any on other addresses', async () => {
      assert.deepEqual(await statusOf({ PETSTORE_HOST: '0.0.0.0' }, ['any.example']), [200]);
    });
  });

  describe('PETSTORE_MCP=off', () => {
    it('leaves no path', async () => {
      const service = await serve({ environment: { ...(await engine.settings()), PETSTORE_MCP: 'off' } });
      try {
        const key = await service.newKey();
        const reply = await send(new URL('/mcp', service.urls.production).href, { method: 'POST', key, body: ping });
        assert.equal(reply.status, 404);
      } finally {
        await service.stop();
      }
    });
  });
});

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

/** Asserts the status and the code of a JSON-RPC error. */
function assertFailure(reply: Reply, status: number, code: number, context?: string) {
  assert.deepEqual([reply.status, reply.body?.error?.code], [status, code], `${context}: ${reply.text}`);
  assert.deepEqual([reply.body.jsonrpc, 'result' in reply.body], ['2.0', false]);
  assert.ok(reply.headers['x-request-id'] !== undefined && reply.headers['x-ratelimit-limit'] !== undefined);
}

import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { newToken } from '../../src/access/keys/token.ts';
import { testClock } from '../../src/lib/clock.ts';
import { messageRoutes, routes } from '../../src/views/api.ts';
import { long, operationsHere } from '../support/selection.ts';
import { assertApiResponse, dial, parseReplies, type RawReply, serve, type TestService } from '../support/serving.ts';

type Address = 'production' | 'staging' | 'messages';

/** A caller, and the error code that its requests get; none if they are accepted. */
interface Caller {
  readonly name: string;
  /** The value of the Authorization header. */
  readonly authorization?: string;
  /** Whether the caller sends all spellings of every path. */
  readonly spells?: true;
  /** Returns the error code at an address; `undefined` if the caller is accepted. */
  refusal(address: Address): string | undefined;
}

/** A spelling of a path, and whether it still leads to the route; `first` is the first segment below `/v1`. */
const spellings: readonly { name: string; same: boolean; spell(path: string, first: string, host: string): string }[] =
  [
    { name: 'as it is', same: true, spell: path => path },
    { name: 'with a slash at its end', same: true, spell: path => `${path}/` },
    { name: 'with a query', same: true, spell: path => `${path}?a=b` },
    { name: 'with an encoded ampersand in its query', same: true, spell: path => `${path}?a=b%26limit=0` },
    { name: 'with an empty query', same: true, spell: path => `${path}?` },
    { name: 'with encoded letters', same: true, spell: (path, first) => path.replace(first, encoded) },
    { name: 'with an encoded prefix', same: true, spell: path => path.replace('/v1', '/%76%31') },
    { name: 'as a whole URL', same: true, spell: (path, _, host) => `http://${host}${path}` },
    { name: 'as a whole URL of another host', same: true, spell: path => `HTTP://pets.example${path}` },
    { name: 'with a double slash', same: false, spell: (path, first) => path.replace(first, `/${first}`) },
    { name: 'with a double slash at its beginning', same: false, spell: path => `/${path}` },
    { name: 'with a semicolon', same: false, spell: (path, first) => path.replace(first, `;x=1${first}`) },
    { name: 'with a semicolon at its end', same: false, spell: (path, first) => path.replace(first, `${first};x`) },
    { name: 'with an encoded slash', same: false, spell: (path, first) => path.replace(first, `%2F${first.slice(1)}`) },
    {
      name: 'with an encoded backslash',
      same: false,
      spell: (path, first) => path.replace(first, `%5C${first.slice(1)}`),
    },
    { name: 'with a backslash', same: false, spell: (path, first) => path.replace(first, `\\${first.slice(1)}`) },
    { name: 'with a dot segment', same: false, spell: (path, first) => path.replace(first, `/.${first}`) },
    { name: 'with two dots', same: false, spell: (path, first) => path.replace(first, `/x/..${first}`) },
    { name: 'with encoded dots', same: false, spell: (path, first) => path.replace(first, `/%2e%2e/v1${first}`) },
    { name: 'in upper case', same: false, spell: path => path.toUpperCase() },
    { name: 'with an encoded NUL', same: false, spell: (path, first) => path.replace(first, `${first}%00`) },
    {
      name: 'encoded twice',
      same: false,
      spell: (path, first) => path.replace(first, text => encoded(text).replaceAll('%', '%25')),
    },
    { name: 'with a space at its end', same: false, spell: (path, first) => path.replace(first, `${first}%20`) },
  ];

/** Percent-encodes the letters of a path segment. */
function encoded(part: string): string {
  return part.replaceAll(/[a-z]/g, letter => `%${letter.charCodeAt(0).toString(16)}`);
}

/** Every path of the API, once. */
const paths = [...new Set(operationsHere(routes).map(({ path }) => path))];
/**
 * The paths for which every caller sends every spelling with other methods, too: one with a parameter, one without, and one
 * of messages. For other paths, the other spellings are sent without a key and with a valid one. `npm run test:long` sends all.
 */
const thorough = ['/pets', '/pets/{petId}', '/messages'];

/** The routes of an address. */
function servedAt(address: Address) {
  return address === 'messages' ? messageRoutes : routes;
}

describe('every route', () => {
  let serving: TestService;
  let callers: readonly Caller[];
  const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
  const connections = new Map<Address, Line>();

  before(async () => {
    serving = await serve({ clock });
    callers = await makeCallers();
  });
  after(async () => {
    for (const line of connections.values()) line.end();
    await serving.stop();
  });

  it('exists and defines its access', () => {
    assert.ok(routes.length >= 3);
    for (const { operationId, access } of routes) assert.ok(access.key && access.scope, operationId);
  });

  it('has a unique operationId, and a unique method and path', () => {
    assert.equal(new Set(routes.map(({ operationId }) => operationId)).size, routes.length);
    assert.equal(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size, routes.length);
  });

  for (const path of paths) {
    it(`${path} requires a valid key on every address, for every method and spelling`, async t => {
      const whole = long || thorough.includes(path);
      const first = `/${path.split('/')[1]}`;
      let requests = 0;
      for (const address of ['production', 'staging', 'messages'] as const) {
        const { host } = new URL(serving.urls[address]);
        for (const caller of callers) {
          for (const spelling of whole || caller.spells ? spellings : spellings.slice(0, 1)) {
            for (const method of methodsFor(path, whole, spelling.name)) {
              if (method === 'CONNECT') continue;
              const spelled = spelling.spell(pathOf(path, address), first, host);
              const target = /^(\/|http:)/i.test(spelled) ? spelled : `/${spelled}`;
              const reply = await request(address, method, path, target, caller);
              const what = `${caller.name}: ${method} ${target} at ${address}`;
              judge(reply, what, { address, method, path, target, caller, same: spelling.same });
              requests++;
            }
          }
        }
      }
      t.diagnostic(`${requests} requests`);
    });
  }

  /** Returns the methods to try: all, those that differ, or those of the path and one other. */
  function methodsFor(path: string, whole: boolean, spelling: string): readonly string[] {
    if (long || (whole && spelling === 'as it is')) return METHODS;
    if (whole) return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];
    return [...routes.filter(route => route.path === path).map(({ method }) => method), 'QUERY'];
  }

  function judge(
    reply: RawReply,
    what: string,
    asked: { address: Address; method: string; path: string; target: string; caller: Caller; same: boolean },
  ): void {
    const { address, method, path, target, caller, same } = asked;
    assert.ok(reply.status < 500, `${what}: ${reply.status} ${reply.text}`);
    const refusal = caller.refusal(address);
    const sent = target.replace(/^https?:\/\/[^/]*/i, '');
    const outside = address !== 'messages' && !/^\/(v1|%76%31)(\/|$|\?)/.test(sent);
    if (outside) {
      assert.equal(reply.status, 404, what);
      return;
    }
    assertApiResponse(reply, what);
    if (refusal !== undefined) {
      assert.equal(reply.status, 401, `${what}: ${reply.status}`);
      if (method !== 'HEAD') assert.equal(reply.body.code, refusal, what);
      return;
    }
    const taken = servedAt(address).filter(other => other.path === path);
    if (taken.length === 0 || !same) {
      // An oddly spelled id does not exist; any other oddly spelled path has no route.
      assert.ok([404, 405].includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
      return;
    }
    const route = taken.find(other => other.method === method || (other.method === 'GET' && method === 'HEAD'));
    if (route === undefined) {
      assert.equal(reply.status, 405, `${what}: ${reply.status}`);
      assert.ok(
        taken.every(other => reply.headers['allow']!.split(', ').includes(other.method)),
        what,
      );
      return;
    }
    const expected = [...route.successes.map(({ status }) => status), ...asThingsStand];
    assert.ok(expected.includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
  }

  /** An accepted request can still fail: its resource may belong to another account, be deleted or be reserved. */
  const asThingsStand = [403, 404, 409];

  function pathOf(path: string, address: Address): string {
    return (address === 'messages' ? '' : '/v1') + path.replaceAll(/\{\w+\}/g, '1');
  }

  async function request(
    address: Address,
    method: string,
    path: string,
    target: string,
    caller: Caller,
  ): Promise<RawReply> {
    let line = connections.get(address);
    if (line === undefined || line.closed) {
      line = new Line(dial(serving.urls[address]));
      connections.set(address, line);
    }
    const authorization = caller.authorization === undefined ? '' : `Authorization: ${caller.authorization}\r\n`;
    const body = bodyFor(method, path);
    const { upload } = routes.find(one => one.path === path && one.method === method) ?? {};
    const type = upload?.contentTypes[0] ?? 'application/json';
    const content =
      body === undefined
        ? '\r\n'
        : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    // Each address may send 60 requests a minute without a valid key.
    clock.advance(1100);
    return line.ask(
      `${method} ${target} HTTP/1.1\r\nHost: ${new URL(serving.urls[address]).host}\r\n${authorization}${content}`,
      method === 'HEAD',
    );
  }

  /** Returns the request of the first example of the route; any request if there is no such route. */
  function bodyFor(method: string, path: string): string | undefined {
    const route = routes.find(other => other.path === path && other.method === method);
    if (route === undefined) return method === 'POST' ? '{"name":"Minka","categoryId":2}' : undefined;
    const example = route.examples.find(({ code }) => code === undefined);
    const { contentType, base64 = '' } = example?.file ?? {};
    if (route.upload) return contentType?.startsWith('text/') ? Buffer.from(base64, 'base64').toString() : 'no photo';
    return example?.body === undefined ? undefined : JSON.stringify(example.body);
  }

  async function makeCallers(): Promise<Caller[]> {
    const registry = serving.app.databases.production;
    const refusedWith = (code: string) => () => code;
    const revoked = await serving.newKey();
    await registry.write(tx => revokeKey(tx, revoked.id));
    const expired = await serving.newKey({ expiresAt: clock.now() + 1 });
    clock.advance(2);
    const good = { production: await serving.newKey(), staging: await serving.newKey({ deployment: 'staging' }) };
    const own = (deployment: Address, code?: string) => (address: Address) =>
      address === deployment || address === 'messages' ? code : 'wrong_deployment';
    return [
      { name: 'no key', spells: true, refusal: refusedWith('missing_api_key') },
      { name: 'an empty key', authorization: 'Bearer', refusal: refusedWith('missing_api_key') },
      {
        name: 'another scheme',
        authorization: `Basic ${good.production.token}`,
        refusal: refusedWith('missing_api_key'),
      },
      {
        name: 'a malformed key',
        authorization: `Bearer ${good.production.token}x`,
        refusal: refusedWith('malformed_api_key'),
      },
      {
        name: 'an unknown key',
        authorization: `Bearer ${newToken('production').token}`,
        refusal: own('production', 'invalid_api_key'),
      },
      {
        name: 'a revoked key',
        authorization: `Bearer ${revoked.token}`,
        refusal: own('production', 'revoked_api_key'),
      },
      {
        name: 'an expired key',
        authorization: `Bearer ${expired.token}`,
        refusal: own('production', 'expired_api_key'),
      },
      {
        name: 'a key of production',
        authorization: `Bearer ${good.production.token}`,
        spells: true,
        refusal: own('production'),
      },
      { name: 'a key of staging', authorization: `bearer  ${good.staging.token}`, refusal: own('staging') },
    ];
  }
});

/** A connection that sends one request after the other. */
class Line {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #heard: () => void = () => {};
  closed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (part: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, part]);
      this.#heard();
    });
    socket.on('close', () => {
      this.closed = true;
      this.#heard();
    });
    socket.on('error', () => {});
  }

  /** Sends a request and returns its response. */
  async ask(request: string, head: boolean): Promise<RawReply> {
    this.#bytes = Buffer.alloc(0);
    this.#socket.write(request);
    while (true) {
      // A stream does not end.
      const streams = /^content-type: text\/event-stream/im.test(this.#bytes.toString('latin1'));
      const { replies, rest } = parseReplies(this.#bytes, head || streams);
      if (replies.length > 0) {
        assert.equal(replies.length, 1, request);
        if (streams) this.end();
        else assert.equal(rest, '', request);
        return replies[0]!;
      }
      assert.ok(!this.closed, `a response to ${request}`);
      await new Promise<void>(resolve => {
        this.#heard = resolve;
      });
    }
  }

  end(): void {
    this.closed = true;
    this.#socket.destroy();
  }
}

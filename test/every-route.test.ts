import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { routes } from '../src/app.ts';
import { revokeKey } from '../src/keys/keys.ts';
import { newToken } from '../src/keys/token.ts';
import { testClock } from '../src/lib/clock.ts';
import type { Route } from '../src/lib/http/route.ts';
import { assertAnswer, dial, long, parseReplies, type RawReply, type Serving, serve } from './serving.ts';

type Address = 'production' | 'staging' | 'messages';

/** What a caller may expect of a request that reaches a route: its code where it is refused, else nothing. */
interface Caller {
  readonly name: string;
  /** The value of the Authorization header. */
  readonly authorization?: string;
  /** The code of the refusal at an address, or `undefined` where the caller gets in. */
  refusal(address: Address): string | undefined;
  /** The scopes that it has; every one where left out. */
  readonly scopes?: readonly string[];
}

/** How a path can be written, and whether it then still leads to its route. */
const spellings: readonly { name: string; same: boolean; spell(path: string, host: string): string }[] = [
  { name: 'as it is', same: true, spell: path => path },
  { name: 'with a slash at its end', same: true, spell: path => `${path}/` },
  { name: 'with a query', same: true, spell: path => `${path}?a=b` },
  { name: 'with an encoded ampersand in its query', same: true, spell: path => `${path}?a=b%26limit=0` },
  { name: 'with an empty query', same: true, spell: path => `${path}?` },
  { name: 'with encoded letters', same: true, spell: path => path.replace('p', '%70').replace('e', '%65') },
  { name: 'with an encoded prefix', same: true, spell: path => path.replace('/v1', '/%76%31') },
  { name: 'as a whole URL', same: true, spell: (path, host) => `http://${host}${path}` },
  { name: 'as a whole URL of another host', same: true, spell: path => `HTTP://pets.example${path}` },
  { name: 'with a double slash', same: false, spell: path => path.replace('/pets', '//pets') },
  { name: 'with a double slash at its beginning', same: false, spell: path => `/${path}` },
  { name: 'with a semicolon', same: false, spell: path => path.replace('/pets', ';x=1/pets') },
  { name: 'with a semicolon at its end', same: false, spell: path => path.replace('/pets', '/pets;x') },
  { name: 'with an encoded slash', same: false, spell: path => path.replace('/pets', '%2Fpets') },
  { name: 'with an encoded backslash', same: false, spell: path => path.replace('/pets', '%5Cpets') },
  { name: 'with a backslash', same: false, spell: path => path.replace('/pets', '\\pets') },
  { name: 'with a dot segment', same: false, spell: path => path.replace('/pets', '/./pets') },
  { name: 'with two dots', same: false, spell: path => path.replace('/pets', '/x/../pets') },
  { name: 'with encoded dots', same: false, spell: path => path.replace('/pets', '/%2e%2e/v1/pets') },
  { name: 'in upper case', same: false, spell: path => path.toUpperCase() },
  { name: 'with an encoded NUL', same: false, spell: path => path.replace('/pets', '/pets%00') },
  { name: 'encoded twice', same: false, spell: path => path.replace('p', '%2570') },
  { name: 'with a space at its end', same: false, spell: path => path.replace('/pets', '/pets%20') },
];

describe('every route', () => {
  let serving: Serving;
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

  it('exists, and states who may call it', () => {
    assert.ok(routes.length >= 3);
    for (const { operation, access } of routes) assert.ok(access.key && access.scope, operation);
  });

  it('has an operation, a path and a method of its own', () => {
    assert.equal(new Set(routes.map(({ operation }) => operation)).size, routes.length);
    assert.equal(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size, routes.length);
  });

  for (const route of routes) {
    it(`${route.operation} opens to nobody without a valid key, at every address, by every method, in every spelling`, async t => {
      let requests = 0;
      for (const address of ['production', 'staging', 'messages'] as const) {
        const { host } = new URL(serving.urls[address]);
        for (const caller of callers) {
          for (const spelling of spellings) {
            // The long form tries every method there is in every spelling; the short one those that differ.
            const methods =
              long || spelling.name === 'as it is' ? METHODS : ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'QUERY'];
            for (const method of methods) {
              if (method === 'CONNECT') continue;
              const spelled = spelling.spell(pathOf(route, address), host);
              const target = /^(\/|http:)/i.test(spelled) ? spelled : `/${spelled}`;
              const reply = await request(address, method, target, caller);
              const what = `${caller.name}: ${method} ${target} at ${address}`;
              judge(reply, what, { address, method, target, caller, same: spelling.same });
              requests++;
            }
          }
        }
      }
      t.diagnostic(`${requests} requests`);
    });
  }

  function judge(
    reply: RawReply,
    what: string,
    asked: { address: Address; method: string; target: string; caller: Caller; same: boolean },
  ): void {
    const { address, method, target, caller, same } = asked;
    assert.ok(reply.status < 500, `${what}: ${reply.status} ${reply.text}`);
    const refusal = caller.refusal(address);
    const path = target.replace(/^https?:\/\/[^/]*/i, '');
    const outside = address !== 'messages' && !/^\/(v1|%76%31)(\/|$|\?)/.test(path);
    if (outside) {
      assert.equal(reply.status, 404, what);
      return;
    }
    assertAnswer(reply, what);
    if (refusal !== undefined) {
      assert.equal(reply.status, 401, `${what}: ${reply.status}`);
      if (method !== 'HEAD') assert.equal(reply.body.code, refusal, what);
      return;
    }
    if (address === 'messages' || !same) {
      // A petId in an odd spelling names nothing; everything else leads nowhere.
      assert.ok([404, 405].includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
      return;
    }
    const taken = routes.filter(other => pathOf(other, address) === pathOf(routeAt(target), address));
    const route = taken.find(other => other.method === method || (other.method === 'GET' && method === 'HEAD'));
    if (route === undefined) {
      assert.equal(reply.status, 405, `${what}: ${reply.status}`);
      assert.ok(
        taken.every(other => reply.headers['allow']!.split(', ').includes(other.method)),
        what,
      );
      return;
    }
    const allowed = caller.scopes === undefined || caller.scopes.includes(route.access.scope!);
    if (!allowed) assert.equal(reply.status, 403, what);
    else assert.ok([...route.successes.map(({ status }) => status), 400, 404].includes(reply.status), what);
  }

  function routeAt(target: string): Route<never> {
    const decoded = decodeURIComponent(target.replace(/^https?:\/\/[^/]*/i, '').split('?')[0]!).replace(/\/$/, '');
    return routes.find(route => pathOf(route, 'production') === decoded)! as Route<never>;
  }

  function pathOf(route: Pick<Route<never>, 'path'>, address: Address): string {
    return (address === 'messages' ? '' : '/v1') + route.path.replace(/\{\w+\}/g, '1');
  }

  async function request(address: Address, method: string, target: string, caller: Caller): Promise<RawReply> {
    let line = connections.get(address);
    if (line === undefined || line.closed) {
      line = new Line(dial(serving.urls[address]));
      connections.set(address, line);
    }
    const authorization = caller.authorization === undefined ? '' : `Authorization: ${caller.authorization}\r\n`;
    const body = '{"name":"Minka","categoryId":2}';
    const content =
      method === 'POST' ? `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}` : '\r\n';
    // Each address has sixty wrong requests a minute.
    clock.advance(1100);
    return line.ask(
      `${method} ${target} HTTP/1.1\r\nHost: ${new URL(serving.urls[address]).host}\r\n${authorization}${content}`,
      method === 'HEAD',
    );
  }

  async function makeCallers(): Promise<Caller[]> {
    const registry = serving.app.databases.production;
    const refusedWith = (code: string) => () => code;
    const revoked = await serving.newKey();
    await registry.write(tx => revokeKey(tx, revoked.id));
    const expired = await serving.newKey({ expiresAt: clock.now() + 1 });
    clock.advance(2);
    const good = { production: await serving.newKey(), staging: await serving.newKey({ deployment: 'staging' }) };
    const limited = await serving.newKey({ scopes: ['orders:read'] });
    const reader = await serving.newKey({ scopes: ['pets:read'] });
    const own = (deployment: Address, code?: string) => (address: Address) =>
      address === deployment || address === 'messages' ? code : 'wrong_deployment';
    return [
      { name: 'no key', refusal: refusedWith('missing_api_key') },
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
      { name: 'a key of production', authorization: `Bearer ${good.production.token}`, refusal: own('production') },
      { name: 'a key of staging', authorization: `bearer  ${good.staging.token}`, refusal: own('staging') },
      {
        name: 'a key for orders',
        authorization: `Bearer ${limited.token}`,
        refusal: own('production'),
        scopes: ['orders:read'],
      },
      {
        name: 'a key for reading',
        authorization: `Bearer ${reader.token}`,
        refusal: own('production'),
        scopes: ['pets:read'],
      },
    ];
  }
});

/** A connection on which one request follows the other. */
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

  /** Sends one request; its one answer. */
  async ask(request: string, head: boolean): Promise<RawReply> {
    this.#bytes = Buffer.alloc(0);
    this.#socket.write(request, 'latin1');
    while (true) {
      const { replies, rest } = parseReplies(this.#bytes, head);
      if (replies.length > 0) {
        assert.equal(replies.length, 1, request);
        assert.equal(rest, '', request);
        return replies[0]!;
      }
      assert.ok(!this.closed, `an answer to ${request}`);
      await new Promise<void>(resolve => {
        this.#heard = resolve;
      });
    }
  }

  end(): void {
    this.#socket.destroy();
  }
}

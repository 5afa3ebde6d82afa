import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { revokeKey, rotateKey } from '../../src/access/keys/keys.ts';
import { testClock } from '../../src/lib/clock.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { askForToken, petfinderClient, petfinderUrl } from '../support/petfinder.ts';
import { assertApiResponse, type SendOptions, send, serve, type TestService } from '../support/serving.ts';
import { serveTraced } from '../support/traced-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const DOCS = 'https://www.petfinder.com/developers/v2/docs/errors';
const ended = {
  type: `${DOCS}/ERR-401/`,
  ...{ status: 401, title: 'Unauthorized', detail: 'Access token invalid or expired' },
};

overEachEngine(engine => {
  const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
  let service: TestService;
  before(async () => {
    service = await serve({ clock, environment: await engine.settings() });
  });
  after(() => service.stop());

  const database = () => service.app.databases.production;
  const tokenUrl = () => `${petfinderUrl(service.urls.production)}/oauth2/token`;

  describe('the token operation', () => {
    it('takes JSON, a form, HTTP Basic and a query, with and without a slash', async () => {
      const { id, token } = await service.newKey();
      const form = `grant_type=client_credentials&client_id=${id}&client_secret=${token}`;
      const formType = { 'content-type': 'application/x-www-form-urlencoded' };
      const basic = `Basic ${Buffer.from(`${id}:${token}`).toString('base64')}`;
      const json = { grant_type: 'client_credentials', client_id: id, client_secret: token };
      const calls: [string, SendOptions][] = [
        ['', { body: json }],
        ['/', { body: json }],
        ['', { body: form, headers: formType }],
        ['/', { body: 'grant_type=client_credentials', headers: { ...formType, authorization: basic } }],
        [`?${form}`, {}],
      ];
      for (const [end, options] of calls) {
        const reply = await send(tokenUrl() + end, { method: 'POST', ...options });
        assertApiResponse(reply);
        assert.equal(reply.status, 200, end);
        assert.deepEqual(Object.keys(reply.body), ['token_type', 'expires_in', 'access_token']);
        assert.deepEqual([reply.body.token_type, reply.body.expires_in], ['Bearer', 3600]);
        const types = await send(`${petfinderUrl(service.urls.production)}/types`, { key: reply.body.access_token });
        assert.equal(types.status, 200);
      }
    });

    it('rejects other credentials, and counts them against the address', async () => {
      const [key, other] = [await service.newKey(), await service.newKey()];
      const before = Number(
        (await askForToken(service.urls.production, { id: 'x', token: 'y' })).headers['x-ratelimit-remaining'],
      );
      for (const wrong of [
        { id: other.id, token: key.token },
        { id: key.id, token: `${key.token}x` },
        { id: '', token: '' },
      ]) {
        const reply = await askForToken(service.urls.production, wrong);
        assert.equal(reply.status, 401);
        assert.equal(reply.headers['content-type'], 'application/problem+json');
        const { errors, hint, ...problem } = reply.body;
        assert.deepEqual(problem, {
          type: `${DOCS}/ERR-401/`,
          ...{ status: 401, title: 'invalid_client', detail: 'Client authentication failed' },
        });
        assert.deepEqual([errors[0].code, hint], ['invalid_client', null]);
      }
      const last = await askForToken(service.urls.production, { id: 'x', token: 'y' });
      assert.equal(Number(last.headers['x-ratelimit-remaining']), before - 4);
      for (const body of ['{', '[]', '{"client_id":{}}', 'null', '%']) {
        assert.equal((await send(tokenUrl(), { method: 'POST', body })).status, 401, body);
      }
      assert.equal((await send(tokenUrl(), { method: 'POST', body: 'x'.repeat(9000) })).status, 413);
      // The address has used up its requests otherwise.
      clock.advance(61_000);
    });

    it('rejects arbitrary bodies and queries', async () => {
      const anything = fc.string({ unit: 'binary', maxLength: 100 });
      const member = fc.constantFrom('client_id', 'client_secret', 'grant_type', '__proto__', 'constructor');
      const bodies = fc.oneof(
        anything,
        fc.json(),
        fc.dictionary(member, fc.jsonValue()).map(value => JSON.stringify(value)),
      );
      for (const [body, search] of fc.sample(fc.tuple(bodies, anything), 50)) {
        const url = `${tokenUrl()}?client_id=${encodeURIComponent(search.toWellFormed())}`;
        const reply = await send(url, {
          method: 'POST',
          body,
          headers: { authorization: `Basic ${btoa(body.replace(/[^ -~]/g, ''))}` },
        });
        assert.equal(reply.status, 401, body);
        assert.equal(reply.body.title, 'invalid_client');
      }
      clock.advance(61_000);
    });

    it('counts as one request of the key, also without grant_type', async () => {
      const key = await service.newKey({ plan: 'free' });
      const first = await askForToken(service.urls.production, key);
      assert.deepEqual([first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']], ['60', '59']);
      const basic = `Basic ${Buffer.from(`${key.id}:${key.token}`).toString('base64')}`;
      const bare = await send(tokenUrl(), { method: 'POST', headers: { authorization: basic } });
      assert.deepEqual([bare.status, bare.body.type], [400, `${DOCS}/ERR-00001/`]);
      assert.equal(bare.headers['x-ratelimit-remaining'], '58');
      const other = await send(`${tokenUrl()}?grant_type=password`, {
        method: 'POST',
        headers: { authorization: basic },
      });
      assert.deepEqual([other.status, other.body.type], [400, `${DOCS}/ERR-00002/`]);
    });

    it('responds to the preflight request of a browser, with the header of the SDK', async () => {
      const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
      const named = { ...headers, 'access-control-request-headers': 'content-type,x-api-sdk' };
      const asked = await send(tokenUrl(), { method: 'OPTIONS', headers: named });
      assert.deepEqual([asked.status, asked.headers['access-control-allow-headers']], [204, 'content-type,x-api-sdk']);
      const { headers: allowed } = await send(tokenUrl(), { method: 'OPTIONS', headers });
      assert.match(String(allowed['access-control-allow-headers']), /x-api-sdk/);
    });
  });

  describe('an access token', () => {
    const statusOf = async (key: string) =>
      (await send(`${petfinderUrl(service.urls.production)}/types`, { key })).status;

    it('ends after an hour, with the text on which clients ask for another', async () => {
      const { token, get } = await petfinderClient(service.urls, await service.newKey());
      clock.advance(3_599_000);
      assert.equal(await statusOf(token), 200);
      clock.advance(1000);
      const reply = await get('/animals');
      assertApiResponse(reply);
      assert.deepEqual(reply.body, ended);
    });

    it('ends when its key is revoked or rotated, or its account suspended', async () => {
      const ends: Record<string, [number, (key: { id: string; accountId: number }) => Promise<unknown>]> = {
        revoked: [401, ({ id }) => database().write(tx => revokeKey(tx, id))],
        rotated: [401, ({ id }) => database().write(tx => rotateKey(tx, id, 0))],
        'rotated with an overlap': [401, ({ id }) => database().write(tx => rotateKey(tx, id, DAY_MS))],
        suspended: [403, ({ accountId }) => database().write(tx => suspendAccount(tx, accountId))],
      };
      for (const [name, [status, end]] of Object.entries(ends)) {
        const key = await service.newKey();
        const { token } = await petfinderClient(service.urls, key);
        assert.equal(await statusOf(token), 200, name);
        await end(key);
        // On PostgreSQL, a node learns of it within a second.
        if (engine.name === 'postgres') await waitUntil(async () => (await statusOf(token)) !== 200);
        assert.equal(await statusOf(token), status, name);
      }
    });

    it('is issued for both keys during the overlap of a rotation', async () => {
      const key = await service.newKey();
      const { issued } = await database().write(tx => rotateKey(tx, key.id, DAY_MS));
      for (const one of [key, issued]) {
        const { token } = await petfinderClient(service.urls, one);
        assert.equal(await statusOf(token), 200);
      }
    });

    it('is no API key, and cannot be forged', async () => {
      const [key, other] = [await service.newKey(), await service.newKey()];
      const { token, get } = await petfinderClient(service.urls, key);
      assert.equal((await send(`${service.urls.production}/pets`, { key: token })).status, 401);
      const [, expiry, signature] = token.split('.');
      const forged = [
        `${other.id}.${expiry}.${signature}`,
        `${key.id}.${Number(expiry) + 1}.${signature}`,
        `${key.id}.${expiry}.${signature!.slice(1)}A`,
        `${key.id}.${expiry}`,
        key.token,
        'x',
      ];
      for (const key of forged) assert.deepEqual((await get('/types', { key })).body, ended, key);
      assert.deepEqual((await send(`${petfinderUrl(service.urls.production)}/types`)).body, ended);
      assert.equal((await send(`${petfinderUrl(service.urls.staging)}/types`, { key: token })).status, 401);
      clock.advance(61_000);
    });

    it('has no rights besides those of its key, and none but to read', async () => {
      const scopes = ['messages:read'];
      const { get } = await petfinderClient(service.urls, await service.newKey({ scopes }));
      for (const path of [
        '/animals',
        '/animals/10000001',
        '/types',
        '/types/dog',
        '/types/dog/breeds',
        '/organizations',
        '/organizations?location=0,0',
        '/animals?status=found',
      ]) {
        const reply = await get(path);
        assert.deepEqual([reply.status, reply.body.type], [403, `${DOCS}/ERR-403/`], path);
      }
      const { token } = await petfinderClient(service.urls, await service.newKey());
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const reply = await send(`${petfinderUrl(service.urls.production)}/animals`, { method, key: token, body: {} });
        assert.deepEqual([reply.status, reply.headers.allow], [405, 'GET, HEAD'], method);
      }
    });

    it('is limited like its key', async () => {
      const { get } = await petfinderClient(service.urls, await service.newKey({ plan: 'free' }));
      const replies = await Promise.all(Array.from({ length: 61 }, () => get('/types/dog')));
      const limited = replies.filter(({ status }) => status === 429);
      assert.equal(limited.length, 2);
      assertApiResponse(limited[0]!);
      assert.equal(limited[0]!.headers['content-type'], 'application/problem+json');
      assert.deepEqual(Object.keys(limited[0]!.body), ['type', 'status', 'title', 'detail']);
    });

    it('ends while its key is banned', async () => {
      const { token, get } = await petfinderClient(service.urls, await service.newKey({ plan: 'free' }));
      await Promise.all(Array.from({ length: 61 }, () => get('/types/dog')));
      clock.advance(3000);
      for (let violation = 0; violation < 20; violation++) await get('/types/dog');
      // The minute is over, and the ban is not.
      clock.advance(58_500);
      assert.equal(await statusOf(token), 429);
      clock.advance(2000);
      assert.equal(await statusOf(token), 200);
    });
  });
});

describe('the Petfinder view', () => {
  it('writes no secret to any log', async t => {
    const { service, key, exchange, collector } = await serveTraced(t, { PETSTORE_ACCESS_LOG: 'true' });
    const url = petfinderUrl(service.urls.production);
    const secrets = `grant_type=client_credentials&client_id=${key.id}&client_secret=${key.token}`;
    const { reply } = await exchange(`${url}/oauth2/token?${secrets}`, { method: 'POST' });
    const token: string = reply.body.access_token;
    await exchange(`${url}/oauth2/token`, { method: 'POST', body: secrets });
    await exchange(`${url}/animals?access_token=${token}&name=${key.token}&location=${key.token}`, { key: token });
    await exchange(`${url}/animals/${key.token}`, { key: token });
    await exchange(`${url}/${key.token}`, { key: token });
    const logged = await send(`${service.urls.production}/account/requests`, { key });
    assert.equal(logged.status, 200);
    const written = [...service.lines, JSON.stringify(collector.spans()), logged.text].join('\n');
    assert.match(written, /petfinder\.issueToken/);
    assert.match(written, /petfinder\.listAnimals/);
    assert.ok(!written.includes(key.token) && !written.includes(token.split('.')[2]!));
  });

  it('can be switched off', async t => {
    const service = await serve({ environment: { PETSTORE_VIEWS: '' } });
    t.after(() => service.stop());
    const reply = await askForToken(service.urls.production, await service.newKey());
    assert.deepEqual([reply.status, reply.body.code], [404, 'route_not_found']);
  });
});

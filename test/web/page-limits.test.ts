import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cookieNames } from '../../src/access/sessions/cookies.ts';
import { testClock } from '../../src/lib/clock.ts';
import { query } from '../../src/model/schema.ts';
import { assetPath } from '../../src/web/assets.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { assertApiResponse, send, serve, type TestService } from '../support/serving.ts';
import { signedIn } from './session.ts';

const PAGES = 5;

describe('a network that opens many pages', () => {
  const clock = testClock(Date.UTC(2026, 10, 20, 12));
  let service: TestService;
  let origin: string;
  before(async () => {
    const environment = { PETSTORE_PAGES_PER_MINUTE: String(PAGES), PETSTORE_TRUSTED_PROXIES: '127.0.0.1' };
    service = await serve({ clock, environment });
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  function open(path: string, address: string, headers: Readonly<Record<string, string>> = {}) {
    return send(origin + path, { headers: { Accept: 'text/html', 'X-Forwarded-For': address, ...headers } });
  }

  /** Opens as many pages as the network may, on both addresses. */
  async function exhaust(address: string): Promise<void> {
    const staging = new URL(service.urls.staging).origin;
    const headers = { Accept: 'text/html', 'X-Forwarded-For': address };
    assert.equal((await send(`${staging}/animals`, { headers })).status, 200);
    for (let i = 1; i < PAGES; i++) assert.equal((await open('/animals', address)).status, 200);
    assert.equal((await open('/animals', address)).status, 429);
  }

  it('gets 429 until Retry-After, as a page or as an Error', async () => {
    const network = '192.0.2.1';
    await exhaust(network);
    const page = await open('/sign-in', network);
    assert.equal(page.status, 429);
    assert.match(page.text, /<h1>That did not work<\/h1>\s*<p>Too many pages were opened/);
    assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/);
    const retryAfter = Number(page.headers['retry-after']);
    assert.equal(retryAfter, 60);
    for (const path of ['/search?q=pets', '/reference?q=pets', '/errors/none']) {
      assert.equal((await open(path, network)).status, 429, path);
    }
    const error = await open('/animals', network, { Accept: 'application/json' });
    assertApiResponse(error);
    assert.deepEqual([error.status, error.body.code], [429, 'too_many_pages']);
    clock.advance(retryAfter * 1000 - 1);
    assert.equal((await open('/animals', network)).status, 429);
    clock.advance(1);
    assert.equal((await open('/animals', network)).status, 200);
  });

  it('gets no fresh minute when the clock is set ahead', async () => {
    const network = '192.0.2.9';
    await exhaust(network);
    clock.step(3_600_000);
    const page = await open('/animals', network);
    assert.deepEqual([page.status, page.headers['retry-after']], [429, '60']);
    clock.advance(60_000);
    assert.equal((await open('/animals', network)).status, 200);
  });

  it('gets 429 for forms, before they are read', async () => {
    const network = '192.0.2.2';
    await exhaust(network);
    for (const path of ['/sign-in', '/try/key']) {
      const headers = { 'X-Forwarded-For': network, 'Content-Type': 'text/plain' };
      const { status, body } = await send(origin + path, { method: 'POST', headers, body: 'x' });
      assert.deepEqual([status, body.code], [429, 'too_many_pages'], path);
    }
  });

  it('still gets cached pages, assets, health checks and the API', async () => {
    const network = '192.0.2.3';
    const { headers } = await open('/guides', network);
    await open('/errors', '198.51.100.1');
    for (let i = 1; i < PAGES; i++) assert.equal((await open('/animals', network)).status, 200);
    for (const path of ['/guides', '/errors', assetPath('style.css'), '/livez', '/readyz', '/openapi.json']) {
      for (let i = 0; i < PAGES; i++) assert.equal((await open(path, network)).status, 200, path);
    }
    const cached = await open('/guides', network, { 'If-None-Match': String(headers['etag']) });
    assert.equal(cached.status, 304);
    const key = await service.newKey();
    const list = await send(`${service.urls.production}/pets`, { key, headers: { 'X-Forwarded-For': network } });
    assert.equal(list.status, 200);
    assert.equal((await open('/animals', network)).status, 429);
    // Nobody has rendered this page, so it is not in the cache.
    assert.equal((await open('/errors/invalid_body', network)).status, 429);
    assert.equal((await open('/errors/invalid_body', '198.51.100.1')).status, 200);
  });

  it('uses up neither another network nor the pages of someone who is signed in', async () => {
    await exhaust('192.0.2.4');
    assert.equal((await open('/animals', '192.0.2.5')).status, 200);
    const person = await signedIn(service);
    const own = { 'X-Forwarded-For': '192.0.2.4' };
    for (let i = 0; i < PAGES; i++) assert.equal((await person.open('/animals', own)).status, 200);
    assert.equal((await person.open('/animals', own)).status, 429);
    assert.equal((await (await signedIn(service)).open('/animals', own)).status, 200);
    // A cookie without a session is of no use.
    const Cookie = `${cookieNames(origin).session}=${'x'.repeat(43)}`;
    assert.equal((await open('/animals', '192.0.2.4', { Cookie })).status, 429);
  });

  it('is a /64 for IPv6', async () => {
    await exhaust('2001:db8:0:7::1');
    assert.equal((await open('/animals', '2001:db8:0:7:9::2')).status, 429);
    assert.equal((await open('/animals', '2001:db8:0:8::1')).status, 200);
  });
});

overEachEngine(engine => {
  describe('a page that reads many animals', () => {
    let service: TestService;
    let origin: string;
    before(async () => {
      const environment = { PETSTORE_PAGES_PER_MINUTE: '20', PETSTORE_TRUSTED_PROXIES: '127.0.0.1' };
      const clock = testClock(Date.UTC(2026, 10, 20, 12));
      service = await serve({ clock, environment: { ...(await engine.settings()), ...environment } });
      origin = new URL(service.urls.production).origin;
      const key = await service.newKey();
      const body = { name: 'Bo', categoryId: 1, sex: 'male', size: 'small' };
      await send(`${service.urls.production}/pets`, { method: 'POST', key, body });
      // More than a page scans: 32,768. The first 11 copies double them, each of the others adds 2,048.
      for (let copies = 0; copies < 26; copies++) {
        await service.app.databases.production.write(tx => tx.run(copyPets, {}));
      }
    });
    after(() => service.stop());

    /** Opens a page, and returns it with the number of pages that its network may open after it. */
    async function open(path: string, address: string) {
      const headers = { Accept: 'text/html', 'X-Forwarded-For': address };
      const page = await send(origin + path, { headers });
      let left = 0;
      while ((await send(`${origin}/sign-in`, { headers })).status === 200) left++;
      return { ...page, left };
    }

    it('counts as a page more for each turn that its scans take', async () => {
      assert.equal((await open('/animals', '192.0.2.1')).left, 19);
      const filtered = await open('/animals?sex=male', '192.0.2.2');
      assert.deepEqual([filtered.status, filtered.left], [200, 18]);
      // Ten turns to look for animals that do not exist, and one to count them.
      const inVain = await open('/animals?sex=female', '192.0.2.3');
      assert.deepEqual([inVain.status, inVain.left], [200, 8]);
      assert.equal((await open('/animals.md?sex=female', '192.0.2.4')).left, 8);
    });

    it('counts the traits of the first 2,000 animals only, and shows that there are more', async () => {
      const { text } = await open('/animals?sex=male', '192.0.2.5');
      assert.match(text, /Only the first 2,000 animals are counted\./);
      assert.match(text, /Small <span class="count">2,000\+</);
      assert.doesNotMatch((await open('/animals', '192.0.2.6')).text, /Only the first/);
    });
  });
});

const columns = ['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at', 'sex', 'size'] as const;
/** A statement must end within seconds, also on a machine under load. */
const copyPets = query(db =>
  db.insertInto('pets').columns(columns).expression(db.selectFrom('pets').select(columns).limit(2048)),
);

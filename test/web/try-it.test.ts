import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { seedStaging } from '../../src/operate/seeds/staging.ts';
import { routes } from '../../src/views/api.ts';
import { hasTryIt } from '../../src/web/reference/try-it-view.ts';
import { serve, type TestService } from '../support/serving.ts';
import { launchBrowser, skipBrowser } from './browser.ts';

const all = routes as readonly Route<never>[];
/** More than the requests that one panel sends, at 60 a minute. */
const PAUSE_MS = 8000;

describe('“Try it” in a browser', { skip: skipBrowser }, () => {
  let clock: TestClock;
  let service: TestService;
  let browser: Browser;
  let origin: string;
  before(async () => {
    clock = testClock(Date.now());
    service = await serve({ clock });
    const { production, staging } = service.app.databases;
    await seedStaging(production, staging!);
    origin = new URL(service.urls.production).origin;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function withContext(use: (context: BrowserContext) => Promise<void>, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.on('weberror', error => assert.fail(error.error()));
    try {
      await use(context);
    } finally {
      await context.close();
    }
  }

  const send = (page: Page) => page.getByRole('button', { name: 'Send request' }).click();
  const storedIn = (page: Page) => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));

  it('shows every panel beside the description, in view at 1280 px', () =>
    withContext(async context => {
      const page = await context.newPage();
      for (const route of all.filter(hasTryIt)) {
        await page.goto(`${origin}/reference/${route.operationId}`);
        const title = (await page.locator('#try-title').boundingBox())!;
        const lead = (await page.locator('.ref-lead').boundingBox())!;
        assert.ok(title.y < 300 && title.x > lead.x + lead.width, `${route.operationId}: ${JSON.stringify(title)}`);
        const action = page.locator('.try > form > button, .try .own-key > summary').first();
        if ((await action.count()) === 0) continue;
        const button = (await action.boundingBox())!;
        assert.ok(button.y + button.height <= 800, `${route.operationId}: ${button.y}`);
      }
    }));

  for (const order of ['as listed', 'reversed'] as const) {
    it(`sends every request that a trial key may send, with success at the first press, ${order}`, async t => {
      const shown = order === 'reversed' ? all.toReversed() : all;
      const failed: string[] = [];
      let pressed = 0;
      const press = async (page: Page, { operationId }: Route<never>) => {
        await page.goto(`${origin}/reference/${operationId}`);
        if ((await page.locator('.try > form').count()) === 0) return;
        clock.advance(PAUSE_MS);
        pressed++;
        await send(page);
        const status = page.locator('.result > .response .status, .result > .alert');
        const text = (await status.first().textContent())!;
        if (!/^2\d\d/.test(text)) failed.push(`${operationId}: ${await page.locator('.result').textContent()}`);
      };
      await withContext(async context => {
        const page = await context.newPage();
        for (const route of shown) await press(page, route);
      });
      t.diagnostic(`${pressed} panels`);
      assert.ok(pressed >= 34);
      assert.deepEqual(failed, []);
    });
  }

  it('can be pressed again: what the first request used up is made anew', () =>
    withContext(async context => {
      const page = await context.newPage();
      for (const [operationId, status] of [
        ['deletePet', 204],
        ['placeOrder', 201],
        ['cancelOrder', 200],
      ] as const) {
        await page.goto(`${origin}/reference/${operationId}`);
        for (let time = 0; time < 2; time++) {
          clock.advance(PAUSE_MS);
          await send(page);
          await page.locator('.result > .response .status', { hasText: String(status) }).waitFor();
        }
      }
    }));

  it('shows the recorded request and response where a trial key may not send one, and takes a key of the visitor', () =>
    withContext(async context => {
      const page = await context.newPage();
      for (const operationId of [
        'listWebhooks',
        'addPhoto',
        'updatePhoto',
        'getImport',
        'listAuditEntries',
        'createCategory',
        'getOrganization',
        'replaceOrganization',
      ]) {
        await page.goto(`${origin}/reference/${operationId}`);
        assert.ok(await page.locator('.recorded code', { hasText: 'curl' }).first().isVisible(), operationId);
        assert.ok(!(await page.getByRole('button', { name: 'Send request' }).isVisible()), operationId);
        assert.ok(await page.locator('summary', { hasText: 'Use a key of your own' }).isVisible(), operationId);
      }
      const sent: string[] = [];
      page.on('request', request => sent.push(request.headers()['authorization'] ?? ''));
      await page.goto(`${origin}/reference/listWebhooks`);
      await page.locator('summary', { hasText: 'Use a key of your own' }).click();
      await send(page);
      assert.deepEqual(sent.filter(Boolean), [], 'sends nothing without a key');
      const { token } = await service.newKey({ deployment: 'staging', scopes: ['webhooks:read'] });
      await page.getByLabel('API key for staging').fill(token);
      for (let time = 0; time < 2; time++) {
        await send(page);
        await page.locator('.result > .response .status', { hasText: '200' }).waitFor();
        assert.equal(await page.getByLabel('API key for staging').inputValue(), token, 'the page keeps the key');
      }
      assert.ok(!(await storedIn(page)).includes(token));
      assert.ok(!(await page.locator('.result').textContent())!.includes(token));
    }));

  it('says what is wrong with a key that was pasted with more than the key', () =>
    withContext(async context => {
      const page = await context.newPage();
      const [{ token }, live] = [await service.newKey({ deployment: 'staging' }), await service.newKey()];
      await page.goto(`${origin}/reference/listPets`);
      await page.locator('summary', { hasText: 'Use a key of your own' }).click();
      for (const [pasted, shown] of [
        [`“${token}”`, /has a character that cannot be sent/],
        [`"${token}"`, /The API key is in quotes/],
        [`Bearer ${token}`, /has \\"Bearer\\" twice/],
        [live.token, /This is a key of production\. Use it at http/],
        [` ${token}\n`, /^\s*Request[\s\S]*200 OK/],
      ] as const) {
        await page.getByLabel('API key for staging').fill(pasted);
        await send(page);
        await page.locator('.result', { hasText: shown }).waitFor();
      }
    }));

  it('uploads a file with a key of the visitor', () =>
    withContext(async context => {
      const page = await context.newPage();
      const { token } = await service.newKey({ deployment: 'staging' });
      await page.goto(`${origin}/reference/importPets`);
      await page.locator('summary', { hasText: 'Use a key of your own' }).click();
      await page.getByLabel('API key for staging').fill(token);
      const buffer = Buffer.from('externalId,name,categoryId\nA-1,Mia,2\n');
      await page.getByLabel(/^File/).setInputFiles({ name: 'animals.csv', mimeType: 'text/csv', buffer });
      await send(page);
      await page.locator('.result > .response .status', { hasText: /^2/ }).waitFor();
    }));

  it('shares one key between the pages of a browser, until it is forgotten', () =>
    withContext(async context => {
      const keys: string[] = [];
      context.on('request', request => {
        if (request.url().endsWith('/try/key')) keys.push(request.url());
      });
      const [first, second] = [await context.newPage(), await context.newPage()];
      for (const page of [first, second]) {
        await page.goto(`${origin}/reference/getAccount`);
        await send(page);
        await page.locator('.result > .response .status', { hasText: '200' }).waitFor();
      }
      assert.equal(keys.length, 1);
      const { token } = JSON.parse((await second.evaluate(() => localStorage.getItem('trial-key')))!);
      await second.getByRole('button', { name: 'Forget this key' }).click();
      await second.locator('#try-key-state', { hasText: 'The key has ended' }).waitFor();
      assert.equal(await storedIn(second), '{}');
      const reply = await fetch(`${service.urls.staging}/account`, { headers: { Authorization: `Bearer ${token}` } });
      assert.equal(reply.status, 401);
      // A key that another page has ended is replaced.
      await send(first);
      await first.locator('.result > .response .status', { hasText: '200' }).waitFor();
      assert.equal(keys.length, 2);
    }));

  it('gets one key for two tabs, and sends one request at a time', () =>
    withContext(async context => {
      const sent: string[] = [];
      context.on('request', request => {
        if (request.method() !== 'OPTIONS') sent.push(new URL(request.url()).pathname);
      });
      const tabs = [await context.newPage(), await context.newPage()];
      for (const page of tabs) await page.goto(`${origin}/reference/getAccount`);
      const sendTwice = (page: Page) =>
        page.locator('.try > form').evaluate(form => {
          for (let time = 0; time < 2; time++) (form as HTMLFormElement).requestSubmit();
        });
      await Promise.all(tabs.map(sendTwice));
      for (const page of tabs) await page.locator('.result > .response .status', { hasText: '200' }).first().waitFor();
      assert.deepEqual(
        sent.filter(path => /^\/(try|v1)\//.test(path)),
        ['/try/key', '/v1/account', '/v1/account'],
      );
    }));

  it('shows the URL that it sends to', () =>
    withContext(async context => {
      const page = await context.newPage();
      for (const [operationId, field, value, url] of [
        ['listMessages', undefined, '', /\/v1\/messages$/],
        ['listPets', 'query.q', 'it’s a cat', /\/v1\/pets\?q=it%E2%80%99s\+a\+cat$/],
        ['getPet', 'path.petId', '..', /\/v1\/$/],
      ] as const) {
        await page.goto(`${origin}/reference/${operationId}`);
        if (field !== undefined)
          await page.locator(`[name="${field}"]`).evaluate((input, text) => {
            (input as HTMLInputElement).value = text;
          }, value);
        const sent = page.waitForRequest(
          request => request.url().startsWith(service.urls.staging) && url.test(request.url()),
        );
        await send(page);
        await page.locator('.result code', { hasText: `'${(await sent).url()}'` }).waitFor();
      }
    }));

  it('sends a message on the message address, about an animal of the visitor only', () =>
    withContext(async context => {
      const page = await context.newPage();
      await page.goto(`${origin}/reference/sendMessage`);
      const posted = page.waitForRequest(request => request.url() === `${service.urls.messages}/messages`);
      await send(page);
      await posted;
      await page.locator('.result > .response .status', { hasText: '202' }).waitFor();
      for (const body of ['{"message":"Hello"}', '{"message":"Hello","petId":1}']) {
        await page.getByLabel('Body').fill(body);
        await send(page);
        await page.locator('.result > .response .status', { hasText: '403' }).waitFor();
        assert.match((await page.locator('.result').textContent())!, /not_in_sandbox/);
      }
    }));
});

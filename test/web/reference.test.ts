import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { seedStaging } from '../../src/operate/seeds/staging.ts';
import { serve, type TestService } from '../support/serving.ts';
import { assertFits, launchBrowser, paintOf, skipBrowser, violationsOn } from './browser.ts';

/** Nobody sees a hundredth of what counts as a good page (0.1). */
const SHIFT_MAX = 0.001;

describe('the reference in a browser', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  before(async () => {
    service = await serve();
    const { production, staging } = service.app.databases;
    await seedStaging(production, staging!);
    origin = new URL(service.urls.production).origin;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function withPage(options: BrowserContextOptions, use: (page: Page) => Promise<void>) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    try {
      const page = await context.newPage();
      page.on('pageerror', error => assert.fail(error));
      await use(page);
    } finally {
      await context.close();
    }
  }

  it('finds an operation by keyboard alone', () =>
    withPage({}, async page => {
      await page.goto(`${origin}/reference`);
      await page.keyboard.press('/');
      await page.keyboard.type('release hold');
      await page.waitForFunction(() => document.querySelector('[data-count]')?.textContent === '1 operation');
      await page.keyboard.press('ArrowDown');
      assert.match((await page.locator(':focus').textContent())!, /Release a hold/);
      await page.keyboard.press('Enter');
      await page.waitForURL(`${origin}/reference/releaseHold`);
      // The page of an operation has the same filter beside it.
      await page.keyboard.press('/');
      await page.keyboard.type('webhooks:write rotate');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${origin}/reference/rotateWebhookSecret`);
    }));

  it('leaves the slash to the search of the site where the filter is hidden', () =>
    withPage({ viewport: { width: 390, height: 800 } }, async page => {
      await page.goto(`${origin}/reference/createPet`);
      await page.keyboard.press('/');
      assert.ok(await page.locator('header input[type=search]:focus').isVisible());
    }));

  it('shows code in the language that one chooses, and opens what a link leads to', () =>
    withPage({}, async page => {
      await page.goto(`${origin}/reference/createPet#body.price.amount`);
      assert.ok(await page.locator('[id="body.price.amount"]').isVisible());
      await page.locator('label[for=python-0]').click();
      assert.ok(await page.locator('.panel.python').first().isVisible());
      assert.ok(!(await page.locator('.panel.curl').first().isVisible()));
      assert.match((await page.locator('.panel.python').first().textContent())!, /requests\.post\(/);
    }));

  it('creates a pet on staging with a trial key, and gets it on the page of another operation', () =>
    withPage({}, async page => {
      await page.goto(`${origin}/reference/createPet`);
      await page.getByRole('button', { name: 'Send request' }).click();
      const result = page.locator('.result');
      await result.locator('.status', { hasText: '201' }).waitFor();
      assert.match((await page.locator('#try-key-state').textContent())!, /You have a trial key until/);
      assert.match((await result.textContent())!, /curl -i -X POST .*\/v1\/pets/s);
      assert.match((await result.locator('.left').textContent())!, /^59 of 60 requests left\.$/);
      assert.ok(await result.locator('dt.limit', { hasText: 'x-ratelimit-remaining' }).isVisible());
      const { id } = JSON.parse((await result.locator('pre').last().textContent())!);
      assert.deepEqual(await violationsOn(page), []);
      await page.goto(`${origin}/reference/updatePet`);
      assert.equal(await page.locator('[name="path.petId"]').inputValue(), String(id));
      await page.getByLabel('Body').fill('{"name":"Mia"}');
      await page.getByRole('button', { name: 'Send request' }).click();
      await page.locator('.result .status', { hasText: '200' }).waitFor();
      assert.match((await page.locator('.result').textContent())!, /"name": "Mia"/);
      await page.route('**/v1/pets/*', route => route.abort());
      await page.getByRole('button', { name: 'Send request' }).click();
      await page.locator('.result .alert', { hasText: 'Staging cannot be reached' }).waitFor();
    }));

  it('works without JavaScript', () =>
    withPage({ javaScriptEnabled: false }, async page => {
      await page.goto(`${origin}/reference`);
      await page.getByLabel('Find an operation').fill('hold expire');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${origin}/reference?q=hold+expire`);
      assert.deepEqual(await page.locator('.ref-list strong').allTextContents(), ['Change when a hold expires']);
      await page.locator('.ref-list a').click();
      await page.locator('label[for=javascript-0]').click();
      assert.ok(await page.locator('.panel.javascript').first().isVisible());
      // The emulation does not render what is for browsers without scripts.
      assert.match((await page.locator('.try noscript').textContent())!, /This form needs JavaScript/);
      assert.ok(!(await page.getByRole('button', { name: 'Send request' }).isVisible()));
    }));

  it('fits every screen and is accessible', () =>
    withPage({}, async page => {
      for (const path of ['/reference', '/reference/createPet', '/reference/listEvents', '/reference/getPet']) {
        await page.goto(origin + path);
        // axe-core skips the contents of closed `details` elements.
        await page.evaluate(() => {
          for (const details of document.querySelectorAll('details')) details.open = true;
        });
        await assertFits(page, path);
      }
    }));

  it('does not move on a slow processor', async t => {
    for (const path of ['/reference', '/reference/createPet', '/reference/listEvents']) {
      await withPage({}, async page => {
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
        page.on('request', request => assert.ok(request.url().startsWith(origin), request.url()));
        await page.goto(origin + path, { waitUntil: 'networkidle' });
        const { paintMs, shift } = await paintOf(page);
        assert.ok(shift < SHIFT_MAX, `${path} moves: ${shift}`);
        t.diagnostic(`${path}: first contentful paint after ${Math.round(paintMs)} ms, layout shift ${shift}`);
      });
    }
  });

  it('has no form and says why, where staging is switched off', async t => {
    const alone = await serve({ environment: { PETSTORE_STAGING_PORT: '' } });
    t.after(() => alone.stop());
    const { origin: own } = new URL(alone.urls.production);
    await withPage({}, async page => {
      await page.goto(`${own}/reference/createPet`);
      assert.ok(await page.getByText('This server has no staging deployment, so you cannot send requests').isVisible());
      assert.equal(await page.getByRole('button', { name: 'Send request' }).count(), 0);
    });
    const response = await fetch(`${own}/try/key`, { method: 'POST' });
    assert.deepEqual([response.status, (await response.json()).code], [404, 'staging_not_served']);
  });
});

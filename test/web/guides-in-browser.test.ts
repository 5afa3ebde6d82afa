import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { assertFits, follow, launchBrowser, paintOf, skipBrowser } from './browser.ts';
import { signedIn } from './session.ts';

const PASSWORD = 'correct horse battery';

const paths = [
  '/guides',
  '/guides/pets',
  '/guides/first-day',
  '/guides/backoff',
  '/guides/command-line',
  '/guides/operating/tls-and-proxies',
  '/search',
  '/search?q=webhook+signature',
  '/search?q=qqqqzzzz',
];

describe('the guides in a browser', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const open = async (path: string, options: BrowserContextOptions = {}): Promise<Page> => {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(origin + path);
    return page;
  };

  it('fit every screen and are accessible', async () => {
    const page = await open('/');
    for (const path of paths) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    await page.context().close();
  });

  for (const width of [320, 1280]) {
    it(`do not shift at ${width} px`, async () => {
      const page = await open('/', { viewport: { width, height: 800 } });
      for (const path of paths) {
        await page.goto(origin + path, { waitUntil: 'load' });
        const { shift } = await paintOf(page);
        assert.equal(shift, 0, `${path} shifts`);
      }
      await page.context().close();
    });
  }

  it('are read one after the other, and by their contents', async () => {
    const page = await open('/guides', { viewport: { width: 1280, height: 800 } });
    await follow(page.getByRole('link', { name: 'Quickstart', exact: true }).first());
    assert.equal(await page.locator('h1').textContent(), 'Quickstart');
    await follow(page.getByRole('link', { name: 'Next Tutorial' }));
    assert.match(page.url(), /\/guides\/tutorial$/);
    await follow(page.getByRole('link', { name: 'Previous Quickstart' }));
    const contents = page.getByRole('navigation', { name: 'On this page' });
    await contents.getByRole('link', { name: 'Add a pet' }).click();
    assert.match(page.url(), /\/guides\/quickstart#add-a-pet$/);
    const list = page.getByRole('navigation', { name: 'Guides' });
    assert.equal(await list.locator('[aria-current]').textContent(), 'Quickstart');
    await list.getByText('Sell animals').click();
    await follow(list.getByRole('link', { name: 'Orders' }));
    assert.match(page.url(), /\/guides\/orders$/);
  });

  it('show images of their size, in the color scheme of the reader', async () => {
    const page = await open('/guides/first-day');
    const images = await page.locator('article img').all();
    assert.ok(images.length > 0);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const image of images) {
        await image.scrollIntoViewIfNeeded();
        const shown = await image.evaluate(async (img: HTMLImageElement) => {
          await img.decode();
          const { currentSrc, naturalWidth, naturalHeight } = img;
          const size = [img.getAttribute('width'), img.getAttribute('height')].map(Number);
          return { currentSrc, size, natural: [naturalWidth, naturalHeight] };
        });
        assert.match(shown.currentSrc, new RegExp(`-${scheme}\\.webp$`));
        assert.deepEqual(shown.size, shown.natural);
      }
    }
  });

  it('are searched from every page with the key /', async () => {
    const page = await open('/guides/pets');
    await page.keyboard.press('/');
    await page.keyboard.type('rate limit bans');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/search\?q=rate\+limit\+bans$/);
    const first = page.locator('.results a').first();
    assert.equal(await first.textContent(), 'Rate limits › Bans');
    assert.ok((await page.locator('.results mark').count()) > 0);
    await follow(first);
    assert.match(page.url(), /\/guides\/rate-limits#bans$/);
  });

  it('are searched and read without JavaScript', async () => {
    const page = await open('/guides/pets', { javaScriptEnabled: false });
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('pagintaion');
    await page.getByRole('searchbox', { name: 'Search everything' }).press('Enter');
    await follow(page.locator('.results a').first());
    assert.match(page.url(), /\/guides\/pagination$/);
    assert.ok(await page.getByText('stands for your API key').isVisible());
  });

  it('suggest pages when nothing is found, and show the query as text', async () => {
    const page = await open(`/search?q=${encodeURIComponent('"><zzzzqqqq>')}`);
    assert.equal(await page.getByRole('status').textContent(), 'Nothing found for “"><zzzzqqqq>”.');
    assert.equal(await page.getByLabel(/^Animals, organizations, guides/).inputValue(), '"><zzzzqqqq>');
    await follow(page.getByRole('link', { name: 'Quickstart' }));
    assert.match(page.url(), /\/guides\/quickstart$/);
  });

  it('show a key of the reader in the examples until the page is reloaded', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/guides/pets`);
    await page.getByRole('button', { name: 'Use a key of mine' }).click();
    await page.getByText('valid for an hour').waitFor();
    const example = (await page.locator('pre.copy code').first().textContent())!;
    const [key] = /petstore_test_\w+/.exec(example)!;
    assert.equal((await send(`${service.urls.staging}/pets`, { key })).status, 200);
    assert.doesNotMatch(await page.locator('article').innerText(), /Bearer \$KEY/);
    assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
    await page.reload();
    assert.doesNotMatch(await page.content(), new RegExp(key));

    // A reader who has signed out in the meantime sees an error.
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Use a key of mine' }).click();
    await page
      .locator('.use-key-result')
      .filter({ hasText: /signed out|out of date/ })
      .waitFor();
    await page.context().close();
  });

  it('ask for the password before a key, a while after the sign-in, and come back', async () => {
    const person = await signedIn(service);
    const hash = await new PasswordHasher().hash(PASSWORD, 'test');
    await service.app.databases.production.write(async tx => {
      await storePassword(tx, person.accountId, hash);
      await tx.run(endConfirmations, { personId: person.accountId });
    });
    const page = await person.newPage(browser);
    await page.goto(`${origin}/guides/pets`);
    await page.getByRole('button', { name: 'Use a key of mine' }).click();
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL('**/guides/pets');
    await page.getByRole('button', { name: 'Use a key of mine' }).click();
    await page.getByText('valid for an hour').waitFor();
    await page.context().close();
  });

  it('have no button without JavaScript', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/guides/pets`);
    assert.equal(await page.getByRole('button', { name: 'Use a key of mine' }).isVisible(), false);
    assert.ok(await page.getByRole('link', { name: 'Your keys' }).isVisible());
    await page.context().close();
  });
});

/** Ends the time in which the sessions of a person count as confirmed. */
const endConfirmations = query((db, p: Params<{ personId: number }>) =>
  db.updateTable('sessions').set({ confirmed_at: 0 }).where('account_id', '=', p.personId),
);

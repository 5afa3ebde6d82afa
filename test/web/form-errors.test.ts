import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { TestService } from '../support/serving.ts';
import { follow, serveInBrowser, skipBrowser, violationsOn } from './browser.ts';
import { anonymous, signedIn } from './session.ts';

describe('a form with errors', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  /** Sends what is filled in, without the checks of the browser. */
  async function sendUnchecked(page: Page, button: string): Promise<void> {
    await page.locator('main form').evaluateAll(forms => {
      for (const form of forms) form.setAttribute('novalidate', '');
    });
    await follow(page.getByRole('button', { name: button, exact: true }));
  }

  /** Checks that the list of errors has the focus, and that each entry leads to a field that has the same error. */
  async function requireSummary(page: Page, errors: Readonly<Record<string, RegExp>>): Promise<void> {
    await page.locator('.errors:focus').waitFor();
    assert.match(await page.title(), /^Error: /);
    const links = page.locator('.errors a');
    assert.equal(await links.count(), Object.keys(errors).length);
    for (const [field, error] of Object.entries(errors)) {
      const link = page.locator(`.errors a[href="#${field}"]`);
      assert.match((await link.textContent())!, error);
      const shown = page.locator(`[id="${field}-error"]`);
      assert.match((await shown.textContent())!, error);
      await link.click();
      assert.ok(await shown.isVisible(), field);
      const described = page.locator(`[id="${field}"]`);
      assert.match((await described.getAttribute('aria-describedby'))!, new RegExp(`${field}-error`));
    }
  }

  for (const javaScriptEnabled of [true, false]) {
    const scripts = `with scripts ${javaScriptEnabled ? 'on' : 'off'}`;

    it(`lists them at the top, with the focus, ${scripts}: signing up`, async () => {
      const page = await anonymous(service).newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/sign-up`);
      await page.getByLabel('Name').fill('Ann');
      await page.getByLabel('E-mail address').fill('ann@localhost,');
      await page.getByLabel('Password').fill('short');
      await sendUnchecked(page, 'Create account');
      await requireSummary(page, { email: /must look like/, password: /at least 10/ });
      assert.equal(await page.getByLabel('Name').inputValue(), 'Ann');
      await page.context().close();
    });

    it(`names every wrong field of a new key, and keeps the entries, ${scripts}`, async () => {
      const page = await (await signedIn(service)).newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/keys/new`);
      await page.getByLabel('Only these scopes').check();
      await page.getByText('More options').click();
      await page.getByLabel('Allowed networks').fill('home');
      await page.getByLabel('Requests per minute').fill('61');
      await page.getByLabel('Requests per day').fill('0');
      await sendUnchecked(page, 'Create key');
      await requireSummary(page, {
        name: /Give the key a name/,
        scope: /at least one scope/,
        networks: /"home" is not an address/,
        perMinute: /per minute must be a whole number from 1 to 60/,
        perDay: /per day must be a whole number from 1 to 1000/,
      });
      assert.equal(await page.getByLabel('Allowed networks').inputValue(), 'home');
      // The script of the check needs those of the page.
      if (javaScriptEnabled) assert.deepEqual(await violationsOn(page), []);
      await page.context().close();
    });
  }

  it('names the fields of an animal and of an organization by their labels', async () => {
    const page = await (await signedIn(service)).newPage(browser);
    await page.goto(`${origin}/shelter/animals/new`);
    await sendUnchecked(page, 'Save');
    await requireSummary(page, { name: /Name is required/, categoryId: /Choose a kind/ });
    assert.match((await page.locator('.errors').textContent())!, /Kind: Choose a kind\..*Name is required\./);
    await page.goto(`${origin}/shelter/organization`);
    await page.getByLabel('Website').fill('nowhere');
    await sendUnchecked(page, 'Publish');
    await page.locator('.errors:focus').waitFor();
    assert.match((await page.locator('.errors').textContent())!, /Name is required\..*Website: /);
    await page.context().close();
  });

  it('names the fields of the forms for operators', async () => {
    const admin = await signedIn(service, { admin: true });
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/categories/2`);
    await page.getByLabel('Name').fill('');
    await page.getByLabel('Slug').fill('Big Cats');
    await sendUnchecked(page, 'Save');
    await requireSummary(page, { name: /The name must/, slug: /lower-case letters/ });
    assert.equal(await page.getByLabel('Slug').inputValue(), 'Big Cats');
    await page.getByLabel('Name').fill('Cat');
    await page.getByLabel('Slug').fill('dog');
    await sendUnchecked(page, 'Save');
    await requireSummary(page, { slug: /dog/ });
    await page.getByLabel('Merge into').fill('2');
    await sendUnchecked(page, 'Merge category');
    await requireSummary(page, { into: /itself/ });

    const account = `${origin}/operator/accounts/${(await signedIn(service)).accountId}`;
    await page.goto(account);
    await page.getByLabel('Plan').selectOption('Enterprise');
    await page.getByLabel('Requests per minute').fill('0');
    await sendUnchecked(page, 'Save');
    await requireSummary(page, {
      perMinute: /whole number from 1 to 1,000,000,000/,
      perDay: /its own requests per day/,
    });
    await sendUnchecked(page, 'Delete account');
    await requireSummary(page, { confirmation: /exactly as it is shown/ });
    assert.deepEqual(await violationsOn(page), []);
    await page.goto(`${origin}/operator/accounts/${admin.accountId}`);
    await page.getByLabel('Admin').uncheck();
    await sendUnchecked(page, 'Save');
    await requireSummary(page, { admin: /only active admin/ });
    await page.context().close();
  });
});

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { pages } from '../../src/main/pages.ts';
import type { Role } from '../../src/model/roles.ts';
import type { TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser, violationsOn } from './browser.ts';
import { anonymous, signedIn, signedInAs, type Visitor } from './session.ts';

const DESK = ['Home', 'Animals', 'New animal', 'Imports', 'Inbox', 'Holds and orders', 'Organization'];
const phone = { width: 390, height: 800 };
const desktop = { width: 1280, height: 800 };

describe('the menu of a signed-in account', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  let person: Visitor;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });
  before(async () => {
    person = await signedIn(service, { name: 'Riverside שלום' });
  });

  async function open(visitor: Visitor, path: string, options: BrowserContextOptions): Promise<Page> {
    const page = await visitor.newPage(browser, options);
    await page.goto(origin + path);
    return page;
  }

  const menu = (page: Page) => page.locator('nav#menu');
  const link = (page: Page, name: string) => menu(page).getByRole('link', { name, exact: true });
  const button = (page: Page) => page.getByRole('button', { name: 'Menu', exact: true });
  const groups = (page: Page) => menu(page).locator('summary:visible').allInnerTexts();
  const textsIn = (page: Page, group: string) => menu(page).locator(`${group} a`).allTextContents();

  for (const javaScriptEnabled of [true, false]) {
    it(`is behind one button on a phone, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const page = await open(person, '/shelter', { viewport: phone, javaScriptEnabled });
      assert.equal(await page.getByRole('banner').getByRole('link').count(), 2, 'the brand and the other deployment');
      assert.ok(!(await menu(page).isVisible()));
      await button(page).click();
      assert.deepEqual(await textsIn(page, '> ul'), DESK);
      assert.deepEqual(await groups(page), ['Developers', 'Account', 'Public pages']);
      await menu(page).getByText('Public pages').click();
      assert.ok(await link(page, 'Guides').isVisible());
      await menu(page).getByText('Developers').click();
      await follow(link(page, 'API keys'));
      assert.equal(await page.locator('h1').innerText(), 'API keys');
      assert.ok(!(await menu(page).isVisible()));
      await button(page).click();
      assert.ok(await link(page, 'Usage').isVisible(), 'the group of the page is open');
      await menu(page).getByRole('button', { name: 'Close' }).click();
      assert.ok(!(await menu(page).isVisible()));
      await page.context().close();
    });

    it(`is beside the page on a desktop, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const page = await open(person, '/shelter', { viewport: desktop, javaScriptEnabled });
      assert.ok(!(await button(page).isVisible()));
      assert.deepEqual(await groups(page), ['Developers', 'Account']);
      assert.deepEqual(await page.getByRole('navigation', { name: 'Site' }).getByRole('link').allInnerTexts(), [
        'Animals',
        'Guides',
        'Reference',
      ]);
      for (const name of DESK.slice(1)) {
        await follow(link(page, name));
        assert.equal(await menu(page).locator('[aria-current="page"]').innerText(), name);
      }
      await follow(menu(page).getByRole('button', { name: 'Sign out' }));
      await page.getByRole('link', { name: 'Sign in' }).waitFor();
      await page.context().close();
      person = await signedIn(service, { name: 'Riverside שלום' });
    });
  }

  it('opens and closes with the keyboard, and is accessible while it is open', async () => {
    const page = await open(person, '/shelter/orders', { viewport: phone });
    await button(page).focus();
    await page.keyboard.press('Enter');
    assert.deepEqual(await violationsOn(page), []);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement!.textContent), 'Home', 'the menu follows its button');
    await page.keyboard.press('Escape');
    assert.ok(!(await menu(page).isVisible()));
    assert.equal(await page.evaluate(() => document.activeElement!.textContent), 'Menu');
    await assertFits(page);
    await button(page).focus();
    await page.keyboard.press('Enter');
    assert.ok(await link(page, 'Inbox').isVisible());
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
    assert.deepEqual(await violationsOn(page), []);
    await page.context().close();
  });

  it('has a group for each kind of task, and one for operators', async () => {
    const admin = await signedIn(service, { admin: true });
    const titlesOf = (name: string) =>
      pages.filter(one => one.menu === name).map(({ title, menuItem }) => menuItem?.text ?? title);
    for (const [visitor, name] of [
      [person, 'developers'],
      [person, 'account'],
      [admin, 'operator'],
    ] as const) {
      const page = await open(visitor, pages.find(one => one.menu === name)!.path, { viewport: desktop });
      const titles = titlesOf(name);
      assert.ok(titles.length > 1, name);
      assert.deepEqual(await textsIn(page, `.menu-${name}`), titles);
      assert.ok(await link(page, titles[1]!).isVisible(), 'the group of the page is open');
      await assertFits(page);
      await page.context().close();
    }
    assert.deepEqual(titlesOf('account'), [
      'Account',
      'People',
      'Security',
      'Notifications',
      'Sessions',
      'Plan',
      'Data',
    ]);
  });

  it('shows the nearest page above as the current one', async () => {
    const current = async (path: string) =>
      /<a href="([^"]+)" aria-current="page"/.exec((await person.open(path)).text.split('id="menu"')[1]!)?.[1];
    assert.equal(await current('/shelter'), '/shelter');
    assert.equal(await current('/shelter/animals/new'), '/shelter/animals/new');
    assert.equal(await current('/keys/new'), '/keys');
    assert.equal(await current('/account/delete'), '/account/data');
    assert.equal(await current('/search'), undefined);
    const key = await service.newKey({ accountId: person.accountId });
    const post = async (path: string, body: object) =>
      (
        await fetch(service.urls.production + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json();
    const { id: petId } = (await post('/pets', { name: 'Bella', categoryId: 2 })) as { id: number };
    const { id: holdId } = (await post('/holds', { petId })) as { id: number };
    assert.equal(await current(`/shelter/animals/${petId}`), '/shelter/animals');
    assert.equal(await current(`/shelter/holds/${holdId}`), '/shelter/orders');
  });

  it('is on public pages too, behind a button', async () => {
    for (const viewport of [phone, desktop]) {
      const page = await open(person, '/guides', { viewport });
      assert.ok(!(await menu(page).isVisible()));
      await button(page).click();
      assert.equal(await menu(page).locator('summary', { hasText: 'Public' }).isVisible(), viewport === phone);
      await follow(link(page, 'Inbox'));
      assert.equal(await page.locator('h1').innerText(), 'Inbox');
      await page.context().close();
    }
    const page = await open(person, '/animals', { viewport: desktop });
    await follow(page.getByRole('banner').getByRole('link', { name: 'Riverside' }));
    assert.equal(new URL(page.url()).pathname, '/shelter');
    await page.context().close();
  });

  it('has only the pages that a role can open', async () => {
    const openAs = async (role: Role) => {
      const { text } = await (await signedInAs(service, person.accountId, role)).open('/shelter');
      const shown = text.slice(text.indexOf('id="menu"'), text.indexOf('</nav>', text.indexOf('id="menu"')));
      const main = text.slice(text.indexOf('<main'));
      return { shown, adds: main.includes('href="/shelter/animals/new"') };
    };
    for (const [role, has, lacks] of [
      ['staff', ['/shelter/animals/new', '/shelter/messages', '/account'], ['/keys', '/account/plan', '/account/data']],
      ['developer', ['/shelter/animals', '/keys', '/usage'], ['/shelter/animals/new', '/account/plan']],
      ['viewer', ['/shelter/animals', '/shelter/orders'], ['/shelter/animals/new', '/keys', '/account/data']],
    ] as const) {
      const { shown, adds } = await openAs(role);
      for (const path of has) assert.ok(shown.includes(`href="${path}"`), `${role}: ${path}`);
      for (const path of lacks) assert.ok(!shown.includes(`href="${path}"`), `${role}: ${path}`);
      assert.equal(adds, role === 'staff', role);
    }
  });

  it('has only what a suspended account can open, and is not there without an account', async () => {
    const suspended = await signedIn(service);
    await service.app.databases.production.write(tx => suspendAccount(tx, suspended.accountId));
    const { text } = await suspended.open('/account');
    const shown = text.slice(text.indexOf('id="menu"'), text.indexOf('</nav>', text.indexOf('id="menu"')));
    const paths = [...shown.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path!);
    assert.deepEqual(paths, ['/account', '/animals', '/guides', '/reference']);
    assert.match(text, /<div class="who"><a href="\/account">/);
    const visitor = (await anonymous(service).open('/guides')).text;
    assert.doesNotMatch(visitor, /id="menu"|popovertarget|menu\.css/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Params, query, sql } from '../../src/model/schema.ts';
import { replaceOrganization } from '../../src/store/organizations/organizations.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { type Reply, send, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { signedIn, type Visitor } from './session.ts';

describe('the home of a shelter', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  async function open(person: Visitor, path = '/shelter'): Promise<Page> {
    const page = await person.newPage(browser, { viewport: { width: 1280, height: 800 } });
    await page.goto(origin + path);
    return page;
  }

  const main = (page: Page) => page.getByRole('main');
  const tasks = async (page: Page) =>
    (await page.locator('.tasks li').allInnerTexts()).map(text => text.replaceAll(/\s+/g, ' '));
  const actor = (person: Visitor) => ({ accountId: person.accountId, admin: false });

  /** Returns a shelter with something of each kind to do. */
  async function busyShelter(): Promise<{ person: Visitor; importId: number }> {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId });
    const other = await service.newKey();
    const { production } = service.urls;
    const post = async (path: string, body: object, by = other): Promise<Reply['body']> => {
      const reply = await send(production + path, { method: 'POST', key: by, body });
      assert.ok(reply.status < 300, reply.text);
      return reply.body;
    };
    const ids: number[] = [];
    for (const pet of [
      { name: 'Bella', description: 'Calm.' },
      { name: 'שלום', intake: { date: '2024-01-05', kind: 'stray' } },
      { name: 'Rex', intake: { date: '2025-01-05', kind: 'stray' } },
      { name: 'Held' },
      { name: 'Handed' },
    ]) {
      ids.push((await post('/pets', { categoryId: 2, ...pet }, key)).id);
    }
    await post('/store/orders', { petId: ids[0] });
    await post('/holds', { petId: ids[3] });
    const order = await post('/store/orders', { petId: ids[4] });
    await post(`/store/orders/${order.id}/approval`, {}, key);
    await post('/messages', { message: 'Is he calm?', petId: ids[2], replyTo: 'ann@example.org' });
    const imported = await fetch(`${production}/imports`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.token}`, 'content-type': 'text/csv' },
      body: 'externalId,name,categoryId\nA-1,,2\nA-2,,2\n',
    });
    const { id: importId } = (await imported.json()) as { id: number };
    await waitUntil(async () => {
      const { text } = await person.open('/shelter');
      return /message to read/.test(text) && /in your last import/.test(text);
    });
    return { person, importId };
  }

  it('shows a new shelter how to begin, and ticks off what is done', async () => {
    const person = await signedIn(service);
    const page = await open(person);
    const steps = page.locator('.steps li');
    const done = () => steps.filter({ hasText: 'Done' }).locator('h3').allInnerTexts();
    assert.deepEqual(await steps.locator('h3').allInnerTexts(), [
      'Publish your organization',
      'Bring in your animals',
      'Add photos',
    ]);
    assert.deepEqual(await done(), []);
    assert.equal(await page.getByRole('heading', { name: 'Today' }).count(), 0);
    await assertFits(page, 'the home of a new shelter');
    const { production } = service.app.databases;
    const id = await production.write(async tx => {
      await replaceOrganization(tx, actor(person), person.accountId, { name: 'Riverside' });
      return (await createPet(tx, person.accountId, { name: 'Bella', categoryId: 2, description: 'x' }, 'open')).id;
    });
    await page.reload();
    assert.deepEqual(await done(), ['Publish your organization Done', 'Bring in your animals Done']);
    assert.deepEqual(await tasks(page), ['1 animal without a photo']);
    await production.write(tx => tx.run(addPhoto, { id }));
    await page.reload();
    assert.equal(await steps.count(), 0);
    await page.getByText('Nothing waits for you at the moment.').waitFor();
    await assertFits(page, 'the home of a shelter without tasks');
    await page.context().close();
  });

  it('shows what needs attention, with links to the lists, and who waits longest', async () => {
    const { person, importId } = await busyShelter();
    const page = await open(person);
    assert.deepEqual(await tasks(page), [
      '1 message to read',
      '1 order to approve',
      '1 order to hand over',
      '1 animal whose hold ends within a day',
      '2 errors in your last import',
      '5 animals without a photo',
      '4 animals without a description',
    ]);
    const links = await page.locator('.tasks a').evaluateAll(all => all.map(one => one.getAttribute('href')!));
    assert.deepEqual(links, [
      '/shelter/messages?show=unread',
      ...['/shelter/orders', '/shelter/orders', '/shelter/orders'],
      `/shelter/imports/${importId}`,
      ...['/shelter/animals?show=no-photo', '/shelter/animals?show=no-description'],
    ]);
    const all = main(page).getByRole('link', { name: 'All animals that wait' });
    links.push((await all.getAttribute('href'))!);
    assert.equal(links.at(-1), '/shelter/animals?show=waiting&sort=longest');
    for (const path of links) assert.equal((await person.open(path)).status, 200, path);
    const waiting = await page.locator('.waiting li').allInnerTexts();
    assert.deepEqual(
      waiting.map(text => text.replace(/\s*\d+ days$/, '')),
      ['שלום', 'Rex'],
    );
    await assertFits(page, 'the home of a busy shelter');
    await page.context().close();
  });

  it('counts up to 99', async () => {
    const person = await signedIn(service);
    await service.app.databases.production.write(async tx => {
      const pet = { name: 'Rex', categoryId: 1, description: 'x' };
      for (let index = 0; index < 99; index++) await createPet(tx, person.accountId, pet, 'open');
    });
    const count = async () => /<b>([^<]+)<\/b> animals without a photo/.exec((await person.open('/shelter')).text)?.[1];
    assert.equal(await count(), '99');
    await service.app.databases.production.write(tx =>
      createPet(tx, person.accountId, { name: 'Rex', categoryId: 1 }, 'open'),
    );
    assert.equal(await count(), '99+');
  });

  it('shows nothing of other shelters', async () => {
    await busyShelter();
    const stranger = await signedIn(service);
    const { text } = await stranger.open('/shelter');
    assert.doesNotMatch(text, /class="tasks"|class="waiting"/);
  });

  it('walks rows with the arrow keys, and opens a new animal with n, but not while someone types', async () => {
    const { person } = await busyShelter();
    const page = await open(person);
    const focused = () => page.evaluate(() => document.activeElement!.textContent!.trim().replace(/\s+/g, ' '));
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), '1 message to read');
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), '1 order to approve');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(), '1 message to read', 'the first row is the last upwards');
    for (let row = 0; row < 7; row++) await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 'שלום', 'the next list follows');
    await page.keyboard.press('/');
    await page.keyboard.type('nn');
    await page.keyboard.press('ArrowDown');
    const search = page.getByLabel('Search everything');
    assert.equal(await search.inputValue(), 'nn');
    assert.ok(await search.evaluate(element => element === document.activeElement));
    await search.blur();
    await page.keyboard.press('Control+n');
    await Promise.all([page.waitForURL('**/shelter/animals/new'), page.keyboard.press('n')]);
    await page.getByLabel('Name', { exact: true }).fill('');
    await page.keyboard.type('nina');
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'nina');
    await page.goto(`${origin}/shelter/animals`);
    await page.keyboard.press('ArrowDown');
    assert.ok(
      await page
        .locator('[data-rows] > :first-child a')
        .first()
        .evaluate(one => one === document.activeElement),
    );
    await follow(page.getByRole('banner').getByRole('link', { name: 'Animals' }));
    const path = new URL(page.url()).pathname;
    await page.keyboard.press('n');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement!.tagName), 'BODY');
    assert.equal(new URL(page.url()).pathname, path, 'public pages have no such keys');
    await page.context().close();
  });
});

const addPhoto = query((db, p: Params<{ id: number }>) =>
  db
    .updateTable('pets')
    .set({ photos: sql.lit('[{"id":"a"}]') })
    .where('id', '=', p.id),
);

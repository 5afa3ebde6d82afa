import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { DAY_MS, formatDate } from '../../src/lib/time.ts';
import type { NewPet } from '../../src/model/pet.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { image } from '../support/photos.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, skipBrowser } from './browser.ts';
import { signedIn, type Visitor } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';
const PATH = '/shelter/animals';

describe('the list of own animals', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  before(async () => {
    service = await serve();
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function add({ accountId }: Pick<Visitor, 'accountId'>, pets: readonly Partial<NewPet>[]): Promise<number[]> {
    return service.app.databases.production.write(async tx => {
      const ids: number[] = [];
      for (const pet of pets) {
        ids.push((await createPet(tx, accountId, { name: 'Rex', categoryId: 1, ...pet }, 'open')).id);
      }
      return ids;
    });
  }

  /** The names of the animals that a page of the list shows, in order. */
  const namesIn = ({ text }: Reply) =>
    Array.from(text.matchAll(/<a href="\/shelter\/animals\/\d+"><bdi>([^<]*)/g), ([, name]) => name);

  it('finds animals by name, code, microchip, tag and group, and keeps the filters in the address', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const today = formatDate(Date.now());
    await add(person, [
      { name: 'Brünø', externalId: 'D-2026/041', tags: ['calm'], description: 'x' },
      { name: 'Minka', categoryId: 2, microchips: ['985112003456789'], intake: { date: '2026-01-02', kind: 'stray' } },
      { name: 'Tom', categoryId: 2, group: { id: 'Calm', kind: 'litter' }, status: 'pending' },
      { name: 'Sold', status: 'sold', tags: ['calm'] },
    ]);
    await add(stranger, [{ name: 'Brünø', externalId: '041', tags: ['calm'] }]);
    for (const [query, names] of [
      ['', ['Tom', 'Minka', 'Brünø']],
      ['status=any', ['Sold', 'Tom', 'Minka', 'Brünø']],
      ['status=pending', ['Tom']],
      ['status=constructor', ['Tom', 'Minka', 'Brünø']],
      ['q=bruno', ['Brünø']],
      ['q=041', ['Brünø']],
      ['q=456789', ['Minka']],
      ['tag=calm', ['Tom', 'Brünø']],
      ['category=2', ['Tom', 'Minka']],
      ['category=2&q=min', ['Minka']],
      ['show=no-photo', ['Tom', 'Minka', 'Brünø']],
      ['show=no-description', ['Tom', 'Minka']],
      ['show=waiting', ['Minka', 'Brünø']],
      ['show=waiting&status=sold', []],
      ['show=messages', []],
      ['sort=name', ['Brünø', 'Minka', 'Tom']],
      ['show=waiting&sort=longest', ['Minka', 'Brünø']],
      ['q=%00', []],
      ['q=%EF%BF%BD&tag=%F0%9F%90%88', []],
    ] as const) {
      const reply = await person.open(`${PATH}?${query}`);
      assert.equal(reply.status, 200);
      assert.deepEqual(namesIn(reply), names, query);
    }
    assert.equal((await person.open(`${PATH}?cursor=x`)).status, 400);
    assert.equal((await person.open(`${PATH}?category=99999999`)).status, 200);

    const page = await person.newPage(browser);
    await page.goto(`${origin}${PATH}?sort=name`);
    await page.getByLabel('Name, code or microchip').fill('zzz');
    await follow(page.getByRole('main').getByRole('button', { name: 'Search' }));
    assert.match(page.url(), /q=zzz.*sort=name/);
    await page.getByText('No animals match.').waitFor();
    await follow(page.getByRole('link', { name: 'Look among animals of any status' }));
    assert.equal(await page.getByLabel('Status').inputValue(), 'any');
    await follow(page.getByRole('link', { name: 'clear the filters' }));
    assert.equal(page.url(), origin + PATH);
    assert.match(await page.locator('.total').innerText(), /^3 animals$/);
    const row = page.getByRole('row', { name: /Minka/ });
    const days = Math.round((Date.parse(today) - Date.parse('2026-01-02')) / DAY_MS);
    assert.match(await row.innerText(), new RegExp(`Cat\\s+Available\\s+${days}\\s*$`));
    await follow(page.getByRole('row', { name: /Brünø/ }).getByRole('link', { name: 'calm' }));
    assert.match(page.url(), /\?tag=calm$/);
    await page.context().close();
  });

  it('shows the photo, the place, the price and the messages of an animal', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId });
    const [id] = await add(person, [
      {
        ...{ name: 'Bella', shelterLocation: 'Room 1, ‮kennel', price: { amount: 12_500, currency: 'EUR' } },
        ...{ breeds: { primary: 'Beagle', mixed: true }, birthDate: formatDate(Date.now() - 800 * DAY_MS) },
      },
    ]);
    const jpeg = await image('jpeg', { width: 400, height: 300 });
    const url = `${service.urls.production}/pets/${id}/photos`;
    const headers = { 'Content-Type': 'image/jpeg' };
    assert.equal((await send(url, { method: 'POST', key, headers, body: jpeg })).status, 201);
    const other = await service.newKey();
    const body = { message: 'Is she still there?', petId: id, replyTo: 'ada@example.org' };
    assert.equal((await send(`${service.urls.production}/messages`, { method: 'POST', key: other, body })).status, 202);
    await waitUntil(async () => namesIn(await person.open(`${PATH}?show=messages`)).length === 1);
    const page = await person.newPage(browser);
    await page.goto(origin + PATH);
    const row = page.getByRole('row', { name: /Bella/ });
    assert.match(
      (await row.innerText()).replaceAll(/\s+/g, ' '),
      /Beagle mix\s+2 years.*\s+Available €125.00\s+0\s+Room 1, .kennel\s+1$/,
    );
    const link = row.getByRole('link', { name: '1 message about Bella' });
    assert.equal(await link.getAttribute('href'), `/shelter/messages?animal=${id}`);
    const photo = row.locator('img');
    assert.match((await photo.getAttribute('src'))!, /\/100\.jpg$/);
    assert.equal(await photo.getAttribute('loading'), 'lazy');
    assert.deepEqual(await photo.evaluate(one => [one.clientWidth, one.clientHeight]), [48, 48]);
    await page.context().close();
  });

  it('pages through many animals, with the same filters, in 60 KB', async () => {
    const person = await signedIn(service);
    const tags = Array.from({ length: 20 }, (_, index) => `tag ${index} ${'x'.repeat(30)}`);
    await add(
      person,
      Array.from({ length: 120 }, (_, index) => ({ name: `Animal ${index}`, tags, externalId: `D-${index}` })),
    );
    let reply = await person.open(`${PATH}?q=animal&sort=name`);
    const names = namesIn(reply);
    assert.match(reply.text, /<strong>120<\/strong> animals/);
    const nextOf = ({ text }: Reply) => /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&#38;', '&');
    for (let next = nextOf(reply); next !== undefined; next = nextOf(reply)) {
      reply = await person.open(next);
      names.push(...namesIn(reply));
    }
    assert.deepEqual(new Set(names).size, 120);
    const assets = Array.from(
      reply.text.matchAll(/(?:href|src)="(\/assets\/[^"#]*\.(?:css|js))"/g),
      ([, path]) => path!,
    );
    const files = await Promise.all(assets.map(async path => (await person.open(path)).text));
    const first = await person.open(`${PATH}?q=animal`);
    const bytes = [first.text, ...files].reduce((sum, text) => sum + brotliCompressSync(text).length, 0);
    assert.ok(bytes <= 60 * 1024, `the page has ${bytes} bytes`);
  });

  it('fits every screen and is accessible, whatever the names', async () => {
    const person = await signedIn(service);
    const long = 'W'.repeat(255);
    const tags = Array.from({ length: 20 }, (_, index) => 'W'.repeat(38) + String(index).padStart(2, '0'));
    await add(person, [
      {
        name: HOSTILE,
        externalId: HOSTILE,
        shelterLocation: HOSTILE,
        tags: ['<b>', '"'],
        group: { id: HOSTILE, kind: 'litter' },
      },
      { name: '‮אבג שלום', breeds: { primary: 'تيريير' } },
      {
        name: long,
        externalId: 'W'.repeat(100),
        shelterLocation: 'W'.repeat(100),
        breeds: { primary: 'W'.repeat(100) },
        tags,
      },
    ]);
    const page = await person.newPage(browser);
    const errors: string[] = [];
    page.on('pageerror', error => errors.push(error.message));
    for (const path of [PATH, `${PATH}?q=nothing`]) {
      await page.goto(origin + path);
      await assertFits(page, path);
      for (const width of [768, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${path} is ${wide} px wide on a screen of ${width}`);
      }
    }
    await page.goto(origin + PATH);
    for (const label of await page.locator('.labels a').all()) {
      assert.equal((await person.open((await label.getAttribute('href'))!)).status, 200);
    }
    assert.deepEqual(errors, []);
    await page.context().close();
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext } from 'playwright-core';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { qrCode } from '../../src/lib/html/qr-code.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { startPostalImport } from '../../src/store/places/imported-codes.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';

/** Names that would break a page that does not treat them as text. */
const HOSTILE = {
  html: '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>',
  long: 'W'.repeat(255),
  bidi: '\u202Eevil\u202E אבג',
};

describe('the pages of animals', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  const ids: Record<string, number> = {};
  let owner: number;
  const publish = async (by: IssuedKey, name: string, location: object) => {
    const body = { name, location, address: { city: name.split(' ')[0], country: 'US' } };
    const url = `${service.urls.production}/organizations/${by.accountId}`;
    assert.equal((await send(url, { method: 'PUT', key: by, body })).status, 201);
  };
  before(async () => {
    service = await serve();
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
    const key = await service.newKey();
    owner = key.accountId;
    const create = async (path: string, body: object, by = key) => {
      const reply = await send(`${service.urls.production}${path}`, { method: 'POST', key: by, body });
      assert.equal(reply.status, 201, reply.text);
      return reply.body.id as number;
    };
    ids['puppies'] = await create('/categories', { name: 'Puppies', parentId: 1 });
    const group = { id: 'Rex & Pup', kind: 'bonded' };
    ids['rex'] = await create('/pets', {
      name: 'Rex',
      categoryId: 1,
      sex: 'male',
      price: { amount: 12500, currency: 'EUR' },
      group,
    });
    ids['pup'] = await create('/pets', { name: 'Pup', categoryId: ids['puppies'], group });
    ids['tom'] = await create('/pets', { name: 'Tom', categoryId: 2, status: 'sold', statusReason: 'adopted' });
    for (const [name, text] of Object.entries(HOSTILE))
      ids[name] = await create('/pets', { name: text, categoryId: 6 });
    await publish(key, 'Far Away Shelter', { latitude: 40.75, longitude: -73.99 });
    const near = await service.newKey();
    await publish(near, 'Sunset Shelter', { latitude: 34.09, longitude: -118.41 });
    for (const [name, profile] of [
      ['Ada', { sex: 'female', age: 'young', goodWith: { dogs: 'yes', cats: 'unknown' } }],
      ['Bo', { sex: 'male', age: 'young', goodWith: { dogs: 'no' } }],
      ['Cleo', { sex: 'female', breeds: { primary: 'Quarter Horse', mixed: true }, goodWith: { dogs: 'yes' } }],
    ] as const) {
      ids[name] = await create('/pets', { name, categoryId: 5, ...profile }, near);
    }
    ids['profile'] = await create('/pets', {
      name: 'Pip',
      categoryId: 4,
      status: 'pending',
      breeds: { primary: 'Beagle', secondary: 'Boxer', mixed: true },
      colors: { primary: 'Black', secondary: 'white' },
      birthDate: new Date(Date.now() - 800 * 86_400_000).toISOString().slice(0, 10),
      birthDatePrecision: 'estimated',
      weight: { value: 12.5, unit: 'kg' },
      energy: 4,
      goodWith: { children: 'no' },
      traits: { houseTrained: 'yes', declawed: 'yes', specialNeeds: 'unknown' },
      tags: ['calm', '<b>'],
      extra: { Shelf: 'A 7' },
      description: 'First line.\nSecond line.',
    });
    for (let n = 1; n <= 30; n++) await create('/pets', { name: `Bunny ${n}`, categoryId: 3 });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const namesOn = (page: Awaited<ReturnType<BrowserContext['newPage']>>) =>
    page.locator('.animal h2').allTextContents();

  it('lead from a category with its children to an animal, without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/animals`);
    await follow(page.getByRole('link', { name: 'Dog', exact: true }));
    assert.deepEqual(await namesOn(page), ['Pup', 'Rex']);
    await follow(page.getByRole('link', { name: 'Puppies' }));
    assert.deepEqual(await namesOn(page), ['Pup']);
    await follow(page.getByRole('link', { name: 'Dog', exact: true }));
    await follow(page.getByRole('link', { name: 'Rex' }));
    const text = await page.locator('main').innerText();
    for (const fact of ['Rex', 'Available', '€125.00', 'Far Away Shelter', 'Dog']) assert.ok(text.includes(fact), fact);
    await context.close();
  });

  it('filter by status and sort by name, and count what the counters know', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/animals`);
    assert.match(await page.locator('main').innerText(), /38 animals available/);
    await page.getByLabel('Status').selectOption('Sold');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await namesOn(page), ['Tom']);
    assert.match(await page.locator('main').innerText(), /1 animal sold/);
    await page.getByLabel('Status').selectOption('Any status');
    await page.getByLabel('Sort by').selectOption('Name, A to Z');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.equal((await namesOn(page))[1], 'Ada');
    await page.goto(`${origin}/animals?category=4`);
    assert.match(await page.locator('.empty').innerText(), /No animals match/);
    await page.close();
  });

  it('search by words, within the other choices and over the pages', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/animals`);
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('bun');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.equal((await namesOn(page)).length, 24);
    await follow(page.getByRole('link', { name: 'Next' }));
    assert.equal((await namesOn(page)).length, 6);
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('bunny 17');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await namesOn(page), ['Bunny 17']);
    await follow(page.getByRole('link', { name: 'Dog', exact: true }));
    assert.match(await page.locator('.empty').innerText(), /No animals match/);
    await page.goto(`${origin}/animals?q=%3F`);
    assert.match(await page.locator('.empty').innerText(), /No animals match/);
    await page.close();
  });

  it('turn ages, traits and places among the words into filters that can be removed', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/animals`);
    const chips = () => page.getByRole('list', { name: 'Chosen filters' }).getByRole('link').allTextContents();
    await page
      .getByRole('searchbox', { name: 'Search', exact: true })
      .fill('horses under 2 years, good with dogs, near Los Angeles, CA');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await namesOn(page), ['Ada']);
    const place = 'Remove Within 50 miles of Los Angeles, CA';
    assert.deepEqual(await chips(), [place, 'Remove Baby', 'Remove Young', 'Remove Good with dogs']);
    assert.equal(await page.getByRole('searchbox', { name: 'Search', exact: true }).inputValue(), 'horses');
    assert.equal(await page.getByLabel('Postal code').inputValue(), 'Los Angeles, CA');
    assert.deepEqual(await violationsOn(page), []);
    await follow(page.getByRole('link', { name: 'Remove Good with dogs' }));
    assert.deepEqual(await namesOn(page), ['Bo', 'Ada']);
    for (const name of ['Baby', 'Young']) await follow(page.getByRole('link', { name: `Remove ${name}` }));
    assert.deepEqual(await namesOn(page), ['Cleo', 'Bo', 'Ada']);
    await follow(page.getByRole('link', { name: place }));
    assert.deepEqual(
      [await namesOn(page), await page.getByLabel('Postal code').inputValue()],
      [['Cleo', 'Bo', 'Ada'], ''],
    );
    await page.close();
  });

  it('list the best match of a search first, and ask about a word that no animal has', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/animals?q=rabbits`);
    assert.equal((await namesOn(page))[0], 'Bunny 30');
    const order = page.getByLabel('Sort by').locator('option:checked');
    assert.equal(await order.textContent(), 'Best match');
    await page.getByLabel('Sort by').selectOption('Oldest first');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.equal((await namesOn(page))[0], 'Bunny 1');
    // A busy process does not ask.
    await waitUntil(async () => {
      await page.goto(`${origin}/animals?q=Quartr+horse`);
      return /Did you mean quarter horse\?/.test(await page.locator('main').innerText());
    });
    assert.match(await page.locator('main').innerText(), /No animal matches Quartr\./);
    await follow(page.getByRole('link', { name: 'quarter horse' }));
    assert.deepEqual(await namesOn(page), ['Cleo']);
    // Tom is sold.
    await page.goto(`${origin}/animals?q=Quartr+cat`);
    assert.doesNotMatch(await page.locator('main').innerText(), /Did you mean/);
    await context.close();
  });

  it('filter by traits with the numbers of animals, without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(`${origin}/animals?category=5`);
    const filters = page.getByRole('navigation', { name: 'Filters' });
    assert.deepEqual(await filters.getByRole('link').allInnerTexts(), ['Young\n2', 'Female\n2', 'Male\n1', 'Dogs\n2']);
    await follow(filters.getByRole('link', { name: 'Female' }));
    assert.deepEqual(await namesOn(page), ['Cleo', 'Ada']);
    await follow(filters.getByRole('link', { name: 'Young' }));
    assert.deepEqual(await namesOn(page), ['Ada']);
    // The form keeps the filters, and each can be removed.
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('cleo');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.match(await page.locator('.empty').innerText(), /No animals match/);
    await follow(page.getByRole('link', { name: 'Remove Young' }));
    assert.deepEqual(await namesOn(page), ['Cleo']);
    await page.goto(`${origin}/animals?sex=queen&age=,&goodWithDogs=yes,nobody`);
    assert.deepEqual(await namesOn(page), ['Cleo', 'Ada']);
    await context.close();
  });

  it('show the animals near a postal code with their distances, the nearest first', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/animals`);
    await page.getByLabel('Postal code').fill('90210');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await namesOn(page), ['Ada', 'Bo', 'Cleo']);
    assert.match(await page.locator('.animal').first().innerText(), /Sunset · \d(\.\d)? mi away/);
    assert.equal(
      await page.getByLabel('Sort by').evaluate((order: HTMLSelectElement) => order.selectedOptions[0]?.label),
      'Nearest first',
    );
    // Rex is far away.
    await page.getByRole('link', { name: 'Male 1', exact: true }).waitFor();
    await follow(page.getByRole('link', { name: 'Dogs' }));
    assert.deepEqual(await namesOn(page), ['Ada', 'Cleo']);
    for (const unknown of ['00000', 'Atlantis City', '<b>']) {
      await page.getByLabel('Postal code').fill(unknown);
      await follow(page.getByRole('button', { name: 'Search' }));
      assert.match(await page.locator('#near-error').innerText(), /postal code|no city/);
      assert.deepEqual(await violationsOn(page), []);
    }
    await page.goto(`${origin}/animals?near=FR-75001`);
    assert.match(await page.locator('#near-error').innerText(), /no postal codes of FR, only of CA, US/);
    const run = await startPostalImport(service.app.databases.production);
    await run.add([{ country: 'FR', code: '75001', latitude: 34.09, longitude: -118.41 }]);
    await page.getByLabel('Postal code').fill('fr-75 001');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await namesOn(page), ['Ada', 'Bo', 'Cleo']);
    await page.goto(`${origin}/animals?near=FR-75002`);
    assert.match(await page.locator('#near-error').innerText(), /no postal code 75002 in FR/);
    await page.close();
  });

  it('take the place from the browser after a click, to a kilometer', async () => {
    const geolocation = { latitude: 34.0954321, longitude: -118.4123456 };
    const context = await browser.newContext({ geolocation, permissions: ['geolocation'] });
    const page = await context.newPage();
    await page.goto(`${origin}/animals`);
    await follow(page.getByRole('button', { name: 'Near me' }));
    assert.deepEqual(await namesOn(page), ['Ada', 'Bo', 'Cleo']);
    assert.equal(new URL(page.url()).searchParams.get('near'), '34.10,-118.41');
    await context.close();
    const denied = await browser.newPage();
    await denied.goto(`${origin}/animals`);
    await denied.getByRole('button', { name: 'Near me' }).click();
    await denied.getByText('Enter a postal code').waitFor();
    const policies = [`${origin}/animals`, `${origin}/guides`].map(
      async url => /geolocation=\((.*?)\)/.exec((await fetch(url)).headers.get('permissions-policy')!)![1],
    );
    assert.deepEqual(await Promise.all(policies), ['self', '']);
    await denied.close();
  });

  it('show each animal once over the pages, in both directions', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/animals?category=3`);
    const first = await namesOn(page);
    await follow(page.getByRole('link', { name: 'Next' }));
    const second = await namesOn(page);
    assert.equal(new Set([...first, ...second]).size, 30);
    await follow(page.getByRole('link', { name: 'Previous' }));
    assert.deepEqual(await namesOn(page), first);
    await page.close();
  });

  it('return 404 for what does not exist, and an error for a cursor of another list', async () => {
    const statuses = ['/animals/999999', '/animals/0', '/animals/x', '/animals?category=999999', '/animals?cursor=x'];
    const found = await Promise.all(statuses.map(async path => (await fetch(origin + path)).status));
    assert.deepEqual(found, [404, 404, 404, 404, 400]);
    const odd = await fetch(`${origin}/animals?status=%00&sort=<b>&category=-1`);
    assert.equal(odd.status, 200);
  });

  it('show the profile of an animal in three states, and lead to its organization and its other animals', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/animals/${ids['Ada']}`);
    assert.deepEqual(await page.locator('.answers li').allInnerTexts(), ['Dogs\nyes']);
    assert.ok(await page.getByText('Not known yet: good with cats.').isVisible());
    assert.equal(
      await page.getByRole('link', { name: 'Ask about Ada' }).getAttribute('href'),
      `/animals/${ids['Ada']}#ask`,
    );
    assert.deepEqual(await namesOn(page), ['Cleo', 'Bo']);
    assert.equal(await page.locator('.gallery').count(), 0);
    await follow(page.getByRole('link', { name: 'Sunset Shelter', exact: true }));
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Sunset Shelter');
    assert.deepEqual(await namesOn(page), ['Cleo', 'Bo', 'Ada']);
    await page.goto(`${origin}/animals/${ids['profile']}`);
    const text = await page.locator('main').innerText();
    for (const fact of [
      'About 2 years (adult)',
      'Beagle / Boxer mix',
      'Black, white',
      '12.5 kg',
      '4 of 5',
      'Shelf',
      'A 7',
    ])
      assert.ok(text.includes(fact), `${fact}: ${text}`);
    assert.match(text, /First line\.\nSecond line\./);
    assert.deepEqual(await page.locator('.answers li').allInnerTexts(), [
      'Children\nno',
      'House-trained\nyes',
      'Declawed\nyes',
    ]);
    assert.deepEqual(await page.locator('.answers li').evaluateAll(items => items.map(item => item.className)), [
      'no',
      'yes',
      'neutral',
    ]);
    assert.ok(await page.getByText('Not known yet: special needs.').isVisible());
    assert.deepEqual(await page.locator('.tags li').allInnerTexts(), ['calm', '<b>']);
    await context.close();
  });

  it('lead from an animal to those that it is bonded with', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/animals/${ids['rex']}`);
    assert.match(await page.locator('main').innerText(), /Goes together with animal/);
    await follow(page.getByRole('link', { name: `animal ${ids['pup']}`, exact: true }));
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Pup');
    await context.close();
  });

  it('describe an animal to programs that share and index it, with hostile texts as data', async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('console', message => message.type() === 'error' && errors.push(message.text()));
    const url = `${origin}/animals/${ids['html']}`;
    await page.goto(url);
    const data = JSON.parse((await page.locator('script[type="application/ld+json"]').textContent())!);
    assert.deepEqual([data['@type'], data.name, data.url], ['IndividualProduct', HOSTILE.html, url]);
    assert.equal(data.offers.availability, 'https://schema.org/InStock');
    assert.equal(data.offers.seller['@type'], 'AnimalShelter');
    assert.equal(await page.locator('script:not([type="module"])').count(), 1);
    const meta = (name: string) => page.locator(`meta[property="${name}"]`).getAttribute('content');
    assert.deepEqual([await meta('og:url'), await meta('og:title')], [url, HOSTILE.html]);
    await page.goto(`${url}?history=&x=1`);
    assert.equal(await page.locator('link[rel="canonical"]').getAttribute('href'), url);
    const rex = await (await fetch(`${origin}/animals/${ids['rex']}`)).text();
    const offer = JSON.parse(/ld\+json">(.*?)<\/script>/.exec(rex)![1]!).offers;
    assert.deepEqual([offer.price, offer.priceCurrency], ['125.00', 'EUR']);
    // The policy of the page allows the data.
    assert.deepEqual(errors, []);
    await page.close();
  });

  it('are listed in a sitemap in parts, without sold ones, and robots.txt leads to it', async () => {
    const read = async (path: string) => {
      const reply = await fetch(path);
      assert.equal(reply.status, 200, path);
      assert.equal(reply.headers.get('cache-control'), 'public, max-age=3600');
      return reply.text();
    };
    const locations = (xml: string) => [...xml.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url]) => url!);
    const robots = await read(`${origin}/robots.txt`);
    const parts = locations(await read(/^Sitemap: (.*)$/m.exec(robots)![1]!));
    const listed = (await Promise.all(parts.map(read))).flatMap(locations);
    assert.ok(listed.includes(`${origin}/animals/${ids['rex']}`));
    assert.ok(!listed.includes(`${origin}/animals/${ids['tom']}`));
    assert.ok(listed.some(url => url.startsWith(`${origin}/organizations/`)));
    for (const path of ['/', '/guides/holds', '/guides/operating/backup', '/reference/placeOrder', '/changelog']) {
      assert.ok(listed.includes(origin + path), path);
    }
    for (const url of listed) assert.equal((await fetch(url)).status, 200, url);
    for (const path of [
      'animals/2.xml',
      'animals/0.xml',
      'animals/x',
      'pets/1.xml',
      'constructor/1.xml',
      'animals/99999.xml',
    ])
      assert.equal((await fetch(`${origin}/sitemaps/${path}`)).status, 404, path);
    const staging = await read(`${new URL(service.urls.staging).origin}/robots.txt`);
    assert.match(staging, /^Disallow: \/$/m);
  });

  it('find organizations by name and place', async () => {
    const [first, second] = [await service.newKey(), await service.newKey()];
    await publish(first, 'Ålesund Cats <b>', { latitude: 62, longitude: 6 });
    await publish(second, 'Alesia Dogs', { latitude: 47, longitude: 4 });
    const url = `${service.urls.production}/organizations/${second.accountId}`;
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const address = { country: 'FR', state: 'Bourgogne' };
    assert.equal((await send(url, { method: 'PATCH', key: second, body: { address }, headers })).status, 200);
    const page = await browser.newPage();
    const shown = () => page.locator('.card h2').allTextContents();
    await page.goto(`${origin}/animals`);
    await follow(page.getByRole('link', { name: 'Shelters and rescues' }));
    assert.ok((await shown()).includes('Ålesund Cats <b>'));
    await page.getByLabel('Name begins with').fill('ALES');
    await follow(page.getByRole('button', { name: 'Search', exact: true }));
    assert.deepEqual(await shown(), ['Alesia Dogs', 'Ålesund Cats <b>']);
    await page.getByLabel('Country').fill('fr');
    await page.getByLabel('State or region').fill('Bourgogne');
    await follow(page.getByRole('button', { name: 'Search', exact: true }));
    assert.deepEqual(await shown(), ['Alesia Dogs']);
    await page.getByLabel('Country').fill('zz');
    await follow(page.getByRole('button', { name: 'Search', exact: true }));
    await page.getByText('Enter two letters, such as US.').waitFor();
    assert.equal((await fetch(`${origin}/organizations?name=%00&state=%00&country=%00`)).status, 200);
    assert.equal((await fetch(`${origin}/organizations?cursor=x`)).status, 400);
    await page.close();
  });

  it('print a card with a QR code of the page on one sheet of paper', async () => {
    const page = await browser.newPage();
    const path = `/animals/${ids['profile']}`;
    await page.goto(origin + path);
    await follow(page.getByRole('link', { name: 'Card to print' }));
    assert.equal(await page.locator('.sheet .url').textContent(), origin + path);
    assert.ok((await page.content()).includes(qrCode(origin + path, '').text.match(/#000" d="[^"]+/)![0]));
    assert.match((await page.locator('.sheet').textContent())!, /Gets along with/);
    for (const [paper, size] of [
      ['A5', '420 594'],
      ['A6', '298 420'],
    ] as const) {
      await follow(page.getByRole('link', { name: paper, exact: true }));
      const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
      const boxes = [...pdf.matchAll(/\/MediaBox \[0 0 (\d+)[.\d]* (\d+)/g)].map(
        ([, width, height]) => `${width} ${height}`,
      );
      assert.deepEqual(boxes, [size]);
    }
    assert.equal((await fetch(`${origin}/animals/999999/card`)).status, 404);
    assert.equal((await fetch(`${origin}${path}/card?paper=constructor`)).status, 200);
    await page.close();
  });

  it('hide the organization of a suspended account', async () => {
    const key = await service.newKey();
    await publish(key, 'Hidden Shelter', { latitude: 0, longitude: 0 });
    const url = `${origin}/organizations/${key.accountId}`;
    assert.equal((await fetch(url)).status, 200);
    await service.app.databases.production.write(tx => suspendAccount(tx, key.accountId));
    await waitUntil(async () => (await fetch(url)).status === 404, 100);
    const parts = await (await fetch(`${origin}/sitemaps/organizations/1.xml`)).text();
    assert.ok(!parts.includes(`<loc>${url}</loc>`));
  });

  it('are accessible and fit every screen, with hostile names as text', async () => {
    const page = await browser.newPage();
    page.on('dialog', () => assert.fail('a name ran as a script'));
    for (const path of [
      '/animals?category=6',
      '/animals?category=1',
      '/animals?near=90210&sex=female',
      ...['html', 'long', 'bidi', 'tom', 'profile'].map(name => `/animals/${ids[name]}`),
      ...['html', 'long', 'bidi', 'profile'].map(name => `/animals/${ids[name]}/card`),
      `/animals/${ids['long']}/card?paper=a6`,
      `/organizations/${owner}`,
      '/organizations',
      '/organizations?country=xx&state=<b>',
    ]) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    await page.goto(`${origin}/animals?category=6`);
    assert.deepEqual((await namesOn(page)).toSorted(), Object.values(HOSTILE).toSorted());
    await page.close();
  });
});

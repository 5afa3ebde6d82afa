import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { insertMember } from '../../src/access/accounts/people.ts';
import { DAY_MS, formatDate } from '../../src/lib/time.ts';
import type { NewPet } from '../../src/model/pet.ts';
import { createPet, getPet, updatePet } from '../../src/store/pets/pets.ts';
import { image } from '../support/photos.ts';
import { type Reply, send, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { signedIn, type Visitor } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';
const PATH = '/shelter/animals';

describe('the list of own animals', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
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

  const read = (id: number) => getPet(service.app.databases.production, id, Date.now());
  const tagsOf = async (id: number) => JSON.parse((await read(id)).tags ?? '[]');

  /** Puts an animal on hold for another account. */
  async function hold(petId: number): Promise<void> {
    const key = await service.newKey();
    const { status } = await send(`${service.urls.production}/holds`, { method: 'POST', key, body: { petId } });
    assert.equal(status, 201);
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
    assert.match(await row.innerText(), new RegExp(`Cat\\s+Available\\s+Edit\\s+${days}\\s*$`));
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
      /Beagle mix\s+2 years.*\s+Available €125.00 Edit\s+0\s+Room 1, .kennel\s+1$/,
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

  /** The fields of the form of a page, as a browser sends them. */
  function fieldsOf({ text }: Reply): Record<string, string> {
    const form = /<form method="post" action="\/shelter\/animals\/[\s\S]*?<\/form>/.exec(text)![0];
    const inputs = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
    const decoded = (value: string) => value.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code));
    const fields = Object.fromEntries(Array.from(inputs, ([, name, value]) => [name!, decoded(value!)]));
    const { token: _, ...others } = fields;
    return others;
  }

  const changing = (change: string, ids: readonly number[], more = '') =>
    `${PATH}/change?change=${change}${ids.map(id => `&id=${id}`).join('')}${more}`;

  /** Opens the form of a change and sends it. Returns the list with the result. */
  async function change(person: Visitor, name: string, ids: readonly number[], entries: Record<string, string> = {}) {
    const form = fieldsOf(await person.open(changing(name, ids)));
    const { status, headers } = await person.submit(`${PATH}/change`, { ...form, ...entries });
    assert.equal(status, 303);
    return person.open(headers['location']!);
  }

  const noticeIn = ({ text }: Reply) =>
    /<div class="notice [\s\S]*?<\/div>/
      .exec(text)![0]
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim();

  it('changes status, category, tags and groups of the selected animals', async () => {
    const person = await signedIn(service);
    const ids = await add(person, [{ name: 'A', tags: ['calm', ' odd '] }, { name: 'B' }, { name: 'C' }]);
    const [a, b, c] = ids as [number, number, number];
    assert.match((await person.open(changing('status', ids))).text, /<h1>Change the status of 3 animals<\/h1>/);
    assert.equal(noticeIn(await change(person, 'status', [a, b], { status: 'sold' })), 'Changed 2 animals.');
    const again = await change(person, 'status', ids, { status: 'sold' });
    assert.equal(noticeIn(again), 'Changed 1 animal. 2 were so already.');
    await change(person, 'category', [a], { category: '2' });
    assert.deepEqual([(await read(a)).categoryId, (await read(b)).categoryId], [2, 1]);
    await change(person, 'add-tags', [a, b], { tags: ' playful \r\n\r\ncalm\r\n' });
    assert.deepEqual(
      [await tagsOf(a), await tagsOf(b), await tagsOf(c)],
      [['calm', ' odd ', 'playful'], ['playful', 'calm'], []],
    );
    const offered = (await person.open(changing('remove-tags', ids))).text;
    assert.match(offered, /<bdi>calm<\/bdi> <span class="quiet">2</);
    await change(person, 'remove-tags', ids, { tags: ' odd ' });
    assert.deepEqual(await tagsOf(a), ['calm', 'playful']);
    assert.match((await person.open(changing('remove-tags', [c]))).text, /None of these animals has a tag/);
    await change(person, 'group', [a, b], { group: 'Pair', kind: 'bonded' });
    assert.deepEqual(
      [(await read(a)).groupId, (await read(b)).groupKind, (await read(c)).groupId],
      ['Pair', 'bonded', null],
    );
    await change(person, 'ungroup', [a]);
    assert.deepEqual([(await read(a)).groupId, (await read(a)).groupKind], [null, null]);
  });

  it('refuses single animals, and says why', async () => {
    const person = await signedIn(service);
    const tags = Array.from({ length: 20 }, (_, index) => `tag ${index}`);
    const [reserved, full, free] = (await add(person, [
      { name: HOSTILE },
      { name: 'Full', tags },
      { name: 'Free' },
    ])) as [number, number, number];
    await hold(reserved);
    const ids = [reserved, full, free];
    const status = await change(person, 'status', ids, { status: 'sold' });
    assert.match(noticeIn(status), /^Changed 2 animals\. Not changed because they are on hold or ordered: &#60;script/);
    assert.equal((await read(reserved)).status, 'pending');
    const tagged = noticeIn(await change(person, 'add-tags', ids, { tags: 'new' }));
    assert.equal(tagged, 'Changed 2 animals. Not changed because they would have more than 20 tags: Full.');
    const bonded = await add(
      person,
      Array.from({ length: 21 }, () => ({})),
    );
    const grouped = noticeIn(await change(person, 'group', bonded, { group: 'Big', kind: 'bonded' }));
    assert.match(grouped, /^Changed 20 animals\. Not changed because the group has 20 animals already.*: Rex\.$/);
    assert.match((await person.open(changing('delete', ids))).text, /Of these, 1 animal may be on hold or ordered/);
    const deleted = noticeIn(await change(person, 'delete', ids));
    assert.match(deleted, /^Deleted 2 animals\. Not deleted because they are on hold or ordered: /);
    await assert.rejects(read(free), { code: 'pet_not_found' });
    assert.equal((await read(reserved)).name, HOSTILE);
  });

  it('never touches the animals of others, nor changes twice what is sent twice', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const [own] = (await add(person, [{ name: 'Own' }])) as [number];
    const [foreign] = (await add(stranger, [{ name: 'Foreign' }])) as [number];
    const page = await person.open(changing('delete', [own, foreign]));
    assert.match(page.text, /<h1>Delete 1 animal\?<\/h1>/);
    assert.doesNotMatch(page.text, /Foreign/);
    const form = { ...fieldsOf(page), change: 'status', ids: `${own},${foreign},999999,0,x,__proto__`, status: 'sold' };
    const sent = await person.submit(`${PATH}/change`, form);
    const result = await person.open(sent.headers['location']!);
    assert.equal(
      noticeIn(result),
      'Changed 1 animal. Not changed because they are gone, or not in this account: 2 animals.',
    );
    assert.doesNotMatch(noticeIn(result), /Foreign/);
    assert.equal((await read(foreign)).status, 'available');
    const back = { accountId: person.accountId, admin: false };
    await service.app.databases.production.write(tx => updatePet(tx, back, own, { status: 'available' }, 'open'));
    const repeated = await person.submit(`${PATH}/change`, form);
    assert.equal(repeated.headers['location'], sent.headers['location']);
    assert.equal((await read(own)).status, 'available');
    for (const query of [
      '',
      '?change=__proto__&id=1',
      '?change=status',
      `?change=status&id=${foreign}`,
      '?change=delete&id=x',
    ]) {
      assert.match(
        (await person.open(`${PATH}/change${query}`)).text,
        /Choose (what to do|at least one animal)\./,
        query,
      );
    }
    const forged = (await person.open(`${PATH}?done=delete&changed=x&pet_reserved=${foreign}.x&other=${own}`)).text;
    assert.doesNotMatch(forged, /Foreign/);
  });

  it('asks again for entries that are missing or invalid', async () => {
    const person = await signedIn(service);
    const ids = await add(person, [{ name: 'A', tags: ['calm'] }]);
    for (const [name, entries, field, error] of [
      ['status', {}, 'status', 'Choose a status.'],
      ['status', { status: 'lost' }, 'status', 'Choose a status.'],
      ['category', { category: '' }, 'category', 'Choose a category.'],
      ['category', { category: '-1' }, 'category', 'Choose a category.'],
      ['add-tags', { tags: ' \n ' }, 'tags', 'Enter up to 20 tags, one a line, each with up to 40 characters.'],
      ['add-tags', { tags: 'x'.repeat(41) }, 'tags', 'Enter up to 20 tags, one a line, each with up to 40 characters.'],
      ['add-tags', { tags: 'a\0b' }, 'tags', 'Enter up to 20 tags, one a line, each with up to 40 characters.'],
      ['remove-tags', {}, 'tags', 'Choose at least one tag.'],
      ['group', { group: ' ' }, 'group', 'Enter a name of up to 100 characters.'],
      ['group', { group: 'x'.repeat(101), kind: '__proto__' }, 'group', 'Enter a name of up to 100 characters.'],
    ] as const) {
      const form = fieldsOf(await person.open(changing(name, ids)));
      const reply = await person.submit(`${PATH}/change`, { ...form, ...entries });
      assert.equal(reply.status, 422, name);
      assert.equal(new RegExp(`id="${field}-error">([^<]*)`).exec(reply.text)?.[1], error, name);
      assert.equal(fieldsOf(reply)['ids'], String(ids[0]));
    }
    assert.deepEqual(await tagsOf(ids[0]!), ['calm']);
  });

  it('changes at most 500 of all that match, and says so', async () => {
    const person = await signedIn(service);
    await add(
      person,
      Array.from({ length: 505 }, (_, index) => ({ name: `Many ${index}` })),
    );
    await add(person, [{ name: 'Another' }]);
    const list = await person.open(`${PATH}?q=many`);
    assert.match(list.text, /The first 500 of 505 that match/);
    const all = await person.open(`${PATH}/change?change=delete&all=yes&list=${encodeURIComponent('q=many')}`);
    assert.match(all.text, /<h1>Delete 500 animals\?<\/h1>/);
    assert.match(all.text, /505 animals match\. A change is for up to 500 animals/);
    const { ids, ...form } = fieldsOf(all);
    const many = await person.submit(`${PATH}/change`, { ...form, ids: `${ids},999998` });
    assert.match(many.text, /<h1>Delete 500 animals\?<\/h1>/);
    const { headers } = await person.submit(`${PATH}/change`, { ...form, ids: ids! });
    assert.match(headers['location']!, /^\/shelter\/animals\?q=many&done=delete&changed=500$/);
    const left = await person.open(`${PATH}?q=many`);
    assert.match(left.text, /<strong>5<\/strong> animals/);
    assert.deepEqual(namesIn(await person.open(`${PATH}?q=another`)), ['Another']);
  });

  for (const javaScriptEnabled of [true, false]) {
    it(`selects animals and deletes them, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const person = await signedIn(service);
      const ids = await add(
        person,
        ['A', 'B', 'C', 'D', 'E'].map(name => ({ name: `Animal ${name}` })),
      );
      const page = await person.newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}${PATH}?sort=name`);
      const box = (name: string) => page.getByLabel(`Select Animal ${name}`);
      await box('B').check();
      if (javaScriptEnabled) {
        await box('D').click({ modifiers: ['Shift'] });
        await page.getByRole('button', { name: 'Continue (3)' }).waitFor();
        await page.getByLabel('All on this page').check();
        await page.getByRole('button', { name: 'Continue (5)' }).waitFor();
        await page.getByLabel('All on this page').uncheck();
        await page.getByRole('button', { name: 'Continue', exact: true }).waitFor();
        await box('B').check();
      }
      await box('C').check();
      await page.getByLabel('With the selected animals').selectOption('Delete');
      await follow(page.getByRole('button', { name: 'Continue' }));
      assert.equal(await page.locator('h1').innerText(), 'Delete 2 animals?');
      await follow(page.getByRole('button', { name: 'Delete 2 animals' }));
      assert.equal(await page.getByRole('status').first().innerText(), 'Deleted 2 animals.');
      assert.match(page.url(), /sort=name/);
      await assert.rejects(read(ids[1]!), { code: 'pet_not_found' });
      assert.equal(await page.locator('tbody tr').count(), 3);
      await page.getByLabel('All 3 that match').check();
      await page.getByLabel('With the selected animals').selectOption('Change the status');
      await follow(page.getByRole('button', { name: 'Continue' }));
      await page.getByLabel('New status').selectOption('Sold');
      await follow(page.getByRole('button', { name: 'Change 3 animals' }));
      assert.equal((await read(ids[4]!)).status, 'sold');
      await page.context().close();
    });
  }

  it('edits status, price and tags without a script, and returns to the list', async () => {
    const person = await signedIn(service);
    const [id] = (await add(person, [{ name: HOSTILE, tags: ['calm'] }])) as [number];
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}${PATH}?sort=name`);
    await follow(page.getByRole('link', { name: 'Edit status, price and tags' }));
    await page.getByLabel('Price').fill('80');
    await page.getByLabel('Tags').fill('x'.repeat(41));
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.equal(await page.getByLabel('Price').inputValue(), '80');
    const error = 'Enter up to 20 tags, one a line, each with up to 40 characters.';
    assert.equal(await page.locator('[id="tags-error"]').innerText(), error);
    assert.equal(await page.locator('[id="price/currency-error"]').count(), 1);
    await page.getByLabel('Currency').fill('EUR');
    await page.getByLabel('Tags').fill('calm\n\n calm\nplayful\n');
    await page.getByLabel('Status').selectOption('Sold');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.equal(new URL(page.url()).search, '?sort=name&saved=yes');
    const { status, priceAmount, priceCurrency } = await read(id);
    assert.deepEqual(
      [status, priceAmount, priceCurrency, await tagsOf(id)],
      ['sold', 8000, 'EUR', ['calm', 'playful']],
    );
    await page.goto(`${origin}${PATH}/${id}/status`);
    await page.getByLabel('Price').fill('');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.equal((await read(id)).priceAmount, null);
    await page.context().close();
  });

  it('shows the animal as it is now, with the entries, if someone else has changed it', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const [id] = (await add(person, [{ tags: ['calm'] }])) as [number];
    const path = `${PATH}/${id}/status`;
    const form = fieldsOf(await person.open(`${path}?list=q%3Drex`));
    const actor = { accountId: person.accountId, admin: false };
    const other = { status: 'sold', price: { amount: 500, currency: 'USD' } } as const;
    await service.app.databases.production.write(tx => updatePet(tx, actor, id, other, 'open'));
    const entries = { status: 'available', 'price/amount': '', 'price/currency': '', tags: 'calm\r\nold' };
    const stale = await person.submit(path, { ...form, ...entries });
    assert.equal(stale.status, 422);
    assert.match(stale.text, /The animal has changed since\. Below is how it is now, with your entries/);
    assert.match(stale.text, /<option value="sold" selected>/);
    assert.match(stale.text, /name="price\/amount" type="text" value="5.00"/);
    assert.match(stale.text, />\s*calm\nold<\/textarea>/);
    const now = { status: 'sold', 'price/amount': '5.00', 'price/currency': 'USD', tags: 'calm\nold' };
    const saved = await person.submit(path, { ...fieldsOf(stale), ...now });
    assert.equal(saved.headers['location'], `${PATH}?q=rex&saved=yes#animal-${id}`);
    const { status, priceAmount } = await read(id);
    assert.deepEqual([status, priceAmount, await tagsOf(id)], ['sold', 500, ['calm', 'old']]);
    assert.equal((await stranger.open(path)).status, 404);
    assert.equal((await stranger.submit(path, { ...form, ...entries })).status, 404);
    await hold((await add(person, [{ name: 'Held' }]))[0]!);
    assert.equal((await person.submit(`${PATH}/x/status`, form)).status, 404);
  });

  it('edits an animal in its row, with a script', async () => {
    const person = await signedIn(service);
    const [id, held] = (await add(person, [{ name: 'Rex' }, { name: 'Held' }])) as [number, number];
    await hold(held);
    const page = await person.newPage(browser);
    await page.goto(`${origin}${PATH}?sort=name`);
    const edit = (name: string) => page.getByRole('link', { name: `Edit status, price and tags of ${name}` });
    const form = page.locator('.editing');
    const field = (name: string) => form.locator(`[name="${name}"]`);
    await edit('Rex').click();
    await field('status').waitFor();
    await assertFits(page, 'the list with a form');
    await page.keyboard.press('Escape');
    assert.equal(await form.count(), 0);
    assert.equal(await focusedIn(page), `Edit status, price and tags of Rex`);
    await edit('Rex').click();
    await field('tags').fill('calm');
    await field('price/amount').fill('x');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').waitFor();
    assert.equal(await field('tags').inputValue(), 'calm');
    await field('price/amount').fill('80');
    await field('price/currency').fill('EUR');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The animal is saved.').waitFor();
    assert.match(await page.getByRole('row', { name: /Rex/ }).innerText(), /calm\s+Available\s+€80.00/);
    assert.equal(await focusedIn(page), `Edit status, price and tags of Rex`);
    assert.equal(new URL(page.url()).search, '?sort=name');
    assert.equal((await read(id)).priceAmount, 8000);
    await edit('Held').click();
    await field('status').selectOption('Sold');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').waitFor();
    assert.equal((await read(held)).status, 'pending');
    await form.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await form.count(), 0);
    await page.context().close();
  });

  it('shows no forms to members who may only read', async () => {
    const [person, reader] = [await signedIn(service), await signedIn(service)];
    const ids = await add(person, [{}]);
    const member = { accountId: person.accountId, personId: reader.accountId, role: 'viewer' } as const;
    await service.app.databases.production.write(tx => insertMember(tx, member));
    await reader.submit('/account/switch', { account: String(person.accountId) });
    const list = await reader.open(PATH);
    assert.deepEqual(namesIn(list), ['Rex']);
    assert.doesNotMatch(list.text, /id="selection"|name="id"|data-edit|Add an animal/);
    for (const path of [changing('delete', ids), `${PATH}/${ids[0]}/status`]) {
      assert.equal((await reader.open(path)).status, 403, path);
    }
    const form = { change: 'delete', ids: String(ids[0]) };
    assert.equal((await reader.submit(`${PATH}/change`, form)).status, 403);
    assert.equal((await read(ids[0]!)).name, 'Rex');
  });

  it('fits every screen and is accessible, whatever the names', async () => {
    const person = await signedIn(service);
    const long = 'W'.repeat(255);
    const tags = Array.from({ length: 20 }, (_, index) => 'W'.repeat(38) + String(index).padStart(2, '0'));
    const ids = await add(person, [
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
    for (const path of [
      PATH,
      `${PATH}?q=nothing`,
      changing('group', ids),
      changing('delete', ids),
      `${PATH}/${ids[0]}/status`,
      changing('remove-tags', ids),
      `${PATH}?done=status&changed=1&pet_reserved=${ids.join('.')}`,
    ]) {
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

/** The accessible name of the element that has the focus. */
function focusedIn(page: Page): Promise<string | null> {
  return page.evaluate(() => document.activeElement!.getAttribute('aria-label'));
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { insertMember } from '../../src/access/accounts/people.ts';
import { startSession } from '../../src/access/sessions/sessions.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { NewPet } from '../../src/model/pet.ts';
import { getPet } from '../../src/store/pets/pets.ts';
import { photosOf } from '../../src/store/photo-references.ts';
import { petForm } from '../../src/web/pets/pet-form.ts';
import { hashOf, image } from '../support/photos.ts';
import { send, type TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { signedIn, signedInTo, type Visitor } from './session.ts';

const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true } as const;
const ADD = '/shelter/animals/new';
const PATCH = { 'Content-Type': 'application/merge-patch+json' };

/** A value of every field with free text, in the form in which the page shows it again. */
const samples: Readonly<Record<string, string>> = {
  name: 'Bella “B”',
  statusReason: 'in foster',
  'price/amount': '1250.50',
  'price/currency': 'CAD',
  externalId: 'D2026-041',
  'breeds/primary': 'Beagle',
  'breeds/secondary': 'Boxer',
  'colors/primary': 'Black',
  'colors/secondary': 'White',
  'colors/tertiary': 'Tan',
  pattern: 'brindle',
  birthDate: '2024-02-29',
  weight: '12.25 lb',
  'group/id': 'Maple litter',
  tags: 'calm\nplayful, too',
  videos: 'https://example.org/1\nhttps://example.org/2',
  specialNeedsNotes: 'One eye.',
  microchips: '276098102345678\n985112003456789',
  tattoo: 'AB 12',
  shelterLocation: 'Dog house, kennel 4',
  'intake/date': '2026-01-02',
  'intake/from': 'A person',
  'outcome/date': '2026-02-03',
  'outcome/to': 'A family',
  description: '  Two lines,\n\nand one more.\n',
};

describe('the form of an animal', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  const read = (id: number) => getPet(service.app.databases.production, id, Date.now());
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const answer = (page: Page, name: string, value: string) =>
    page.getByRole('radiogroup', { name }).getByRole('radio', { name: value, exact: true });
  const idIn = (page: Page) => Number(/\/animals\/(\d+)\?/.exec(page.url())?.[1]);

  async function opened(options?: BrowserContextOptions, visitor?: Visitor) {
    const person = visitor ?? (await signedIn(service));
    const page = await person.newPage(browser, options);
    page.setDefaultTimeout(20_000);
    await page.goto(origin + ADD);
    return { person, page };
  }

  async function apiOf(person: Visitor) {
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const pets = `${service.urls.production}/pets`;
    return {
      add: async (body: object) => (await send(pets, { method: 'POST', key, body })).body,
      change: (id: number, body: object) => send(`${pets}/${id}`, { method: 'PATCH', key, body, headers: PATCH }),
      get: async (id: number) => (await send(`${pets}?id=${id}&view=full`, { key })).body[0],
    };
  }

  /** Returns what a form sends, by field. */
  async function entriesOf(page: Page): Promise<Record<string, string>> {
    const entries = await page
      .locator('.animal-form')
      .evaluate(form => [...new FormData(form as HTMLFormElement).entries()]);
    return Object.fromEntries(entries as [string, string][]);
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`takes what a volunteer knows, on a phone with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const { person, page } = await opened({ ...PHONE, javaScriptEnabled });
      await page.getByLabel('Kind').selectOption('Dog');
      if (javaScriptEnabled) {
        await page.locator('#known-breeds option[value="Beagle"]').waitFor({ state: 'attached' });
        assert.equal(await page.getByLabel('Breed', { exact: true }).getAttribute('list'), 'known-breeds');
      }
      await page.getByLabel('Name', { exact: true }).fill('Bella');
      await answer(page, 'Sex', 'Female').check();
      await page.getByLabel('Breed', { exact: true }).fill('Beagle');
      await page.getByLabel('Mixed breed').check();
      await page.getByLabel('Age', { exact: true }).fill('about 2 years');
      await page.getByLabel('Weight').fill('12 lb');
      for (const [name, value] of [
        ['Good with children', 'Yes'],
        ['Good with dogs', 'No'],
        ['House-trained', 'Yes'],
        ['Spayed or neutered', 'No'],
      ] as const) {
        assert.ok(await answer(page, name, 'Unknown').isChecked(), name);
        await answer(page, name, value).check();
      }
      await page.getByLabel('Its story').fill('She waits for you at every corner.');
      await page.getByLabel('Fee').fill('$1,250');
      await page.getByLabel('Place').fill('Kennel 4');
      await follow(button(page, 'Save'));
      await page.getByText('is saved. Add photos now').waitFor();
      const pet = await (await apiOf(person)).get(idIn(page));
      assert.partialDeepStrictEqual(pet, {
        ...{ name: 'Bella', categoryId: 1, sex: 'female', breeds: { primary: 'Beagle', mixed: true } },
        ...{ weight: { value: 12, unit: 'lb' }, price: { amount: 125_000, currency: 'USD' } },
        ...{ birthDatePrecision: 'estimated', shelterLocation: 'Kennel 4' },
      });
      assert.deepEqual(pet.goodWith, { children: 'yes', dogs: 'no' });
      assert.deepEqual(pet.traits, { houseTrained: 'yes', spayedNeutered: 'no' });
      assert.equal(pet.birthDate.slice(0, 4), String(new Date().getUTCFullYear() - 2));
      await page.context().close();
    });
  }

  it('has large targets, the keyboards of its values, and one primary action', async () => {
    const { page } = await opened(PHONE);
    const small = await page
      .locator('.animal-form')
      .evaluate(form =>
        [...form.querySelectorAll('input:not([type=hidden], [type=checkbox]), select, button, .choice')]
          .filter(control => control.getBoundingClientRect().height < 44)
          .map(control => control.outerHTML),
      );
    assert.deepEqual(small, []);
    assert.equal(await page.getByLabel('Fee').getAttribute('inputmode'), 'decimal');
    assert.equal(await page.getByLabel('Date of birth').getAttribute('type'), 'date');
    assert.equal(
      await page
        .locator('.animal-form input:not([type=hidden], [type=radio], [type=checkbox], [autocomplete=off])')
        .count(),
      0,
    );
    assert.equal(
      await page.locator('[enterkeyhint=next][type=text]').count(),
      await page.locator('.animal-form [type=text]').count(),
    );
    assert.deepEqual(await page.locator('main button:not(.secondary):visible').allTextContents(), ['Save']);
    assert.equal(await page.locator('input[capture=environment]').getAttribute('accept'), 'image/*');
    await page.context().close();
  });

  it('fits every screen and is accessible, with errors and with photos', async () => {
    const { page } = await opened();
    await page.getByLabel('Weight').fill('heavy');
    await page.locator('.animal-form').evaluate(form => form.setAttribute('novalidate', ''));
    await follow(button(page, 'Save'));
    await page.locator('.errors:focus').waitFor();
    await choose(page, [await photo('1.png', '#a11')]);
    await assertFits(page, 'the form with errors');
    await page.context().close();
  });

  it('keeps within 60 KB with everything that it loads, compressed', async () => {
    const { person, page } = await opened();
    const { add } = await apiOf(person);
    const { id } = await add({ name: 'Rex', categoryId: 1 });
    for (const path of [ADD, `${ADD}?kind=1`, `/shelter/animals/${id}`]) {
      const { headers, text } = await person.open(path, { 'Accept-Encoding': 'identity' });
      assert.equal(headers['content-encoding'], undefined);
      let bytes = Buffer.from(await gzipped(text)).length;
      await page.goto(origin + path);
      const assets = await page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .map(({ name }) => name)
          .filter(name => name.includes('/assets/')),
      );
      for (const asset of new Set(assets)) bytes += (await gzipped(await (await fetch(asset)).text())).byteLength;
      assert.ok(bytes <= 60_000, `${path}: ${bytes}`);
    }
    await page.context().close();
  });

  it('takes fees as people write them, and says beside the field what is wrong', async () => {
    const person = await signedIn(service);
    const post = (amount: string, currency = 'USD') =>
      person.submit(ADD, { name: 'Rex', categoryId: '1', 'price/amount': amount, 'price/currency': currency });
    for (const [amount, currency, stored] of [
      ['125', 'USD', [12_500, 'USD']],
      ['$125', 'USD', [12_500, 'USD']],
      ['125.50', 'usd', [12_550, 'USD']],
      ['1,250', 'USD', [125_000, 'USD']],
      ['99 €', 'USD', [9900, 'EUR']],
      ['0', 'USD', [0, 'USD']],
      ['', 'USD', [null, null]],
    ] as const) {
      const { headers } = await post(amount, currency);
      const { priceAmount, priceCurrency } = await read(Number(/(\d+)\?/.exec(String(headers['location']))![1]));
      assert.deepEqual([priceAmount, priceCurrency], stored, amount);
    }
    for (const [field, amount, currency, error] of [
      ['price/amount', 'a lot', 'USD', 'Must be an amount such as 125.00, with at most 2 decimals.'],
      ['price/amount', '-5', 'USD', 'Must be an amount such as 125.00, with at most 2 decimals.'],
      ['price/amount', '1'.repeat(100_000), 'USD', 'Must be an amount such as 125.00, with at most 2 decimals.'],
      ['price/currency', '5', 'dollars', 'Must be three letters, such as USD.'],
      ['price/currency', '5', '', 'Must be three letters, such as USD.'],
    ] as const) {
      const { status, text } = await post(amount, currency);
      assert.equal(status, 422);
      assert.equal(new RegExp(`id="${field}-error">([^<]*)`).exec(text)?.[1], error);
      assert.equal(text.match(/class="error"/g)?.length, 1, amount);
    }
  });

  it('takes an age or a date of birth, and not both', async () => {
    const person = await signedIn(service);
    const { add, get } = await apiOf(person);
    const errorOf = async (path: string, form: Record<string, string>) =>
      /id="typedAge-error">([^<]*)/.exec((await person.submit(path, form)).text)?.[1];
    const rex = { name: 'Rex', categoryId: '1' };
    assert.match((await errorOf(ADD, { ...rex, typedAge: '2' }))!, /such as 2 years/);
    assert.match((await errorOf(ADD, { ...rex, typedAge: '2 years', birthDate: '2020-01-01' }))!, /not both/);
    const { id } = await add({
      name: 'Rex',
      categoryId: 1,
      birthDate: '2020-01-01',
      birthDatePrecision: 'exact',
    });
    const { etag } = await get(id);
    const form = { ...rex, status: 'available', etag, birthDate: '2020-01-01', birthDatePrecision: 'exact' };
    const { status, text } = await person.submit(`/shelter/animals/${id}`, { ...form, typedAge: '3 weeks' });
    assert.equal(status, 303, /class="notice alert errors.*?<\/div>/s.exec(text)?.[0] ?? '');
    const { birthDate, birthDatePrecision } = await get(id);
    assert.equal(birthDatePrecision, 'estimated');
    assert.ok(Date.now() - Date.parse(birthDate) < 23 * DAY_MS);
  });

  it('names the field of an error that concerns one field', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const { add, get } = await apiOf(person);
    const { id } = await add({ name: 'Rex', categoryId: 1, externalId: 'D-1' });
    const errorIn = async (path: string, field: string, form: Record<string, string>) => {
      const { text } = await person.submit(path, { name: 'Rex', categoryId: '1', status: 'available', ...form });
      return new RegExp(`id="${field}-error">([^<]*)`).exec(text)?.[1];
    };
    const taken = await errorIn(ADD, 'externalId', { externalId: 'D-1' });
    assert.equal(taken, 'Another of your animals has this number.');
    await send(`${service.urls.production}/holds`, { method: 'POST', key, body: { petIds: [id] } });
    const { etag } = await get(id);
    const reserved = await errorIn(`/shelter/animals/${id}`, 'status', { status: 'sold', externalId: 'D-1', etag });
    assert.match(reserved!, /is on hold/);
  });

  it('writes every field, and reads it back equal', async () => {
    const { person, page } = await opened();
    await page.getByLabel('Kind').selectOption('Dog');
    const choices = await choicesIn(page);
    const names = petForm.names.filter(name => name !== 'typedAge');
    assert.deepEqual(
      names.filter(name => samples[name] === undefined && choices[name] === undefined),
      [],
    );
    const rounds = Math.max(...Object.values(choices).map(values => values.length));
    const { get } = await apiOf(person);
    const seen: Record<string, Set<unknown>> = {};
    for (let round = 0; round < rounds; round++) {
      const chosen = Object.entries(choices).map(([name, values]) => [name, values[round % values.length]!] as const);
      const form: Record<string, string> = { ...samples, ...Object.fromEntries(chosen), externalId: `D-${round}` };
      const { headers, status } = await person.submit(ADD, form);
      assert.equal(status, 303);
      await page.goto(origin + String(headers['location']));
      const shown = await entriesOf(page);
      for (const name of names)
        assert.equal(shown[name]?.replaceAll('\r\n', '\n'), form[name], `${name} of round ${round}`);
      const pet = await get(idIn(page));
      for (const name of names) {
        const value = name.split('/').reduce((inner, member) => inner?.[member], pet);
        seen[name] = (seen[name] ?? new Set()).add(value);
      }
    }
    for (const name of names) assert.ok(!(seen[name]!.size === 1 && seen[name]!.has(undefined)), `${name} is stored`);
    for (const name of ['goodWith/dogs', 'traits/declawed', 'sex']) assert.ok(seen[name]!.size >= 3, name);
    await page.context().close();
  });

  it('loses nothing of an animal whose fields came by the API', async () => {
    const person = await signedIn(service);
    const { add, get } = await apiOf(person);
    const whole = {
      ...{ name: ' Rex ', categoryId: 1, status: 'pending', statusReason: 'medical', externalId: 'a b' },
      ...{ breeds: { primary: ' Own breed ', mixed: false, unknown: false }, colors: { tertiary: 'Sky' } },
      ...{ sex: 'unknown', birthDate: '2024-02-29', birthDatePrecision: 'exact', age: 'senior' },
      ...{ weight: { value: 0.0000001, unit: 'oz' }, price: { amount: 0, currency: 'KWD' }, energy: 3 },
      ...{ goodWith: { dogs: 'unknown', cats: 'no' }, traits: { declawed: 'unknown' } },
      ...{ group: { id: ' pair ', kind: 'bonded' }, tags: [' a ', 'b,c'], videos: ['https://example.org/?a=1&b=2'] },
      ...{ microchips: ['276098102345678'], tattoo: ' x ', shelterLocation: ' y ', extra: { color: 'of eyes' } },
      ...{ intake: { date: '2026-01-02', kind: 'other' }, outcome: { date: '2026-01-03', kind: 'other', to: ' z ' } },
      ...{
        description: '\tOne\r\n\r\ntwo  \n',
        specialNeedsNotes: '  many  ',
        pattern: ' p ',
        coat: 'wire',
        size: 'small',
      },
    };
    assert.deepEqual(
      Object.keys(NewPet.properties).filter(name => !(name in whole)),
      [],
    );
    for (const javaScriptEnabled of [true, false]) {
      const { id } = await add({ ...whole, externalId: `js ${javaScriptEnabled}` });
      const before = await get(id);
      const { page } = await opened({ javaScriptEnabled }, person);
      await page.goto(`${origin}/shelter/animals/${id}`);
      await page.getByLabel('Name', { exact: true }).fill('Max');
      await follow(button(page, 'Save'));
      await page.getByText('The animal is saved.').waitFor();
      const { etag: _e, updatedAt: _u, ...after } = await get(id);
      const { etag: _f, updatedAt: _v, ...expected } = { ...before, name: 'Max' };
      assert.deepEqual(after, expected);
      await page.context().close();
    }
  });

  for (const javaScriptEnabled of [true, false]) {
    it(`adds a litter one after another, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const { person, page } = await opened({ javaScriptEnabled });
      await page.getByLabel('Kind').selectOption('Cat');
      await page.getByLabel('Name', { exact: true }).fill('First');
      for (const [label, value] of [
        ['Breed', 'Persian'],
        ['Main color', 'Black'],
        ['Fee', '80'],
        ['Currency', 'EUR'],
        ['Place', 'Cat room 2'],
        ['Came in on', '2026-01-02'],
        ['Came from', 'A barn'],
      ] as const)
        await page.getByLabel(label, { exact: true }).fill(value);
      await page.getByLabel('Came in as').selectOption('Stray');
      await follow(button(page, 'Save and add another'));
      await page.getByText('is saved. Kind, breed and intake are filled in').waitFor();
      assert.partialDeepStrictEqual(await entriesOf(page), {
        ...{ categoryId: '2', name: '', 'breeds/primary': 'Persian', 'colors/primary': '', status: 'available' },
        ...{ 'price/amount': '', 'price/currency': 'EUR', shelterLocation: 'Cat room 2' },
        ...{ 'intake/date': '2026-01-02', 'intake/kind': 'stray', 'intake/from': 'A barn' },
      });
      await page.getByLabel('Name', { exact: true }).fill('Second');
      await follow(button(page, 'Save'));
      const pet = await (await apiOf(person)).get(idIn(page));
      assert.partialDeepStrictEqual(pet, {
        ...{ name: 'Second', categoryId: 2, breeds: { primary: 'Persian' }, shelterLocation: 'Cat room 2' },
        intake: { date: '2026-01-02', kind: 'stray', from: 'A barn' },
      });
      assert.deepEqual([pet.colors, pet.price], [undefined, undefined]);
      await page.context().close();
    });
  }

  it('begins like an animal of the account only', async () => {
    const person = await signedIn(service);
    const { id } = await (await apiOf(person)).add({ name: 'Rex', categoryId: 1, shelterLocation: 'Secret room' });
    assert.match((await person.open(`${ADD}?like=${id}`)).text, /Secret room/);
    for (const like of [id, 0, 'x', 999_999]) {
      const { status, text } = await (await signedIn(service)).open(`${ADD}?like=${like}`);
      assert.equal(status, 200);
      assert.doesNotMatch(text, /Secret room|is saved/);
    }
  });

  it('merges the entries with a version that someone else saved', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { person, page } = await opened({ javaScriptEnabled });
      const { add, change, get } = await apiOf(person);
      const { id } = await add({ name: 'Rex', categoryId: 1, coat: 'short', description: 'Old' });
      await page.goto(`${origin}/shelter/animals/${id}`);
      await page.getByLabel('Its story').fill('My story');
      await page.getByLabel('Coat').selectOption('Long');
      await page.getByLabel('Place').fill('Kennel 1');
      await change(id, { name: 'Max', coat: 'wire', weight: { value: 5, unit: 'kg' } });
      await follow(button(page, 'Save'));
      await page.getByText('The animal has changed since you opened this page').first().waitFor();
      assert.deepEqual((await get(id)).description, 'Old', 'nothing is saved yet');
      assert.equal(await page.locator('[id="coat-error"]').textContent(), 'Someone else changed this to “Wire”.');
      assert.equal(await page.locator('.field .error').count(), 1);
      await follow(button(page, 'Save'));
      await page.getByText('The animal is saved.').waitFor();
      assert.partialDeepStrictEqual(await get(id), {
        ...{ name: 'Max', coat: 'long', weight: { value: 5, unit: 'kg' } },
        ...{ description: 'My story', shelterLocation: 'Kennel 1' },
      });
      await page.context().close();
    }
  });

  it('keeps unsaved entries for a day, and warns before they are left', async () => {
    const { person, page } = await opened();
    const dialogs: string[] = [];
    let isAccepted = true;
    page.on('dialog', async dialog => {
      dialogs.push(dialog.type());
      await (isAccepted ? dialog.accept() : dialog.dismiss());
    });
    const name = page.getByLabel('Name', { exact: true });
    const notice = page.getByText('are here again. They are not saved yet.');
    const enter = async () => {
      await name.fill('Bella');
      await page.getByLabel('Kind').selectOption('Dog');
      await answer(page, 'Good with dogs', 'Yes').check();
      await page.getByLabel('Mixed breed').check();
    };
    await enter();
    isAccepted = false;
    await page.getByRole('link', { name: 'Guides', exact: true }).click();
    assert.deepEqual(dialogs, ['confirm']);
    assert.ok(page.url().endsWith(ADD), 'stays');
    isAccepted = true;
    await page.reload();
    assert.deepEqual(dialogs, ['confirm', 'beforeunload']);
    await notice.waitFor();
    assert.partialDeepStrictEqual(await entriesOf(page), {
      ...{ name: 'Bella', categoryId: '1', 'goodWith/dogs': 'yes', 'breeds/mixed': 'true' },
    });

    const other = await signedIn(service);
    await page.context().addCookies([other.cookie]);
    await page.goto(origin + ADD);
    assert.equal(await name.inputValue(), '', 'another account does not see them');
    await page.context().addCookies([person.cookie]);
    await page.goto(origin + ADD);
    await notice.waitFor();
    await page.getByRole('button', { name: 'Discard them' }).click();
    assert.equal(await name.inputValue(), '');
    dialogs.length = 0;
    await page.reload();
    assert.equal(await notice.count(), 0);
    assert.deepEqual(dialogs, []);

    await enter();
    await page.evaluate(ms => {
      for (const [key, value] of Object.entries(localStorage)) {
        const kept = JSON.parse(value as string);
        localStorage.setItem(key, JSON.stringify({ ...kept, at: kept.at - ms }));
      }
    }, DAY_MS);
    await page.reload();
    assert.equal(await name.inputValue(), '', 'after a day they are gone');
    assert.equal(await page.evaluate(() => localStorage.length), 0);

    await enter();
    await page.reload();
    dialogs.length = 0;
    await follow(button(page, 'Save'));
    assert.deepEqual(dialogs, [], 'saving is no leaving');
    await page.goto(origin + ADD);
    assert.equal(await name.inputValue(), '', 'saved entries are gone');
    assert.equal((await read((await petsOf(person))[0]!)).name, 'Bella');

    await enter();
    await follow(page.getByRole('button', { name: 'Sign out' }));
    assert.equal(await page.evaluate(() => localStorage.length), 0, 'signed out');
    await page.context().addCookies([(await signedInTo(service, person.accountId)).cookie]);
    await page.goto(origin + ADD);
    assert.equal(await name.inputValue(), '');
    await page.context().close();
  });

  it('shows entries to the person who made them only, and no way to save to members who only read', async () => {
    const { person, page } = await opened();
    page.on('dialog', dialog => dialog.accept());
    const { id } = await (await apiOf(person)).add({ name: 'Rex', categoryId: 1 });
    await page.goto(`${origin}/shelter/animals/${id}`);
    const place = page.getByLabel('Place');
    await place.fill('Kennel 4');
    for (const role of ['staff', 'viewer'] as const) {
      await page.context().addCookies([{ ...person.cookie, value: await memberOf(person.accountId, role) }]);
      await page.goto(`${origin}/shelter/animals/${id}`);
      assert.equal(await place.inputValue(), '', role);
      assert.equal(await button(page, 'Save').isDisabled(), role === 'viewer');
      assert.equal(await page.locator('input[type=file]').count(), role === 'viewer' ? 0 : 2);
    }
    await page.context().addCookies([person.cookie]);
    await page.goto(`${origin}/shelter/animals/${id}`);
    await page.getByText('are here again').waitFor();
    assert.equal(await place.inputValue(), 'Kennel 4');
    await page.context().close();
  });

  it('keeps entries after errors, until they are saved', async () => {
    const { page } = await opened();
    page.on('dialog', dialog => dialog.accept());
    await page.getByLabel('Kind').selectOption('Dog');
    await page.getByLabel('Name', { exact: true }).fill('Bella');
    await page.getByLabel('Weight').fill('heavy');
    await follow(button(page, 'Save'));
    await page.locator('[id="weight-error"]').waitFor();
    assert.equal(await page.getByText('are here again').count(), 0);
    await page.goto(origin + ADD);
    await page.getByText('are here again').waitFor();
    assert.equal(await page.getByLabel('Weight').inputValue(), 'heavy');
    await page.getByLabel('Weight').fill('12 kg');
    await follow(button(page, 'Save'));
    await page.getByText('is saved.').waitFor();
    await page.goto(origin + ADD);
    assert.equal(await page.getByLabel('Weight').inputValue(), '');
    await page.context().close();
  });

  it('takes photos while an animal is added, and uploads them when it is saved', async () => {
    const { page } = await opened(PHONE);
    const photos = [await photo('1.png', '#a11'), await photo('<b>2</b>.png', '#1a1'), await photo('3.png', '#11a')];
    await choose(page, photos);
    await page.getByText('Photos chosen: 3.').waitFor();
    const third = page.getByRole('button', { name: 'Remove 3.png' });
    await third.click();
    await third.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('button', { name: 'Remove <b>2</b>.png' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Bella');
    await page.locator('.animal-form').evaluate(form => form.setAttribute('novalidate', ''));
    await follow(button(page, 'Save'));
    await page.locator('[id="categoryId-error"]').waitFor();
    assert.equal(await page.locator('.chosen-photos li').count(), 2, 'errors keep the photos');
    await page.getByLabel('Kind').selectOption('Dog');
    await follow(button(page, 'Save'));
    await page.getByText('Photos added: 2.').waitFor();
    assert.deepEqual(
      await photosAt(idIn(page)),
      photos.slice(0, 2).map(({ buffer }) => hashOf(buffer)),
    );
    await page.goto(origin + ADD);
    await page.getByText('Choose photos, or drop').waitFor();
    assert.equal(await page.locator('.chosen-photos li').count(), 0);
    await page.context().close();
  });

  it('uploads the photos of one animal while the next of its litter is added', async () => {
    const { person, page } = await opened();
    const [first, second] = [await photo('1.png', '#a11'), await photo('2.png', '#1a1')];
    await page.getByLabel('Kind').selectOption('Dog');
    await page.getByLabel('Name', { exact: true }).fill('First');
    await choose(page, [first]);
    await page.getByText('Photos chosen: 1.').waitFor();
    await follow(button(page, 'Save and add another'));
    await page.getByText('Photos added: 1.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Second');
    await choose(page, [second]);
    await page.getByText('Photos chosen: 1.').waitFor();
    await follow(button(page, 'Save'));
    await page.getByText('Photos added: 1.').waitFor();
    const ids = await petsOf(person);
    assert.deepEqual(await Promise.all(ids.map(photosAt)), [[hashOf(second.buffer)], [hashOf(first.buffer)]]);
    await page.context().close();
  });

  it('limits the number and the size of chosen photos, and forgets them at sign-out', async () => {
    const { page } = await opened();
    page.on('dialog', dialog => dialog.accept());
    const small = await photo('1.png', '#a11');
    await choose(page, [{ ...small, name: 'large.png', buffer: Buffer.alloc(10 * 1024 * 1024 + 1) }]);
    await page.getByText('large.png: The file is larger than 10 MiB.').waitFor();
    await choose(
      page,
      Array.from({ length: 11 }, (_, index) => ({ ...small, name: `${index}.png` })),
    );
    await page.getByText('10.png: An animal has up to 10 photos.').waitFor();
    assert.equal(await page.locator('.chosen-photos li').count(), 10);
    await follow(page.getByRole('button', { name: 'Sign out' }));
    assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
    await page.context().close();
  });

  it('shows the step for photos after saving, without scripts', async () => {
    const { page } = await opened({ javaScriptEnabled: false });
    assert.match((await page.locator('#choose-photos').textContent())!, /Save first/);
    await page.getByLabel('Kind').selectOption('Dog');
    await page.getByLabel('Name', { exact: true }).fill('Bella');
    await follow(button(page, 'Save'));
    const { buffer, ...file } = await photo('1.png', '#a11');
    await page.getByLabel('Add a photo').setInputFiles({ ...file, buffer });
    const id = idIn(page);
    await follow(button(page, 'Upload'));
    assert.deepEqual(await photosAt(id), [hashOf(buffer)]);
    await page.context().close();
  });

  /** Adds a member to an account. @returns the secret of a session of the member */
  async function memberOf(accountId: number, role: 'staff' | 'viewer'): Promise<string> {
    const { accountId: personId } = await signedIn(service);
    return service.app.databases.production.write(async tx => {
      await insertMember(tx, { accountId, personId, role });
      return (await startSession(tx, personId, { address: '127.0.0.1', userAgent: 'Test' }, accountId)).secret;
    });
  }

  const photosAt = async (id: number) => photosOf(await read(id)).map(photo => photo.id);

  async function petsOf(person: Visitor): Promise<number[]> {
    const { text } = await person.open('/shelter/animals');
    return [...new Set(Array.from(text.matchAll(/"\/shelter\/animals\/(\d+)"/g), ([, id]) => Number(id)))];
  }
});

interface File {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

async function photo(name: string, color: string): Promise<File> {
  return { name, mimeType: 'image/png', buffer: await image('png', { color }) };
}

function choose(page: Page, files: readonly File[]): Promise<void> {
  const input: Locator = page.getByLabel('Choose photos');
  return input.setInputFiles([...files]);
}

/** Returns the values of every field with choices. */
function choicesIn(page: Page): Promise<Record<string, string[]>> {
  return page.locator('.animal-form').evaluate(form => {
    const found: Record<string, string[]> = {};
    for (const control of form.querySelectorAll<HTMLInputElement>('select, [type=radio], [type=checkbox]')) {
      const values =
        control instanceof HTMLSelectElement
          ? [...control.options].map(({ value }) => value).filter(value => value !== '')
          : [control.value];
      found[control.name] = [...(found[control.name] ?? []), ...values];
    }
    return found;
  });
}

async function gzipped(text: string): Promise<ArrayBuffer> {
  return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
}

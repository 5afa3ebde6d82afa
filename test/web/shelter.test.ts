import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { cookieNames, formTokenOf } from '../../src/access/sessions/cookies.ts';
import { createPet, getPet } from '../../src/store/pets/pets.ts';
import { photosOf } from '../../src/store/photo-references.ts';
import { hashOf, image } from '../support/photos.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser, violationsOn } from './browser.ts';
import { signedIn } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';

describe('the pages of a shelter', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  const read = (id: number) => getPet(service.app.databases.production, id, Date.now());

  it('begin without animals, with a drawing and the two ways to add some', async () => {
    const store = await serve();
    try {
      const address = new URL(store.urls.production).origin;
      const person = await signedIn(store);
      const page = await person.newPage(browser);
      for (const [path, way, title] of [
        ['/animals', 'Add an animal', 'Add an animal'],
        ['/animals?q=rex', 'Import a file', 'Imports'],
        ['/shelter/animals', 'Add an animal', 'Add an animal'],
      ] as const) {
        await page.goto(address + path);
        await page.getByText('There are no animals here yet.').waitFor();
        assert.equal(await page.locator('.lost svg:visible').count(), 1, path);
        assert.deepEqual(await violationsOn(page), [], path);
        await follow(page.locator('.lost').getByRole('link', { name: way }));
        assert.equal(await page.locator('h1').innerText(), title);
      }
      const { accountId } = await store.newKey();
      const pet = { name: 'Tom', categoryId: 2, status: 'available' } as const;
      await store.app.databases.production.write(tx => createPet(tx, accountId, pet, 'open'));
      await page.goto(`${address}/animals?q=rex`);
      assert.match(await page.locator('.empty').innerText(), /No animals match/);
      await page.goto(`${address}/shelter/animals`);
      await page.getByText('There are no animals here yet.').waitFor();
      await page.context().close();
    } finally {
      await store.stop();
    }
  });

  for (const javaScriptEnabled of [true, false]) {
    it(`add and edit an animal, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const person = await signedIn(service);
      const page = await person.newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/shelter/animals`);
      await follow(page.getByRole('link', { name: 'Add an animal' }));
      await page.locator('[name="name"]').fill(HOSTILE);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      assert.equal(await page.locator('#categoryId:invalid').count(), 1);
      await page.getByLabel('Kind').selectOption('Cat');
      const answers = (name: string) => page.getByRole('radiogroup', { name });
      await answers('Good with dogs').getByRole('radio', { name: 'Yes' }).check();
      await answers('Good with cats').getByRole('radio', { name: 'No', exact: true }).check();
      await page.locator('[name="tags"]').fill('calm\nplayful');
      await follow(page.getByRole('button', { name: 'Save', exact: true }));
      const id = Number(/(\d+)\?saved=new$/.exec(page.url())?.[1]);
      for (const [name, value] of [
        ['goodWith/dogs', 'yes'],
        ['goodWith/cats', 'no'],
        ['goodWith/children', ''],
      ] as const)
        assert.equal(await page.locator(`[name="${name}"]:checked`).inputValue(), value, name);
      await answers('Good with dogs').getByRole('radio', { name: 'Unknown' }).check();
      await follow(page.getByRole('button', { name: 'Save', exact: true }));
      await page.getByText('The animal is saved.').waitFor();

      const { body } = await send(`${service.urls.production}/pets?id=${id}&view=full`, {
        key: await service.newKey({ accountId: person.accountId, deployment: 'production' }),
      });
      assert.deepEqual(
        [body[0].name, body[0].categoryId, body[0].goodWith, body[0].traits, body[0].tags],
        [HOSTILE, 2, { dogs: 'unknown', cats: 'no' }, undefined, ['calm', 'playful']],
      );
      await page.context().close();
    });
  }

  it('keep texts byte for byte, entered texts beside errors, and changes by others', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const pets = `${service.urls.production}/pets`;
    const description = '\r\nOne\r\n\r\ntwo  \n';
    const { id } = (await send(pets, { method: 'POST', key, body: { name: 'Rex', categoryId: 1, description } })).body;
    const page = await person.newPage(browser);
    const path = `${origin}/shelter/animals/${id}`;
    await page.goto(path);
    await page.locator('[name="typedAge"]').fill('yesterday');
    await page.locator('[name="name"]').fill('Max');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.match((await page.locator('[id="typedAge-error"]').textContent())!, /^Must be an age such as 2 years/);
    assert.equal(await page.locator('[name="name"]').inputValue(), 'Max');
    assert.equal((await read(id)).name, 'Rex');
    await page.locator('[name="typedAge"]').fill('');
    await page.locator('[name="birthDate"]').fill('2024-05-01');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.deepEqual([(await read(id)).name, (await read(id)).description], ['Max', description]);

    await page.goto(path);
    await page.locator('[name="name"]').fill('Late');
    await send(`${pets}/${id}`, {
      method: 'PATCH',
      key,
      body: { name: 'First' },
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    await follow(page.getByRole('button', { name: 'Save' }));
    await page.getByText('has changed since').waitFor();
    assert.equal((await read(id)).name, 'First');
    await page.context().close();
  });

  it('add one animal when a form is sent twice', async () => {
    const person = await signedIn(service);
    const [, key] = /name="form-key" value="([^"]+)"/.exec((await person.open('/shelter/animals/new')).text) ?? [];
    const add = async (name: string) => {
      const form = { name, categoryId: '1', 'form-key': key! };
      const { status, headers } = await person.submit('/shelter/animals/new', form);
      return [status, headers['location']];
    };
    const [, first] = (await add('Twice')) as [number, string];
    assert.match(first, /^\/shelter\/animals\/\d+\?saved=new$/);
    const again = first.replace('new', 'before');
    assert.deepEqual(await add('Twice'), [303, again]);
    assert.match((await person.open(again)).text, /was saved before, so nothing has changed/);
    assert.notEqual((await add('Other'))[1], first);
    const list = (await person.open('/shelter/animals')).text;
    assert.equal(list.match(/<bdi>(Twice|Other)</g)!.length, 2);
  });

  it('save an organization once when a form is sent twice', async () => {
    const person = await signedIn(service);
    const save = async (form: Record<string, string>) =>
      (await person.submit('/shelter/organization', form)).headers['location'];
    const etag = async () => /name="etag" value="([^"]*)"/.exec((await person.open('/shelter/organization')).text)![1]!;
    for (const name of ['Rescue', 'Shelter']) {
      const form = { name, etag: (await etag()).replaceAll('&#34;', '"') };
      assert.equal(await save(form), '/shelter/organization?saved=yes');
      assert.equal(await save(form), '/shelter/organization?saved=yes');
    }
    assert.equal(await etag(), `&#34;${person.accountId}.2&#34;`);
  });

  it('store no age that follows from the date of birth', async () => {
    const person = await signedIn(service);
    const pet = { name: 'Rex', categoryId: 1, birthDate: '2020-05-01' };
    const { id } = await service.app.databases.production.write(tx => createPet(tx, person.accountId, pet, 'open'));
    const page = await person.newPage(browser);
    await page.goto(`${origin}/shelter/animals/${id}`);
    assert.equal(await page.locator('[name="age"]').inputValue(), '');
    await page.locator('[name="birthDate"]').fill('');
    await follow(page.getByRole('button', { name: 'Save', exact: true }));
    assert.deepEqual([(await read(id)).birthDate, (await read(id)).age], [null, null]);
    await page.context().close();
  });

  it('save the longest texts that the API takes', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const long = (length: number) => '🐶'.repeat(length);
    const pet = {
      ...{ name: long(255), categoryId: 1, description: long(10_000), specialNeedsNotes: long(1000) },
      tags: Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(2) + long(38)),
      videos: Array.from({ length: 10 }, (_, index) => `https://${index}/${long(990)}`),
    };
    const { id } = (await send(`${service.urls.production}/pets`, { method: 'POST', key, body: pet })).body;
    const organization = {
      ...{ name: 'Rescue', mission: long(2000), adoption: { policy: long(2000) } },
      socialMedia: Array.from({ length: 10 }, (_, index) => `https://${index}/${long(200)}`),
    };
    const url = `${service.urls.production}/organizations/${person.accountId}`;
    await send(url, { method: 'PUT', key, body: organization });
    const page = await person.newPage(browser);
    for (const path of [`animals/${id}`, 'organization']) {
      await page.goto(`${origin}/shelter/${path}`);
      await page.locator('[name="name"]').fill('Max');
      await follow(page.getByRole('button', { name: 'Save', exact: true }));
      await page.getByText('is saved.').waitFor();
    }
    const saved = (await send(`${service.urls.production}/pets?id=${id}&view=full`, { key })).body[0];
    assert.partialDeepStrictEqual(saved, { ...pet, name: 'Max' });
    assert.partialDeepStrictEqual((await send(url, { key })).body, { ...organization, name: 'Max' });
    await page.context().close();
  });

  it('take prices as people read them, in the decimals of the currency', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const pet = { name: 'Rex', categoryId: 1, price: { amount: 12_500, currency: 'EUR' } };
    const { id } = (await send(`${service.urls.production}/pets`, { method: 'POST', key, body: pet })).body;
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    const save = async (amount: string, currency: string) => {
      await page.goto(`${origin}/shelter/animals/${id}`);
      const shown = await page.locator('[name="price/amount"]').inputValue();
      await page.locator('[name="price/amount"]').fill(amount);
      await page.locator('[name="price/currency"]').fill(currency);
      await follow(page.getByRole('button', { name: 'Save', exact: true }));
      const { priceAmount, priceCurrency } = await read(id);
      return [shown, priceAmount, priceCurrency];
    };
    assert.deepEqual(await save('99.5', 'EUR'), ['125.00', 9950, 'EUR']);
    assert.deepEqual(await save('99.50', 'kwd'), ['99.50', 99_500, 'KWD']);
    assert.deepEqual(await save('1500', 'JPY'), ['99.500', 1500, 'JPY']);
    for (const [amount, currency, error] of [
      ['1500.5', 'JPY', 'Must be an amount such as 12500, without decimals.'],
      ['1.500', 'EUR', 'Must be an amount such as 125.00, with at most 2 decimals.'],
    ] as const) {
      await save(amount, currency);
      assert.equal(await page.locator('[id="price/amount-error"]').textContent(), error);
      assert.equal(await page.locator('[name="price/amount"]').inputValue(), amount);
    }
    await save('1', 'E1');
    await page.locator('[id="price/currency-error"]').waitFor();
    assert.deepEqual(await save('', 'JPY'), ['1500', null, null]);
    await page.context().close();
  });

  it('publish and change the organization of the account', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/shelter/animals`);
    await follow(page.getByRole('link', { name: 'Organization', exact: true }));
    await page.locator('[name="name"]').fill(HOSTILE);
    await page.locator('[name="address/city"]').fill('Springfield');
    await page.locator('[name="location/latitude"]').fill('north');
    await page.locator('[name="location/longitude"]').fill('200');
    await page.locator('[name="website"]').fill('javascript:alert(1)');
    await page.locator('[name="mission"]').fill('One\n\ntwo');
    await follow(page.getByRole('button', { name: 'Publish' }));
    for (const name of ['address/country', 'location/latitude', 'location/longitude', 'website'])
      assert.ok(await page.locator(`[id="${name}-error"]`).textContent(), name);
    assert.equal(await page.locator('[name="website"]').inputValue(), 'javascript:alert(1)');
    assert.equal((await person.open(`/organizations/${person.accountId}`)).status, 404);

    await page.locator('[name="address/country"]').fill('US');
    await page.locator('[name="location/latitude"]').fill('39.8');
    await page.locator('[name="location/longitude"]').fill('-89.6');
    await page.locator('[name="website"]').fill('https://example.org/');
    await page.locator('[name="hours/monday"]').fill('10:00–17:00');
    await page.locator('[name="socialMedia"]').fill('https://example.org/a\nhttps://example.org/b');
    await follow(page.getByRole('button', { name: 'Publish' }));
    await page.getByText('Your organization is saved.').waitFor();
    const url = `${service.urls.production}/organizations/${person.accountId}`;
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const stored = async () => (await send(url, { key })).body;
    const { etag, createdAt, updatedAt, ...first } = await stored();
    assert.deepEqual(first, {
      ...{ id: person.accountId, name: HOSTILE, mission: 'One\n\ntwo', website: 'https://example.org/' },
      address: { city: 'Springfield', country: 'US' },
      location: { latitude: 39.8, longitude: -89.6 },
      hours: { monday: '10:00–17:00' },
      socialMedia: ['https://example.org/a', 'https://example.org/b'],
    });

    await page.locator('[name="location/latitude"]').fill('');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.match((await page.getByRole('alert').first().textContent())!, /^Latitude is required/);
    await page.locator('[name="location/longitude"]').fill('');
    await page.locator('[name="hours/monday"]').fill('');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.deepEqual([(await stored()).location, (await stored()).hours], [undefined, undefined]);

    const saveWith = async (code: string, place?: readonly [latitude: string, longitude: string]) => {
      await page.getByLabel('Postal code').fill(code);
      if (place !== undefined) {
        await page.getByLabel('Latitude').fill(place[0]);
        await page.getByLabel('Longitude').fill(place[1]);
      }
      await follow(page.getByRole('button', { name: 'Save' }));
      const { location } = await stored();
      return location && [Math.floor(location.latitude), Math.floor(location.longitude)];
    };
    assert.deepEqual(await saveWith('62704'), [39, -90], 'the place of the code');
    assert.deepEqual(await saveWith('97214'), [45, -123], 'the place follows the code');
    assert.equal(await saveWith('99999'), undefined, 'an unknown code has no place');
    assert.deepEqual(await saveWith('97214', ['12.5', '13.5']), [12, 13], 'an exact place is kept');
    assert.deepEqual(await saveWith('62704'), [12, 13], 'beside another code too');
    assert.deepEqual(await saveWith('62704', ['', '']), [39, -90]);

    await page.locator('[name="name"]').fill('Late');
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    await send(url, { method: 'PATCH', key, body: { name: 'First' }, headers });
    await follow(page.getByRole('button', { name: 'Save' }));
    await page.getByText('has changed since').waitFor();
    assert.equal((await stored()).name, 'First');
    await follow(page.getByRole('link', { name: 'Public page' }).first());
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'First');
    await page.context().close();
  });

  it('upload photos, each with what became of it, and keep what was entered', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const pets = `${service.urls.production}/pets`;
    const { id } = (await send(pets, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } })).body;
    const [first, second, third] = await Promise.all(['#a11', '#1a1', '#11a'].map(color => image('png', { color })));
    const stored = async () => photosOf(await read(id)).map(photo => photo.id);
    const page = await person.newPage(browser, { viewport: { width: 320, height: 800 }, colorScheme: 'dark' });
    await page.goto(`${origin}/shelter/animals/${id}`);
    await page.locator('[name="name"]').fill('Max');
    const file = (name: string, buffer: Buffer) => ({ name, buffer, mimeType: 'image/png' });
    await page
      .getByLabel('Choose photos')
      .setInputFiles([
        file('1.png', first!),
        file(HOSTILE, Buffer.from('no photo at all')),
        file('large.png', Buffer.alloc(10 * 1024 * 1024 + 1)),
        file('2.png', second!),
      ]);
    await page.getByText('Photos added: 2. Not added: 2.').waitFor();
    assert.deepEqual(await stored(), [hashOf(first!), hashOf(second!)]);
    assert.deepEqual(await page.locator('.uploads li').allTextContents(), [
      '1.pngAdded',
      `${HOSTILE}The file must be JPEG, PNG or WebP.`,
      'large.pngThe file is larger than 10 MiB.',
      '2.pngAdded',
    ]);
    await page.locator('#add-photos').evaluate(
      (form, bytes) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([new Uint8Array(bytes)], '3.png', { type: 'image/png' }));
        const options = { dataTransfer, bubbles: true, cancelable: true };
        if (form.dispatchEvent(new DragEvent('dragover', options))) throw new Error('the form takes no files');
        if (!form.classList.contains('over')) throw new Error('the form does not show that it takes files');
        form.dispatchEvent(new DragEvent('drop', options));
      },
      [...third!],
    );
    await page.getByText('Photos added: 1.').waitFor();
    assert.equal(await page.locator('.gallery > li').count(), 3);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    assert.deepEqual(await violationsOn(page), []);
    await follow(page.getByRole('button', { name: 'Save', exact: true }));
    assert.equal((await read(id)).name, 'Max');
    assert.equal((await stored()).length, 3);
    await page.context().close();
  });

  it('show the photos of an organization, which its account uploads, describes and deletes', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const url = `${service.urls.production}/organizations/${person.accountId}`;
    await send(url, { method: 'PUT', key, body: { name: 'Maple Lane' } });
    const page = await person.newPage(browser, { viewport: { width: 320, height: 800 }, colorScheme: 'dark' });
    await page.goto(`${origin}/shelter/organization`);
    const file = { name: 'yard.png', buffer: await image('png', { color: '#1a1' }), mimeType: 'image/png' };
    await page.getByLabel('Choose photos').setInputFiles([file]);
    await page.getByText('Photos added: 1.').waitFor();
    await page.getByText('Change photo 1').click();
    await page.getByLabel('What photo 1 shows').fill('Our yard');
    await follow(page.getByRole('button', { name: 'Save photo 1' }));
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    assert.deepEqual(await violationsOn(page), []);
    await follow(page.getByRole('link', { name: 'Public page' }).first());
    await page.getByRole('img', { name: 'Our yard' }).waitFor();
    assert.match((await page.locator('meta[property="og:image"]').getAttribute('content'))!, /\/photos\/.*\/600\.jpg$/);
    assert.deepEqual(await violationsOn(page), []);
    await page.goto(`${origin}/shelter/organization`);
    await page.getByText('Change photo 1').click();
    await follow(page.getByRole('button', { name: 'Delete photo 1' }));
    assert.equal((await send(url, { key })).body.photos, undefined);
    await page.context().close();
  });

  it('upload a photo without scripts, for the owner only, with a token, up to 10 MiB', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const pet = { name: 'Rex', categoryId: 1 };
    const { id } = await service.app.databases.production.write(tx => createPet(tx, person.accountId, pet, 'open'));
    const buffer = await image('jpeg');
    const path = `/shelter/animals/${id}/photos`;
    const post = async (secret: string, token: string, bytes = buffer) => {
      const form = new FormData();
      form.append('token', token);
      form.append('photo', new Blob([new Uint8Array(bytes)]), 'rex.jpg');
      const headers = { cookie: `${cookieNames(origin).session}=${secret}`, accept: 'application/json' };
      return (await fetch(origin + path, { method: 'POST', headers, body: form })).status;
    };
    assert.equal(await post(stranger.secret, formTokenOf(stranger.secret)), 404);
    assert.equal(await post(person.secret, formTokenOf(stranger.secret)), 403);
    assert.equal((await person.submit(path)).status, 400);
    const max = 10 * 1024 * 1024;
    for (const length of [max + 1, max + 1024 * 1024]) {
      const large = Buffer.concat([buffer, Buffer.alloc(length - buffer.length)]);
      assert.equal(await post(person.secret, formTokenOf(person.secret), large), 413);
    }
    assert.deepEqual(photosOf(await read(id)), []);
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/shelter/animals/${id}`);
    await page.getByLabel('Add a photo').setInputFiles({ name: 'a', buffer: Buffer.alloc(9), mimeType: 'image/png' });
    await follow(page.getByRole('button', { name: 'Upload' }));
    await page.getByText('The file must be JPEG, PNG or WebP.').waitFor();
    await follow(page.getByRole('link', { name: 'Back to the animal' }));
    await page.getByLabel('Add a photo').setInputFiles({ name: 'a', buffer, mimeType: 'image/jpeg' });
    await follow(page.getByRole('button', { name: 'Upload' }));
    assert.deepEqual(
      photosOf(await read(id)).map(photo => photo.id),
      [hashOf(buffer)],
    );
    await page.context().close();
  });

  it('say what to do with the HEIC photo of an iPhone', async () => {
    const person = await signedIn(service);
    const pet = { name: 'Rex', categoryId: 1 };
    const { id } = await service.app.databases.production.write(tx => createPet(tx, person.accountId, pet, 'open'));
    const buffer = Buffer.concat([Buffer.from('\0\0\0\x24ftypheic\0\0\0\0mif1'), Buffer.alloc(800_000)]);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/shelter/animals/${id}`);
    await page.getByLabel('Choose photos').setInputFiles({ name: 'IMG.HEIC', buffer, mimeType: 'image/jpeg' });
    await page.getByText('This is a HEIC photo, as iPhones take them. Send it as JPEG').waitFor();
    await page.context().close();
  });

  it('order, describe and delete photos', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const photos = ['a', 'b'].map(letter => ({
      facts: {
        ...{ hash: letter.repeat(64), type: 'image/jpeg' as const, bytes: 9 },
        ...{ width: 600, height: 400, sizes_bytes: 9 },
      },
    }));
    const { id } = await service.app.databases.production.write(tx =>
      createPet(tx, person.accountId, { name: 'Rex', categoryId: 1 }, 'open', { photos }),
    );
    const stored = async () => photosOf(await read(id)).map(photo => [photo.id[0], photo.alt]);
    const path = `/shelter/animals/${id}/photos/${'b'.repeat(64)}`;
    assert.equal((await stranger.submit(path, { delete: 'yes' })).status, 404);
    assert.equal((await person.submit(path, { alt: 'x', position: '0' })).status, 422);
    for (const form of [{ delete: 'yes' }, { alt: 'x', position: '1' }]) {
      const stale = await person.submit(path, { ...form, etag: '"0"' });
      assert.equal(stale.status, 422);
      assert.match(stale.text, /has changed since/);
    }
    assert.deepEqual(await stored(), [
      ['a', undefined],
      ['b', undefined],
    ]);
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/shelter/animals/${id}`);
    await page.getByText('Change photo 2').click();
    await page.getByLabel('What photo 2 shows').fill(HOSTILE);
    await page.getByLabel('Position of photo 2').fill('1');
    await follow(page.getByRole('button', { name: 'Save photo 2' }));
    assert.deepEqual(await stored(), [
      ['b', HOSTILE],
      ['a', undefined],
    ]);
    await page.getByText('Change photo 2').click();
    await follow(page.getByRole('button', { name: 'Delete photo 2' }));
    assert.deepEqual(await stored(), [['b', HOSTILE]]);
    await page.context().close();
  });

  it('delete an animal after a confirmation, unless it is reserved', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const pets = `${service.urls.production}/pets`;
    const { id } = (await send(pets, { method: 'POST', key, body: { name: HOSTILE, categoryId: 1 } })).body;
    const path = `/shelter/animals/${id}/deletion`;
    assert.equal((await stranger.open(path)).status, 404);
    assert.equal((await stranger.submit(path)).status, 404);
    assert.equal((await person.submit(path)).status, 422);

    const hold = await send(`${service.urls.production}/holds`, { method: 'POST', key, body: { petIds: [id] } });
    assert.equal(hold.status, 201);
    const page = await person.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/shelter/animals/${id}`);
    await follow(page.getByRole('link', { name: 'Delete the animal' }));
    await page.getByText('An animal that is on hold or ordered cannot be deleted.').waitFor();
    await follow(page.getByRole('button', { name: 'Delete the animal' }));
    assert.match((await page.getByRole('alert').textContent())!, /is on hold until .* or end it first/);
    assert.equal((await read(id)).name, HOSTILE);

    const release = `${service.urls.production}/holds/${hold.body.id}/release`;
    assert.equal((await send(release, { method: 'POST', key })).status, 200);
    await page.goto(origin + path);
    assert.equal(await page.getByText('on hold').count(), 0);
    await follow(page.getByRole('button', { name: 'Delete the animal' }));
    await page.getByText('The animal is deleted.').waitFor();
    await assert.rejects(read(id), { code: 'pet_not_found' });
    await page.context().close();
  });

  it('hide the animals of others, fit every screen, and are accessible', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'production' });
    const body = { name: 'W'.repeat(255), categoryId: 1 };
    const { id } = (await send(`${service.urls.production}/pets`, { method: 'POST', key, body })).body;
    assert.equal((await stranger.open(`/shelter/animals/${id}`)).status, 404);
    assert.equal((await stranger.submit(`/shelter/animals/${id}`, { name: 'Mine' })).status, 404);
    const refused = (await person.submit('/shelter/animals/new', { name: 'Rex', categoryId: '0' })).text;
    assert.match((await person.submit('/shelter/animals/new', { name: 'Rex' })).text, /Choose a kind\./);
    assert.match(
      refused,
      /<select id="categoryId" name="categoryId" required aria-describedby="categoryId-error" aria-invalid/,
    );
    assert.match(refused, /<p class="error" id="categoryId-error">/);
    assert.match(refused, /<option value="pending">Reserved</);
    assert.match(refused, /<select id="status" name="status"><option value="available"/);
    for (const [field, error] of [
      ['name', 'Name is required.'],
      ['videos', 'Must be a URL that begins with https:// or http://.'],
      ['microchips', 'Must be 15 digits, or 9 or 10 letters and digits, such as 276098102345678.'],
    ]) {
      const form = { name: '', categoryId: '1', status: 'available', videos: 'x', microchips: '1' };
      const { text } = await person.submit('/shelter/animals/new', form);
      assert.equal(new RegExp(`id="${field}-error">([^<]*)`).exec(text)?.[1], error);
    }
    assert.match(refused, /<option value="owner_surrender">Owner surrender</);
    const page = await person.newPage(browser);
    for (const path of [
      '/shelter/animals',
      '/shelter/animals/new',
      `/shelter/animals/${id}`,
      `/shelter/animals/${id}/deletion`,
      '/shelter/organization',
    ]) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    await page.context().close();
  });
});

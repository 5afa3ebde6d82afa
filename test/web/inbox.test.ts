import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { deletePet } from '../../src/store/pets/pets.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';
import { anonymous, signedIn, type Visitor } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';

describe('the inbox of an account', { skip: skipBrowser }, () => {
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

  async function post(url: string, key: Awaited<ReturnType<TestService['newKey']>>, body: object): Promise<number> {
    const { status, body: created } = await send(url, { method: 'POST', key, body });
    assert.ok(status < 300, JSON.stringify(created));
    return created.id;
  }

  /** Returns a shelter with an animal, and a function with which a developer's key writes about it. */
  async function shelter(name: string) {
    const person = await signedIn(service);
    const ownKey = await service.newKey({ accountId: person.accountId });
    const otherKey = await service.newKey({ accountId: (await signedIn(service)).accountId });
    const petId = await post(`${service.urls.production}/pets`, ownKey, { name, categoryId: 2 });
    const write = (message: string, options = {}) =>
      post(`${service.urls.messages}/messages`, otherKey, { message, petId, ...options });
    return { person, petId, write, ownKey };
  }

  const rows = (text: string) => text.match(/<tr><th scope="row">/g)?.length ?? 0;
  const arrived = (person: Visitor, count: number) =>
    waitUntil(async () => rows((await person.open('/shelter/messages')).text) === count);

  it('begins empty, and shows what keys and visitors ask about its animals, the newest first', async () => {
    const { person, petId, write } = await shelter('Bella');
    const page = await person.newPage(browser);
    await page.goto(`${origin}/shelter/messages`);
    await page.getByText('No one has written to you.').waitFor();
    await write(`First\n${HOSTILE}`, { replyTo: 'jo@example.org' });
    await arrived(person, 1);
    const asked = { name: 'Ann', email: 'ann@example.org', message: 'Is she fine with cats?\n\nAnd dogs?' };
    await anonymous(service).submit(`/animals/${petId}`, asked);
    await arrived(person, 2);
    await page.reload();
    const cells = await page
      .locator('tbody tr')
      .evaluateAll(all =>
        all.map(row =>
          [...row.querySelectorAll('th, td')].slice(0, 3).map(cell => (cell as HTMLElement).innerText.trim()),
        ),
      );
    assert.deepEqual(cells, [
      ['Is she fine with cats? And dogs?', 'Bella', 'Ann, ann@example.org Address not confirmed'],
      [`First ${HOSTILE}`, 'Bella', 'jo@example.org'],
    ]);
    await follow(page.getByRole('link', { name: 'Is she fine' }));
    assert.equal(await page.locator('h1').innerText(), 'Message about Bella');
    assert.equal(await page.locator('.message').innerText(), 'Is she fine with cats?\n\nAnd dogs?');
    assert.equal(
      await page.getByRole('link', { name: 'Reply by e-mail' }).getAttribute('href'),
      'mailto:ann@example.org?subject=Your%20message%20about%20Bella',
    );
    assert.deepEqual(await violationsOn(page), []);
    await assertFits(page, 'a message');
    await follow(page.getByRole('link', { name: 'All messages' }));
    assert.deepEqual(await violationsOn(page), []);
    await assertFits(page, 'the inbox');
    await page.context().close();
  });

  it('keeps the messages about animals that are gone', async () => {
    const { person, petId, write } = await shelter('Tom');
    const id = await write('Is he still there?');
    await arrived(person, 1);
    const actor = { accountId: person.accountId, admin: false };
    await service.app.databases.production.write(tx => deletePet(tx, actor, petId));
    for (const path of ['/shelter/messages', `/shelter/messages/${id}`]) {
      const { status, text } = await person.open(path);
      assert.equal(status, 200);
      assert.match(text, /An animal that is gone/);
    }
  });

  it('shows no message of another account, and none that the account sent', async () => {
    const { write, ownKey, person } = await shelter('Max');
    const id = await write('For the shelter only');
    await arrived(person, 1);
    const sent = await post(`${service.urls.messages}/messages`, ownKey, { message: 'To the store' });
    const stranger = await signedIn(service);
    assert.equal((await person.open(`/shelter/messages/${id}`)).status, 200);
    for (const [visitor, message] of [
      [stranger, id],
      [person, sent],
      [person, 'msg_999999'],
      [person, 'x'],
    ] as const) {
      assert.equal((await visitor.open(`/shelter/messages/${message}`)).status, 404);
    }
    assert.ok(!(await stranger.open('/shelter/messages')).text.includes('For the shelter'));
    assert.ok(!(await person.open('/shelter/messages')).text.includes('To the store'));
  });
});

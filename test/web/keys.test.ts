import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { listKeys } from '../../src/access/keys/keys.ts';
import { send, type TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser, violationsOn } from './browser.ts';
import { endAllSessions, signedIn, signedInTo } from './session.ts';

describe('the pages of API keys', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  for (const javaScriptEnabled of [true, false]) {
    it(`create a key that works, and revoke it, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const person = await signedIn(service);
      const page = await person.newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/keys`);
      await page.getByRole('link', { name: 'New API key' }).click();
      await page.getByLabel('Name').fill('Adoption site');
      await page.getByLabel('Staging').check();
      await page.getByRole('button', { name: 'Create key' }).click();
      const token = (await page.locator('#token code').textContent())!;
      const call = (await page.locator('#call code').textContent())!;
      assert.ok(call.includes(token) && call.includes(service.urls.staging), call);
      assert.equal((await send(`${service.urls.staging}/pets`, { key: token })).status, 200);
      await page.getByText('Use it with an AI agent').click();
      const [claude, vsCode, other] = await page.locator('details pre').allInnerTexts();
      const { url, headers } = JSON.parse(other!).mcpServers['pet-store'];
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      assert.ok((await send(url, { method: 'POST', headers, body })).body.result.tools.length > 0);
      assert.ok(claude!.includes(`${url} --header "Authorization: Bearer ${token}"`));
      assert.deepEqual([JSON.parse(vsCode!).servers['pet-store'].url, vsCode!.includes(token)], [url, false]);

      await page.goto(`${origin}/keys`);
      assert.ok(!(await page.content()).includes(token), 'the token is shown once');
      await page.getByRole('link', { name: 'Adoption site' }).click();
      await page.getByRole('button', { name: 'Revoke key' }).click();
      await page.getByText('is revoked').waitFor();
      const refused = await send(`${service.urls.staging}/pets`, { key: token });
      assert.deepEqual([refused.status, refused.body.code], [401, 'revoked_api_key']);
      await page.context().close();
    });
  }

  it('rotate a key, and show the new token once', async () => {
    const person = await signedIn(service);
    const old = await service.newKey({ accountId: person.accountId, deployment: 'staging', name: 'App' });
    const page = await person.newPage(browser);
    await page.goto(`${origin}/keys/${old.id}`);
    await page.getByLabel('How long this key keeps working').selectOption('Not at all');
    await page.getByRole('button', { name: 'Rotate key' }).click();
    const token = (await page.locator('#token code').textContent())!;
    assert.equal((await send(`${service.urls.staging}/pets`, { key: token })).status, 200);
    assert.equal((await send(`${service.urls.staging}/pets`, { key: old })).body.code, 'expired_api_key');
    await page.context().close();
  });

  it('make one key of a form, however often its page is loaded again', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    const keys = async () => (await listKeys(service.app.databases.production, person.accountId)).length;
    await page.goto(`${origin}/keys/new`);
    await page.getByLabel('Name').fill('Once');
    await follow(page.getByRole('button', { name: 'Create key' }));
    await page.getByRole('heading', { name: 'Your key is ready' }).waitFor();
    for (let times = 0; times < 2; times++) await page.reload();
    await page.getByText('If you have not copied the key, rotate it').waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Once');
    assert.equal(await keys(), 1);

    await follow(page.getByRole('button', { name: 'Rotate key' }));
    await page.getByRole('heading', { name: 'Your new key is ready' }).waitFor();
    await page.reload();
    await page.getByText('If you have not copied the key, rotate it').waitFor();
    assert.equal(await keys(), 2);

    // Another form with the same entries makes another key.
    await page.goto(`${origin}/keys/new`);
    await page.getByLabel('Name').fill('Once');
    await follow(page.getByRole('button', { name: 'Create key' }));
    assert.equal(await keys(), 3);
    await page.context().close();
  });

  it('keep the entries of a form that is out of date', async () => {
    const person = await signedIn(service);
    const names = async () => (await listKeys(service.app.databases.production, person.accountId)).map(key => key.name);
    const again = await signedInTo(service, person.accountId);
    const page = await person.newPage(browser);
    const fill = async (name: string) => {
      await page.goto(`${origin}/keys/new`);
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Read only').check();
    };
    const sendAgain = () => follow(page.getByRole('button', { name: 'Send again' }));

    // Signed out and in again in another tab, with a session that knows no other form.
    await fill('Kept');
    await page.context().addCookies([again.cookie]);
    await follow(page.getByRole('button', { name: 'Create key' }));
    await page.getByText('This form is out of date, so nothing was changed.').waitFor();
    assert.deepEqual(await violationsOn(page), []);
    await sendAgain();
    await page.getByRole('heading', { name: 'Your key is ready' }).waitFor();

    // Signed out, on another device too: signing in in another tab is enough.
    await fill('Kept too');
    await endAllSessions(service, person.accountId);
    await follow(page.getByRole('button', { name: 'Create key' }));
    assert.match((await page.getByRole('link', { name: 'Sign in in a new tab' }).getAttribute('href'))!, /^\/sign-in$/);
    await page.context().addCookies([(await signedInTo(service, person.accountId)).cookie]);
    await sendAgain();
    await page.getByRole('heading', { name: 'Your key is ready' }).waitFor();
    assert.deepEqual((await names()).sort(), ['Kept', 'Kept too']);
    await page.context().close();
  });

  it('limit a key to the chosen scopes, and say what is wrong with a form', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/keys/new`);
    await page.getByLabel('Name').fill('Reader');
    await page.getByLabel('Only these scopes').check();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.locator('#scope-error', { hasText: 'Choose at least one scope.' }).waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), 'Reader');
    await page.getByText('pets:read', { exact: true }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const token = (await page.locator('#token code').textContent())!;
    assert.equal((await send(`${service.urls.staging}/pets`, { key: token })).status, 200);
    const refused = await send(`${service.urls.staging}/pets`, { key: token, method: 'POST', body: {} });
    assert.equal(refused.body.code, 'insufficient_scope');
    await page.context().close();
  });

  it('give a key a budget within the limits of the account', async () => {
    const person = await signedIn(service);
    const form = { name: 'Small', deployment: 'staging', access: 'all' };
    for (const perMinute of ['0', '61', '1.5', 'ten', '1e9']) {
      const refused = await person.submit('/keys/new', { ...form, perMinute });
      assert.equal(refused.status, 422, perMinute);
      assert.match(refused.text, /requests per minute must be a whole number from 1 to 60/);
    }
    const { text } = await person.submit('/keys/new', { ...form, perMinute: '2' });
    const token = /petstore_test_\w+/.exec(text)![0];
    const statuses = [];
    for (let count = 0; count < 3; count++) {
      statuses.push((await send(`${service.urls.staging}/pets`, { key: token })).status);
    }
    assert.deepEqual(statuses, [200, 200, 429]);
  });

  it('fit every screen, and are accessible', async () => {
    const person = await signedIn(service, { name: 'A shelter with quite a long name, Riverside and Northern Valley' });
    const key = await service.newKey({ accountId: person.accountId, name: 'x'.repeat(255) });
    const page = await person.newPage(browser);
    for (const path of ['/keys', '/keys/new', `/keys/${key.id}`]) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      // On a phone, a row of a table is a card that names its columns, so that nothing is out of sight.
      await page.goto(`${origin}/keys`);
      const cell = page.locator('td[data-column="State"]').first();
      const named = await cell.evaluate(element => getComputedStyle(element, '::before').content);
      assert.equal(named, width < 640 ? '"State"' : 'none');
      const box = (await cell.boundingBox())!;
      assert.ok(width >= 640 || box.x + box.width <= width, `${JSON.stringify(box)} on a screen of ${width}`);
    }
    await page.context().close();
  });

  it('show and change nothing of another account', async () => {
    const [owner, stranger] = [await signedIn(service), await signedIn(service, { admin: true })];
    const key = await service.newKey({ accountId: owner.accountId, name: 'Private' });
    assert.equal((await owner.open(`/keys/${key.id}`)).status, 200);
    assert.equal((await stranger.open(`/keys/${key.id}`)).status, 404);
    for (const action of ['rotate', 'revoke']) {
      assert.equal((await stranger.submit(`/keys/${key.id}/${action}`)).status, 404);
    }
    assert.ok(!(await stranger.open('/keys')).text.includes('Private'));
    const keys = await listKeys(service.app.databases.production, owner.accountId);
    assert.deepEqual(
      keys.map(({ id, revokedAt }) => [id, revokedAt]),
      [[key.id, null]],
    );
  });

  it('bound how many keys an account creates', async () => {
    const person = await signedIn(service);
    const create = () => person.submit('/keys/new', { name: 'Many', deployment: 'staging', access: 'all' });
    for (let count = 0; count < 60; count++) assert.equal((await create()).status, 200);
    const refused = await create();
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) > 3000);
  });

  it('record who created a key', async () => {
    const person = await signedIn(service);
    const reply = await person.submit('/keys/new', { name: 'Seen', deployment: 'production', access: 'all' });
    const token = /petstore_live_\w+/.exec(reply.text)![0];
    const audit = await send(`${service.urls.production}/audit?types=key.created`, { key: token });
    assert.equal(audit.body[0].sessionId !== undefined, true, JSON.stringify(audit.body));
    assert.equal(audit.body[0].requestId, reply.headers['x-request-id']);
    assert.equal(audit.body[0].keyId, undefined);
  });
});

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { attemptLimits } from '../../src/access/sessions/attempts.ts';
import { listDeliveries } from '../../src/events/deliveries/deliveries.ts';
import { getWebhook } from '../../src/events/webhooks/webhooks.ts';
import { operator } from '../../src/model/log/event.ts';
import { scopesFor } from '../../src/model/roles.ts';
import { scopeSet } from '../../src/model/scopes.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { verified } from '../support/webhooks-over-http.ts';
import { assertFits, follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';
import { signedIn, signedInAs, type Visitor } from './session.ts';

describe('the pages of webhooks', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  let receiver: Receiver;
  const receivers: Receiver[] = [];
  before(async () => {
    service = await serve({
      environment: { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8', PETSTORE_WEBHOOK_SCHEDULE: '1d,1d' },
    });
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
  });
  beforeEach(async () => {
    receiver = await startReceiver();
    receivers.push(receiver);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await Promise.all(receivers.map(one => one.close()));
  });

  const database = (name: 'production' | 'staging' = 'production') => service.app.databases[name]!;
  const rowOf = (id: number, name?: 'staging') => getWebhook(database(name), operator, id);

  /** Creates a webhook of an account on production over the API. */
  async function newWebhook({ accountId }: Visitor, members = {}) {
    const key = await service.newKey({ accountId });
    const body = { url: receiver.url, ...members };
    const made = await send(`${service.urls.production}/webhooks`, { method: 'POST', key, body });
    assert.equal(made.status, 201, made.text);
    const webhook = await rowOf(made.body.id);
    return { webhook, secret: made.body.secret as string };
  }

  const secretOn = async (page: Page) => (await page.locator('#secret code').textContent())!;
  const press = (page: Page, name: string) => follow(page.getByRole('button', { name, exact: true }));
  const etagIn = (text: string) => /name="etag" value="([^"]*)"/.exec(text)![1]!.replaceAll(/&(quot|#34);/g, '"');

  for (const javaScriptEnabled of [true, false]) {
    it(`create, test, activate and redeliver, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const person = await signedIn(service);
      const key = await service.newKey({ accountId: person.accountId });
      const page = await person.newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/webhooks`);
      await follow(page.getByRole('link', { name: 'New webhook' }));
      await page.getByLabel('URL').fill(receiver.url);
      await page.getByLabel('Description').fill('Adoption site');
      await press(page, 'Create webhook');
      const secret = await secretOn(page);
      await follow(page.getByRole('link', { name: 'Continue to the webhook' }));
      const path = new URL(page.url()).pathname;
      const id = Number(path.split('/').at(-1));
      assert.ok(!(await page.content()).includes(secret), 'the secret is shown once');

      receiver.respond = (_, response) => response.writeHead(503).end('Back <b>soon</b>');
      await press(page, 'Send a test');
      await page.getByText('Back <b>soon</b>').waitFor();
      assert.match(await page.locator('tbody').innerText(), /503/);
      await page.goBack();
      await press(page, 'Test and activate');
      await page.getByText('The receiver responded to the test with status 503').waitFor();
      assert.equal((await rowOf(id)).status, 'inactive');
      receiver.respond = (_, response) => response.writeHead(204).end();
      await press(page, 'Test and activate');
      await page.getByText('The receiver accepted a test.').waitFor();
      const { status, keyId, scopes } = await rowOf(id);
      assert.deepEqual([status, keyId, scopes], ['active', null, '*']);
      for (const test of receiver.received) assert.equal(verified(test, secret).type, 'webhook.test');
      assert.match(
        await page.locator('dl').nth(1).innerText(),
        /Delivered\s+33 % of the latest 3[\s\S]*Failed\s+2 of the latest 3/,
      );

      const since = new Date().toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
      const made = await send(`${service.urls.production}/pets`, {
        method: 'POST',
        key,
        body: { name: 'Minka', categoryId: 2 },
      });
      assert.equal(made.status, 201);
      await waitUntil(() => receiver.received.some(({ body }) => body.includes('pet.created')));
      const eventId = String(receiver.received.at(-1)!.headers['webhook-id']);
      const delivered = async (count: number) => {
        const filter = { status: 'delivered', eventId } as const;
        return (await listDeliveries(database(), operator, id, filter, { limit: 50 })).rows.length === count;
      };
      await waitUntil(() => delivered(1));
      await page.goto(origin + path);
      await press(page, 'Redeliver');
      await page.getByText('The event is delivered again.').waitFor();
      await waitUntil(() => delivered(2));
      await page.getByLabel('Since, UTC').fill('2999-01-01T00:00');
      await press(page, 'Deliver again');
      await page.locator('#since-error', { hasText: 'Must not be later than now' }).waitFor();
      await page.getByLabel('Since, UTC').fill(since);
      await press(page, 'Deliver again');
      await page.getByText('The events since then are delivered again').waitFor();
      await waitUntil(() => delivered(3));

      await press(page, 'Deactivate webhook');
      await page.getByText('The webhook is inactive.').waitFor();
      await press(page, 'Delete webhook');
      await page.getByText('The webhook is deleted.').waitFor();
      assert.equal((await person.open(path)).status, 404);
      await page.context().close();
    });
  }

  it('show the attempts of deliveries, and when the next one is due', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId });
    const { webhook } = await newWebhook(person, { types: ['pet.*'] });
    const path = `/webhooks/${webhook.id}`;
    const shown = await person.open(path);
    await person.submit(`${path}/activation`, { etag: etagIn(shown.text) });
    assert.equal((await rowOf(webhook.id)).status, 'active');
    receiver.respond = (_, response) => response.writeHead(500).end();
    await send(`${service.urls.production}/pets`, { method: 'POST', key, body: { name: 'Minka', categoryId: 2 } });
    await waitUntil(async () => (await rowOf(webhook.id)).failingSince !== null);
    const page = await person.newPage(browser);
    await page.goto(origin + path);
    await follow(page.getByRole('link', { name: 'Pending', exact: true }));
    const row = page.locator('tbody tr');
    assert.match(await row.innerText(), /pet\.created\s+Pending[\s\S]*500 [\s\S]*UTC[\s\S]*UTC/);
    assert.equal(await page.getByText('Failing', { exact: true }).count(), 1);
    await assertFits(page, 'a failing webhook');
    await follow(row.getByRole('link'));
    assert.match(await page.locator('dl').innerText(), /Next attempt\s+\d+ \w+ \d+, \d\d:\d\d UTC/);
    await assertFits(page, 'a delivery');
    await page.goto(`${origin}/webhooks`);
    assert.match(await page.locator('tbody').innerText(), /Failing[\s\S]*pet\.\*[\s\S]*100 %/);
    await page.context().close();
  });

  it('rotate the secret, and sign with the new one', async () => {
    const person = await signedIn(service);
    const { webhook, secret: old } = await newWebhook(person);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/webhooks/${webhook.id}`);
    await page.getByLabel('How long previous secrets also sign').selectOption('Not at all');
    await press(page, 'Rotate secret');
    const secret = await secretOn(page);
    assert.notEqual(secret, old);
    await page.reload();
    await page.getByText('The page that showed the secret is closed.').waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await press(page, 'Send a test');
    assert.equal(verified(receiver.received.at(-1)!, secret).type, 'webhook.test');
    assert.throws(() => verified(receiver.received.at(-1)!, old));
    await page.goto(`${origin}/webhooks/${webhook.id}`);
    await press(page, 'Rotate secret');
    const newest = await secretOn(page);
    await page.context().close();
    assert.equal((await person.submit(`/webhooks/${webhook.id}/test`)).status, 303);
    for (const one of [secret, newest]) assert.equal(verified(receiver.received.at(-1)!, one).type, 'webhook.test');
  });

  it('change a webhook, and keep what another page changed', async () => {
    const person = await signedIn(service);
    const { webhook } = await newWebhook(person, { types: ['order.*', 'pet.created'], categoryIds: [2, 5] });
    const path = `/webhooks/${webhook.id}/edit`;
    const page = await person.newPage(browser);
    await page.goto(origin + path);
    assert.equal(await page.getByLabel('Categories').inputValue(), '2 5');
    await assertFits(page, 'the form of a webhook');
    await press(page, 'Save');
    assert.equal((await rowOf(webhook.id)).version, webhook.version, 'nothing has changed');
    await page.goto(origin + path);
    const { text } = await person.open(path);
    await page.getByText('pet.created', { exact: true }).click();
    await page.getByLabel('Categories').fill('cats');
    await press(page, 'Save');
    await page.locator('#categoryIds-error', { hasText: 'Enter the ids of categories, such as 2 5.' }).waitFor();
    assert.deepEqual(await violationsOn(page), []);
    await page.getByLabel('Categories').fill('2, 5, 7');
    await press(page, 'Save');
    await page.getByText('Saved.').waitFor();
    const saved = await rowOf(webhook.id);
    assert.deepEqual([saved.types, saved.categoryIds, saved.url], ['["order.*"]', '[2,5,7]', receiver.url]);
    const late = { etag: etagIn(text), url: `${receiver.url}/late`, events: 'all' };
    const refused = await person.submit(path, late);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /The webhook has changed since/);
    assert.equal((await rowOf(webhook.id)).version, saved.version);
    await page.context().close();
  });

  it('act for a key with its scopes, if one is chosen', async () => {
    const [person, other] = [await signedIn(service), await signedIn(service)];
    const scopes = ['pets:read', 'webhooks:write'];
    const key = await service.newKey({ accountId: person.accountId, name: 'Pets only', scopes });
    const unfit = [
      await service.newKey({ accountId: person.accountId, scopes: ['pets:read'] }),
      await service.newKey({ accountId: person.accountId, deployment: 'staging' }),
      await service.newKey({ accountId: other.accountId }),
    ];
    const form = { url: receiver.url, events: 'all' };
    for (const { id } of unfit) {
      const refused = await person.submit('/webhooks/new', { ...form, key: id });
      assert.equal(refused.status, 422);
      assert.match(refused.text, /id="key-error">Choose your account, or one of its active keys\./);
    }
    const page = await person.newPage(browser);
    await page.goto(`${origin}/webhooks/new`);
    const options = await page.getByLabel('Acts for').locator('option').allTextContents();
    assert.equal(options.length, 2, options.join());
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Acts for').selectOption(key.id);
    await press(page, 'Create webhook');
    await follow(page.getByRole('link', { name: 'Continue to the webhook' }));
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    assert.equal(await page.getByLabel('Acts for').inputValue(), key.id, 'its key stays the choice');
    await press(page, 'Test and activate');
    const row = await rowOf(id);
    assert.deepEqual([row.status, row.keyId, row.scopes], ['active', key.id, scopes.join(' ')]);

    // Once its key has ended, an activation does not widen what it receives unless somebody chooses so.
    await person.submit(`/keys/${key.id}/revoke`);
    assert.equal((await rowOf(id)).disabledReason, 'key_revoked');
    const shown = await person.open(`/webhooks/${id}`);
    for (const choice of [{}, { key: '' }, { key: key.id }]) {
      const form = { etag: etagIn(shown.text), ...choice };
      const { status, text } = await person.submit(`/webhooks/${id}/activation`, form);
      assert.equal(status, 422);
      assert.match(text, /id="key-error">Choose your account/);
    }
    await page.reload();
    assert.match(await page.locator('dl').first().innerText(), /Disabled .*: its key was revoked/);
    await page.getByLabel('Acts for').selectOption('Your account');
    await press(page, 'Test and activate');
    const after = await rowOf(id);
    assert.deepEqual([after.status, after.keyId, after.scopes], ['active', null, '*']);
    await page.context().close();
  });

  it('of an admin’s account are those of its owners', async () => {
    const owner = await signedIn(service, { admin: true });
    const [developer, colleague] = [
      await signedInAs(service, owner.accountId, 'developer'),
      await signedInAs(service, owner.accountId, 'owner'),
    ];
    const { webhook } = await newWebhook(owner);
    const path = `/webhooks/${webhook.id}`;
    const changed = { url: 'https://elsewhere.example/', events: 'all', etag: '' };
    for (const step of ['edit', 'secrets', 'activation', 'deactivation', 'test', 'redeliveries', 'deletion']) {
      assert.equal((await developer.submit(`${path}/${step}`, changed)).status, 403, step);
    }
    for (const part of ['', '/edit', '/deliveries/1']) {
      assert.equal((await developer.open(path + part)).status, 403, part);
    }
    assert.equal((await developer.submit('/webhooks/new', changed)).status, 422);
    assert.deepEqual(await rowOf(webhook.id), webhook);
    assert.match((await colleague.submit(`${path}/secrets`, { overlap: '' })).text, /Your new secret is ready/);
  });

  it('give a webhook no scopes that the member may not give to a key', async () => {
    const owner = await signedIn(service);
    const developer = await signedInAs(service, owner.accountId, 'developer');
    const every = await service.newKey({ accountId: owner.accountId, name: 'Every scope' });
    const form = { url: receiver.url, events: 'all' };
    const { text } = await developer.submit('/webhooks/new', form);
    const id = Number(/\/webhooks\/(\d+)/.exec(text)![1]);
    assert.deepEqual(scopeSet((await rowOf(id)).scopes), new Set(scopesFor('developer', { admin: false })));
    assert.equal((await developer.submit('/webhooks/new', { ...form, key: every.id })).status, 422);
    assert.ok(!(await developer.open('/webhooks/new')).text.includes(every.id));
    assert.ok((await owner.open('/webhooks/new')).text.includes(every.id));
    const { webhook } = await newWebhook(owner);
    const etag = etagIn((await developer.open(`/webhooks/${webhook.id}`)).text);
    const refused = await developer.submit(`/webhooks/${webhook.id}/activation`, { etag });
    assert.match(refused.text, /id="key-error">Choose your account/);
    assert.deepEqual(await rowOf(webhook.id), webhook);
    assert.equal(receiver.received.length, 0);
  });

  it('show the webhooks of staging', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/webhooks`);
    await follow(page.locator('main').getByRole('link', { name: 'Staging' }));
    await follow(page.getByRole('link', { name: 'New webhook' }));
    await page.getByLabel('URL').fill(receiver.url);
    await press(page, 'Create webhook');
    const secret = await secretOn(page);
    await follow(page.getByRole('link', { name: 'Continue to the webhook' }));
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    await press(page, 'Test and activate');
    await page.getByText('The receiver accepted a test.').waitFor();
    assert.deepEqual(
      [(await rowOf(id, 'staging')).accountId, (await rowOf(id, 'staging')).status],
      [person.accountId, 'active'],
    );
    assert.equal(verified(receiver.received[0]!, secret).type, 'webhook.test');
    assert.equal((await person.open(`/webhooks/${id}?deployment=nowhere`)).status, 404);
    await page.context().close();
  });

  it('show and change nothing of another account', async () => {
    const [person, stranger] = [await signedIn(service), await signedIn(service, { admin: true })];
    const { webhook } = await newWebhook(person, { description: 'Private' });
    const path = `/webhooks/${webhook.id}`;
    const delivery = String((await person.submit(`${path}/test`)).headers.location);
    assert.equal((await person.open(delivery)).status, 200);
    for (const one of [path, `${path}/edit`, delivery, `${path}/test`])
      assert.equal((await stranger.open(one)).status, 404);
    const other = await newWebhook(stranger);
    const mixed = delivery.replace(path, `/webhooks/${other.webhook.id}`);
    assert.equal((await stranger.open(mixed)).status, 404);
    const count = receiver.received.length;
    for (const name of ['edit', 'test', 'activation', 'deactivation', 'redeliveries', 'secrets', 'deletion']) {
      assert.equal((await stranger.submit(`${path}/${name}`, { url: receiver.url })).status, 404, name);
    }
    assert.equal(receiver.received.length, count);
    assert.ok(!(await stranger.open('/webhooks')).text.includes('Private'));
    assert.deepEqual(await rowOf(webhook.id), webhook);
  });

  it('escape hostile texts', async () => {
    const person = await signedIn(service);
    const hostile = '"><script>alert(1)</script>\u202e';
    const url = `${receiver.url}?a=%22%3E<img/onerror=x>'&amp;`;
    const { webhook } = await newWebhook(person, { url, description: `مرحبا ${hostile}` });
    receiver.respond = (_, response) => response.writeHead(500).end(hostile);
    const { location } = (await person.submit(`/webhooks/${webhook.id}/test`)).headers;
    for (const path of ['/webhooks', `/webhooks/${webhook.id}`, `/webhooks/${webhook.id}/edit`, String(location)]) {
      const { text } = await person.open(path);
      assert.ok(!/<script>alert|<img/.test(text), path);
    }
    const page = await person.newPage(browser);
    await page.goto(`${origin}/webhooks/${webhook.id}`);
    assert.ok((await page.locator('dl').first().innerText()).includes(url));
    await assertFits(page, 'hostile texts');
    await page.context().close();
    for (const types of ['', 'pet.*x', '__proto__']) {
      const { status } = await person.submit('/webhooks/new', { url: receiver.url, events: 'chosen', types });
      assert.equal(status, 422, types);
    }
    assert.deepEqual((await rowOf(webhook.id)).url, url);
  });

  it('reject the URLs that the API rejects, with its messages', async t => {
    const strict = await serve();
    t.after(() => strict.stop());
    const person = await signedIn(strict);
    const key = await strict.newKey({ accountId: person.accountId });
    const api = `${strict.urls.production}/webhooks`;
    const { body } = await send(api, { method: 'POST', key, body: { url: 'https://example.org/' } });
    const edit = `/webhooks/${body.id}/edit`;
    const etag = etagIn((await person.open(edit)).text);
    const urls = ['http://example.org/', 'https://user:secret@example.org/', 'https://example.org:6379/', 'ftp://x/'];
    urls.push(
      'https://169.254.169.254/',
      'https://[::1]/',
      'javascript:alert(1)',
      `https://example.org/${'x'.repeat(2048)}`,
    );
    for (const url of urls) {
      const rejected = await send(api, { method: 'POST', key, body: { url } });
      assert.equal(rejected.status, 400, rejected.text);
      for (const path of ['/webhooks/new', edit]) {
        const { status, text } = await person.submit(path, { url, events: 'all', etag });
        const error = /id="url-error">([^<]*)/.exec(text)?.[1];
        assert.deepEqual([status, error], [422, rejected.body.errors[0].message], `${path} ${url}`);
      }
    }
    const empty = await person.submit('/webhooks/new', { url: ' ', events: 'all' });
    assert.match(empty.text, /id="url-error">Enter the URL of your receiver\./);
  });

  it('bound the webhooks and the tests of an account', async () => {
    const person = await signedIn(service);
    const create = () => person.submit('/webhooks/new', { url: receiver.url, events: 'all' });
    for (let count = 0; count < 10; count++) assert.equal((await create()).status, 200);
    const refused = await create();
    assert.equal(refused.status, 422);
    assert.match(refused.text, /The account already has the maximum of 10 webhooks\. Delete one first\./);
    const { text } = await person.open('/webhooks');
    const id = Number(/\/webhooks\/(\d+)/.exec(text)![1]);
    for (let count = 0; count < 5; count++) {
      const rotated = await person.submit(`/webhooks/${id}/secrets`);
      assert.equal(rotated.status, count < 4 ? 200 : 422);
      if (count === 4) assert.match(rotated.text, /already has 5 valid secrets/);
    }
    for (let count = 0; count < attemptLimits.webhookTests.max; count++) {
      assert.equal((await person.submit(`/webhooks/${id}/test`)).status, 303);
    }
    assert.equal((await person.submit(`/webhooks/${id}/test`)).status, 429);
    assert.equal(receiver.received.length, attemptLimits.webhookTests.max);
  });

  it('fit every screen, and are accessible', async () => {
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/webhooks`);
    await assertFits(page, 'no webhooks');
    const { webhook } = await newWebhook(person, {
      url: `${receiver.url}/${'x'.repeat(2000)}`,
      description: 'y'.repeat(255),
    });
    for (const path of ['/webhooks', '/webhooks/new', `/webhooks/${webhook.id}`]) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    await page.goto(`${origin}/webhooks/new`);
    await page.getByLabel('Only these types').check();
    await page.getByLabel('URL').fill('https://example.org/');
    await press(page, 'Create webhook');
    await page.locator('#types-error').waitFor();
    await assertFits(page, 'the open list of types');
    await page.context().close();
  });
});

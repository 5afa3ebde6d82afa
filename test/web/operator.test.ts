import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { testClock } from '../../src/lib/clock.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { pages } from '../../src/main/pages.ts';
import { insertBan } from '../support/bans.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, skipBrowser } from './browser.ts';
import { signedIn, type Visitor } from './session.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>\u202Eevil';
const OPERATOR = '/operator/';

describe('the pages for operators', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let admin: Visitor;
  let adminKey: { readonly token: string };
  let origin: string;
  before(async () => {
    service = await serve();
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
    admin = await signedIn(service, { admin: true, name: 'Olga' });
    adminKey = await service.newKey({ accountId: admin.accountId });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const statusOf = async (key: { readonly token: string }) => {
    const { status, body } = await send(`${service.urls.production}/pets?limit=1`, { key });
    return status === 200 ? 200 : body.code;
  };

  const ban = (keyId: string) =>
    service.app.databases.production.write(async tx => {
      const until = Math.ceil(tx.now / 1000) * 1000 + 3_600_000;
      await tx.run(insertBan, { keyId, step: 3, bannedAt: tx.now, until });
      await tx.notify('registry');
    });

  const create = async (path: string, body: object, key: { readonly token: string }, url = service.urls.production) => {
    const reply = await send(url + path, { method: 'POST', key, body });
    assert.ok(reply.status < 300, reply.text);
    return reply.body.id as number;
  };

  it('find an account, suspend and resume it', async () => {
    const person = await signedIn(service, { name: 'Riverside Shelter' });
    const key = await service.newKey({ accountId: person.accountId });
    const page = await admin.newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/operator/accounts`);
    await page.getByLabel('Name, e-mail address or id').fill('riverside');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'Riverside Shelter' }).click();
    assert.equal(await statusOf(key), 200);
    await page.getByRole('button', { name: 'Suspend account' }).click();
    await page.getByText('The account is suspended.').waitFor();
    assert.equal(await statusOf(key), 'account_suspended');
    await page.getByRole('button', { name: 'Resume account' }).click();
    await page.getByText('The account is resumed.').waitFor();
    assert.equal(await statusOf(key), 200);
    await page.context().close();
  });

  it('change the plan of an account, which changes its limits', async () => {
    const person = await signedIn(service, { name: 'Growing' });
    const key = await service.newKey({ accountId: person.accountId });
    const limit = async () => {
      const { headers } = await send(`${service.urls.production}/pets?limit=1`, { key });
      return headers['x-ratelimit-limit'];
    };
    assert.equal(await limit(), '60');
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/accounts/${person.accountId}`);
    await page.getByLabel('Plan').selectOption('Business');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The account is changed.').waitFor();
    assert.equal(await limit(), '1000');
    await page.getByLabel('Plan').selectOption('Enterprise');
    await page.getByLabel('Requests per minute').fill('4321');
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.match(await page.locator('#perDay-error').innerText(), /needs its own requests per day/);
    assert.equal(await page.getByLabel('Requests per minute').inputValue(), '4321');
    await page.getByLabel('Requests per day').fill('99999');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The account is changed.').waitFor();
    assert.equal(await limit(), '4321');
    await page.reload();
    const left = page.getByRole('region', { name: 'Use' }).getByRole('row').filter({ hasText: 'Left of this minute' });
    assert.match(await left.innerText(), /4,318 of 4,321\s+4,321 of 4,321/);
    await page.context().close();
  });

  it('delete an account once its name is typed, and cancel that', async () => {
    const person = await signedIn(service, { name: 'Leaving "us" <b>' });
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/accounts/${person.accountId}`);
    await page.getByLabel('to confirm').fill('Leaving');
    await page.getByRole('button', { name: 'Delete account' }).click();
    await page.locator('#confirmation-error').getByText('exactly as it is shown').waitFor();
    await page.getByLabel('to confirm').fill('Leaving "us" <b>');
    await page.getByLabel('Grace period').selectOption('7 days');
    await page.getByRole('button', { name: 'Delete account' }).click();
    await page.getByText('will be deleted when the grace period ends').waitFor();
    await page.getByRole('button', { name: 'Cancel deletion and resume' }).click();
    await page.getByText('The account is resumed.').waitFor();
    assert.equal(await page.getByText('Will be deleted').count(), 0);
    await page.context().close();
  });

  it('keep the only active admin', async () => {
    const path = `/operator/accounts/${admin.accountId}`;
    for (const [action, form] of [
      ['', { plan: 'free' }],
      ['/suspend', {}],
      ['/delete', { confirmation: 'Olga' }],
    ] as const) {
      const reply = await admin.submit(path + action, form);
      assert.equal(reply.status, 422, action);
      assert.match(reply.text, /only active admin/, action);
    }
    const other = await signedIn(service, { admin: true });
    assert.equal((await other.submit(path, { plan: 'free' })).status, 303);
    assert.equal((await admin.open(path)).status, 403);
    assert.equal((await other.submit(path, { plan: 'free', admin: 'yes' })).status, 303);
    assert.equal((await admin.submit(`/operator/accounts/${other.accountId}`, { plan: 'free' })).status, 303);
  });

  it('find a banned key, lift its ban, and revoke it', async () => {
    const key = await service.newKey({ name: 'Loop' });
    await ban(key.id);
    assert.equal(await statusOf(key), 'api_key_banned');
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/keys`);
    const row = page.getByRole('row').filter({ hasText: key.id });
    assert.match(await row.innerText(), /step 4, 60 minutes/);
    await page.getByLabel('Key id').fill(key.id);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('button', { name: 'Lift ban' }).click();
    await page.getByText('The ban is lifted.').waitFor();
    assert.equal(await statusOf(key), 200);
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key is revoked.').waitFor();
    assert.equal(await statusOf(key), 'revoked_api_key');
    await page.goto(`${origin}/operator/keys?id=call+555+0100`);
    const unknown = await page.getByRole('alert').innerText();
    assert.ok(unknown.startsWith('There is no key with this id.'), unknown);
    assert.ok(!unknown.includes('555'), 'the message shows the parameter');
    await page.context().close();
  });

  for (const deployment of ['production', 'staging'] as const) {
    it(`name a placeholder, and merge a category with its animals, on ${deployment}`, async () => {
      const key = await service.newKey({ deployment });
      const url = service.urls[deployment];
      const pet = await create('/pets', { name: 'Rex', categoryId: 7001 }, key, url);
      const page = await admin.newPage(browser);
      await page.goto(`${origin}/operator/categories`);
      if (deployment === 'staging') await page.getByRole('link', { name: 'Staging', exact: true }).click();
      await page.getByRole('region', { name: 'Placeholders' }).getByRole('link', { name: 'Category 7001' }).click();
      await page.getByLabel('Name').fill('Alpacas');
      await page.getByLabel('Slug').fill('Not a slug');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('#slug-error').getByText('lower-case letters').waitFor();
      await page.getByLabel('Slug').fill('alpacas');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The category is changed.').waitFor();
      const named = await send(`${url}/categories/7001`, { key });
      assert.deepEqual([named.body.name, named.body.slug, named.body.placeholder], ['Alpacas', 'alpacas', false]);

      await page.getByLabel('Merge into').fill('unknown-slug');
      await page.getByRole('button', { name: 'Merge category' }).click();
      await page.locator('#into-error').getByText('There is no category').waitFor();
      await page.getByLabel('Merge into').fill('barnyard');
      await page.getByRole('button', { name: 'Merge category' }).click();
      await page.getByText('is merged into this one').waitFor();
      assert.equal((await send(`${url}/pets/${pet}`, { key })).body.categoryId, 8);
      assert.equal((await send(`${url}/categories/7001`, { key })).status, 404);
      await page.context().close();
    });
  }

  it('show messages to the store, and none between accounts', async () => {
    const key = await service.newKey();
    const pet = await create('/pets', { name: 'Rex', categoryId: 1 }, key);
    const toStore = { message: `Hello ${HOSTILE}`, replyTo: 'jo@example.org' };
    const id = await create('/messages', toStore, key, service.urls.messages);
    const own = await create('/messages', { message: 'Between us', petId: pet }, key, service.urls.messages);
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/messages`);
    while ((await page.getByRole('link', { name: 'Hello <img' }).count()) === 0) await page.reload();
    assert.ok(!(await page.content()).includes('Between us'));
    await page.getByRole('link', { name: 'Hello <img' }).click();
    await page.getByText(HOSTILE.slice(0, 30)).waitFor();
    await page.getByRole('link', { name: 'Reply by e-mail' }).waitFor();
    assert.ok(page.url().endsWith(String(id)));
    assert.equal((await admin.open(`/operator/messages/${own}`)).status, 404);
    await page.context().close();
  });

  it('filter the audit log, and say what is wrong with a filter', async () => {
    const key = await service.newKey();
    await create('/pets', { name: 'Rex', categoryId: 1 }, key);
    const page = await admin.newPage(browser);
    await page.goto(`${origin}/operator/audit`);
    await page.getByLabel('Key id').fill(key.id);
    await follow(page.getByRole('button', { name: 'Filter' }));
    assert.deepEqual(await page.locator('tbody tr td:nth-child(2) code').allInnerTexts(), ['pet.created']);
    await page.getByLabel('From, UTC').fill('2000-01-01T00:00');
    await page.getByLabel('Until, UTC').fill('2001-01-01T00:00');
    await follow(page.getByRole('button', { name: 'Filter' }));
    await page.getByText('No change matches.').waitFor();
    const wrong = await admin.open('/operator/audit?resource=Rex&type=x%00');
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /A resource is its kind and id/);
    assert.match(wrong.text, /A type is an event type, such as pet.created/);
    await page.context().close();
  });

  it('say what is due, how large the files are, and that storage is ready', async () => {
    const { status, text } = await admin.open('/operator/work');
    assert.equal(status, 200);
    for (const part of ['Database file', 'Write-ahead log', 'Retention', 'Ready', 'Version']) {
      assert.ok(text.includes(part), part);
    }
    assert.doesNotMatch(text, /NaN|Infinity/);
  });

  it('say that all is quiet, or what waits', async () => {
    const other = await serve();
    try {
      const person = await signedIn(other, { admin: true });
      const production = async () => (await person.open('/operator/work')).text.split('<h2>Staging</h2>')[0]!;
      const quiet = await production();
      assert.match(quiet, /All quiet: nothing waits, and no job is late\./);
      assert.doesNotMatch(quiet, /Deletions of accounts|Late jobs/);
      const leaving = await signedIn(other, { name: 'Leaving' });
      const path = `/operator/accounts/${leaving.accountId}/delete`;
      assert.equal((await person.submit(path, { confirmation: 'Leaving' })).status, 303);
      const busy = await production();
      assert.doesNotMatch(busy, /All quiet/);
      assert.match(busy, /Deletions of accounts<\/dt>\s*<dd><a [^>]*>1<\/a>/);
    } finally {
      await other.stop();
    }
  });

  it('say how old the latest scheduled backup is, and whether it is late', async () => {
    const clock = testClock(Date.parse('2026-11-22T12:00:00Z'));
    const directory = temporaryDirectory();
    const backups = { PETSTORE_BACKUP_DIRECTORY: directory, PETSTORE_BACKUP_INTERVAL: '1d' };
    const scheduled = await serve({ clock, environment: backups });
    try {
      const person = await signedIn(scheduled, { admin: true });
      const fact = async () => {
        const { text } = await person.open('/operator/work');
        return /Latest backup<\/dt>\s*<dd>(.*?)<\/dd>/s
          .exec(text)?.[1]
          ?.replace(/<[^>]*>/g, ' ')
          .replace(/\s+/g, ' ')
          .trim();
      };
      await waitUntil(async () => (await fact()) !== 'None yet');
      assert.match((await fact())!, /^Good .*, [\d.,]+ \w+$/);
      rmSync(directory, { recursive: true });
      writeFileSync(directory, 'no directory');
      clock.advance(30 * HOUR_MS);
      assert.match((await fact())!, /^Good /);
      clock.advance(1);
      assert.match((await fact())!, /^Late /);
    } finally {
      await scheduled.stop();
    }
    assert.ok(!(await admin.open('/operator/work')).text.includes('Latest backup'), 'no backups are scheduled');
  });

  it('record every action with the session, request id and address', async () => {
    const person = await signedIn(service, { name: 'Acted upon' });
    const key = await service.newKey({ accountId: person.accountId });
    await create('/pets', { name: 'Rex', categoryId: 7100 }, key);
    await ban(key.id);
    const account = `/operator/accounts/${person.accountId}`;
    const actions: Readonly<Record<string, readonly [path: string, type: string, form?: Record<string, string>]>> = {
      '/operator/accounts/{accountId}': [account, 'account.updated', { plan: 'pro' }],
      '/operator/keys/{keyId}/lift-ban': [`/operator/keys/${key.id}/lift-ban`, 'ban.lifted'],
      '/operator/categories/{categoryId}': [
        ...(['/operator/categories/7100', 'category.updated', { name: 'Named', slug: 'named' }] as const),
      ],
      '/operator/categories/{categoryId}/merge': [
        ...(['/operator/categories/7100/merge', 'category.merged', { into: '1' }] as const),
      ],
      '/operator/accounts/{accountId}/suspend': [`${account}/suspend`, 'account.suspended'],
      '/operator/accounts/{accountId}/delete': [
        ...([`${account}/delete`, 'account.deletion_requested', { confirmation: 'Acted upon' }] as const),
      ],
      '/operator/accounts/{accountId}/resume': [`${account}/resume`, 'account.resumed'],
      '/operator/keys/{keyId}/revoke': [`/operator/keys/${key.id}/revoke`, 'key.revoked'],
    };
    const forms = pages.filter(({ path, submit }) => path.startsWith(OPERATOR) && submit).map(({ path }) => path);
    assert.deepEqual(Object.keys(actions).sort(), forms.sort(), 'every form is tested');
    for (const [path, type, form] of Object.values(actions)) {
      const reply = await admin.submit(path, form);
      assert.equal(reply.status, 303, `${path} ${reply.text}`);
      const requestId = String(reply.headers['x-request-id']);
      const { body } = await send(`${service.urls.production}/audit?requestId=${requestId}`, { key: adminKey });
      const entry = body.find((entry: { type: string }) => entry.type === type);
      assert.ok(entry, `${path} records ${type}, not ${JSON.stringify(body)}`);
      assert.deepEqual([typeof entry.sessionId, entry.requestId], ['number', requestId], type);
      assert.match(entry.address, /127\.0\.0\.1|::1/, type);
      assert.equal(entry.keyId, undefined, type);
    }
  });

  it('show every value as text, fit every screen, and are accessible', async () => {
    const person = await signedIn(service, { name: HOSTILE });
    const key = await service.newKey({ accountId: person.accountId, name: HOSTILE });
    await ban(key.id);
    const owner = await service.newKey();
    const category = await create('/categories', { name: HOSTILE, parentId: 1 }, owner);
    const message = await create('/messages', { message: HOSTILE }, owner, service.urls.messages);
    const values: Readonly<Record<string, string | number>> = {
      accountId: person.accountId,
      keyId: key.id,
      categoryId: category,
      messageId: message,
    };
    const paths = pages
      .filter(({ path, show }) => path.startsWith(OPERATOR) && show)
      .map(({ path }) => path.replace(/\{(\w+)\}/g, (_, name) => String(values[name])));
    const page = await admin.newPage(browser);
    page.on('dialog', () => assert.fail('a script of a value runs'));
    for (const path of paths) {
      const reply = await page.goto(origin + path);
      assert.equal(reply?.status(), 200, path);
      assert.equal(await page.locator('main img, main script').count(), 0, path);
      await assertFits(page, path);
    }
    await page.context().close();
  });

  it('do not fail on addresses that make no sense', async () => {
    const lists = pages.filter(({ path, show }) => path.startsWith(OPERATOR) && show && !path.includes('{'));
    for (const { path } of lists) {
      for (const search of [
        '?cursor=x',
        '?deployment=nowhere',
        '?state=__proto__&account=x&q=%00',
        '?id=%00&key=%00&code=%00',
      ]) {
        const { status, text } = await admin.open(path + search);
        assert.ok([200, 303, 400, 404, 422].includes(status), `${path}${search}: ${status} ${text.slice(0, 200)}`);
      }
    }
    for (const path of ['accounts/0', 'accounts/9e9', 'keys/%00', 'categories/99999999999999999', 'messages/msg_0']) {
      assert.equal((await admin.open(OPERATOR + path)).status, 404, path);
    }
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { addUsage } from '../../src/operate/usage/counts.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { assertFits, follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';
import { signedIn } from './session.ts';

/** The end of the first hour of a day: the current bucket is not the last of its day. */
const NOW = Date.parse('2026-11-22T12:40:00Z');

describe('the pages of usage', { skip: skipBrowser }, () => {
  let service: TestService;
  let clock: TestClock;
  let browser: Browser;
  let origin: string;
  before(async () => {
    clock = testClock(NOW);
    service = await serve({ clock });
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Returns an owner with a key that has sent requests, this hour and on the days before. */
  async function busyOwner() {
    const person = await signedIn(service);
    const { accountId } = person;
    const key = await service.newKey({ accountId, name: 'Adoption site' });
    const other = await service.newKey({ accountId, deployment: 'staging' });
    const { urls } = service;
    for (let round = 0; round < 56; round++) await send(`${urls.production}/pets?limit=2&secret=hush`, { key });
    await send(`${urls.production}/pets/999`, { key, headers: { 'x-request-id': 'lost-pet' } });
    await send(`${urls.production}/pets`, { method: 'POST', key, body: {} });
    for (let round = 0; round < 4; round++) await send(`${urls.production}/pets`, { key });
    await send(`${urls.staging}/pets`, { key: other });
    await service.app.usage.write();
    const past = Array.from({ length: 24 * 29 }, (_, index) => ({
      ...({ accountId, deployment: 'production', keyId: key.id, unlogged: 0 } as const),
      hour: NOW / HOUR_MS - (NOW % HOUR_MS) / HOUR_MS - 1 - index,
      succeeded: Math.round(20 + 15 * Math.sin(index / 3.8)),
      clientErrors: index % 5,
      rateLimited: index % 11 === 3 ? 6 : 0,
      banned: 0,
      serverErrors: index % 40 === 7 ? 3 : 0,
    }));
    await service.app.databases.production.write(tx => addUsage(tx, past));
    return { person, key };
  }

  it('are accessible and fit every screen', async () => {
    const { person } = await busyOwner();
    const page = await person.newPage(browser);
    const faults: string[] = [];
    page.on('console', message => message.type() === 'error' && faults.push(message.text()));
    for (const path of ['/usage', '/requests', '/requests/1']) {
      const first = path === '/requests/1' ? await page.locator('.log a').first().getAttribute('href') : path;
      await page.goto(origin + first);
      for (const details of await page.locator('main summary').all()) await details.click();
      await assertFits(page, path);
    }
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  it('open on staging if only staging has requests', async () => {
    const person = await signedIn(service);
    const key = await service.newKey({ accountId: person.accountId, deployment: 'staging' });
    const page = await person.newPage(browser);
    const shown = async (path = '/usage') => {
      await page.goto(origin + path);
      return page.getByLabel('Deployment').inputValue();
    };
    assert.equal(await shown(), 'production', 'neither has requests');
    await send(`${service.urls.staging}/pets`, { key });
    await service.app.usage.write();
    assert.equal(await shown(), 'staging');
    assert.equal(await shown('/usage?deployment=production'), 'production');
    const live = await service.newKey({ accountId: person.accountId });
    await send(`${service.urls.production}/pets`, { key: live });
    await service.app.usage.write();
    assert.equal(await shown(), 'production');
    assert.equal(await shown(`/usage?key=${key.id}`), 'staging', 'the deployment of the key');
    await page.context().close();
  });

  it('show what is left, and the same numbers as charts and tables', async () => {
    const { person } = await busyOwner();
    const page = await person.newPage(browser);
    await page.goto(`${origin}/usage`);
    const left = await page.locator('.left .big').allTextContents();
    assert.deepEqual(left, ['0 of 60', '940 of 1,000']);
    const hours = page.locator('.chart').first();
    assert.equal(await hours.locator('svg g').count(), 24);
    await hours.locator('summary').click();
    const newest = await hours.locator('tbody tr').first().locator('th, td').allTextContents();
    assert.deepEqual(newest, ['22 Nov, 12:00', '58', '2', '2', '0', '0', '62']);
    await follow(page.getByRole('link', { name: 'Show 48 hours' }));
    assert.equal(await page.locator('.chart').first().locator('svg g').count(), 48);
    assert.equal(await page.locator('.chart').nth(1).locator('svg g').count(), 30);
    await page.getByLabel('Deployment').selectOption('Staging');
    await follow(page.getByRole('button', { name: 'Show' }));
    assert.deepEqual(await page.locator('.left .big').allTextContents(), ['59 of 60', '999 of 1,000']);
    // Nobody counts the visits.
    await page.reload();
    assert.deepEqual(await page.locator('.left .big').allTextContents(), ['59 of 60', '999 of 1,000']);
  });

  it('find a request by its id, by status and by operation, and show it alone', async () => {
    const { person, key } = await busyOwner();
    const page = await person.newPage(browser);
    await page.goto(`${origin}/requests`);
    assert.equal(await page.locator('.log tbody tr').count(), 50);
    assert.ok(!(await page.content()).includes('hush'));
    await follow(page.getByRole('link', { name: 'Older' }));
    assert.equal(await page.locator('.log tbody tr').count(), 13);
    await follow(page.getByRole('link', { name: 'Newer' }));
    await page.getByLabel('Request ID').fill('lost-pet');
    await follow(page.getByRole('button', { name: 'Search' }));
    await follow(page.getByRole('link', { name: 'GET /v1/pets/999' }));
    const text = await page.locator('main').innerText();
    for (const part of ['404', 'pet_not_found', 'getPet', 'Adoption site', key.id, 'Production', 'lost-pet']) {
      assert.ok(text.includes(part), part);
    }
    await page.goto(`${origin}/requests`);
    await page.getByLabel('Status').fill('4XX');
    await page.getByLabel('Operation').selectOption('createPet');
    await follow(page.getByRole('button', { name: 'Search' }));
    assert.deepEqual(await page.locator('.log .what').allTextContents(), ['POST /v1/pets']);
    await page.getByLabel('Status').fill('4');
    await follow(page.getByRole('button', { name: 'Search' }));
    await page.getByText('Use a status such as 404, or a class such as 4xx.').waitFor();
    await page.getByLabel('Status').fill('500');
    await follow(page.getByRole('button', { name: 'Search' }));
    await page.getByText('No request matches.').waitFor();
  });

  it('say what to do while there are no requests, and hide those of others', async () => {
    const { person: busy } = await busyOwner();
    const person = await signedIn(service);
    const page = await person.newPage(browser);
    await page.goto(`${origin}/usage`);
    await page.getByText('No requests in the last 30 days.').waitFor();
    await page.getByRole('link', { name: 'Create an API key' }).waitFor();
    assert.deepEqual(await violationsOn(page), []);
    await page.goto(`${origin}/requests`);
    await page.getByText('No requests in the last seven days.').waitFor();
    assert.deepEqual(await violationsOn(page), []);
    const owner = await busy.newPage(browser);
    await owner.goto(`${origin}/requests`);
    const path = await owner.locator('.log a').first().getAttribute('href');
    assert.equal((await owner.goto(origin + path))?.status(), 200);
    assert.equal((await page.goto(origin + path))?.status(), 404);
  });

  it('name keys that are banned', async () => {
    const { person, key } = await busyOwner();
    for (let second = 0; second < 40; second++) {
      clock.advance(500);
      await send(`${service.urls.production}/pets`, { key });
    }
    await service.app.usage.write();
    const page = await person.newPage(browser);
    await page.goto(`${origin}/usage`);
    assert.match(await page.getByRole('alert').innerText(), new RegExp(`${key.id} until 22 Nov 2026`));
    assert.deepEqual(await violationsOn(page), []);
    clock.advance(DAY_MS);
    await page.reload();
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});

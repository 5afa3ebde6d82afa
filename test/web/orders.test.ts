import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import type { IssuedKey } from '../../src/model/key.ts';
import { type Reply, send, type TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { signedIn, signedInAs } from './session.ts';

describe('holds and orders of a shelter', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  async function post(path: string, key: IssuedKey, body: object): Promise<Reply['body']> {
    const reply = await send(service.urls.production + path, { method: 'POST', key, body });
    assert.ok(reply.status < 300, JSON.stringify(reply.body));
    return reply.body;
  }

  /** Returns a shelter with an animal, and a customer who is signed in and has a key. */
  async function parties(name: string) {
    const [owner, customer] = [await signedIn(service), await signedIn(service)];
    const ownerKey = await service.newKey({ accountId: owner.accountId });
    const customerKey = await service.newKey({ accountId: customer.accountId });
    const { id: petId } = await post('/pets', ownerKey, { name, categoryId: 2 });
    const status = async () => (await send(`${service.urls.production}/pets/${petId}`, { key: ownerKey })).body.status;
    return { owner, customer, ownerKey, customerKey, petId, status };
  }

  const etagIn = ({ text }: Reply) => /name="etag" value="([^"]*)"/.exec(text)![1]!.replaceAll(/&(quot|#34);/g, '"');

  it('take an order from its approval to the return of the animal', async () => {
    const { owner, customer, customerKey, petId, status } = await parties('Bella');
    const order = await post('/store/orders', customerKey, { petId, note: 'For my <b>mother</b>' });
    const page = await owner.newPage(browser);
    await page.goto(`${origin}/shelter/orders`);
    assert.match(await page.locator('tbody').innerText(), /Bella\s+To approve until .*\s+A person/);
    await assertFits(page, 'the list');
    await follow(page.getByRole('link', { name: `Order ${order.id}` }));
    await page.getByText('For my <b>mother</b>').waitFor();
    await assertFits(page, 'an order');
    const take = async (step: string, note: string) => {
      await page.getByLabel(step).check();
      await page.getByLabel('Note').fill(note);
      await follow(page.getByRole('button', { name: 'Save' }));
    };
    await take('Approve', 'Come on Sunday');
    assert.equal(await page.getByRole('status').innerText(), 'Approved.');
    await take('Hand over', '');
    assert.equal(await status(), 'sold');
    await page.getByLabel('Available to others at once').uncheck();
    await take('Take back', 'Allergy');
    assert.equal(await status(), 'pending');
    const history = (await page.locator('ol').innerText()).replace(/, \d+ \w+ \d+, \d\d:\d\d UTC/g, '').split(/\n+/);
    assert.deepEqual(history, [
      'Ordered',
      'For my <b>mother</b>',
      'Approved',
      'Come on Sunday',
      'Handed over',
      'Returned',
      'Allergy',
    ]);
    assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
    await page.goto(`${origin}/shelter/orders`);
    await page.getByText('No order waits for you.').waitFor();
    await follow(page.getByRole('link', { name: 'All', exact: true }));
    assert.match(await page.locator('tbody').innerText(), /Returned/);
    await page.context().close();
    assert.match((await customer.open(`/shelter/orders/${order.id}`)).text, /Come on Sunday/);
  });

  it('let the customer cancel an order, and do nothing else', async () => {
    const { owner, customer, customerKey, petId, status } = await parties('Tom');
    const { id } = await post('/store/orders', customerKey, { petId });
    const path = `/shelter/orders/${id}`;
    const etag = async () => etagIn(await owner.open(path));
    const refused = await customer.submit(path, { step: 'approval', etag: await etag() });
    assert.match(refused.text, /only that account or an admin can take this step/);
    assert.doesNotMatch((await customer.open(path)).text, /value="approval"/);
    const before = await etag();
    assert.equal(
      (await owner.submit(path, { step: 'approval', etag: before })).headers['location'],
      `${path}?done=approval`,
    );
    // The customer's page is older than the approval.
    const stale = await customer.submit(path, { step: 'cancellation', etag: before });
    assert.equal(stale.status, 422);
    assert.match(stale.text, /The order has changed since/);
    assert.equal(await status(), 'pending');
    await customer.submit(path, { step: 'cancellation', etag: await etag() });
    assert.equal(await status(), 'available');
    for (const step of ['', 'x', '__proto__']) {
      assert.match((await owner.submit(path, { step })).text, /Choose a step/);
    }
    const { id: other } = await post('/store/orders', customerKey, { petId });
    for (const note of ['\0', 'x'.repeat(1001)]) {
      const wrong = { step: 'approval', note, etag: etagIn(await owner.open(`/shelter/orders/${other}`)) };
      const reply = await owner.submit(`/shelter/orders/${other}`, wrong);
      assert.equal(reply.status, 422);
      assert.match(reply.text, /To approve/);
    }
  });

  it('show a hold to both parties; its holder extends it, and the owner ends it', async () => {
    const { owner, customer, customerKey, petId, status } = await parties('Minka');
    const { id } = await post('/holds', customerKey, { petId, note: 'Until the visit' });
    const path = `/shelter/holds/${id}`;
    assert.match((await owner.open('/shelter/orders')).text, new RegExp(`Hold ${id}`));
    assert.doesNotMatch((await owner.open(path)).text, /Extend the hold/);
    const page = await customer.newPage(browser);
    await page.goto(origin + path);
    const until = async () => await page.locator('dt:has-text("Until") + dd time').getAttribute('datetime');
    const before = await until();
    await page.getByLabel('From now').selectOption('3 days');
    await follow(page.getByRole('button', { name: 'Extend the hold' }));
    assert.ok(Date.parse((await until())!) > Date.parse(before!) + 86_400_000);
    await assertFits(page, 'a hold');
    await page.context().close();
    const etag = etagIn(await owner.open(path));
    for (const period of ['', 'a year', 'constructor', '__proto__']) {
      assert.match((await customer.submit(path, { etag, period })).text, /Choose a period/);
    }
    assert.equal(await status(), 'pending');
    assert.equal((await owner.submit(path, { etag })).headers['location'], `${path}?done=released`);
    assert.equal(await status(), 'available');
    const after = (await owner.open(path)).text;
    assert.match(after, /Released/);
    assert.doesNotMatch(after, /End the hold/);
  });

  it('show nothing to others', async () => {
    const { customerKey, petId } = await parties('Max');
    const { id: order } = await post('/store/orders', customerKey, { petId });
    const { customerKey: holder, petId: held } = await parties('Leo');
    const { id: hold } = await post('/holds', holder, { petId: held });
    const stranger = await signedIn(service);
    for (const path of [
      `/shelter/orders/${order}`,
      `/shelter/holds/${hold}`,
      '/shelter/orders/0',
      '/shelter/holds/x',
    ]) {
      assert.equal((await stranger.open(path)).status, 404, path);
    }
    const list = (await stranger.open('/shelter/orders?show=all')).text;
    assert.match(list, /No one has ordered an animal/);
    assert.match(list, /No animal is on hold/);
  });

  it('begin on the page of an animal: a hold, and a hand-over in one step, that the history tells', async () => {
    const { owner, petId, status } = await parties('Bella');
    const staff = await signedInAs(service, owner.accountId, 'staff');
    const page = await staff.newPage(browser, { viewport: { width: 390, height: 800 } });
    await page.goto(`${origin}/shelter/animals/${petId}/reservation`);
    await assertFits(page, 'a reservation');
    await page.getByLabel('How long').selectOption('3 days');
    await page.getByLabel('For whom, and why').fill('The family of Sunday');
    await follow(page.getByRole('button', { name: 'Put on hold' }));
    await page.getByText('The family of Sunday').waitFor();
    assert.equal(await status(), 'pending');
    await page.goto(`${origin}/shelter/animals/${petId}/reservation`);
    await page.getByLabel('Who takes them').fill('A neighbor');
    await follow(page.getByRole('button', { name: 'Save' }));
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /hold/, 'it is on hold already');
    await page.goto(`${origin}/shelter/orders`);
    await follow(page.getByRole('link', { name: /^Hold \d+$/ }).first());
    await follow(page.getByRole('button', { name: 'End the hold', exact: true }));
    await page.goto(`${origin}/shelter/animals/${petId}/reservation`);
    await page.getByLabel('They are leaving now').check();
    await follow(page.getByRole('button', { name: 'Save' }));
    assert.equal(await status(), 'sold');
    await page.goto(`${origin}/shelter/animals/${petId}/history`);
    await assertFits(page, 'a history');
    const told = (await page.locator('.timeline > li > strong').allInnerTexts()).join(', ');
    assert.equal(told, 'Added, Put on hold, No longer on hold, Ordered, Handed over');
    assert.match(await page.locator('.timeline').innerText(), /Handed over \(order \d+\) by A staff/);
  });

  it('keep a bonded group together, and change nothing when a form is sent twice', async () => {
    const { owner, ownerKey, petId } = await parties('Bella');
    const group = { id: 'sisters', kind: 'bonded' };
    const mate = await post('/pets', ownerKey, { name: 'Ella', categoryId: 2, group });
    const patch = { method: 'PATCH', key: ownerKey, body: { group } } as const;
    assert.equal((await send(`${service.urls.production}/pets/${petId}`, patch)).status, 200);
    const path = `/shelter/animals/${petId}/reservation`;
    assert.match((await owner.open(path)).text, /A bonded group stays together/);
    const form = { purpose: 'hold', period: 'a day', 'form-key': 'one' };
    const [first, again] = [await owner.submit(path, form), await owner.submit(path, form)];
    assert.equal(first.status, 303, first.text);
    assert.equal(again.headers.location, first.headers.location);
    const { body } = await send(`${service.urls.production}/holds`, { key: ownerKey });
    assert.deepEqual([body.length, body[0].petIds], [1, [petId, mate.id]]);
    for (const purpose of ['', 'constructor', 'sale'])
      assert.equal((await owner.submit(path, { purpose })).status, 422);
    const long = { purpose: 'order', orderNote: 'x'.repeat(5000) };
    assert.equal((await owner.submit(path, long)).status, 422);
  });
});

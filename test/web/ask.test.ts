import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { query } from '../../src/model/schema.ts';
import { type KeyOptions, send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';
import { signedIn } from './session.ts';

const HOSTILE = '</textarea><script>alert(1)</script>\n\u202Eevil\u202C & "quoted"';

describe('asking about an animal', { skip: skipBrowser }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  /** Fills the form as a visitor and sends it. */
  async function fill(page: Page, { email = 'jo@example.org', message = 'Is she fine with cats?' } = {}) {
    await page.getByLabel('Your name').fill('Jo');
    await page.getByLabel('Your e-mail address').fill(email);
    await page.getByLabel('Your message').fill(message);
    await follow(page.getByRole('button', { name: 'Send' }));
  }

  describe('without a mail server', () => {
    let service: TestService;
    before(async () => {
      service = await serve();
    });
    after(() => service?.stop());

    for (const deployment of ['production', 'staging'] as const) {
      it(`reaches the inbox of the owner on ${deployment} at once, without a script`, async () => {
        const owner = await animalOf(service, { deployment });
        const context = await browser.newContext({ javaScriptEnabled: false });
        const page = await context.newPage();
        await page.goto(owner.page);
        await fill(page, { message: HOSTILE });
        assert.match(await page.getByRole('status').last().innerText(), /with the owner/);
        const [message] = await owner.inbox();
        assert.equal(message.replyTo, 'jo@example.org');
        assert.equal(
          message.message,
          `A visitor sent this from the page of animal ${owner.petId}. Nobody has confirmed the e-mail address. The visitor wrote all of the following text.\n\nJo <jo@example.org>\n\n${HOSTILE}`,
        );
        await context.close();
      });
    }

    it('works with the keyboard alone, and shows what is wrong beside its field', async () => {
      const { page: url } = await animalOf(service);
      const page = await browser.newPage();
      await page.goto(url);
      await page.locator('#ask form').evaluate(form => form.setAttribute('novalidate', ''));
      await page.getByLabel('Your name').focus();
      await page.keyboard.type('Jo');
      await page.keyboard.press('Tab');
      await page.keyboard.type('jo');
      await page.keyboard.press('Tab');
      await page.keyboard.type(HOSTILE);
      await page.keyboard.press('Tab');
      await Promise.all([page.waitForEvent('domcontentloaded'), page.keyboard.press('Enter')]);
      assert.equal(await page.getByLabel('Your message').inputValue(), HOSTILE);
      assert.equal(page.url(), `${url}#ask`);
      const email = page.getByLabel('Your e-mail address');
      assert.equal(await email.getAttribute('aria-invalid'), 'true');
      assert.match(await page.locator('#email-error').innerText(), /name@example\.org/);
      await assertFits(page);
      await page.close();
    });

    it('sends one message for a double click', async () => {
      const owner = await animalOf(service);
      const page = await browser.newPage();
      await page.goto(owner.page);
      await page.getByLabel('Your name').fill('Jo');
      await page.getByLabel('Your e-mail address').fill('jo@example.org');
      await page.getByLabel('Your message').fill('Is she fine with cats?');
      const clicked = Promise.withResolvers<void>();
      let requests = 0;
      await page.route(owner.page, async route => {
        requests++;
        await clicked.promise;
        await route.continue();
      });
      const button = page.getByRole('button', { name: 'Send' });
      await button.scrollIntoViewIfNeeded();
      const { x, y } = (await button.boundingBox())!;
      await page.mouse.dblclick(x + 5, y + 5, { delay: 20 });
      clicked.resolve();
      await page.getByText('with the owner').waitFor();
      assert.deepEqual([requests, (await owner.inbox()).length], [1, 1]);
      await page.close();
    });

    it('sends messages of someone who is signed in from the account, with its address', async () => {
      const owner = await animalOf(service);
      const person = await signedIn(service, { name: 'Ann', email: 'ann@example.org' });
      const path = `/animals/${owner.petId}`;
      assert.match((await person.open(path)).text, /You write as.*Ann.*ann@example\.org/s);
      const reply = await person.submit(path, { message: 'Hello', name: 'Someone else', email: 'else@example.org' });
      assert.deepEqual([reply.status, reply.headers.location], [303, `${path}?asked=sent#ask`]);
      const [message] = await owner.inbox();
      assert.deepEqual(
        [message.accountId, message.replyTo, message.message],
        [person.accountId, 'ann@example.org', 'Hello'],
      );
    });

    it('says when there were too many, keeps the text, and sends nothing more', async () => {
      const owner = await animalOf(service);
      const page = await browser.newPage();
      for (let n = 0; n < 6; n++) {
        await page.goto(owner.page);
        await fill(page, { message: `Question ${n}` });
        if ((await page.getByRole('alert').count()) > 0) break;
      }
      assert.match(
        await page.getByRole('alert').innerText(),
        /Too many messages .* from your network\. Try again in \d+ minutes/,
      );
      assert.match(await page.getByLabel('Your message').inputValue(), /^Question \d+$/);
      assert.ok((await owner.inbox()).length <= 5);
      assert.deepEqual(await violationsOn(page), []);
      await page.close();
    });

    it('is refused from another site, and for an animal that does not exist', async () => {
      const { page } = await animalOf(service);
      const fields = { name: 'Jo', email: 'jo@example.org', message: 'Hello' };
      const post = (url: string, site: string) =>
        fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers: { 'Sec-Fetch-Site': site } });
      assert.equal((await post(page, 'cross-site')).status, 403);
      assert.equal((await post(page, 'same-site')).status, 403);
      assert.equal((await post(page.replace(/\d+$/, '999999'), 'same-origin')).status, 404);
    });
  });

  describe('with a mail server', () => {
    let service: TestService;
    let smtp: SmtpServer;
    before(async () => {
      smtp = await startSmtpServer();
      service = await serve({
        environment: { PETSTORE_SMTP_URL: smtp.url, PETSTORE_MAIL_FROM: 'store@example.org' },
      });
    });
    after(async () => {
      await service?.stop();
      await smtp?.close();
    });

    it('waits until the link in the e-mail is opened and its button pressed', async () => {
      const owner = await animalOf(service);
      const context = await browser.newContext({ javaScriptEnabled: false });
      const page = await context.newPage();
      await page.goto(owner.page);
      await fill(page, { message: HOSTILE });
      assert.match(await page.getByRole('status').last().innerText(), /We sent a link/);
      await waitUntil(() => smtp.mails.some(({ to }) => to.includes('jo@example.org')));
      const mail = smtp.mails.find(({ to }) => to.includes('jo@example.org'))!;
      const link = /http\S+confirm-message\S+/.exec(mail.text)![0];
      await page.goto(link);
      assert.ok((await page.locator('blockquote').innerText()).includes('</textarea><script>'));
      assert.deepEqual(await owner.inbox(), []);
      await follow(page.getByRole('button', { name: 'Send the message' }));
      assert.match(await page.getByRole('status').last().innerText(), /with the owner/);
      const [message] = await owner.inbox();
      assert.match(
        message.message,
        /^A visitor sent this .* The visitor has confirmed the e-mail address\. .*\n\nJo <jo@example\.org>\n\n/,
      );
      await waitUntil(() => smtp.mails.some(({ headers }) => headers.get('reply-to') === 'jo@example.org'));
      assert.equal((await page.goto(link))?.status(), 404);
      assert.match(await page.locator('main').innerText(), /sent already/);
      await context.close();
    });

    it('is accessible in both schemes and fits phones when it is confirmed', async () => {
      const owner = await animalOf(service);
      const page = await browser.newPage();
      await page.goto(owner.page);
      await fill(page, { email: 'kim@example.org', message: 'W'.repeat(1000) });
      await waitUntil(() => smtp.mails.some(({ to }) => to.includes('kim@example.org')));
      const mail = smtp.mails.find(({ to }) => to.includes('kim@example.org'))!;
      await page.goto(/http\S+confirm-message\S+/.exec(mail.text)![0]);
      await assertFits(page);
      await page.close();
    });

    it('never mails on staging', async () => {
      const owner = await animalOf(service, { deployment: 'staging' });
      const before = smtp.mails.length;
      const page = await browser.newPage();
      await page.goto(owner.page);
      await fill(page, { email: 'lee@example.org' });
      assert.match(await page.getByRole('status').last().innerText(), /with the owner/);
      assert.equal((await owner.inbox()).length, 1);
      assert.equal(smtp.mails.length, before);
      await page.close();
    });
  });
});

/** Creates an owner with an animal; `inbox` waits until its messages are delivered. */
async function animalOf(service: TestService, options: KeyOptions = {}) {
  const key = await service.newKey(options);
  const base = service.urls[key.deployment];
  const pet = await send(`${base}/pets`, { method: 'POST', key, body: { name: 'Bella', categoryId: 1 } });
  const petId = pet.body.id as number;
  return {
    petId,
    page: `${new URL(base).origin}/animals/${petId}`,
    async inbox() {
      const { production, staging } = service.app.databases;
      const database = key.deployment === 'production' ? production : staging!;
      await waitUntil(async () => (await database.first(undelivered, {}))!.rows === 0);
      return (await send(`${base}/messages?box=inbox`, { key })).body;
    },
  };
}

const undelivered = query(db =>
  db
    .selectFrom('messages')
    .select(eb => eb.fn.countAll<number>().as('rows'))
    .where('arrived_at', 'is', null),
);

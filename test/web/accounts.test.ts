import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { serve, type TestService } from '../support/serving.ts';
import { type ReceivedMail, type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { launchBrowser, skipBrowser, violationsOn } from './browser.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'an even better password';

describe('accounts in a browser', { skip: skipBrowser }, () => {
  let mail: SmtpServer;
  let service: TestService;
  let browser: Browser;
  let origin: string;
  before(async () => {
    mail = await startSmtpServer();
    service = await serve({
      environment: { PETSTORE_SMTP_URL: mail.url, PETSTORE_MAIL_FROM: 'store@example.org' },
    });
    origin = new URL(service.urls.production).origin;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await mail?.close();
  });

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(origin + path);
    return page;
  }

  const button = (page: Page, name: string) => page.getByRole('main').getByRole('button', { name, exact: true });
  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });

  /** Waits for the next mail to an address about something, and returns its link. */
  async function linkIn(to: string, subject: RegExp, seen: readonly ReceivedMail[] = []): Promise<string> {
    const find = () =>
      mail.mails.find(one => one.to.includes(to) && subject.test(one.headers.get('subject')!) && !seen.includes(one));
    await waitUntil(() => find() !== undefined);
    return /^http\S+\/links\/\S+$/m.exec(find()!.text.replaceAll('\r', ''))![0];
  }

  /** Signs up, and confirms the address by the link in the e-mail. */
  async function signUp(email: string, options?: BrowserContextOptions): Promise<Page> {
    const page = await open('/sign-up', options);
    await field(page, 'Name').fill('Ann');
    await field(page, 'E-mail address').fill(email);
    await field(page, 'Password').fill(PASSWORD);
    await button(page, 'Create account').click();
    await page.getByText(`We sent an e-mail to ${email}.`).waitFor();
    await page.goto(await linkIn(email, /^Confirm/));
    await field(page, 'Password').fill(PASSWORD);
    await button(page, 'Confirm and sign in').click();
    await page.getByText('Your e-mail address is confirmed.').waitFor();
    return page;
  }

  async function signIn(page: Page, email: string, password: string): Promise<void> {
    await page.goto(`${origin}/sign-in`);
    await field(page, 'E-mail address').fill(email);
    await field(page, 'Password').fill(password);
    await button(page, 'Sign in').click();
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`sign up, confirm, sign out and sign in, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const email = `ann-${javaScriptEnabled}@example.org`;
      const page = await signUp(email, { javaScriptEnabled });
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('link', { name: 'Sign in' }).first().waitFor();
      await signIn(page, email, 'a wrong password');
      await page.getByText('The e-mail address or the password is wrong').waitFor();
      assert.equal(await field(page, 'E-mail address').inputValue(), email);
      await signIn(page, email, PASSWORD);
      await page.waitForURL(`${origin}/shelter`);
      await page.context().close();
    });
  }

  it('sign up with the keyboard alone', async () => {
    const page = await open('/sign-up');
    await field(page, 'Name').focus();
    await page.keyboard.type('Kay');
    await page.keyboard.press('Tab');
    await page.keyboard.type('kay@example.org');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('We sent an e-mail to kay@example.org.').waitFor();
    await page.context().close();
  });

  it('choose a new password by a link, which works once', async () => {
    const email = 'forgetful@example.org';
    const other = await signUp(email);
    const page = await open('/sign-in');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await field(page, 'E-mail address').fill(email);
    await button(page, 'Send the link').click();
    await page.getByText('we sent a link to it').waitFor();
    const link = await linkIn(email, /new password/);
    await page.goto(link);
    await field(page, 'New password').fill('short');
    await button(page, 'Change the password').click();
    await page.locator('#password-error', { hasText: 'Use at least 10 characters' }).waitFor();
    await field(page, 'New password').fill(NEW_PASSWORD);
    await button(page, 'Change the password').click();
    await page.getByText('Your password is changed.').waitFor();
    await other.goto(`${origin}/account`);
    assert.equal(new URL(other.url()).pathname, '/sign-in', 'other browsers are signed out');
    await signIn(page, email, NEW_PASSWORD);
    await page.waitForURL(`${origin}/shelter`);
    assert.equal((await page.goto(link))?.status(), 410);
    await page.context().close();
    await other.context().close();
  });

  it('change the address by a link to the new one', async () => {
    const page = await signUp('old@example.org');
    await page.goto(`${origin}/account`);
    await field(page, 'New e-mail address').fill('new@example.org');
    await page.locator('#emailPassword').fill(PASSWORD);
    await button(page, 'Change the address').click();
    await page.getByText('We sent a link to the address.').waitFor();
    assert.ok(await page.locator('#address').getByText('old@example.org').isVisible());
    await page.goto(await linkIn('new@example.org', /^Confirm/));
    await button(page, 'Confirm the address').click();
    await page.getByText('Your e-mail address is confirmed.').waitFor();
    assert.ok(await page.locator('#address').getByText('new@example.org').isVisible());
    // The old address gets a message.
    await waitUntil(() =>
      mail.mails.some(({ to, text }) => to.includes('old@example.org') && /was changed/.test(text)),
    );
    await page.context().close();
  });

  it('end the session of another browser, which then has to sign in', async () => {
    const email = 'busy@example.org';
    const page = await signUp(email);
    const other = await open('/');
    await signIn(other, email, PASSWORD);
    await page.goto(`${origin}/sessions`);
    assert.equal(await page.locator('.sessions li').count(), 2);
    await page.locator('.sessions').getByRole('button', { name: 'End' }).click();
    await page.getByText('The session has ended.').waitFor();
    await other.goto(`${origin}/account`);
    assert.equal(new URL(other.url()).pathname, '/sign-in');
    await page.goto(`${origin}/account`);
    assert.equal(new URL(page.url()).pathname, '/account');
    await page.context().close();
    await other.context().close();
  });

  it('export the data, delete the account, and keep it after all', async () => {
    const page = await signUp('leaver@example.org');
    await page.goto(`${origin}/account/data`);
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export the data').click()]);
    const data = JSON.parse(await readFile(await download.path(), 'utf8'));
    assert.equal(data.account.email, 'leaver@example.org');
    await page.getByRole('link', { name: 'Delete the account …' }).click();
    await field(page, 'Type the name of the account: Ann').fill('Ann');
    await field(page, 'Password').fill(PASSWORD);
    await button(page, 'Delete the account').click();
    await page.getByText('Your account will be deleted').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'leaver@example.org', PASSWORD);
    await button(page, 'Keep the account').click();
    await page.getByText('The deletion is cancelled.').waitFor();
    await page.context().close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`are accessible and fit a phone in the ${colorScheme} scheme, errors included`, async () => {
      const page = await signUp(`phone-${colorScheme}@example.org`, {
        colorScheme,
        viewport: { width: 320, height: 640 },
      });
      const check = async (what: string) => {
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320, `${what} fits`);
        assert.deepEqual(await violationsOn(page), [], what);
      };
      for (const path of [
        '/account',
        '/account/plan',
        '/account/data',
        '/sessions',
        '/account/delete',
        '/forgot-password',
      ]) {
        await page.goto(origin + path);
        await check(path);
      }
      await page.goto(`${origin}/account`);
      await field(page, 'Current password').fill('wrong');
      await field(page, 'New password').fill('short');
      await button(page, 'Change the password').click();
      await page.locator('#current-error', { hasText: 'The password is wrong.' }).waitFor();
      await check('errors');
      await page.context().close();
    });
  }
});

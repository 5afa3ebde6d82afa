import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { TOTP_STEP_MS, totpCodeAt } from '../../src/lib/totp.ts';
import type { TestService } from '../support/serving.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { bytesOfBase32 } from './second-factor-codes.ts';

const PASSWORD = 'correct horse battery';

describe('the second factor in a browser', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  let people = 0;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  /** Opens a browser of a new person, with an authenticator that confirms everything, and signs in. */
  async function newPerson(options: { readonly javaScriptEnabled?: boolean } = {}) {
    const email = `person-${++people}@example.org`;
    const hash = await new PasswordHasher().hash(PASSWORD, 'test');
    await service.app.databases.production.write(async tx => {
      const { id } = await createAccount(tx, { email, name: 'Shelter' });
      await storePassword(tx, id, hash);
    });
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    const signIn = async () => {
      await page.goto(`${origin}/sign-in?next=/security`);
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await follow(press(page, 'Sign in'));
    };
    const signOut = () => follow(page.getByRole('button', { name: 'Sign out' }));
    await signIn();
    return { context, page, devtools, authenticatorId, signIn, signOut };
  }

  const press = (page: Page, name: string) => page.getByRole('main').getByRole('button', { name, exact: true });
  const pathOf = (page: Page) => new URL(page.url()).pathname;

  it('is a passkey: added, used as a second factor and alone, and removed', async () => {
    const { context, page, devtools, authenticatorId, signIn, signOut } = await newPerson();
    await assertFits(page, 'Security');
    await follow(press(page, 'Add a passkey'));
    await assertFits(page, 'Add a passkey');
    await page.getByLabel('Name').fill('טלפון My phone');
    await follow(press(page, 'Add a passkey'));
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    await assertFits(page, 'Recovery codes');
    await follow(page.getByRole('link', { name: 'I have kept them' }));
    assert.equal(await page.locator('#passkeys li').count(), 1);
    await assertFits(page, 'Security with a passkey');

    await signOut();
    await signIn();
    assert.equal(pathOf(page), '/sign-in/second-factor');
    await assertFits(page, 'Second factor');
    await follow(press(page, 'Use a passkey'));
    assert.equal(pathOf(page), '/security');

    await signOut();
    await page.goto(`${origin}/sign-in?next=/sessions`);
    await follow(press(page, 'Sign in with a passkey'));
    assert.equal(pathOf(page), '/sessions');

    await signOut();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await page.goto(`${origin}/sign-in`);
    await press(page, 'Sign in with a passkey').click();
    await page.getByText('Cancelled, or it took too long. Try again.').waitFor();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await follow(press(page, 'Sign in with a passkey'));

    await page.goto(`${origin}/security`);
    await follow(page.locator('#passkeys').getByRole('button', { name: 'Remove' }));
    await page.getByText('All your other browsers are signed out.').waitFor();
    assert.equal(await page.locator('#recovery-codes').count(), 0);
    await signOut();
    await page.goto(`${origin}/sign-in`);
    await follow(press(page, 'Sign in with a passkey'));
    await page.getByText('This passkey did not work. Try again.').waitFor();
    await context.close();
  });

  for (const javaScriptEnabled of [true, false]) {
    it(`is an app, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const { context, page, signIn, signOut } = await newPerson({ javaScriptEnabled });
      await follow(press(page, 'Set up an app'));
      if (javaScriptEnabled) await assertFits(page, 'Set up an app');
      const secret = bytesOfBase32((await page.locator('code.token').textContent())!);
      const step = Math.floor(Date.now() / TOTP_STEP_MS);
      await page.getByLabel('Code that the app shows').fill(totpCodeAt(secret, step - 1));
      await follow(press(page, 'Turn it on'));
      const codes = (await page.locator('#codes').textContent())!.match(/\S{19}/g)!;
      assert.equal(codes.length, 10);
      await signOut();
      await signIn();
      await page.getByLabel('Code').fill('123');
      await follow(press(page, 'Sign in'));
      await page.locator('#code-error').waitFor();
      if (javaScriptEnabled) await assertFits(page, 'Second factor with an error');
      await page.getByLabel('Code').fill(totpCodeAt(secret, step + 1));
      await follow(press(page, 'Sign in'));
      assert.equal(pathOf(page), '/security');
      await signOut();
      await signIn();
      await page.getByLabel('Code').fill(codes[9]!);
      await follow(press(page, 'Sign in'));
      assert.equal(pathOf(page), '/security');
      await page.getByText('9 unused codes').waitFor();
      await context.close();
    });
  }
});

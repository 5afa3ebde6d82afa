import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { html } from '../../src/lib/html/html.ts';
import {
  type Ceremony,
  creationOptions,
  type Passkey,
  passkeyHostOf,
  requestOptions,
  verifyAssertion,
  verifyRegistration,
} from '../../src/lib/webauthn.ts';
import { follow, launchBrowser, skipBrowser, violationsOn } from './browser.ts';

const scripts = ['passkey.js', 'site.js'];

/** The page with the two forms, as a page of the site has them: without inline scripts, and usable without scripts. */
function pageOf(create: object, get: object): string {
  const form = (action: 'create' | 'get', options: object, fields: readonly string[], label: string) => html`
    <form method="post" action="/${action}" data-passkey="${action}" data-options="${JSON.stringify(options)}">
      ${fields.map(name => html`<input type="hidden" name="${name}">`)}
      <button disabled>${label}</button>
      <p role="status">Passkeys need JavaScript.</p>
    </form>`;
  const data = ['clientDataJSON', 'authenticatorData'];
  return html`<!doctype html>
    <html lang="en">
    <head><title>Passkeys</title>${scripts.map(name => html`<script type="module" src="/${name}"></script>`)}</head>
    <body><main><h1>Passkeys</h1>
    ${form('create', create, [...data, 'publicKey', 'algorithm'], 'Add a passkey')}
    ${form('get', get, ['credentialId', ...data, 'signature'], 'Sign in with a passkey')}
    </main></body></html>`.text;
}

/** A site with one user, whose passkeys are in memory. */
class Site {
  readonly passkeys = new Map<string, Passkey>();
  /** The COSE algorithms that are offered. */
  algorithms = [-7, -8, -257];
  /** Whether signing in names the passkeys of the user, or leaves the choice to the browser. */
  namesPasskeys = true;
  origin = '';
  /** What the last response was verified to be. */
  result: unknown;
  #challenge = '';
  readonly #user = { id: randomBytes(16).toString('base64url'), name: 'ada@example.org', displayName: 'Ada אדה' };

  async respond(request: IncomingMessage, response: ServerResponse) {
    const name = request.url!.slice(1);
    response.setHeader('content-security-policy', "default-src 'none'; script-src 'self'; form-action 'self'");
    if (scripts.includes(name)) {
      response.setHeader('content-type', 'text/javascript');
      return response.end(readFileSync(new URL(`../../src/web/assets/${name}`, import.meta.url)));
    }
    if (request.method === 'POST') this.result = this.#verify(name, new URLSearchParams(await text(request)));
    this.#challenge = randomBytes(32).toString('base64url');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return response.end(pageOf(this.#creationOptions(), this.#requestOptions()));
  }

  get #ceremony(): Ceremony {
    const rpId = passkeyHostOf(this.origin)!;
    return { challenge: this.#challenge, origin: this.origin, rpId, userVerification: 'required' };
  }

  #creationOptions() {
    const existing = [...this.passkeys.keys()];
    const options = creationOptions(this.#ceremony, { siteName: 'Shop', user: this.#user, existing });
    return {
      ...options,
      pubKeyCredParams: options.pubKeyCredParams.filter(({ alg }) => this.algorithms.includes(alg)),
    };
  }

  #requestOptions() {
    return requestOptions(this.#ceremony, this.namesPasskeys ? [...this.passkeys.keys()] : []);
  }

  #verify(action: string, form: URLSearchParams) {
    const field = (name: string) => form.get(name)!;
    const response = { clientDataJSON: field('clientDataJSON'), authenticatorData: field('authenticatorData') };
    if (action === 'create') {
      const [publicKey, algorithm] = [field('publicKey'), field('algorithm')];
      const passkey = verifyRegistration({ ...response, publicKey, algorithm }, this.#ceremony);
      if (typeof passkey === 'object') this.passkeys.set(passkey.credentialId, passkey);
      return passkey;
    }
    const passkey = this.passkeys.get(field('credentialId'));
    assert.ok(passkey !== undefined);
    const used = verifyAssertion({ ...response, signature: field('signature') }, passkey, this.#ceremony);
    if (typeof used === 'object') this.passkeys.set(passkey.credentialId, { ...passkey, ...used });
    return used;
  }
}

describe('passkeys in a browser', { skip: skipBrowser }, () => {
  let site: Site;
  let server: Server;
  let browser: Browser;
  before(async () => {
    server = createServer((request, response) => site.respond(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    browser = await launchBrowser();
  });
  beforeEach(() => {
    site = new Site();
    site.origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    await browser?.close();
    server?.close();
    server?.closeAllConnections();
  });

  /** Opens the page in a browser with an authenticator that confirms everything. */
  async function open(url = site.origin) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    await page.goto(url);
    return { context, page, devtools, authenticatorId };
  }

  const add = (page: Page) => follow(page.getByRole('button', { name: 'Add a passkey' }));
  const signIn = (page: Page) => follow(page.getByRole('button', { name: 'Sign in with a passkey' }));
  /** Clicks a button whose form is not sent, and waits for the status of the form. */
  async function fail(page: Page, action: 'create' | 'get', status: string) {
    const form = page.locator(`[data-passkey="${action}"]`);
    await form.getByRole('button').click();
    await form.getByText(status, { exact: true }).waitFor();
    assert.equal(await form.getByRole('button').isEnabled(), true);
    assert.equal(site.result, undefined);
  }
  const addedCredentials = (devtools: CDPSession, authenticatorId: string) =>
    devtools.send('WebAuthn.getCredentials', { authenticatorId });

  for (const [name, algorithm] of Object.entries({ ES256: -7, EdDSA: -8, RS256: -257 })) {
    it(`are created and used with ${name}`, async () => {
      site.algorithms = [algorithm];
      const { context, page, devtools, authenticatorId } = await open();
      await add(page);
      assert.ok(typeof site.result === 'object', String(site.result));
      const { credentials } = await addedCredentials(devtools, authenticatorId);
      const [passkey] = site.passkeys.values();
      assert.equal(passkey!.algorithm, algorithm);
      assert.equal(passkey!.credentialId, Buffer.from(credentials[0]!.credentialId, 'base64').toString('base64url'));
      await signIn(page);
      const [first] = site.passkeys.values();
      assert.deepEqual(site.result, { signCount: first!.signCount, backedUp: false });
      assert.ok(first!.signCount > passkey!.signCount);
      await signIn(page);
      assert.deepEqual(site.result, { signCount: first!.signCount + 1, backedUp: false });
      await context.close();
    });
  }

  it('are found by the browser if the site does not name them', async () => {
    site.namesPasskeys = false;
    const { context, page } = await open();
    await add(page);
    await signIn(page);
    assert.ok(typeof site.result === 'object', String(site.result));
    await context.close();
  });

  it('report that they are backed up', async () => {
    const { context, page, devtools, authenticatorId } = await open();
    await add(page);
    const { credentials } = await addedCredentials(devtools, authenticatorId);
    const { credentialId } = credentials[0]!;
    const flags = { backupEligibility: true, backupState: true };
    await devtools.send('WebAuthn.setCredentialProperties', { authenticatorId, credentialId, ...flags });
    await signIn(page);
    assert.equal((site.result as Passkey).backedUp, true);
    await context.close();
  });

  it('are rejected if their counter was copied with them', async () => {
    const { context, page } = await open();
    await add(page);
    const [passkey] = site.passkeys.values();
    site.passkeys.set(passkey!.credentialId, { ...passkey!, signCount: 1000 });
    await signIn(page);
    assert.equal(site.result, 'signature counter');
    await context.close();
  });

  it('are created once on each device', async () => {
    const { context, page } = await open();
    await add(page);
    site.result = undefined;
    await fail(page, 'create', 'This device already has a passkey for you.');
    await context.close();
  });

  it('explain what went wrong, and can be tried again', async () => {
    const { context, page, devtools, authenticatorId } = await open();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await fail(page, 'create', 'Cancelled, or it took too long. Try again.');
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await add(page);
    assert.ok(typeof site.result === 'object', String(site.result));
    await context.close();
  });

  it('explain that they are for another address', async () => {
    const { context, page } = await open(site.origin.replace('localhost', '127.0.0.1'));
    await fail(page, 'create', 'Passkeys do not work at this address.');
    await fail(page, 'get', 'Passkeys do not work at this address.');
    await context.close();
  });

  it('explain that the browser does not support them', async () => {
    const context = await browser.newContext();
    await context.addInitScript('delete globalThis.AuthenticatorAttestationResponse');
    const page = await context.newPage();
    await page.goto(site.origin);
    assert.equal(await page.getByText('Passkeys do not work in this browser.').count(), 2);
    assert.equal(await page.getByRole('button', { disabled: true }).count(), 2);
    await context.close();
  });

  it('say that they need JavaScript without it', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(site.origin);
    assert.equal(await page.getByText('Passkeys need JavaScript.').count(), 2);
    assert.equal(await page.getByRole('button', { disabled: true }).count(), 2);
    await context.close();
  });

  it('are accessible', async () => {
    const { context, page } = await open();
    await page.getByRole('button', { name: 'Add a passkey', disabled: false }).waitFor();
    assert.deepEqual(await violationsOn(page), []);
    await context.close();
  });
});

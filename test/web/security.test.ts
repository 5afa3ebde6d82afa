import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { attemptLimits } from '../../src/access/sessions/attempts.ts';
import { cookieNames } from '../../src/access/sessions/cookies.ts';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { pages } from '../../src/main/pages.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { anonymous, signedIn, type Visitor } from './session.ts';

const PASSWORD = 'correct horse battery';

describe('someone who guesses passwords', () => {
  let service: TestService;
  let hash: string;
  before(async () => {
    // The peer is a trusted proxy, so that requests can come from many networks.
    service = await serve({ environment: { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' } });
    hash = await new PasswordHasher().hash(PASSWORD, '192.0.2.1');
  });
  after(() => service.stop());

  /** Creates an account with the password. */
  async function accountOf(email: string): Promise<Visitor> {
    const owner = await signedIn(service, { email });
    await service.app.databases.production.write(tx => storePassword(tx, owner.accountId, hash));
    return owner;
  }

  function signIn(visitor: Visitor, email: string, password: string, headers: Readonly<Record<string, string>>) {
    return visitor.submit('/sign-in', { email, password }, headers);
  }

  it('cannot lock the owner out of a browser that has signed in before', async () => {
    await accountOf('ann@example.org');
    const owner = anonymous(service);
    const home = { 'X-Forwarded-For': '192.0.2.1' };
    const first = await signIn(owner, 'ann@example.org', PASSWORD, home);
    assert.equal(first.status, 303);
    const cookie = `${visitorCookie(owner, service)}; ${cookieIn(first, 'known')}`;

    const guess = () => signIn(anonymous(service), 'ann@example.org', 'wrong', { 'X-Forwarded-For': '192.0.2.66' });
    for (let i = 0; i < attemptLimits.signInByPerson.max; i++) assert.equal((await guess()).status, 401);
    assert.equal((await guess()).status, 429);
    assert.equal((await signIn(owner, 'ann@example.org', PASSWORD, home)).status, 429);
    assert.equal((await signIn(owner, 'ann@example.org', PASSWORD, { ...home, Cookie: cookie })).status, 303);

    // The cookie does not help to guess, nor to sign in to another account.
    for (let i = 0; i < attemptLimits.signInByKnownBrowser.max; i++) {
      assert.equal((await signIn(owner, 'ann@example.org', 'wrong', { ...home, Cookie: cookie })).status, 401);
    }
    assert.equal((await signIn(owner, 'ann@example.org', PASSWORD, { ...home, Cookie: cookie })).status, 429);
  });

  it('cannot keep the owner from changes that need the password, which are limited on their own', async () => {
    const owner = await accountOf('ben@example.org');
    const guess = () => signIn(anonymous(service), 'ben@example.org', 'wrong', { 'X-Forwarded-For': '192.0.2.88' });
    for (let i = 0; i < attemptLimits.signInByPerson.max; i++) assert.equal((await guess()).status, 401);
    assert.equal((await guess()).status, 429);
    // The name is wrong, so that the account stays.
    const confirm = () => owner.submit('/account/delete', { name: 'x', password: PASSWORD });
    for (let i = 0; i < attemptLimits.passwordByPerson.max; i++) assert.equal((await confirm()).status, 422);
    assert.equal((await confirm()).status, 429);
  });

  it('fills neither the queue of hashes for long nor the log', async () => {
    const flood = Array.from({ length: 40 }, (_, i) =>
      signIn(anonymous(service), `flood-${i}@example.org`, 'wrong', { 'X-Forwarded-For': `198.51.100.${i}` }),
    );
    const rejected = (await Promise.all(flood)).filter(({ status }) => status === 503);
    assert.ok(rejected.length > 1);
    assert.match(rejected[0]!.text, /Too many passwords are being checked/);
    assert.equal(service.lines.filter(line => line.includes('"overloaded"')).length, 1);
  });
});

describe('pages', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  const browser = { Accept: 'text/html', 'Content-Type': 'application/x-www-form-urlencoded' };

  it('have the security headers whatever their status, and other sites cannot read them', async () => {
    for (const [method, path, expected, body] of [
      ['GET', '/', 200],
      ['GET', '/animals?cursor=x', 400],
      ['POST', '/sign-in', 403, 'token=x'],
      ['GET', '/animals/%00', 404],
      ['DELETE', '/sign-in', 405],
      ['GET', '/links/x', 410],
      ['POST', '/sign-in', 413, `x=${'y'.repeat(70_000)}`],
    ] as const) {
      const { status, headers } = await send(origin + path, { method, headers: browser, body });
      assert.equal(status, expected, path);
      assert.match(String(headers['content-security-policy']), /^default-src 'none'; .*frame-ancestors 'none'/, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.equal(headers['access-control-allow-origin'], undefined, path);
    }
  });

  it('that are cached contain nothing of the visitor for whom they were rendered', async () => {
    const examples: Readonly<Record<string, string>> = {
      '/guides/{name}': '/guides/quickstart',
      '/guides/operating/{name}': '/guides/operating/install',
      '/reference/{operationId}': '/reference/listPets',
      '/errors/{code}': '/errors/invalid_body',
      '/deprecations/{operationId}': '/deprecations/getPet',
    };
    for (const { path } of pages.filter(({ cached }) => cached)) {
      const [, page = path, twin = ''] = /^(.*\})(\.md)$/.exec(path) ?? [];
      const example = (examples[page] ?? page) + twin;
      const { status, headers, text } = await send(origin + example, { headers: { ...browser, Host: 'evil.example' } });
      assert.equal(status, 200, example);
      assert.equal(headers['set-cookie'], undefined, example);
      assert.doesNotMatch(text, /name="token"|evil\.example/, example);
    }
  });

  it('send nobody to another site after signing in', async () => {
    const person = await signedIn(service);
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'https://evil.example',
      '/a\r\nX-Y: z',
    ]) {
      const { headers } = await person.open(`/sign-in?next=${encodeURIComponent(next)}`);
      assert.equal(headers['location'], '/shelter', next);
    }
  });
});

/** Returns a cookie that a response sets, as browsers send it. */
function cookieIn({ all }: Reply, name: string): string {
  const header = all['set-cookie']?.find(one => one.startsWith(`__Host-petstore-${name}-`));
  assert.ok(header, `sets the cookie ${name}`);
  return header.split(';', 1)[0]!;
}

function visitorCookie({ secret }: Visitor, { urls }: TestService): string {
  return `${cookieNames(new URL(urls.production).origin).visitor}=${secret}`;
}

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { insertMember } from '../../src/access/accounts/people.ts';
import { listKeys } from '../../src/access/keys/keys.ts';
import { cookieNames, formTokenOf } from '../../src/access/sessions/cookies.ts';
import { createLink, type LinkPurpose, linkPath } from '../../src/access/sessions/links.ts';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { newSecret } from '../../src/access/sessions/session.ts';
import { testClock } from '../../src/lib/clock.ts';
import { TOTP_STEP_MS, totpCodeAt } from '../../src/lib/totp.ts';
import { pages } from '../../src/main/pages.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { CONFIRMED_MS } from '../../src/web/sessions/again.ts';
import { Authenticator, FLAGS } from '../support/authenticator.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { bytesOfBase32 } from './second-factor-codes.ts';

const PASSWORD = 'correct horse battery';

/** A browser that keeps its cookies. */
class Client {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();
  constructor(origin: string) {
    this.#origin = origin;
    this.#cookies.set(cookieNames(origin).visitor, newSecret());
  }

  has(kind: 'session' | 'signIn'): boolean {
    return this.#cookies.has(cookieNames(this.#origin)[kind]);
  }

  /** Copies a cookie under the name of another one. */
  rename(from: 'signIn', to: 'session'): void {
    const names = cookieNames(this.#origin);
    this.#cookies.set(names[to], this.#cookies.get(names[from])!);
  }

  open(path: string): Promise<Reply> {
    return this.#send(path, { headers: this.#headers() });
  }

  submit(path: string, form: Readonly<Record<string, string>>): Promise<Reply> {
    const { session, visitor } = cookieNames(this.#origin);
    const token = formTokenOf((this.#cookies.get(session) ?? this.#cookies.get(visitor))!);
    return this.#send(path, {
      method: 'POST',
      headers: {
        ...this.#headers(),
        'Content-Type': 'application/x-www-form-urlencoded',
        'Sec-Fetch-Site': 'same-origin',
      },
      body: new URLSearchParams({ token, ...form }).toString(),
    });
  }

  #headers() {
    const pairs = Array.from(this.#cookies, ([name, value]) => `${name}=${value}`);
    return { Cookie: pairs.join('; '), Accept: 'text/html' };
  }

  async #send(path: string, options: Parameters<typeof send>[1]): Promise<Reply> {
    const reply = await send(this.#origin + path, options);
    for (const cookie of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '') this.#cookies.delete(name!);
      else this.#cookies.set(name!, value!);
    }
    return reply;
  }
}

describe('a second factor', () => {
  const clock = testClock(Date.UTC(2026, 10, 20, 12));
  const passwords = new PasswordHasher();
  let service: TestService;
  let origin: string;
  let people = 0;
  before(async () => {
    service = await serve({ clock });
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  const accounts = () => service.app.databases.production;

  /** Creates an account, whose owner has a password. */
  async function newOwner() {
    const email = `owner-${++people}@example.org`;
    const hash = await passwords.hash(PASSWORD, 'test');
    const { id } = await accounts().write(async tx => {
      const account = await createAccount(tx, { email, name: 'Shelter' });
      await storePassword(tx, account.id, hash);
      return account;
    });
    const client = new Client(origin);
    return {
      ...{ id, email, client },
      signIn: (more = {}) => client.submit('/sign-in', { email, password: PASSWORD, ...more }),
      link: (purpose: LinkPurpose) => accounts().write(tx => createLink(tx, { personId: id, purpose, email })),
    };
  }

  /** Sets up an app through the pages, in a browser that is signed in. */
  async function addAppOf(client: Client) {
    await client.submit('/security/app/new', {});
    const shown = await client.open('/security/app');
    const secret = bytesOfBase32(/class="token">([A-Z2-7 ]+)</.exec(shown.text)![1]!);
    /** Returns the next code: each later one is accepted once more. */
    const code = () => {
      clock.advance(2 * TOTP_STEP_MS);
      return totpCodeAt(secret, Math.floor(clock.now() / TOTP_STEP_MS));
    };
    const added = await client.submit('/security/app', { code: code() });
    assert.equal(added.status, 200);
    const codes = Array.from(added.text.matchAll(/\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/g), ([found]) => found);
    assert.equal(codes.length, 10);
    return { code, codes };
  }

  /** The same, with an app. */
  async function newOwnerWithApp() {
    const owner = await newOwner();
    await owner.signIn();
    const { code, codes } = await addAppOf(owner.client);
    const [previous, client] = [owner.client, new Client(origin)];
    const signIn = (more = {}) => client.submit('/sign-in', { email: owner.email, password: PASSWORD, ...more });
    return { ...owner, previous, client, signIn, code, codes };
  }

  const step = (reply: Reply) => {
    assert.equal(reply.status, 303);
    assert.match(String(reply.headers.location), /^\/sign-in\/second-factor\?next=/);
  };

  it('is asked for after the password, and keeps the page to open', async () => {
    const { client, signIn, code } = await newOwnerWithApp();
    const asked = await signIn({ next: '/sessions' });
    step(asked);
    assert.equal(client.has('session'), false);
    const page = await client.open(String(asked.headers.location));
    assert.match(page.text, /name="next" value="\/sessions"/);
    const done = await client.submit('/sign-in/second-factor', { next: '/sessions', code: code() });
    assert.equal(done.headers.location, '/sessions');
    assert.equal(client.has('signIn'), false);
    assert.equal((await client.open('/sessions')).status, 200);
  });

  it('goes on only to pages of this site', async () => {
    const { client, signIn, code } = await newOwnerWithApp();
    await signIn();
    const done = await client.submit('/sign-in/second-factor', { next: '//elsewhere.example', code: code() });
    assert.equal(done.headers.location, '/shelter');
  });

  it('can be a recovery code, once', async () => {
    const { client, signIn, codes } = await newOwnerWithApp();
    await signIn();
    await client.submit('/sign-in/second-factor', { code: codes[2]! });
    assert.equal(client.has('session'), true);
    const other = new Client(origin);
    assert.equal(other.has('session'), false);
    await signIn();
    const again = await client.submit('/sign-in/second-factor', { code: codes[2]! });
    assert.equal(again.status, 422);
  });

  it('has one message for wrong, used and malformed codes', async () => {
    const { client, signIn, code, codes } = await newOwnerWithApp();
    const used = code();
    await signIn();
    await client.submit('/sign-in/second-factor', { code: used });
    await client.submit('/sign-out', {});
    await client.submit('/sign-in', { email: 'x', password: '' });
    await signIn();
    const messages = new Set<string>();
    for (const wrong of [
      used,
      '000000',
      'x',
      '',
      codes[0]!.replace(/^./, first => (first === 'Z' ? 'Y' : 'Z')),
      '9'.repeat(5000),
    ]) {
      const reply = await client.submit('/sign-in/second-factor', { code: wrong });
      assert.equal(reply.status, 422);
      messages.add(/class="error" id="code-error">([^<]+)</.exec(reply.text)![1]!);
    }
    assert.equal(messages.size, 1);
    assert.equal(client.has('session'), false);
  });

  it('is tried ten times an hour at most, over all sign-ins, also with right codes', async () => {
    const { client, signIn, code } = await newOwnerWithApp();
    for (let index = 0; index < 10; index++) {
      if (index % 5 === 0) await signIn();
      assert.equal((await client.submit('/sign-in/second-factor', { code: '000000' })).status, 422);
    }
    const blocked = await client.submit('/sign-in/second-factor', { code: code() });
    assert.equal(blocked.status, 429);
    assert.match(blocked.text, /A recovery code or a passkey may still work/);
    clock.advance(60 * 60_000);
    await signIn();
    assert.equal((await client.submit('/sign-in/second-factor', { code: code() })).status, 303);
  });

  it('can be a recovery code while codes of the app are blocked, with a count of its own', async () => {
    const { client, signIn, code, codes } = await newOwnerWithApp();
    await signIn();
    const blocked = async (wrong: string) => {
      for (let index = 0; index < 10; index++) await client.submit('/sign-in/second-factor', { code: wrong });
      return (await client.submit('/sign-in/second-factor', { code: wrong })).status === 429;
    };
    assert.ok(await blocked('000000'));
    assert.equal((await client.submit('/sign-in/second-factor', { code: codes[0]! })).status, 303);
    await client.submit('/sign-out', {});
    await signIn();
    assert.ok(await blocked('0000-0000-0000-0000'));
    assert.equal((await client.submit('/sign-in/second-factor', { code: codes[1]! })).status, 429);
    assert.equal(
      (await client.submit('/sign-in/second-factor', { code: code() })).status,
      303,
      'the app is another count',
    );
  });

  describe('while it is missing', () => {
    it('no page of an account opens, and no form is accepted', async () => {
      const { client, signIn } = await newOwnerWithApp();
      await signIn();
      for (const disguised of [false, true]) {
        // The secret of the sign-in is no session either.
        if (disguised) client.rename('signIn', 'session');
        for (const page of pages.filter(({ access }) => access !== 'everyone')) {
          const path = page.path.replace(/\{\w+\}|\*$/g, '999999');
          if (page.show) {
            const opened = await client.open(path);
            assert.match(String(opened.headers.location), /^\/sign-in/, `GET ${path}`);
          }
          if (page.submit && page.file === undefined) {
            const sent = await client.submit(path, {});
            assert.match(String(sent.headers.location), /^\/sign-in/, `POST ${path}`);
          }
        }
      }
      assert.equal(client.has('session'), false, 'the cookie is cleared');
    });

    it('a link of the operator does not replace it', async () => {
      const { client, link, code } = await newOwnerWithApp();
      const { secret } = await link('sign_in');
      step(await client.submit(linkPath(secret), {}));
      assert.equal(client.has('session'), false);
      assert.match(String((await client.open('/account')).headers.location), /^\/sign-in/);
      await client.submit('/sign-in/second-factor', { next: '/account', code: code() });
      assert.equal((await client.open('/account')).status, 200);
    });

    it('a link that confirms the address does not replace it', async () => {
      const { client, link } = await newOwnerWithApp();
      const { secret } = await link('confirm');
      step(await client.submit(linkPath(secret), { password: PASSWORD }));
      assert.equal(client.has('session'), false);
    });

    it('a new password by e-mail does not replace it, and ends sign-ins that wait', async () => {
      const { client, link, signIn, code, email } = await newOwnerWithApp();
      await signIn();
      const { secret } = await link('reset');
      const other = new Client(origin);
      const reset = await other.submit(linkPath(secret), { password: 'another good password' });
      assert.equal(reset.headers.location, '/sign-in?done=password');
      const late = await client.submit('/sign-in/second-factor', { code: code() });
      assert.match(String(late.headers.location), /^\/sign-in\?/);
      step(await other.submit('/sign-in', { email, password: 'another good password' }));
      assert.equal(other.has('session'), false);
    });

    it('the page needs a sign-in, and its form the token', async () => {
      const { client, code } = await newOwnerWithApp();
      assert.match(String((await client.open('/sign-in/second-factor')).headers.location), /^\/sign-in\?/);
      const sent = await client.submit('/sign-in/second-factor', { code: code() });
      assert.match(String(sent.headers.location), /^\/sign-in\?/);
      assert.equal((await client.submit('/sign-in/second-factor', { token: 'x', code: code() })).status, 403);
    });

    it('a code of another person does not replace it', async () => {
      const { client, signIn } = await newOwnerWithApp();
      const other = await newOwnerWithApp();
      await signIn();
      const reply = await client.submit('/sign-in/second-factor', { code: other.code() });
      assert.equal(reply.status, 422);
      assert.equal((await client.submit('/sign-in/second-factor', { code: other.codes[0]! })).status, 422);
    });
  });

  describe('as a passkey', () => {
    const challengeIn = ({ text }: Reply) => /name="challenge" value="([\w-]+)"/.exec(text)![1]!;
    const present = FLAGS.present;

    /** Adds a passkey through the pages. Returns its authenticator. */
    async function newOwnerWithPasskey() {
      const owner = await newOwner();
      await owner.signIn();
      const passkey = new Authenticator(origin);
      const challenge = challengeIn(await owner.client.submit('/security/passkeys/new', {}));
      clock.advance(1);
      const added = await owner.client.submit('/security/passkeys', {
        ...passkey.create(challenge),
        ...{ challenge, name: 'Phone' },
      });
      assert.match(added.text, /Your recovery codes/);
      return { ...owner, passkey, previous: owner.client };
    }

    /** Signs in with a passkey alone. */
    async function signInAlone(
      passkey: Authenticator,
      client: Client,
      deviation: Parameters<Authenticator['get']>[1] = {},
    ) {
      const challenge = challengeIn(await client.open('/sign-in'));
      clock.advance(1);
      const form = { ...passkey.get(challenge, deviation), challenge };
      return { form, reply: await client.submit('/sign-in/passkey', { ...form, next: '/sessions' }) };
    }

    it('signs in alone, and each signature once', async () => {
      const { passkey } = await newOwnerWithPasskey();
      const client = new Client(origin);
      const { form, reply } = await signInAlone(passkey, client);
      assert.equal(reply.headers.location, '/sessions');
      assert.equal((await client.open('/sessions')).status, 200);
      const other = new Client(origin);
      assert.equal((await other.submit('/sign-in/passkey', form)).status, 401);
      assert.equal(other.has('session'), false);
    });

    it('works while codes are blocked', async () => {
      const { client: _, passkey, email } = await newOwnerWithPasskey();
      const client = new Client(origin);
      await client.submit('/sign-in', { email, password: PASSWORD });
      for (let index = 0; index <= 10; index++) await client.submit('/sign-in/second-factor', { code: '000000' });
      const challenge = challengeIn(await client.open('/sign-in/second-factor'));
      clock.advance(1);
      const form = { ...passkey.get(challenge), challenge };
      assert.equal((await client.submit('/sign-in/second-factor', form)).status, 303);
    });

    it('refuses what no browser sends', async () => {
      const { passkey } = await newOwnerWithPasskey();
      const client = new Client(origin);
      const { form } = await signInAlone(passkey, client);
      const odd = { challenge: Buffer.alloc(40, 255).toString('base64url'), credentialId: '\0' };
      for (const [name, value] of Object.entries(odd)) {
        const reply = await new Client(origin).submit('/sign-in/passkey', { ...form, [name]: value });
        assert.equal(reply.status, 401, name);
      }
    });

    it('does not sign in alone without checking its user, but is a second factor', async () => {
      const { passkey, email } = await newOwnerWithPasskey();
      const client = new Client(origin);
      const { reply } = await signInAlone(passkey, client, { flags: present });
      assert.equal(reply.status, 401);
      step(await client.submit('/sign-in', { email, password: PASSWORD }));
      const challenge = challengeIn(await client.open('/sign-in/second-factor'));
      clock.advance(1);
      const form = { ...passkey.get(challenge, { flags: present }), challenge };
      assert.equal((await client.submit('/sign-in/second-factor', form)).status, 303);
      assert.equal(client.has('session'), true);
    });

    it('is not replaced by one of another person, for another page, or of a stranger', async () => {
      const { passkey, email } = await newOwnerWithPasskey();
      const other = await newOwnerWithPasskey();
      const client = new Client(origin);
      await client.submit('/sign-in', { email, password: PASSWORD });
      const challenge = challengeIn(await client.open('/sign-in/second-factor'));
      const elsewhere = challengeIn(await client.open('/sign-in'));
      clock.advance(1);
      for (const form of [
        { ...other.passkey.get(challenge), challenge },
        { ...passkey.get(elsewhere), challenge: elsewhere },
        { ...passkey.get('x'.repeat(54)), challenge: 'x'.repeat(54) },
        { ...new Authenticator(origin).get(challenge), challenge },
        { ...new Authenticator('https://elsewhere.example').get(challenge), challenge },
        { credentialId: '' },
      ]) {
        assert.equal((await client.submit('/sign-in/second-factor', form)).status, 422);
      }
      assert.equal(client.has('session'), false);
    });

    it('is added only with a challenge of a session that has proved its identity', async () => {
      const { client, signIn } = await newOwner();
      await signIn();
      const own = challengeIn(await client.submit('/security/passkeys/new', {}));
      const other = await newOwner();
      await other.signIn();
      for (const challenge of [own, challengeIn(await new Client(origin).open('/sign-in'))]) {
        const form = { ...new Authenticator(origin).create(challenge), challenge, name: 'Phone' };
        assert.equal((await other.client.submit('/security/passkeys', form)).status, 422);
      }
      assert.doesNotMatch((await other.client.open('/security')).text, /Phone/);
    });

    it('answers when a page asks again', async () => {
      const { previous, passkey } = await newOwnerWithPasskey();
      clock.advance(CONFIRMED_MS);
      const asked = await previous.submit('/account/export', {});
      const challenge = challengeIn(asked);
      clock.advance(1);
      const form = { ...passkey.get(challenge), challenge, confirmsAgain: 'all' };
      assert.match(String((await previous.submit('/account/export', form)).headers['content-type']), /json/);
    });
  });

  describe('is asked for again', () => {
    it('before sensitive forms a while after the sign-in, and keeps what was entered', async () => {
      const { previous, code } = await newOwnerWithApp();
      const form = { name: 'Desk', deployment: 'production', scopes: '*', expires: 'never', confirmed: 'yes' };
      clock.advance(CONFIRMED_MS);
      const asked = await previous.submit('/keys/new', form);
      assert.equal(asked.status, 403);
      assert.match(asked.text, /Confirm that it is you/);
      for (const [name, value] of Object.entries(form)) {
        assert.ok(asked.text.includes(`type="hidden" name="${name}" value="${value}"`), name);
      }
      const wrong = await previous.submit('/keys/new', { ...form, confirmsAgain: 'all', code: '000000' });
      assert.equal(wrong.status, 422);
      const done = await previous.submit('/keys/new', { ...form, confirmsAgain: 'all', code: code() });
      assert.doesNotMatch(done.text, /Confirm that it is you/);
      const later = await previous.submit('/account/export', {});
      assert.equal(later.status, 200, 'it counts for a while');
      assert.match(String(later.headers['content-type']), /json/);
      assert.match(later.text, /"secondFactors":\[\{"kind":"app","createdAt":"/);
      assert.doesNotMatch(later.text, /"secret":"1\./);
    });

    it('before a key for the examples of a guide, which a browser then shows again', async () => {
      const { previous, code, id } = await newOwnerWithApp();
      clock.advance(CONFIRMED_MS);
      const asked = await previous.submit('/guides/key', { next: '/guides/pets' });
      assert.equal(asked.status, 403);
      const proof = { next: '/guides/pets', confirmsAgain: 'all', code: code() };
      assert.equal((await previous.submit('/guides/key', proof)).headers.location, '/guides/pets');
      assert.deepEqual(await listKeys(accounts(), id), []);
    });

    it('on every page that says so', async () => {
      const { previous } = await newOwnerWithApp();
      clock.advance(CONFIRMED_MS);
      const asking = pages.filter(({ access, asksAgain }) => access === 'account' && asksAgain !== undefined);
      assert.ok(asking.length >= 10);
      for (const path of ['/guides/key', '/keys/new', '/webhooks/{webhookId}/edit', '/webhooks/{webhookId}/secrets']) {
        assert.ok(
          asking.some(page => page.path === path),
          path,
        );
      }
      for (const { path } of asking) {
        const reply = await previous.submit(path.replace(/\{\w+\}/g, '999999'), {});
        assert.equal(reply.status, 403, path);
        assert.match(reply.text, /Confirm that it is you/, path);
      }
    });

    it('never with passwords in the page', async () => {
      const { previous, code } = await newOwnerWithApp();
      clock.advance(CONFIRMED_MS);
      const form = { current: PASSWORD, password: 'another good password' };
      const asked = await previous.submit('/account/password', form);
      assert.equal(asked.status, 403);
      assert.ok(!asked.text.includes(PASSWORD) && !asked.text.includes(form.password));
      const done = await previous.submit('/account/password', { confirmsAgain: 'passwords', code: code() });
      assert.equal(done.headers.location, '/account');
    });

    it('is the password for someone without a factor, and nothing without either', async () => {
      const { client, signIn } = await newOwner();
      await signIn();
      clock.advance(CONFIRMED_MS);
      const asked = await client.submit('/account/export', {});
      assert.match(asked.text, /type="password"/);
      const wrong = await client.submit('/account/export', { confirmsAgain: 'all', confirmPassword: 'x' });
      assert.equal(wrong.status, 422);
      const right = await client.submit('/account/export', { confirmsAgain: 'all', confirmPassword: PASSWORD });
      assert.match(String(right.headers['content-type']), /json/);
      const byLink = await newOwner();
      const { secret } = await accounts().write(tx =>
        createAccount(tx, { email: `linked-${byLink.id}@example.org`, name: 'Linked' }).then(({ id, email }) =>
          createLink(tx, { personId: id, purpose: 'sign_in', email }),
        ),
      );
      await byLink.client.submit(linkPath(secret), {});
      clock.advance(CONFIRMED_MS);
      assert.equal((await byLink.client.submit('/account/export', {})).status, 200);
    });

    it('to remove a factor, which signs out other browsers', async () => {
      const { previous, client, signIn, code } = await newOwnerWithApp();
      await signIn();
      await client.submit('/sign-in/second-factor', { code: code() });
      clock.advance(CONFIRMED_MS);
      assert.equal((await client.submit('/security/app/removal', {})).status, 403);
      const removed = await client.submit('/security/app/removal', { confirmsAgain: 'all', code: code() });
      assert.equal(removed.headers.location, '/security?done=appRemoved');
      assert.equal((await client.open('/security')).status, 200);
      assert.match(String((await previous.open('/security')).headers.location), /^\/sign-in/);
      await client.submit('/sign-out', {});
      const signedIn = await signIn();
      assert.equal(signedIn.headers.location, '/shelter', 'the password is enough again');
    });
  });

  describe('that an owner requires of everyone', () => {
    it('needs the factor of the owner first', async () => {
      const { client, signIn } = await newOwner();
      await signIn();
      const refused = await client.submit('/account/people/second-factor', { required: 'yes' });
      assert.equal(refused.status, 422);
      assert.match(refused.text, /Add a second factor to your own sign-in first/);
    });

    it('leaves members without one only the pages to add it, until they have', async () => {
      const owner = await newOwnerWithApp();
      const required = await owner.previous.submit('/account/people/second-factor', { required: 'yes' });
      assert.equal(required.headers.location, '/account/people?done=required');
      const member = await newOwner();
      await accounts().write(tx => insertMember(tx, { accountId: owner.id, personId: member.id, role: 'owner' }));
      await member.signIn();
      await member.client.submit('/account/switch', { account: String(owner.id) });
      for (const page of pages.filter(({ access, withoutFactor }) => access === 'account' && !withoutFactor)) {
        const path = page.path.replace(/\{\w+\}/g, '999999');
        if (page.show) {
          assert.equal((await member.client.open(path)).headers.location, '/security?done=required', `GET ${path}`);
        }
        if (page.submit && page.file === undefined) {
          const sent = await member.client.submit(path, {});
          assert.equal(sent.headers.location, '/security?done=required', `POST ${path}`);
        }
      }
      assert.match((await member.client.open('/security?done=required')).text, /requires a second factor/);
      await addAppOf(member.client);
      assert.equal((await member.client.open('/account/people')).status, 200);
      await member.client.submit('/account/people/second-factor', {});
      const other = await newOwner();
      await accounts().write(tx => insertMember(tx, { accountId: owner.id, personId: other.id, role: 'viewer' }));
      await other.signIn();
      await other.client.submit('/account/switch', { account: String(owner.id) });
      assert.equal((await other.client.open('/account/people')).status, 200, 'it is no longer required');
    });

    it('does not close other accounts of the member', async () => {
      const owner = await newOwnerWithApp();
      await owner.previous.submit('/account/people/second-factor', { required: 'yes' });
      const member = await newOwner();
      await accounts().write(tx => insertMember(tx, { accountId: owner.id, personId: member.id, role: 'viewer' }));
      await member.signIn();
      await member.client.submit('/account/switch', { account: String(member.id) });
      assert.equal((await member.client.open('/keys')).status, 200);
    });

    it('is a switch of owners', async () => {
      const owner = await newOwnerWithApp();
      await accounts().write(tx => tx.run(makeViewer, { personId: owner.id }));
      const sent = await owner.previous.submit('/account/people/second-factor', { required: 'yes' });
      assert.equal(sent.status, 403);
    });
  });

  it('takes one of many concurrent uses of a code to sign in', async () => {
    const { email, code } = await newOwnerWithApp();
    const clients = Array.from({ length: 4 }, () => new Client(origin));
    for (const client of clients) await client.submit('/sign-in', { email, password: PASSWORD });
    const current = code();
    await Promise.all(clients.map(client => client.submit('/sign-in/second-factor', { code: current })));
    assert.equal(clients.filter(client => client.has('session')).length, 1);
  });

  it('is set up only after the password of a session that signed in a while ago', async () => {
    const { client, signIn, id } = await newOwner();
    await signIn();
    clock.advance(CONFIRMED_MS);
    for (const path of ['/security/app/new', '/security/passkeys/new']) {
      assert.match((await client.submit(path, {})).text, /Confirm that it is you/);
    }
    assert.equal((await accounts().all(appsOf, { id })).length, 0);
  });

  it('is explained where passkeys do not work', async () => {
    const { client, signIn } = await newOwner();
    await signIn();
    const { text } = await client.open('/security');
    const works = new URL(origin).hostname === 'localhost';
    assert.equal(/Browsers allow passkeys only/.test(text), !works);
  });
});

const makeViewer = query((db, p: Params<{ personId: number }>) =>
  db.updateTable('members').set({ role: 'viewer' }).where('person_id', '=', p.personId),
);

const appsOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('authenticator_apps').selectAll().where('person_id', '=', p.id),
);

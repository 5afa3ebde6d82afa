import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  createAccount,
  findAccountByEmail,
  getAccount,
  requestDeletion,
  suspendAccount,
} from '../../src/access/accounts/accounts.ts';
import { createLink } from '../../src/access/sessions/links.ts';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { IDLE_MS } from '../../src/access/sessions/session.ts';
import { listSessions } from '../../src/access/sessions/sessions.ts';
import { testClock } from '../../src/lib/clock.ts';
import { query, type Transaction } from '../../src/model/schema.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { anonymous, endAllSessions, signedIn, signedInAs, type Visitor } from './session.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const DAY = 86_400_000;
const PASSWORD = 'correct horse battery';
const passwords = new PasswordHasher();

describe('the forms of accounts', () => {
  const clock = testClock(NOON);
  let mail: SmtpServer;
  let service: TestService;
  before(async () => {
    mail = await startSmtpServer();
    const environment = { PETSTORE_SMTP_URL: mail.url, PETSTORE_MAIL_FROM: 'store@example.org' };
    service = await serve({ clock, environment });
  });
  after(async () => {
    await service.stop();
    await mail.close();
  });
  // Every test comes from the same address.
  afterEach(() => clock.advance(3_600_000));

  const database = () => service.app.databases.production;

  async function person(email: string): Promise<Visitor> {
    const someone = await signedIn(service, { email, name: 'Ann' });
    const hash = await passwords.hash(PASSWORD, '192.0.2.1');
    await database().write(tx => storePassword(tx, someone.accountId, hash));
    return someone;
  }

  /** What a visitor can compare: everything but what is random in each response, and the address itself. */
  function visible({ status, headers, text }: Reply, email: string) {
    const { date: _, 'x-request-id': __, 'content-length': ___, ...others } = headers;
    return { status, others, text: text.replaceAll(email, 'EMAIL').replaceAll(/name="token" value="[^"]+"/g, '') };
  }

  for (const [path, form, email] of [
    ['/sign-in', { password: 'a wrong password' }, 'sign-in'],
    ['/sign-up', { name: 'Eve', password: PASSWORD }, 'sign-up'],
    ['/forgot-password', {}, 'reset'],
  ] as const) {
    it(`answer ${path} in the same way for known and unknown addresses`, async () => {
      const [known, unknown] = [`known-${email}@example.org`, `nobody-${email}@example.org`];
      await person(known);
      const visitor = anonymous(service);
      const replies = [];
      for (const one of [known, unknown])
        replies.push(visible(await visitor.submit(path, { ...form, email: one }), one));
      assert.deepEqual(replies[0], replies[1]);
    });
  }

  it('say what fits both a new and a known address after signing up, without a mail server too', async t => {
    const silent = await serve({ clock });
    t.after(() => silent.stop());
    await silent.app.databases.production.write(tx => createAccount(tx, { email: 'known@example.org', name: 'Ann' }));
    const visitor = anonymous(silent);
    for (const email of ['known@example.org', 'new@example.org']) {
      const { status, text } = await visitor.submit('/sign-up', { name: 'Eve', email, password: PASSWORD });
      assert.equal(status, 200);
      assert.match(text, /If your address is new here, your account is ready/);
      assert.match(text, /If you had an account already, its password is unchanged/);
    }
  });

  it('answer a change of the address in the same way if another account has it', async () => {
    const ann = await person('change@example.org');
    await person('taken@example.org');
    const replies = [];
    for (const email of ['taken@example.org', 'free@example.org']) {
      replies.push(visible(await ann.submit('/account/email', { email, emailPassword: PASSWORD }), email));
    }
    assert.deepEqual(replies[0], replies[1]);
    assert.equal((await getAccount(database(), ann.accountId)).email, 'change@example.org');
  });

  it('answer signing in to an unconfirmed account like a wrong password', async () => {
    const email = 'unconfirmed@example.org';
    await person(email);
    const visitor = anonymous(service);
    const right = visible(await visitor.submit('/sign-in', { email, password: PASSWORD }), email);
    const wrong = visible(await visitor.submit('/sign-in', { email, password: 'something else' }), email);
    assert.equal(right.status, 401);
    assert.deepEqual(right, wrong);
  });

  it('reject what is wrong beside its field, and create nothing', async () => {
    const visitor = anonymous(service);
    const reply = await visitor.submit('/sign-up', { name: '', email: 'nobody', password: 'short' });
    assert.equal(reply.status, 422);
    for (const field of ['name', 'email', 'password']) assert.match(reply.text, new RegExp(`id="${field}-error"`));
    assert.equal(await findAccountByEmail(database(), 'nobody'), undefined);
  });

  it('limit attempts with 429 and Retry-After', async () => {
    const visitor = anonymous(service);
    const form = { email: 'limited@example.org', password: 'x' };
    for (let i = 0; i < 10; i++) assert.equal((await visitor.submit('/sign-in', form)).status, 401);
    const reply = await visitor.submit('/sign-in', form);
    assert.deepEqual([reply.status, reply.headers['retry-after']], [429, '900']);
  });

  it('start a new session at each sign-in and password change, whatever cookie the browser sends', async () => {
    const ann = await person('rotate@example.org');
    const reply = await ann.submit('/account/password', { current: PASSWORD, password: 'another long password' });
    assert.equal(reply.status, 303);
    const cookie = String(reply.headers['set-cookie']);
    assert.match(cookie, /__Host-petstore-session-\w+=[\w-]{43}; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Lax/);
    assert.ok(!cookie.includes(ann.secret));
    assert.equal((await ann.open('/account')).status, 303, 'the session before has ended');
    assert.equal((await listSessions(database(), ann.accountId, clock.now())).length, 1);
  });

  it('need the current password for a new one, a new address, and the deletion', async () => {
    const ann = await person('careful@example.org');
    for (const [path, form] of [
      ['/account/password', { current: 'wrong', password: 'another long password' }],
      ['/account/email', { email: 'new@example.org', emailPassword: 'wrong' }],
      ['/account/delete', { name: 'Ann', password: 'wrong' }],
    ] as const) {
      const reply = await ann.submit(path, form);
      assert.equal(reply.status, 422, path);
      assert.match(reply.text, /The password is wrong\./, path);
    }
    const unnamed = await ann.submit('/account/delete', { name: 'Anna', password: PASSWORD });
    assert.equal(unnamed.status, 422);
    assert.equal((await getAccount(database(), ann.accountId)).suspendedAt, undefined);
  });

  it('offer Pro to confirmed accounts only, and no other plan', async () => {
    const ann = await person('plans@example.org');
    assert.match((await ann.submit('/account/plan', { plan: 'pro' })).text, /Confirm your e-mail address first/);
    for (const plan of ['business', 'enterprise', '']) {
      assert.equal((await ann.submit('/account/plan', { plan })).status, 422, plan);
    }
    const { accountId } = ann;
    const email = 'plans@example.org';
    const { secret } = await database().write(tx => createLink(tx, { personId: accountId, purpose: 'confirm', email }));
    assert.equal((await ann.open(`/links/${secret}`)).status, 200);
    assert.equal((await getAccount(database(), accountId)).emailConfirmedAt, undefined, 'opening changes nothing');
    assert.equal((await ann.submit(`/links/${secret}`)).status, 303);
    assert.equal((await ann.submit('/account/plan', { plan: 'pro' })).status, 303);
    assert.equal((await getAccount(database(), accountId)).plan, 'pro');
    const gone = await ann.open(`/links/${secret}`);
    assert.equal(gone.status, 410);
  });

  it('have one primary action a page, and say what the account uses in plain words', async () => {
    const ann = await person('plain@example.org');
    const main = async (path: string) => {
      const { text } = await ann.open(path);
      return text.slice(text.indexOf('<main'), text.indexOf('</main>'));
    };
    for (const path of ['/account', '/account/plan', '/account/data']) {
      const primary = [...(await main(path)).matchAll(/<button>|class="button"/g)];
      assert.equal(primary.length, 1, path);
    }
    const text = (await main('/account')).replaceAll(/<[^>]+>/g, ' ').replaceAll(/ +/g, ' ');
    assert.match(text, /Animals 0 of 10,000/);
    assert.match(text, /Photos 0 bytes of 2 GiB/);
    assert.doesNotMatch(text, /Scans|streams|Webhooks/);
    assert.match(await main('/usage'), /Scans in progress.*Uploads in progress/s);
  });

  it('confirm an address for others only with the password that was chosen', async () => {
    const email = 'victim@example.org';
    const { accountId } = await person(email);
    const { secret } = await database().write(tx => createLink(tx, { personId: accountId, purpose: 'confirm', email }));
    const victim = anonymous(service);
    assert.equal((await victim.submit(`/links/${secret}`, { password: 'not theirs' })).status, 422);
    assert.equal((await getAccount(database(), accountId)).emailConfirmedAt, undefined);
    const reply = await victim.submit(`/links/${secret}`, { password: PASSWORD });
    assert.deepEqual([reply.status, new URL(String(reply.headers.location), 'http://x').pathname], [303, '/shelter']);
    assert.match(String(reply.headers['set-cookie']), /petstore-session/);
  });

  it('record the session of a change, and the address, in the audit log', async () => {
    const ann = await person('audit@example.org');
    await ann.submit('/account/name', { name: 'Ann Smith' });
    const [session] = await listSessions(database(), ann.accountId, clock.now());
    const key = await service.newKey({ accountId: ann.accountId });
    const { body } = await send(`${service.urls.production}/audit?types=account.updated`, { key });
    assert.equal(body.length, 1);
    const { type, resourceId, accountId, sessionId, keyId, address, requestId } = body[0];
    assert.deepEqual(
      { type, resourceId, accountId, sessionId, keyId, address },
      {
        ...{ type: 'account.updated', resourceId: ann.accountId, accountId: ann.accountId },
        ...{ sessionId: session!.id, keyId: undefined, address: '127.0.0.1' },
      },
    );
    assert.ok(requestId);
  });

  it('export everything that the account has, five times an hour', async () => {
    const ann = await person('export@example.org');
    const key = await service.newKey({ accountId: ann.accountId });
    await database().write(async tx => {
      for (let i = 0; i < 130; i++) await createPet(tx, ann.accountId, { name: 'Rex', categoryId: 1 }, 'open');
    });
    const reply = await ann.submit('/account/export');
    assert.equal(reply.status, 200);
    assert.match(String(reply.headers['content-disposition']), /^attachment; filename="petstore-account-\d+\.json"$/);
    assert.equal(reply.body.account.email, 'export@example.org');
    assert.equal(reply.body.production.animals.length, 130);
    const people = ['members', 'formerMembers', 'invitations', 'sessions'];
    const members = ['account', 'keys', ...people, 'events', 'usage', 'requests', 'production', 'staging'];
    assert.deepEqual(Object.keys(reply.body), members);
    for (const secret of [ann.secret, key.token, '$argon2id']) assert.ok(!reply.text.includes(secret));
    for (let i = 1; i < 5; i++) assert.equal((await ann.submit('/account/export')).status, 200);
    assert.equal((await ann.submit('/account/export')).status, 429);
  });

  it('delete an account after 30 days, unless its owner keeps it', async () => {
    const ann = await person('leaving@example.org');
    const form = { name: 'Ann', password: PASSWORD };
    assert.equal((await ann.submit('/account/delete', form)).status, 303);
    const { deleteAt, suspendedAt } = await getAccount(database(), ann.accountId);
    assert.deepEqual([deleteAt, suspendedAt], [clock.now() + 30 * DAY, clock.now()]);
    assert.equal((await ann.submit('/account/name', { name: 'X' })).status, 403);
    assert.match((await ann.open('/account')).text, /Your account will be deleted/);
    assert.equal((await ann.submit('/account/delete/cancel')).status, 303);
    const kept = await getAccount(database(), ann.accountId);
    assert.deepEqual([kept.deleteAt, kept.suspendedAt], [undefined, undefined]);
    assert.equal((await ann.submit('/account/delete', form)).status, 303);
    // The operator suspends it meanwhile.
    await database().write(tx => suspendAccount(tx, ann.accountId));
    await ann.submit('/account/delete/cancel');
    assert.notEqual((await getAccount(database(), ann.accountId)).deleteAt, undefined);
  });

  it('keep the only active admin when it deletes its own account', async () => {
    const admin = await signedIn(service, { email: 'only-admin@example.org', name: 'Olga', admin: true });
    const reply = await admin.submit('/account/delete', { name: 'Olga' });
    assert.equal(reply.status, 422);
    assert.match(reply.text, /only active admin: make another account an admin first/);
    assert.equal((await getAccount(database(), admin.accountId)).suspendedAt, undefined);
    await signedIn(service, { email: 'other-admin@example.org', admin: true });
    assert.equal((await admin.submit('/account/delete', { name: 'Olga' })).status, 303);
  });

  it('show a suspended account why, let it export, and nothing else', async () => {
    const byOperator = {
      suspended: suspendAccount,
      deleted: (tx: Transaction, id: number) => requestDeletion(tx, id, DAY),
    };
    for (const [name, suspend] of Object.entries(byOperator)) {
      const ann = await person(`${name}@example.org`);
      await database().write(tx => suspend(tx, ann.accountId));
      const { status, text } = await ann.open('/account');
      assert.equal(status, 200);
      assert.match(text, /is suspended|will be deleted/);
      assert.deepEqual(
        [...text.matchAll(/method="post" action="([^"]+)"/g)].map(([, action]) => action),
        ['/sign-out', '/account/export'],
      );
      assert.equal((await ann.submit('/account/export')).status, 200);
      await ann.submit('/account/delete/cancel');
      assert.notEqual((await getAccount(database(), ann.accountId)).suspendedAt, undefined);
      assert.equal((await ann.open('/sessions')).status, 403);
    }
  });

  it('offer staff of a suspended account nothing that only an owner may do', async () => {
    const ann = await person('ending@example.org');
    const staff = await signedInAs(service, ann.accountId, 'staff');
    assert.equal((await ann.submit('/account/delete', { name: 'Ann', password: PASSWORD })).status, 303);
    const { text } = await staff.open('/account');
    assert.match(text, /An owner of the account requested this/);
    assert.doesNotMatch(text, /\/account\/export|\/account\/delete|export your data/);
  });

  it('end sessions of the account only', async () => {
    const [ann, ben] = [await person('ann-sessions@example.org'), await person('ben-sessions@example.org')];
    const [session] = await listSessions(database(), ben.accountId, clock.now());
    assert.equal((await ann.submit(`/sessions/${session!.id}/end`)).status, 404);
    assert.equal((await ben.open('/account')).status, 200);
    clock.advance(IDLE_MS);
    assert.equal((await ben.open('/account')).status, 303);
  });

  it('say why a form without its cookie is refused over plain HTTP', async () => {
    const { origin } = new URL(service.urls.production);
    for (const [host, message] of [
      ['pets.example.org', /only over HTTPS/],
      ['localhost', /out of date/],
    ] as const) {
      const { status, text } = await send(`${origin}/sign-in`, {
        method: 'POST',
        headers: { Host: host, Accept: 'text/html', 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'email=a%40example.org&password=x',
      });
      assert.equal(status, 403);
      assert.match(text, message);
    }
  });

  it('keep the entries of a form that is out of date, but no password', async () => {
    const ann = await person('stale@example.org');
    const form = { current: PASSWORD, password: 'another long password', token: 'old', other: '<b>&"' };
    const { status, text } = await ann.submit('/account/password', form);
    assert.equal(status, 403);
    assert.match(text, /name="other" value="&#60;b&#62;&#38;&#34;"/);
    for (const secret of [PASSWORD, 'another long password', 'value="old"']) assert.ok(!text.includes(secret), secret);
    for (const name of ['current', 'password'])
      assert.match(text, new RegExp(`name="${name}" type="password" value=""`));
    const script = await ann.submit('/account/password', form, { Accept: 'application/json' });
    assert.deepEqual([script.status, script.body.code], [403, 'invalid_form']);
    const upload = await ann.submitMultipart('/shelter/animals/1/photos', { token: 'old' });
    assert.match(upload.text, /<a href="\/shelter\/animals\/1">Open the form again<\/a>, and choose the file again/);
    // What signs out has no entries to keep.
    await endAllSessions(service, ann.accountId);
    assert.equal((await ann.submit('/sign-out')).status, 303);
  });

  it('make one account of concurrent sign-ups', async () => {
    const visitor = anonymous(service);
    const form = { name: 'Twin', email: 'twin@example.org', password: PASSWORD };
    const replies = await Promise.all(Array.from({ length: 5 }, () => visitor.submit('/sign-up', form)));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    const named = await database().all(accountsNamedTwin, {});
    assert.equal(named.length, 1);
  });
});

const accountsNamedTwin = query(db => db.selectFrom('accounts').select('id').where('name', '=', 'Twin'));

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, onPostgres, silent } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import { DAY_MS } from '../../lib/time.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Query, query } from '../../model/schema.ts';
import { accountEmails } from '../../store/messages/account-emails.ts';
import type { Email, EmailFailure } from '../../store/messages/email-sender.ts';
import { createAccount, findAccountByEmail, getAccount } from '../accounts/accounts.ts';
import { changeAddress } from '../accounts/addresses.ts';
import { findPerson } from '../accounts/people.ts';
import { countedAddress } from '../limits/address.ts';
import { attemptLimits, countAttempt, deleteOldAttempts, emailSubject } from './attempts.ts';
import { eraseCredentials } from './credentials.ts';
import { deleteOldEmails, queueEmail } from './emails.ts';
import { createLink, deleteExpiredLinks, findLink, LINK_MS, LINKS_MAX } from './links.ts';
import { PasswordHasher } from './password-hasher.ts';
import { findPassword, storePassword } from './passwords.ts';
import { confirmByLink, requestReset, resetPassword, signInByLink } from './recovery.ts';
import { IDLE_MS, SESSION_MS, SESSIONS_MAX } from './session.ts';
import {
  deleteExpiredSessions,
  endSession,
  endSessions,
  findSession,
  listSessions,
  recordSeen,
  startSession,
} from './sessions.ts';
import { signIn, signUp } from './sign-in.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;
const URL = 'https://pets.example.org';
const browser = { address: '192.0.2.1', userAgent: 'Test' };
const credentials = { email: 'Ann@example.org', password: 'correct horse battery' };
const passwords = new PasswordHasher();

async function setUp(engine: Engine) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  const account = await database.write(tx => createAccount(tx, { email: credentials.email, name: 'Ann' }));
  const origin = { accountId: account.id, requestId: 'r', address: browser.address };
  const link = (purpose: 'confirm' | 'reset' | 'sign_in', email = account.email) =>
    database.write(tx => createLink(tx, { personId: account.id, purpose, email }));
  const all = (table: keyof typeof rowsOf) => database.all(rowsOf[table] as Query<object, object>, {});
  return {
    ...{ clock, database, account, origin, link, all },
    start: () => database.write(tx => startSession(tx, account.id, browser)),
    find: (secret: string) => findSession(database, secret, clock.now()),
    /** The dependencies of signing in, with and without e-mail. */
    withEmail: { database, passwords, emailUrl: URL },
    withoutEmail: { database, passwords, emailUrl: undefined },
    /** Sends all due e-mails, and returns them. */
    async send(failure?: EmailFailure): Promise<Email[]> {
      const sent: Email[] = [];
      const sender = {
        async send(email: Email) {
          sent.push(email);
          return failure;
        },
      };
      const job = accountEmails({ database, sender, log: silent });
      for (const email of (await job.claim(10)).jobs) await job.run(email, new AbortController().signal);
      return sent;
    },
  };
}

const rowsOf = {
  links: query(db => db.selectFrom('links').selectAll()),
  sessions: query(db => db.selectFrom('sessions').selectAll()),
  attempts: query(db => db.selectFrom('attempts').selectAll()),
  accounts: query(db => db.selectFrom('accounts').selectAll()),
  account_emails: query(db => db.selectFrom('account_emails').selectAll()),
} as const;

const secretIn = ({ text }: Email) => /\/links\/([\w-]{43})$/m.exec(text)![1]!;
const tooMany = (error: unknown) => error instanceof Problem && error.code === 'too_many_attempts';

onEachEngine(engine => {
  describe('a session', () => {
    it('ends after 30 days, and after 7 days without a request', async () => {
      const { clock, database, start, find, account } = await setUp(engine);
      const { secret } = await start();
      clock.advance(IDLE_MS - 1);
      const found = await find(secret);
      assert.equal(found?.account.id, account.id);
      await recordSeen(database, found!.session, clock.now());
      clock.advance(IDLE_MS - 1);
      assert.notEqual(await find(secret), undefined);
      clock.advance(1);
      assert.equal(await find(secret), undefined);
      assert.deepEqual(await listSessions(database, account.id, clock.now()), []);

      const second = await start();
      for (let age = 0; age < SESSION_MS - DAY_MS; age += DAY_MS) {
        clock.advance(DAY_MS);
        await recordSeen(database, (await find(second.secret))!.session, clock.now());
      }
      clock.advance(DAY_MS);
      assert.equal(await find(second.secret), undefined);
      assert.equal(await database.write(tx => deleteExpiredSessions(tx, 100)), 2);
    });

    it('stores only a hash of its secret', async () => {
      const { all, start } = await setUp(engine);
      const { secret } = await start();
      assert.ok(!JSON.stringify(await all('sessions')).includes(secret));
    });

    it(`is one of ${SESSIONS_MAX} of an account: the oldest ends when another begins`, async () => {
      const { database, start, find, account, clock } = await setUp(engine);
      const first = await start();
      const second = await start();
      for (let i = 2; i <= SESSIONS_MAX; i++) await start();
      assert.equal(await find(first.secret), undefined);
      assert.notEqual(await find(second.secret), undefined);
      assert.equal((await listSessions(database, account.id, clock.now())).length, SESSIONS_MAX);
      await database.write(tx => endSessions(tx, account.id, second.id));
      assert.deepEqual(
        (await listSessions(database, account.id, clock.now())).map(({ id }) => id),
        [second.id],
      );
    });
  });

  describe('a link', () => {
    it('works once, for as long as its purpose allows, and only for that', async () => {
      const { clock, database, link, origin, account } = await setUp(engine);
      for (const purpose of ['confirm', 'reset', 'sign_in'] as const) {
        const { secret } = await link(purpose);
        clock.advance(LINK_MS[purpose] - 1);
        assert.equal((await findLink(database, secret, clock.now()))?.personId, account.id);
        clock.advance(1);
        assert.equal(await findLink(database, secret, clock.now()), undefined);
      }
      const expired = await link('confirm');
      clock.advance(LINK_MS.confirm);
      assert.equal(await confirmByLink(database, expired.secret, origin), 'ended');
      const { secret } = await link('confirm');
      assert.equal(await resetPassword(database, secret, 'x', origin), 'ended');
      assert.equal(await signInByLink(database, secret, undefined, browser, origin), undefined);
      assert.equal(await confirmByLink(database, secret, origin), 'done');
      assert.equal(await confirmByLink(database, secret, origin), 'ended');
      assert.equal((await getAccount(database, account.id)).emailConfirmedAt, clock.now());
      assert.equal(await database.write(tx => deleteExpiredLinks(tx, 100)), 4);
    });

    it('can be used by one of several requests at once', async () => {
      const { database, link, origin } = await setUp(engine);
      const { secret } = await link('sign_in');
      const sessions = await Promise.all(
        Array.from({ length: 5 }, () => signInByLink(database, secret, undefined, browser, origin)),
      );
      assert.equal(sessions.filter(session => session !== undefined).length, 1);
    });

    it(`is stored as a hash, and is one of ${LINKS_MAX} of an account for its purpose`, async () => {
      const { all, link, database, clock } = await setUp(engine);
      const first = await link('reset');
      await link('confirm');
      for (let i = 0; i < LINKS_MAX; i++) await link('reset');
      assert.equal(await findLink(database, first.secret, clock.now()), undefined);
      const stored = await all('links');
      assert.equal(stored.length, LINKS_MAX + 1);
      assert.ok(!JSON.stringify(stored).includes(first.secret));
    });

    it('changes the address that it confirms, unless another account has it', async () => {
      const { database, link, origin, account } = await setUp(engine);
      const { secret } = await link('confirm', 'new@example.org');
      const taken = await link('confirm', 'ben@example.org');
      await database.write(tx => createAccount(tx, { email: 'ben@example.org', name: 'Ben' }));
      assert.equal(await confirmByLink(database, taken.secret, origin), 'taken');
      assert.equal((await getAccount(database, account.id)).email, account.email);
      assert.equal(await confirmByLink(database, secret, origin), 'done');
      const { email, emailConfirmedAt } = await getAccount(database, account.id);
      assert.deepEqual({ email, emailConfirmedAt }, { email: 'new@example.org', emailConfirmedAt: NOON });
    });

    it('resets the password, ends all sessions and other links, and is recorded', async () => {
      const { database, link, origin, account, start, find } = await setUp(engine);
      const { secret } = await start();
      const [one, other] = [await link('reset'), await link('sign_in')];
      assert.equal(await resetPassword(database, one.secret, 'the hash', origin), 'done');
      assert.equal(await findPassword(database, account.id), 'the hash');
      assert.equal(await find(secret), undefined);
      assert.equal(await findLink(database, other.secret, NOON), undefined);
      const events = await eventsOf(database, 'account', account.id);
      assert.deepEqual(
        events.map(({ action, accountId }) => ({ action, accountId })),
        [
          { action: 'created', accountId: null },
          { action: 'password_changed', accountId: account.id },
        ],
      );
    });

    it('no longer resets the password once the person has another address', async () => {
      const { database, link, origin, account } = await setUp(engine);
      const { secret } = await link('reset');
      await database.write(async tx => changeAddress(tx, (await findPerson(tx, account.id))!, 'new@example.org'));
      assert.equal(await resetPassword(database, secret, 'x', origin), 'ended');
      assert.equal(await findPassword(database, account.id), undefined);
    });
  });

  describe('attempts', () => {
    it('are rejected beyond the limit until the period is over, each subject by itself', async () => {
      const { clock, database } = await setUp(engine);
      const limit = { action: 'try', max: 3, periodMs: HOUR };
      const attempt = (subject: string) => database.write(tx => countAttempt(tx, limit, subject));
      for (let i = 0; i < limit.max; i++) assert.equal(await attempt('a'), 0);
      clock.advance(HOUR / 2);
      assert.equal(await attempt('a'), HOUR / 2);
      assert.equal(await attempt('b'), 0);
      clock.advance(HOUR / 2);
      assert.equal(await attempt('a'), 0);
      clock.advance(2 * DAY_MS);
      assert.equal(await database.write(tx => deleteOldAttempts(tx, 100)), 2);
    });

    it('are rejected for one period at most if the clock was set back since', async () => {
      const location = await engine.newLocation();
      const limit = { action: 'try', max: 3, periodMs: HOUR };
      const later = await engine.open({ location, clock: testClock(NOON + 5 * HOUR) });
      for (let i = 0; i < limit.max; i++) await later.write(tx => countAttempt(tx, limit, 'a'));
      await later.close();
      const clock = testClock(NOON);
      const database = await engine.open({ location, clock });
      const attempt = () => database.write(tx => countAttempt(tx, limit, 'a'));
      assert.equal(await attempt(), HOUR);
      clock.advance(HOUR);
      assert.equal(await attempt(), 0);
    });

    it('count concurrent requests, and IPv6 addresses by their /64', async () => {
      const { database } = await setUp(engine);
      const limit = { action: 'try', max: 5, periodMs: HOUR };
      const subjects = Array.from({ length: 12 }, (_, i) => countedAddress(`2001:db8:1:2::${i}`));
      const waits = await Promise.all(subjects.map(subject => database.write(tx => countAttempt(tx, limit, subject))));
      assert.equal(waits.filter(waitMs => waitMs === 0).length, 5);
    });

    it('store no e-mail address', async () => {
      const { database, all, withoutEmail } = await setUp(engine);
      await signIn(withoutEmail, credentials, browser);
      await requestReset(database, credentials.email, browser, URL);
      assert.doesNotMatch(JSON.stringify(await all('attempts')), /ann@/i);
    });
  });

  describe('signing in', () => {
    it('is limited by account and by address, and a success forgets the attempts of the account', async () => {
      const { database, account, withoutEmail } = await setUp(engine);
      const hash = await passwords.hash(credentials.password, '192.0.2.1');
      await database.write(tx => storePassword(tx, account.id, hash));
      const wrong = { ...credentials, password: 'wrong' };
      const { max } = attemptLimits.signInByPerson;
      for (let i = 1; i < max; i++) assert.equal(await signIn(withoutEmail, wrong, browser), undefined);
      assert.notEqual(await signIn(withoutEmail, credentials, browser), undefined);
      for (let i = 0; i < max; i++) assert.equal(await signIn(withoutEmail, wrong, browser), undefined);
      await assert.rejects(signIn(withoutEmail, credentials, { ...browser, address: '192.0.2.2' }), tooMany);
      // An unknown address is limited in the same way.
      const unknown = { email: 'nobody@example.org', password: 'x' };
      for (let i = 0; i < max; i++) assert.equal(await signIn(withoutEmail, unknown, browser), undefined);
      await assert.rejects(signIn(withoutEmail, unknown, browser), tooMany);
    });

    it('uses up no count of accounts once the network is at its limit', async () => {
      const { database, all } = await setUp(engine);
      const quick = new PasswordHasher(async () => Buffer.alloc(32, 1));
      const guess = (name: string) =>
        signIn(
          { database, passwords: quick, emailUrl: undefined },
          { email: `${name}@example.org`, password: 'x' },
          browser,
        );
      for (let i = 0; i < attemptLimits.signInByAddress.max; i++) assert.equal(await guess(`nobody-${i}`), undefined);
      const counts = (await all('attempts')).length;
      for (let i = 0; i < 3; i++) await assert.rejects(guess(`another-${i}`), tooMany);
      assert.equal((await all('attempts')).length, counts);
    });

    it('rejects an invalid e-mail address like a wrong password', async () => {
      const { withoutEmail } = await setUp(engine);
      for (const email of ['', 'a\0b@example.org', 'x'.repeat(60_000)]) {
        assert.equal(await signIn(withoutEmail, { email, password: 'y' }, browser), undefined);
      }
    });

    it('needs a confirmed address if the process sends e-mail', async () => {
      const { database, account, withEmail, withoutEmail, link, origin } = await setUp(engine);
      const hash = await passwords.hash(credentials.password, '192.0.2.1');
      await database.write(tx => storePassword(tx, account.id, hash));
      assert.notEqual(await signIn(withoutEmail, credentials, browser), undefined);
      assert.equal(await signIn(withEmail, credentials, browser), undefined);
      await confirmByLink(database, (await link('confirm')).secret, origin);
      assert.equal((await signIn(withEmail, credentials, browser))?.account.id, account.id);
    });
  });

  describe('signing up', () => {
    const ben = { email: 'ben@example.org', password: credentials.password, name: 'Ben' };

    it('creates one account for several concurrent requests, none of which fails', async () => {
      const { withEmail, all } = await setUp(engine);
      await Promise.all(Array.from({ length: 4 }, () => signUp(withEmail, ben, browser)));
      const accounts = await all('accounts');
      assert.equal(accounts.filter(account => 'email' in account && account.email === ben.email).length, 1);
    });

    it('changes nothing of an account that exists, and e-mails its owner', async () => {
      const { database, withEmail, account, send } = await setUp(engine);
      await signUp(withEmail, { ...credentials, name: 'Eve' }, browser);
      assert.equal((await getAccount(database, account.id)).name, 'Ann');
      assert.equal(await findPassword(database, account.id), undefined);
      const [email, ...others] = await send();
      assert.match(email!.subject, /already/);
      assert.doesNotMatch(email!.text, /Eve|\/links\//);
      assert.deepEqual(others, []);
    });

    it('with the address of another person uses up none of the e-mails that reset a password', async () => {
      const { database, withEmail, account, send } = await setUp(engine);
      const quick = { ...withEmail, passwords: new PasswordHasher(async () => Buffer.alloc(32, 1)) };
      const eve = { ...credentials, name: 'Eve' };
      for (let i = 0; i <= attemptLimits.emailByRecipient.max; i++) await signUp(quick, eve, browser);
      assert.equal((await send()).length, attemptLimits.emailByRecipient.max);
      await requestReset(database, account.email, browser, URL);
      assert.equal((await send()).length, 1);
    });

    it('e-mails a link whose secret is stored nowhere', async () => {
      const { database, withEmail, all, send } = await setUp(engine);
      await signUp(withEmail, ben, browser);
      const [email] = await send();
      assert.deepEqual(email!.to, [ben.email]);
      const secret = secretIn(email!);
      const account = (await findAccountByEmail(database, ben.email))!;
      assert.equal((await findLink(database, secret, NOON))?.personId, account.id);
      assert.doesNotMatch(email!.text, /Ben/);
      const stored = [await all('links'), await all('account_emails'), await all('attempts')];
      assert.ok(!JSON.stringify(stored).includes(secret));
      assert.deepEqual(await send(), []);
    });
  });

  describe('e-mail about accounts', () => {
    it('is sent again after a temporary failure, each time with a link that works', async () => {
      const { clock, database, send, account } = await setUp(engine);
      await requestReset(database, account.email, browser, URL);
      const [first] = await send({ reason: 'unavailable' as never, final: false, detail: '' });
      assert.deepEqual(await send(), []);
      clock.advance(6000);
      const [second] = await send();
      assert.equal(second!.id, first!.id);
      for (const email of [first!, second!]) {
        assert.equal((await findLink(database, secretIn(email), clock.now()))?.purpose, 'reset');
      }
      clock.advance(DAY_MS);
      assert.deepEqual(await send(), []);
    });

    it('is sent by another process if the one that claimed it has ended', async () => {
      const { clock, database, send, account } = await setUp(engine);
      await requestReset(database, account.email, browser, URL);
      const sender = { send: async () => undefined };
      const ended = accountEmails({ database, sender, log: silent });
      assert.equal((await ended.claim(1)).jobs.length, 1);
      assert.deepEqual(await send(), []);
      clock.advance(150_000);
      assert.equal((await send()).length, 1);
    });

    it('is not sent to an unknown address, and at most five times an hour to a known one', async () => {
      const { clock, database, send, account } = await setUp(engine);
      await requestReset(database, 'nobody@example.org', browser, URL);
      for (let i = 0; i < 7; i++) await requestReset(database, account.email, browser, URL);
      assert.equal((await send()).length, 5);
      clock.advance(HOUR);
      await requestReset(database, account.email, browser, URL);
      assert.equal((await send()).length, 1);
    });

    it('does not confirm an address that another account has got', async () => {
      const { database, send, account } = await setUp(engine);
      await database.write(tx => createAccount(tx, { email: 'ben@example.org', name: 'Ben' }));
      const email = { kind: 'confirm', accountId: account.id, email: 'ben@example.org', url: URL } as const;
      await database.write(tx => queueEmail(tx, email));
      const [sent] = await send();
      assert.match(sent!.subject, /already/);
    });

    it('is deleted after a week if no process can send it', async () => {
      const { clock, database, account } = await setUp(engine);
      await requestReset(database, account.email, browser, URL);
      clock.advance(7 * DAY_MS + 1);
      assert.equal(await database.write(tx => deleteOldEmails(tx, 100)), 1);
    });
  });

  it('deletes everything that opens an account', async () => {
    const { database, account, link, start, all } = await setUp(engine);
    await database.write(tx => storePassword(tx, account.id, 'x'));
    await link('reset');
    await start();
    const email = { kind: 'password_changed', accountId: account.id, email: account.email, url: URL } as const;
    await database.write(tx => queueEmail(tx, email));
    await database.write(tx => eraseCredentials(tx, account));
    assert.equal(await findPassword(database, account.id), undefined);
    assert.deepEqual([await all('links'), await all('sessions'), await all('account_emails')], [[], [], []]);
  });

  it('gives equal addresses in any case one subject', () => {
    assert.equal(emailSubject('Ann@Example.org'), emailSubject('ann@example.org'));
  });
});

onPostgres(engine => {
  it('shares sessions, links and attempts between nodes', async () => {
    const location = await engine.newLocation();
    const clock = testClock(NOON);
    const [one, other] = [await engine.open({ location, clock }), await engine.open({ location, clock })];
    const account = await one.write(tx => createAccount(tx, { email: credentials.email, name: 'Ann' }));
    const { id, secret } = await one.write(tx => startSession(tx, account.id, browser));
    assert.equal((await findSession(other, secret, NOON))?.account.id, account.id);
    await other.write(tx => endSession(tx, account.id, id));
    assert.equal(await findSession(one, secret, NOON), undefined);

    const link = { personId: account.id, purpose: 'sign_in', email: account.email } as const;
    const origin = { accountId: account.id, requestId: 'r', address: browser.address };
    const created = await one.write(tx => createLink(tx, link));
    const used = await Promise.all(
      [one, other, one, other].map(node => signInByLink(node, created.secret, undefined, browser, origin)),
    );
    assert.equal(used.filter(session => session !== undefined).length, 1);

    const limit = { action: 'try', max: 5, periodMs: HOUR };
    const waits = await Promise.all(
      Array.from({ length: 12 }, (_, i) => (i % 2 ? one : other).write(tx => countAttempt(tx, limit, 'a'))),
    );
    assert.equal(waits.filter(waitMs => waitMs === 0).length, 5);
    const ben = { email: 'ben@example.org', password: credentials.password, name: 'Ben' };
    const nodes = [one, other].map(database => ({ database, passwords, emailUrl: URL }));
    await Promise.all([...nodes, ...nodes].map(node => signUp(node, ben, browser)));
  });
});

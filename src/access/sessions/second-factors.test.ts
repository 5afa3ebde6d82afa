import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { reencryptSecrets } from '../../events/webhooks/reencrypt-secrets.ts';
import { replaceSecrets } from '../../events/webhooks/replace-secrets.ts';
import { testClock } from '../../lib/clock.ts';
import { createEncryptor } from '../../lib/encryption.ts';
import { RECOVERY_CODES } from '../../lib/recovery-codes.ts';
import { TOTP_STEP_MS, totpCodeAt } from '../../lib/totp.ts';
import { UserError } from '../../lib/user-error.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Params, type Query, query } from '../../model/schema.ts';
import { accountEmails } from '../../store/messages/account-emails.ts';
import type { Email } from '../../store/messages/email-sender.ts';
import { createAccount } from '../accounts/accounts.ts';
import { findPerson } from '../accounts/people.ts';
import { checkKey } from '../secret-key.ts';
import { attemptLimits } from './attempts.ts';
import { beginApp, SETUP_MS, secretToConfirm } from './authenticator-apps.ts';
import { CHALLENGE_MS, challengeTime, newChallenge } from './challenges.ts';
import { eraseCredentials } from './credentials.ts';
import { hasSecondFactor } from './has-second-factor.ts';
import { findPasskey, PASSKEYS_MAX, takePasskey } from './passkeys.ts';
import { replaceRecoveryCodes } from './recovery-codes.ts';
import {
  addApp,
  addOwnPasskey,
  countCode,
  listSecondFactors,
  removeFactor,
  resetSecondFactors,
  takeCode,
} from './second-factors.ts';
import { hashSecret } from './session.ts';
import { findSession, listSessions, startSession } from './sessions.ts';
import { completeSignIn, deleteExpiredSignIns, findSignIn, SIGN_IN_MS, SIGN_INS_MAX, startSignIn } from './sign-ins.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const URL = 'https://pets.example.org';
const browser = { address: '192.0.2.1', userAgent: 'Test' };

async function setUp(engine: Engine) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  const encryptor = createEncryptor(randomBytes(32));
  const { id } = await database.write(tx => createAccount(tx, { email: 'ann@example.org', name: 'Ann' }));
  const person = (await findPerson(database, id))!;
  const take = (code: string, by = encryptor) => database.write(tx => takeCode(tx, by, id, code));
  const passkeyOf = (credentialId: string) => ({
    ...{ credentialId, publicKey: 'key', algorithm: -7, signCount: 0, backedUp: false, name: 'Phone' },
  });
  return {
    ...{ clock, database, encryptor, person, take },
    /** Sets up an app. Returns its recovery codes, and the function that returns its code some steps from now. */
    async app() {
      await database.write(tx => beginApp(tx, encryptor, id));
      const secret = (await secretToConfirm(database, encryptor, id, clock.now()))!;
      const code = (steps = 0) => totpCodeAt(secret, Math.floor(clock.now() / TOTP_STEP_MS) + steps);
      const codes = await database.write(tx => addApp(tx, encryptor, person, code(), URL));
      clock.advance(2 * TOTP_STEP_MS);
      return { codes: codes!, code };
    },
    passkey: (credentialId: string, at = NOON) =>
      database.write(tx => addOwnPasskey(tx, person, passkeyOf(credentialId), at, URL)),
    signIn: () => database.write(tx => startSignIn(tx, id, browser)),
    rows: (table: keyof typeof rowsOf) => database.all(rowsOf[table] as Query<object, object>, {}),
    actions: async () => (await eventsOf(database, 'account', id)).map(({ action }) => action),
  };
}

const rowsOf = {
  account_emails: query(db => db.selectFrom('account_emails').select(['kind', 'email'])),
  sign_ins: query(db => db.selectFrom('sign_ins').selectAll()),
  authenticator_apps: query(db => db.selectFrom('authenticator_apps').selectAll()),
  recovery_codes: query(db => db.selectFrom('recovery_codes').selectAll()),
  passkeys: query(db => db.selectFrom('passkeys').selectAll()),
} as const;

onEachEngine(engine => {
  describe('an authenticator app', () => {
    it('is a second factor once one of its codes arrived', async () => {
      const { database, encryptor, person } = await setUp(engine);
      await database.write(tx => beginApp(tx, encryptor, person.id));
      assert.equal(await hasSecondFactor(database, person.id), false);
      const wrong = await database.write(tx => addApp(tx, encryptor, person, '000000', URL));
      assert.equal(wrong, undefined);
      assert.equal(await hasSecondFactor(database, person.id), false);
    });

    it('comes with recovery codes, an event and an e-mail, and never stores its secret in the clear', async () => {
      const { app, rows, actions, database, person } = await setUp(engine);
      const { codes } = await app();
      assert.equal(codes.length, 10);
      assert.equal(await hasSecondFactor(database, person.id), true);
      assert.ok((await actions()).includes('second_factor_changed'));
      assert.deepEqual(await rows('account_emails'), [{ kind: 'factor_added', email: 'ann@example.org' }]);
      const [stored] = (await rows('authenticator_apps')) as { secret: string }[];
      assert.match(stored!.secret, /^1\./);
      assert.ok(!JSON.stringify(await rows('recovery_codes')).includes(codes[0]!));
    });

    it('is replaced only after its removal', async () => {
      const { app, database, encryptor, person } = await setUp(engine);
      await app();
      await assert.rejects(
        database.write(tx => beginApp(tx, encryptor, person.id)),
        UserError,
      );
    });

    it('has codes that work one step early and late, and no further', async () => {
      for (const [steps, works] of [
        [-2, false],
        [-1, true],
        [0, true],
        [1, true],
        [2, false],
      ] as const) {
        const { app, take } = await setUp(engine);
        const { code } = await app();
        assert.equal(await take(code(steps)), works, `${steps} steps`);
      }
    });

    it('accepts each code once, and no earlier one after it', async () => {
      const { app, take } = await setUp(engine);
      const { code } = await app();
      assert.equal(await take(code()), true);
      assert.equal(await take(code()), false);
      assert.equal(await take(code(-1)), false);
      assert.equal(await take(code(1)), true);
    });

    it('is set up within 15 minutes, so that another session does not find its secret later', async () => {
      const { database, encryptor, person, clock } = await setUp(engine);
      await database.write(tx => beginApp(tx, encryptor, person.id));
      const find = () => secretToConfirm(database, encryptor, person.id, clock.now());
      clock.advance(SETUP_MS - 1);
      assert.notEqual(await find(), undefined);
      clock.advance(1);
      assert.equal(await find(), undefined);
    });

    it('does not accept the code again that set it up', async () => {
      const { database, encryptor, person, clock, take } = await setUp(engine);
      await database.write(tx => beginApp(tx, encryptor, person.id));
      const secret = (await secretToConfirm(database, encryptor, person.id, clock.now()))!;
      const code = totpCodeAt(secret, Math.floor(clock.now() / TOTP_STEP_MS));
      assert.notEqual(await database.write(tx => addApp(tx, encryptor, person, code, URL)), undefined);
      assert.equal(await take(code), false);
    });

    it('accepts a code once if it is sent several times at once', async () => {
      const { app, take } = await setUp(engine);
      const { code } = await app();
      const taken = await Promise.all(Array.from({ length: 5 }, () => take(code())));
      assert.equal(taken.filter(Boolean).length, 1);
    });
  });

  describe('recovery codes', () => {
    it('work once each, in any case', async () => {
      const { app, take, database, person } = await setUp(engine);
      const { codes } = await app();
      assert.equal(await take(codes[0]!.toLowerCase().replaceAll('-', ' ')), true);
      assert.equal(await take(codes[0]!), false);
      assert.equal((await listSecondFactors(database, person.id)).recoveryCodes, 9);
    });

    it('work once if they are sent several times at once', async () => {
      const { app, take } = await setUp(engine);
      const { codes } = await app();
      const taken = await Promise.all(Array.from({ length: 5 }, () => take(codes[3]!)));
      assert.equal(taken.filter(Boolean).length, 1);
    });

    it('stop working when there are new ones', async () => {
      const { app, take, database, person } = await setUp(engine);
      const { codes } = await app();
      const [first] = await database.write(tx => replaceRecoveryCodes(tx, person.id));
      assert.equal(await take(codes[0]!), false);
      assert.equal(await take(first!), true);
    });

    it('work after a restore without the secret key, where the codes of the app do not', async () => {
      const { app, take, database, person } = await setUp(engine);
      const { code, codes } = await app();
      const other = createEncryptor(randomBytes(32));
      await assert.rejects(checkKey(database, other), UserError);
      await replaceSecrets(database, other);
      await checkKey(database, other);
      assert.equal(await hasSecondFactor(database, person.id), true);
      assert.equal(await take(code(), other), false);
      assert.equal(await take(codes[0]!, other), true);
    });
  });

  it('a new secret key encrypts the secrets of apps again', async () => {
    const { database, clock } = await setUp(engine);
    const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
    const before = createEncryptor(oldKey);
    const { id } = await database.write(tx => createAccount(tx, { email: 'ben@example.org', name: 'Ben' }));
    await database.write(tx => beginApp(tx, before, id));
    const secret = await secretToConfirm(database, before, id, clock.now());
    assert.equal(await reencryptSecrets(database, createEncryptor(newKey, oldKey)), 1);
    assert.deepEqual(await secretToConfirm(database, createEncryptor(newKey), id, clock.now()), secret);
    await assert.rejects(secretToConfirm(database, before, id, clock.now()));
  });

  describe('a passkey', () => {
    it('is a second factor, and comes with recovery codes the first time', async () => {
      const { passkey, database, person } = await setUp(engine);
      assert.equal((await passkey('one')).length, 10);
      assert.equal((await passkey('two')).length, 0);
      assert.equal(await hasSecondFactor(database, person.id), true);
    });

    it('belongs to one person', async () => {
      const { passkey, database } = await setUp(engine);
      await passkey('one');
      await assert.rejects(passkey('one'), UserError);
      assert.equal((await findPasskey(database, 'one'))?.name, 'Phone');
    });

    it('is one of ten at most, also of concurrent ones', async () => {
      const { passkey, database, person } = await setUp(engine);
      for (let index = 1; index < PASSKEYS_MAX; index++) await passkey(`key ${index}`);
      const results = await Promise.allSettled([passkey('a'), passkey('b'), passkey('c')]);
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await listSecondFactors(database, person.id)).passkeys.length, PASSKEYS_MAX);
    });

    it('signs each challenge once, and none before it', async () => {
      const { passkey, database } = await setUp(engine);
      await passkey('one', 100);
      const { id } = (await findPasskey(database, 'one'))!;
      const use = (at: number) => database.write(tx => takePasskey(tx, id, { signCount: 7, backedUp: true }, at));
      assert.equal(await use(100), false);
      const used = await Promise.all([use(200), use(200), use(200)]);
      assert.equal(used.filter(Boolean).length, 1);
      assert.equal(await use(150), false);
      const { signCount, backedUp } = (await findPasskey(database, 'one'))!;
      assert.deepEqual([signCount, backedUp], [7, true]);
    });
  });

  describe('a challenge', () => {
    it('is for its holder and for a while', async () => {
      const { database } = await setUp(engine);
      const challenge = await newChallenge(database, 'session 1', NOON);
      assert.equal(await challengeTime(database, challenge, 'session 1', NOON), NOON);
      assert.equal(await challengeTime(database, challenge, 'session 2', NOON), undefined);
      assert.equal(await challengeTime(database, challenge, 'session 1', NOON + CHALLENGE_MS), undefined);
      const later = Buffer.from(challenge, 'base64url');
      later[7]! ^= 1;
      assert.equal(await challengeTime(database, later.toString('base64url'), 'session 1', NOON), undefined);
      assert.equal(await challengeTime(database, 'x', 'session 1', NOON), undefined);
    });
  });

  describe('a sign-in', () => {
    it('is a session at once without a second factor', async () => {
      const { signIn, database, clock } = await setUp(engine);
      const { waits, secret } = await signIn();
      assert.equal(waits, false);
      assert.ok(await findSession(database, secret, clock.now()));
    });

    it('waits for the second factor, and is no session before', async () => {
      const { app, signIn, database, clock, person } = await setUp(engine);
      await app();
      const { waits, secret } = await signIn();
      assert.equal(waits, true);
      assert.equal(await findSession(database, secret, clock.now()), undefined);
      assert.deepEqual(await listSessions(database, person.id, clock.now()), []);
      const waiting = (await findSignIn(database, secret, clock.now()))!;
      const complete = () => database.write(tx => completeSignIn(tx, waiting, browser));
      const done = await Promise.all([complete(), complete()]);
      const [session, ...others] = done.filter(one => one !== undefined);
      assert.deepEqual(others, [], 'it is completed once');
      assert.notEqual(session, secret);
      assert.ok(await findSession(database, session!, clock.now()));
      assert.equal(await findSession(database, secret, clock.now()), undefined);
    });

    it('is not found by the query of the previous release', async () => {
      const { app, signIn, database } = await setUp(engine);
      await app();
      const { secret } = await signIn();
      assert.equal(await database.first(sessionOfPreviousRelease, { hash: hashSecret(secret) }), undefined);
    });

    it('ends after ten minutes', async () => {
      const { app, signIn, database, clock, rows } = await setUp(engine);
      await app();
      const { secret } = await signIn();
      clock.advance(SIGN_IN_MS);
      assert.equal(await findSignIn(database, secret, clock.now()), undefined);
      assert.equal(await database.write(tx => deleteExpiredSignIns(tx, 10)), 1);
      assert.deepEqual(await rows('sign_ins'), []);
    });

    it('is one of ten at most', async () => {
      const { app, signIn, database, clock, rows } = await setUp(engine);
      await app();
      const { secret } = await signIn();
      for (let index = 0; index < SIGN_INS_MAX; index++) await signIn();
      assert.equal((await rows('sign_ins')).length, SIGN_INS_MAX);
      assert.equal(await findSignIn(database, secret, clock.now()), undefined);
    });
  });

  describe('too many codes of the app', () => {
    it('send one e-mail a day, and do not block recovery codes', async () => {
      const { app, database, person, rows, clock } = await setUp(engine);
      await app();
      const sent = async () => ((await rows('account_emails')) as { kind: string }[]).map(({ kind }) => kind).slice(1);
      const count = (typed: string, address = '192.0.2.1') => countCode(database, person.id, { typed, address }, URL);
      const tryAll = async (typed: string) => {
        for (let index = 0; index < attemptLimits.secondFactor.max; index++) assert.equal(await count(typed), 0);
      };
      await tryAll('000000');
      assert.deepEqual(await sent(), []);
      assert.ok((await count('000000')) > 0 && (await count('000000', '198.51.100.1')) > 0);
      assert.deepEqual(await sent(), ['factor_tried']);
      const recovery = '0000-0000-0000-0000';
      await tryAll(recovery);
      assert.ok((await count(recovery)) > 0);
      assert.equal(await count(recovery, '198.51.100.1'), 0, 'from another network');
      for (const kinds of [['factor_tried'], ['factor_tried', 'factor_tried']]) {
        clock.advance(attemptLimits.factorWarning.periodMs / 2);
        await tryAll('000000');
        await count('000000');
        assert.deepEqual(await sent(), kinds);
      }
    });
  });

  describe('new recovery codes', () => {
    it('replace each other, also if two browsers ask at the same time', async () => {
      const { app, database, person, rows } = await setUp(engine);
      await app();
      await Promise.all([1, 2, 3].map(() => database.write(tx => replaceRecoveryCodes(tx, person.id))));
      assert.equal((await rows('recovery_codes')).length, RECOVERY_CODES);
    });
  });

  describe('removing a factor', () => {
    it('ends other sessions and waiting sign-ins, and sends an e-mail', async () => {
      const { app, signIn, database, person, rows, clock } = await setUp(engine);
      await app();
      const own = await database.write(tx => startSession(tx, person.id, browser));
      await database.write(tx => startSession(tx, person.id, browser));
      await signIn();
      const options = { session: own.id, emailUrl: URL };
      assert.equal(await database.write(tx => removeFactor(tx, person, 'app', options)), true);
      assert.equal(await database.write(tx => removeFactor(tx, person, 'app', options)), false);
      const sessions = await listSessions(database, person.id, clock.now());
      assert.deepEqual(
        sessions.map(({ id }) => id),
        [own.id],
      );
      assert.deepEqual(await rows('sign_ins'), []);
      assert.deepEqual(await rows('recovery_codes'), [], 'the codes end with the last factor');
      const kinds = ((await rows('account_emails')) as { kind: string }[]).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['factor_added', 'factor_removed']);
    });

    it('keeps the recovery codes of another factor', async () => {
      const { app, passkey, database, person } = await setUp(engine);
      await app();
      await passkey('one');
      await database.write(tx => removeFactor(tx, person, 'app', { session: 0, emailUrl: undefined }));
      assert.equal((await listSecondFactors(database, person.id)).recoveryCodes, 10);
      assert.equal(await hasSecondFactor(database, person.id), true);
    });

    it('removes only passkeys of the person', async () => {
      const { passkey, database, person } = await setUp(engine);
      await passkey('one');
      const { id } = (await findPasskey(database, 'one'))!;
      const options = { session: 0, emailUrl: undefined };
      const other = { ...person, id: person.id + 1 };
      assert.equal(await database.write(tx => removeFactor(tx, other, id, options)), false);
      assert.equal(await hasSecondFactor(database, person.id), true);
    });
  });

  it('a reset removes every factor, and ends every session', async () => {
    const { app, passkey, database, person, clock } = await setUp(engine);
    await app();
    await passkey('one');
    await database.write(tx => startSession(tx, person.id, browser));
    await database.write(tx => resetSecondFactors(tx, person, URL));
    assert.deepEqual(await listSecondFactors(database, person.id), { app: undefined, passkeys: [], recoveryCodes: 0 });
    assert.deepEqual(await listSessions(database, person.id, clock.now()), []);
  });

  it('e-mails name the change, and lead to the page', async () => {
    const { app, database, person } = await setUp(engine);
    await app();
    await database.write(tx => removeFactor(tx, person, 'app', { session: 0, emailUrl: URL }));
    const sent: Email[] = [];
    const sender = {
      async send(email: Email) {
        sent.push(email);
        return undefined;
      },
    };
    const job = accountEmails({ database, sender, log: silent });
    for (const email of (await job.claim(10)).jobs) await job.run(email, new AbortController().signal);
    assert.deepEqual(
      sent.map(({ to, subject }) => [to, subject]),
      [
        [['ann@example.org'], 'A second factor was added to your sign-in'],
        [['ann@example.org'], 'A second factor was removed from your sign-in'],
      ],
    );
    for (const { text } of sent) assert.ok(text.includes(`${URL}/security`));
  });

  it('the factors of a person who leaves are deleted', async () => {
    const { app, passkey, signIn, database, person, rows } = await setUp(engine);
    await app();
    await passkey('one');
    await signIn();
    await database.write(tx => eraseCredentials(tx, person));
    for (const table of ['authenticator_apps', 'passkeys', 'recovery_codes', 'sign_ins'] as const) {
      assert.deepEqual(await rows(table), [], table);
    }
  });
});

const sessionOfPreviousRelease = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('sessions').select('account_id').where('hash', '=', p.hash),
);

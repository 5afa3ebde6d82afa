import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { testClock } from '../../lib/clock.ts';
import { UserError } from '../../lib/user-error.ts';
import { keyState, type NewKey } from '../../model/key.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { Budget } from '../../model/plan.ts';
import type { Database } from '../../model/schema.ts';
import { createAccount } from '../accounts/accounts.ts';
import { findKeyWithAccount } from './key-with-account.ts';
import { createKey, expireIdleKeys, getKey, listKeys, recordLastUse, revokeKey, rotateKey } from './keys.ts';
import { hashToken, parseToken } from './token.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;

onEachEngine(engine => {
  async function setUp() {
    const clock = testClock(NOON);
    const database = await engine.open({ clock });
    const account = await database.write(tx => createAccount(tx, { email: 'a@example.org', name: 'A', plan: 'pro' }));
    const newKey = (options: Partial<NewKey> = {}, maxDays?: number) =>
      database.write(tx => createKey(tx, { accountId: account.id, deployment: 'staging', ...options }, maxDays));
    return { clock, database, account, newKey };
  }

  /** Returns the version of the registry, which a new process on PostgreSQL does not know immediately. */
  async function registryVersion(database: Database): Promise<number | undefined> {
    await waitUntil(() => database.topicVersion('registry') !== undefined);
    return database.topicVersion('registry');
  }

  const refuses = (work: Promise<unknown>, sentence: RegExp) =>
    assert.rejects(work, error => error instanceof UserError && sentence.test(error.message));

  describe('createKey', () => {
    it('creates a key with every scope, no expiry and a matching token', async () => {
      const { newKey, account } = await setUp();
      const { token, ...key } = await newKey();
      assert.deepEqual(parseToken(token), { deployment: 'staging', id: key.id });
      assert.deepEqual(key, {
        id: key.id,
        accountId: account.id,
        deployment: 'staging',
        scopes: ['*'],
        createdAt: NOON,
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
      });
    });

    it('stores the networks that it is accepted from, and rejects invalid ones', async () => {
      const { database, newKey } = await setUp();
      const networks = ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'];
      const { id } = await newKey({ networks });
      assert.deepEqual((await getKey(database, id)).networks, networks);
      const { issued } = await database.write(tx => rotateKey(tx, id, 0));
      assert.deepEqual(issued.networks, networks);
      for (const wrong of ['', '10.0.0.0/33', 'example.org', '10.0.0.0/8 10.1.0.0/16', '::1/']) {
        await refuses(newKey({ networks: [wrong] }), /is not an address or a network such as 10\.0\.0\.0\/8/);
      }
    });

    it('stores a budget, which a rotation keeps, and rejects one above the limits of the account', async () => {
      const { database, newKey, account } = await setUp();
      const budget = { perMinute: 300, perDay: 5 };
      const { id } = await newKey({ budget });
      assert.deepEqual((await getKey(database, id)).budget, budget);
      const { issued } = await database.write(tx => rotateKey(tx, id, 0));
      assert.deepEqual(issued.budget, budget);
      assert.deepEqual((await newKey({ budget: { perDay: 10_000 } })).budget, { perDay: 10_000 });
      await refuses(
        newKey({ budget: { perMinute: 301 } }),
        /per minute must be a whole number from 1 to 300, the limit/,
      );
      await refuses(
        newKey({ budget: { perDay: 10_001 } }),
        /per day must be a whole number from 1 to 10000, the limit/,
      );
      for (const perDay of [0, 1.5]) await refuses(newKey({ budget: { perDay } }), /whole number/);
      const [created] = await eventsOf<{ key: object }>(database, 'key', account.id);
      assert.deepEqual((created!.data.key as { budget: Budget }).budget, budget);
    });

    it('expires at the latest, and by default, after the maximum lifetime', async () => {
      const { database, newKey } = await setUp();
      const latest = NOON + 90 * 24 * HOUR;
      assert.equal((await newKey({}, 90)).expiresAt, latest);
      assert.equal((await newKey({ expiresAt: latest }, 90)).expiresAt, latest);
      await refuses(newKey({ expiresAt: latest + 1 }, 90), /at most 90 days from now \(PETSTORE_KEY_LIFETIME_DAYS\)/);
      const eternal = await newKey();
      const rotate = (id: string, expiresAt?: number | null) =>
        database.write(tx => rotateKey(tx, id, HOUR, expiresAt, 90));
      await refuses(rotate(eternal.id, null), /at most 90 days/);
      assert.equal((await rotate(eternal.id)).issued.expiresAt, latest);
      const short = await newKey({ expiresAt: NOON + 2 * HOUR });
      assert.equal((await rotate(short.id)).issued.expiresAt, NOON + 2 * HOUR);
    });

    it('does not store the token', async () => {
      const { database, newKey } = await setUp();
      const { token, id } = await newKey();
      assert.ok(
        !JSON.stringify([await findKeyWithAccount(database, id), await listKeys(database)]).includes(token.slice(-20)),
      );
      assert.equal((await findKeyWithAccount(database, id))!.hash, hashToken(token));
    });

    it('stores each scope once, in canonical order', async () => {
      const { newKey } = await setUp();
      assert.deepEqual((await newKey({ scopes: ['pets:write', 'pets:read', 'pets:write'] })).scopes, [
        'pets:read',
        'pets:write',
      ]);
      assert.deepEqual((await newKey({ scopes: ['pets:read', '*'] })).scopes, ['*']);
    });

    it('rejects an unknown account, an unknown scope and a past expiry', async () => {
      const { database, newKey } = await setUp();
      await refuses(
        database.write(tx => createKey(tx, { accountId: 99, deployment: 'staging' })),
        /no account 99/,
      );
      await refuses(newKey({ scopes: ['pets:delete'] }), /no scope "pets:delete"/);
      await refuses(newKey({ scopes: [] }), /no scope/);
      await refuses(newKey({ expiresAt: NOON }), /in the future/);
      assert.deepEqual(await listKeys(database), []);
    });

    it('notifies other processes, as every change of a key does', async () => {
      const { database, newKey } = await setUp();
      const before = await registryVersion(database);
      const { id } = await newKey();
      const created = await registryVersion(database);
      assert.notEqual(created, before);
      await database.write(tx => revokeKey(tx, id));
      assert.notEqual(await registryVersion(database), created);
    });
  });

  describe('events', () => {
    it('record each change of a key once, without its secret', async () => {
      const { clock, database, account, newKey } = await setUp();
      const old = await newKey({ scopes: ['pets:read'], expiresAt: NOON + 48 * HOUR });
      clock.advance(HOUR);
      const { issued } = await database.write(tx => rotateKey(tx, old.id, HOUR));
      for (let times = 0; times < 2; times++) await database.write(tx => revokeKey(tx, issued.id));
      await refuses(
        database.write(tx => rotateKey(tx, issued.id, 0)),
        /revoked/,
      );

      const events = await eventsOf<object>(database, 'key', account.id);
      const shared = { accountId: account.id, deployment: 'staging', scopes: ['pets:read'] };
      const created = { id: old.id, ...shared, createdAt: '2026-11-20T12:00:00.000Z' };
      const times = { createdAt: '2026-11-20T13:00:00.000Z', expiresAt: '2026-11-22T12:00:00.000Z' };
      const next = { id: issued.id, ...shared, ...times };
      const ownerId = account.id;
      assert.deepEqual(
        events.map(({ action, accountId, data }) => ({ action, accountId, ...data })),
        [
          { action: 'created', accountId: null, key: { ...created, expiresAt: '2026-11-22T12:00:00.000Z' }, ownerId },
          {
            action: 'rotated',
            accountId: null,
            key: { ...created, expiresAt: '2026-11-20T14:00:00.000Z' },
            ownerId,
            was: { expiresAt: '2026-11-22T12:00:00.000Z' },
            keyId: issued.id,
          },
          { action: 'created', accountId: null, key: next, ownerId, keyId: old.id },
          {
            action: 'revoked',
            accountId: null,
            key: { ...next, revokedAt: '2026-11-20T13:00:00.000Z' },
            ownerId,
            was: { revokedAt: null },
          },
        ],
      );
      const text = JSON.stringify(events);
      for (const { token } of [old, issued]) {
        assert.ok(!text.includes(token.split('_')[3]!) && !text.includes(hashToken(token)));
      }
    });
  });

  describe('listKeys', () => {
    it('lists all keys, or those of one account, oldest first', async () => {
      const { clock, database, newKey } = await setUp();
      const other = await database.write(tx => createAccount(tx, { email: 'b@example.org', name: 'B' }));
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) {
        ids.push((await newKey()).id);
        clock.advance(1);
      }
      const foreign = await database.write(tx => createKey(tx, { accountId: other.id, deployment: 'production' }));
      assert.deepEqual(
        (await listKeys(database)).map(key => key.id),
        [...ids, foreign.id],
      );
      assert.deepEqual(
        (await listKeys(database, other.id)).map(key => key.id),
        [foreign.id],
      );
    });
  });

  describe('revokeKey', () => {
    it('revokes the key and keeps the first revocation time', async () => {
      const { clock, database, newKey } = await setUp();
      const { id } = await newKey();
      assert.equal((await database.write(tx => revokeKey(tx, id))).revokedAt, NOON);
      clock.advance(HOUR);
      assert.equal((await database.write(tx => revokeKey(tx, id))).revokedAt, NOON);
      assert.equal((await findKeyWithAccount(database, id))!.revoked_at, NOON);
    });

    it('rejects an unknown key', async () => {
      const { database } = await setUp();
      await refuses(
        database.write(tx => revokeKey(tx, 'nobody')),
        /no key nobody/,
      );
    });
  });

  describe('expireIdleKeys', () => {
    it('expires unused keys once', async () => {
      const { clock, database, newKey } = await setUp();
      const [used, unused, revoked, expiring] = [
        await newKey(),
        await newKey(),
        await newKey(),
        await newKey({ expiresAt: NOON + HOUR }),
      ];
      await database.write(tx => revokeKey(tx, revoked.id));
      const expire = () => database.write(tx => expireIdleKeys(tx, 24 * HOUR, 100));
      clock.advance(HOUR);
      await database.write(tx => recordLastUse(tx, [{ id: used.id, at: clock.now() }]));
      clock.advance(23 * HOUR + 120_000);
      assert.equal(await expire(), 0);
      clock.advance(1);
      const version = await registryVersion(database);
      assert.equal(await expire(), 1);
      assert.notEqual(await registryVersion(database), version);
      const states = await Promise.all(
        [used, unused, revoked, expiring].map(async ({ id }) => keyState(await getKey(database, id), clock.now())),
      );
      assert.deepEqual(states, ['active', 'expired', 'revoked', 'expired']);
      const events = await eventsOf<{ key: { id: string; expiresAt: string } }>(database, 'key', unused.accountId);
      const last = events.at(-1)!;
      assert.deepEqual([last.action, last.data.key.id], ['expired', unused.id]);
      assert.equal(await expire(), 0);
    });
  });

  describe('rotateKey', () => {
    it('creates an equivalent key and keeps the old one valid for the overlap', async () => {
      const { database, newKey } = await setUp();
      const old = await newKey({ scopes: ['pets:read'] });
      const { issued, previous } = await database.write(tx => rotateKey(tx, old.id, HOUR));
      assert.notEqual(issued.id, old.id);
      assert.deepEqual(
        [issued.accountId, issued.deployment, issued.scopes, issued.expiresAt],
        [old.accountId, old.deployment, old.scopes, null],
      );
      assert.equal(previous.expiresAt, NOON + HOUR);
      assert.equal((await findKeyWithAccount(database, old.id))!.expires_at, NOON + HOUR);
    });

    it('never extends the expiry of the old key', async () => {
      const { database, newKey } = await setUp();
      const old = await newKey({ expiresAt: NOON + HOUR });
      const { previous } = await database.write(tx => rotateKey(tx, old.id, 24 * HOUR));
      assert.equal(previous.expiresAt, NOON + HOUR);
    });

    it('keeps the expiry for the new key unless another is given', async () => {
      const { database, newKey } = await setUp();
      const issue = async (expiresAt?: number | null) => {
        const old = await newKey({ expiresAt: NOON + 48 * HOUR });
        return (await database.write(tx => rotateKey(tx, old.id, HOUR, expiresAt))).issued.expiresAt;
      };
      assert.equal(await issue(), NOON + 48 * HOUR);
      assert.equal(await issue(NOON + 3 * HOUR), NOON + 3 * HOUR);
      assert.equal(await issue(null), null);
    });

    it('expires the old key immediately without an overlap', async () => {
      const { database, newKey } = await setUp();
      const old = await newKey();
      const { previous } = await database.write(tx => rotateKey(tx, old.id, 0));
      assert.equal(keyState(previous, NOON), 'expired');
    });

    it('rejects a revoked, expired or unknown key', async () => {
      const { clock, database, newKey } = await setUp();
      const revoked = await newKey();
      await database.write(tx => revokeKey(tx, revoked.id));
      const expiring = await newKey({ expiresAt: NOON + HOUR });
      clock.advance(HOUR);
      for (const [id, sentence] of [
        [revoked.id, /is revoked/],
        [expiring.id, /is expired/],
        ['nobody', /no key nobody/],
      ] as const) {
        await refuses(
          database.write(tx => rotateKey(tx, id, HOUR)),
          sentence,
        );
      }
      assert.equal((await listKeys(database)).length, 2);
    });
  });

  describe('findKeyWithAccount', () => {
    it('returns the key with the plan of its account', async () => {
      const { database, newKey, account } = await setUp();
      const { id, token } = await newKey();
      assert.deepEqual(await findKeyWithAccount(database, id), {
        id,
        account_id: account.id,
        deployment: 'staging',
        hash: hashToken(token),
        scopes: '*',
        expires_at: null,
        revoked_at: null,
        replaced_by: null,
        admin: 0,
        plan: 'pro',
        per_minute: null,
        per_day: null,
        networks: null,
        key_per_minute: null,
        key_per_day: null,
        suspended_at: null,
        sandbox: null,
      });
      assert.equal(await findKeyWithAccount(database, 'nobody'), undefined);
    });
  });

  describe('recordLastUse', () => {
    it('records the last use and never moves it back', async () => {
      const { database, newKey } = await setUp();
      const { id } = await newKey();
      for (const at of [NOON + 5, NOON + 3]) await database.write(tx => recordLastUse(tx, [{ id, at }]));
      assert.equal((await listKeys(database))[0]!.lastUsedAt, NOON + 5);
    });
  });
});

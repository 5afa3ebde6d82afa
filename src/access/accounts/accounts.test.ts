import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, onPostgres } from '../../../test/support/engines.ts';
import { openBlocker } from '../../../test/support/lock-waits.ts';
import { testClock } from '../../lib/clock.ts';
import { UserError } from '../../lib/user-error.ts';
import type { AccountChange, NewAccount } from '../../model/account.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import {
  createAccount,
  findAccountByEmail,
  getAccount,
  listAccounts,
  requestDeletion,
  requestOwnDeletion,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from './accounts.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const ann: NewAccount = { email: 'Ann@Example.org', name: 'Änn 小雪' };

onEachEngine(engine => {
  describe('createAccount', () => {
    it('creates an account on Free with a lower-case email address', async () => {
      const database = await engine.open({ clock: testClock(NOON) });
      const account = await database.write(tx => createAccount(tx, ann));
      assert.deepEqual(account, {
        id: 1,
        email: 'ann@example.org',
        name: 'Änn 小雪',
        plan: 'free',
        perMinute: null,
        perDay: null,
        admin: false,
        createdAt: NOON,
      });
      assert.deepEqual(await getAccount(database, 1), account);
      assert.deepEqual(await findAccountByEmail(database, 'ANN@example.ORG'), account);
    });

    it('records an event without the email address', async () => {
      const database = await engine.open({ clock: testClock(NOON) });
      await database.write(tx => createAccount(tx, ann));
      const agreed = { plan: 'enterprise', perMinute: 7, perDay: 70 } as const;
      await database.write(tx => createAccount(tx, { email: 'big@example.org', name: 'Big', admin: true, ...agreed }));
      await assert.rejects(
        database.write(tx => createAccount(tx, ann)),
        UserError,
      );
      const [first, ...more] = await eventsOf<object>(database, 'account', 1);
      const [second] = await eventsOf<object>(database, 'account', 2);
      assert.deepEqual(await eventsOf(database, 'account', 3), []);
      assert.deepEqual([first!.action, first!.accountId, more], ['created', null, []]);
      const createdAt = '2026-11-20T12:00:00.000Z';
      assert.deepEqual(first!.data, {
        account: {
          name: 'Änn 小雪',
          plan: 'free',
          limits: { perMinute: 60, perDay: 1000 },
          admin: false,
          createdAt,
        },
        ownerId: 1,
      });
      assert.deepEqual(second!.data, {
        account: { name: 'Big', plan: 'enterprise', limits: { perMinute: 7, perDay: 70 }, admin: true, createdAt },
        ownerId: 2,
      });
    });

    it('accepts custom limits on Enterprise', async () => {
      const database = await engine.open();
      const agreed = { plan: 'enterprise', perMinute: 1, perDay: 1_000_000_000, admin: true } as const;
      const account = await database.write(tx => createAccount(tx, { ...ann, ...agreed }));
      assert.deepEqual({ ...account, ...agreed }, account);
    });

    it('rejects an email address that is in use, in any case', async () => {
      const database = await engine.open();
      await database.write(tx => createAccount(tx, ann));
      const again = database.write(tx => createAccount(tx, { ...ann, email: 'ann@EXAMPLE.org' }));
      await assert.rejects(
        again,
        error => error instanceof UserError && /ann@example\.org already/.test(error.message),
      );
      assert.equal((await listAccounts(database)).length, 1);
    });

    it('gives an email address to exactly one of many concurrent requests', async () => {
      const database = await engine.open();
      const wishes = Array.from({ length: 8 }, () => database.write(tx => createAccount(tx, ann)));
      const outcomes = await Promise.allSettled(wishes);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof UserError, String(outcome.reason));
      }
    });

    it('rejects invalid values and says what is valid', async () => {
      const database = await engine.open();
      const wrong: [Partial<Record<keyof NewAccount, unknown>>, RegExp][] = [
        [{ email: '' }, /e-mail address must look like/],
        [{ email: 'ann' }, /e-mail address must look like/],
        [{ email: 'ann@' }, /e-mail address must look like/],
        [{ email: 'a n@example.org' }, /e-mail address must look like/],
        [{ email: 'ann@example.org\n' }, /e-mail address must look like/],
        [{ email: `${'a'.repeat(65)}@example.org` }, /e-mail address must look like/],
        [{ email: `a@${'b.'.repeat(126)}c` }, /e-mail address must look like/],
        [{ name: '' }, /name must have at least one/],
        [{ name: ' \t\u3000' }, /name must have at least one/],
        [{ name: 'a\u0000b' }, /name must not have control/],
        [{ name: '\ud800' }, /name must be well-formed/],
        [{ name: '🐕'.repeat(256) }, /name must have at most 255/],
        [{ plan: 'gold' }, /plans are free, pro, business, enterprise/],
        [{ plan: 'constructor' }, /plans are free/],
        [{ perMinute: 5 }, /plan free has fixed limits/],
        [{ plan: 'business', perDay: 5 }, /plan business has fixed limits/],
        [{ plan: 'enterprise' }, /needs both/],
        [{ plan: 'enterprise', perMinute: 5 }, /needs both/],
        [{ plan: 'enterprise', perMinute: 0, perDay: 5 }, /per minute must be a whole number/],
        [{ plan: 'enterprise', perMinute: 5, perDay: 1.5 }, /per day must be a whole number/],
        [{ plan: 'enterprise', perMinute: 5, perDay: 1_000_000_001 }, /per day must be a whole number/],
      ];
      for (const [change, sentence] of wrong) {
        await assert.rejects(
          database.write(tx => createAccount(tx, { ...ann, ...change } as NewAccount)),
          error => error instanceof UserError && sentence.test(error.message),
          JSON.stringify(change),
        );
      }
      assert.deepEqual(await listAccounts(database), []);
    });

    it('accepts a name of the maximum length', async () => {
      const database = await engine.open();
      const { name } = await database.write(tx => createAccount(tx, { ...ann, name: '🐕'.repeat(255) }));
      assert.equal((await getAccount(database, 1)).name, name);
    });
  });

  describe('updateAccount', () => {
    it('changes what the change names, and records the previous values without the email address', async () => {
      const database = await engine.open({ clock: testClock(NOON) });
      const account = await database.write(tx => createAccount(tx, ann));
      const change = { name: 'Ann', email: 'New@Example.org', plan: 'pro', admin: true } as const;
      const updated = await database.write(tx => updateAccount(tx, 1, change));
      assert.deepEqual(updated, { ...account, ...change, email: 'new@example.org' });
      assert.deepEqual(await getAccount(database, 1), updated);
      const [, event, ...more] = await eventsOf<{ was: object }>(database, 'account', 1);
      assert.deepEqual([event!.action, more], ['updated', []]);
      assert.deepEqual(event!.data.was, {
        name: 'Änn 小雪',
        plan: 'free',
        limits: { perMinute: 60, perDay: 1000 },
        admin: false,
      });
      assert.ok(!JSON.stringify(event).includes('example.org'));
    });

    it('sets the limits of Enterprise, and drops them with the plan', async () => {
      const database = await engine.open();
      await database.write(tx => createAccount(tx, ann));
      const update = (change: AccountChange) => database.write(tx => updateAccount(tx, 1, change));
      await assert.rejects(update({ plan: 'enterprise', perMinute: 5 }), /needs both/);
      await assert.rejects(update({ perMinute: 5 }), /plan free has fixed limits/);
      await update({ plan: 'enterprise', perMinute: 5, perDay: 50 });
      const { plan, perMinute, perDay } = await update({ perDay: 60 });
      assert.deepEqual([plan, perMinute, perDay], ['enterprise', 5, 60]);
      const pro = await update({ plan: 'pro' });
      assert.deepEqual([pro.plan, pro.perMinute, pro.perDay], ['pro', null, null]);
    });

    it('rejects invalid values, unknown accounts and an email address that is in use', async () => {
      const database = await engine.open();
      await database.write(tx => createAccount(tx, ann));
      await database.write(tx => createAccount(tx, { ...ann, email: 'b@example.org' }));
      const wrong: [number, AccountChange, RegExp][] = [
        [1, { email: 'ann' }, /e-mail address must look like/],
        [1, { name: '' }, /name must have at least one/],
        [1, { email: 'B@example.org' }, /b@example\.org already/],
        [3, { name: 'C' }, /no account 3/],
      ];
      for (const [id, change, sentence] of wrong) {
        await assert.rejects(
          database.write(tx => updateAccount(tx, id, change)),
          error => error instanceof UserError && sentence.test(error.message),
        );
      }
    });

    it('records nothing if nothing changes', async () => {
      const database = await engine.open();
      await database.write(tx => createAccount(tx, ann));
      await database.write(tx => updateAccount(tx, 1, { ...ann, plan: 'free' }));
      assert.equal((await eventsOf(database, 'account', 1)).length, 1);
    });
  });

  describe('suspendAccount and resumeAccount', () => {
    it('are idempotent, and record each change once', async () => {
      const clock = testClock(NOON);
      const database = await engine.open({ clock });
      const account = await database.write(tx => createAccount(tx, ann));
      await database.write(tx => resumeAccount(tx, 1));
      const suspended = await database.write(tx => suspendAccount(tx, 1));
      assert.deepEqual(suspended, { ...account, suspendedAt: NOON });
      clock.advance(1000);
      assert.deepEqual(await database.write(tx => suspendAccount(tx, 1)), suspended);
      assert.deepEqual(await database.write(tx => resumeAccount(tx, 1)), account);
      assert.deepEqual(await getAccount(database, 1), account);
      const events = await eventsOf<{ was: object }>(database, 'account', 1);
      assert.deepEqual(
        events.map(({ action, data }) => [action, data.was]),
        [
          ['created', undefined],
          ['suspended', { suspendedAt: null }],
          ['resumed', { suspendedAt: '2026-11-20T12:00:00.000Z' }],
        ],
      );
    });
  });

  describe('the only active admin', () => {
    it('can neither be demoted nor suspended nor deleted', async () => {
      const database = await engine.open({ clock: testClock(NOON) });
      await createAdmin(database);
      const other = await createAdmin(database);
      await database.write(tx => suspendAccount(tx, other));
      for (const leave of waysToLeave) {
        const error = { name: 'UserError', message: /^Account 1 is the only active admin: make another account/ };
        await assert.rejects(
          database.write(tx => leave(tx, 1)),
          error,
        );
      }
      assert.deepEqual((await getAccount(database, 1)).suspendedAt, undefined);
      await database.write(tx => updateAccount(tx, 1, { name: 'Still an admin', admin: true }));
      // The other admin is not active, so it does not count.
      await database.write(tx => requestDeletion(tx, other, 0));
    });

    it('can lose its rights once there is another admin', async () => {
      const database = await engine.open({ clock: testClock(NOON) });
      let admin = await createAdmin(database);
      for (const leave of waysToLeave) {
        const other = await createAdmin(database);
        await database.write(tx => leave(tx, admin));
        await assert.rejects(
          database.write(tx => leave(tx, other)),
          /only active admin/,
        );
        admin = other;
      }
    });
  });

  describe('getAccount', () => {
    it('rejects an unknown id', async () => {
      await assert.rejects(getAccount(await engine.open(), 7), UserError);
    });
  });

  describe('listAccounts', () => {
    it('lists all accounts by id', async () => {
      const database = await engine.open();
      for (const email of ['z@example.org', 'a@example.org']) {
        await database.write(tx => createAccount(tx, { ...ann, email }));
      }
      assert.deepEqual(
        (await listAccounts(database)).map(({ id, email }) => [id, email]),
        [
          [1, 'z@example.org'],
          [2, 'a@example.org'],
        ],
      );
    });
  });
});

onPostgres(engine => {
  it('the last two admins cannot leave at the same time', async () => {
    const location = await engine.newLocation();
    const database = await engine.open({ location, clock: testClock(NOON) });
    const blocker = await openBlocker(location);
    let admin = await createAdmin(database);
    for (const leave of waysToLeave) {
      const other = await createAdmin(database);
      let second: Promise<unknown> = Promise.resolve();
      await database.write(async tx => {
        await leave(tx, admin);
        second = database.write(tx => leave(tx, other)).catch((error: Error) => error.message);
        await Promise.race([second, blocker.untilLockWait()]);
      });
      assert.match(String(await second), /is the only active admin/);
      admin = other;
    }
    blocker.close();
  });
});

let admins = 0;

/** Creates an active admin, and returns its id. */
async function createAdmin(database: Database): Promise<number> {
  const email = `admin-${++admins}@example.org`;
  return (await database.write(tx => createAccount(tx, { email, name: 'Admin', admin: true }))).id;
}

/** The changes that remove the rights of an admin. */
const waysToLeave: readonly ((tx: Transaction, id: number) => Promise<unknown>)[] = [
  (tx, id) => updateAccount(tx, id, { admin: false }),
  suspendAccount,
  (tx, id) => requestDeletion(tx, id, 1000),
  (tx, id) => requestOwnDeletion(tx, id, 1000),
];

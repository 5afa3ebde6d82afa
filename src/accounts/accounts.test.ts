import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { eventsOf } from '../events/log.ts';
import { testClock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';
import type { NewAccount } from './account.ts';
import { createAccount, findAccountByEmail, getAccount, listAccounts } from './accounts.ts';

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

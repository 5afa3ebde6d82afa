import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import {
  createAccount,
  findAccountByEmail,
  getAccount,
  keepAccount,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from '../../access/accounts/accounts.ts';
import { createKey } from '../../access/keys/keys.ts';
import { createLink } from '../../access/sessions/links.ts';
import { PasswordHasher } from '../../access/sessions/password-hasher.ts';
import { confirmByLink } from '../../access/sessions/recovery.ts';
import { signIn, signUp } from '../../access/sessions/sign-in.ts';
import { testClock } from '../../lib/clock.ts';
import { DAY_MS } from '../../lib/time.ts';
import { eventsOf } from '../../model/log/log.ts';
import { query } from '../../model/schema.ts';
import { createPet } from '../../store/pets/pets.ts';
import { retentionJob } from '../retention.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const WEEK = 7 * DAY_MS;
const password = 'correct horse battery';
const browser = { address: '192.0.2.1', userAgent: 'Test' };
const quick = new PasswordHasher(async () => Buffer.alloc(32, 1));
const rowsOf = (['passwords', 'links', 'account_emails'] as const).map(table =>
  query(db => db.selectFrom(table).select('account_id as accountId')),
);

onEachEngine(engine => {
  describe('an account whose address was never confirmed', () => {
    async function open() {
      const clock = testClock(NOON);
      const database = await engine.open({ clock });
      return {
        ...{ clock, database },
        /** Signs up, and returns the id of the account. */
        async join(name: string, sendsEmail = true) {
          const email = `${name}@example.org`;
          // Each sign-up comes from a different network, because sign-ups are limited per network.
          const address = `2001:db8:${joined++}::1`;
          const emailUrl = sendsEmail ? 'https://pets.example.org' : undefined;
          await signUp({ database, passwords: quick, emailUrl }, { email, password, name }, { address });
          return (await findAccountByEmail(database, email))!.id;
        },
        async retain() {
          const job = retentionJob({ database });
          while ((await job.claim(1)).rows > 0);
        },
        exists: (id: number) =>
          getAccount(database, id).then(
            () => true,
            () => false,
          ),
      };
    }
    let joined = 1;

    it('is deleted after seven days, and leaves neither its name nor its address', async () => {
      const { clock, database, join, retain, exists } = await open();
      const id = await join('eve');
      clock.advance(WEEK - 1);
      await retain();
      assert.ok(await exists(id));
      clock.advance(1);
      await retain();
      assert.equal(await exists(id), false);
      for (const rows of rowsOf) assert.deepEqual(await database.all(rows, {}), []);
      const events = await eventsOf<object>(database, 'account', id);
      assert.deepEqual(
        events.map(({ action }) => action),
        ['created', 'deleted'],
      );
      assert.doesNotMatch(JSON.stringify(events), /eve/);
      assert.notEqual(await join('eve'), id);
    });

    it('is kept while a link to it works', async () => {
      const { clock, database, join, retain, exists } = await open();
      const id = await join('late');
      clock.advance(DAY_MS);
      const link = { personId: id, purpose: 'confirm', email: 'late@example.org' } as const;
      await database.write(tx => createLink(tx, link));
      clock.advance(WEEK - 1);
      await retain();
      assert.ok(await exists(id));
      clock.advance(1);
      await retain();
      assert.equal(await exists(id), false);
    });

    it('is kept once it was confirmed, used, or changed by the operator', async () => {
      const { clock, database, join, retain, exists } = await open();
      const origin = { accountId: 1, requestId: 'r', address: browser.address };
      const kept = {
        async 'created by the operator'() {
          return (await database.write(tx => createAccount(tx, { email: 'a@example.org', name: 'A' }))).id;
        },
        'signed up where no e-mail is sent': () => join('none', false),
        async 'confirmed, with another address since'() {
          const id = await join('confirmed');
          const link = { personId: id, purpose: 'confirm', email: 'confirmed@example.org' } as const;
          const { secret } = await database.write(tx => createLink(tx, link));
          assert.equal(await confirmByLink(database, secret, origin), 'done');
          await database.write(tx => updateAccount(tx, id, { email: 'other@example.org' }));
          return id;
        },
        async 'with a key'() {
          const id = await join('key');
          await database.write(tx => createKey(tx, { accountId: id, deployment: 'staging' }));
          return id;
        },
        async 'with an animal'() {
          const id = await join('animal');
          await database.write(tx => createPet(tx, id, { name: 'Minka', categoryId: 2 }, 'open'));
          return id;
        },
        async 'signed in while no e-mail was sent'() {
          const id = await join('session');
          const deps = { database, passwords: quick, emailUrl: undefined };
          assert.notEqual(await signIn(deps, { email: 'session@example.org', password }, browser), undefined);
          return id;
        },
        async 'changed by the operator'() {
          const id = await join('changed');
          await database.write(tx => updateAccount(tx, id, { plan: 'pro' }));
          return id;
        },
        async 'suspended and resumed'() {
          const id = await join('suspended');
          await database.write(tx => suspendAccount(tx, id));
          await database.write(tx => resumeAccount(tx, id));
          return id;
        },
        async 'given something by a command'() {
          const id = await join('given');
          await database.write(tx => keepAccount(tx, id));
          return id;
        },
      };
      const ids: [string, number][] = [];
      for (const [name, make] of Object.entries(kept)) ids.push([name, await make()]);
      const unused = await join('unused');
      clock.advance(WEEK);
      await retain();
      for (const [name, id] of ids) assert.ok(await exists(id), name);
      assert.equal(await exists(unused), false);
    });

    it('is deleted in batches until none is left', async () => {
      const { clock, join, retain, exists } = await open();
      const ids = [];
      for (let n = 0; n < 21; n++) ids.push(await join(`crowd-${n}`));
      clock.advance(WEEK);
      await retain();
      assert.deepEqual(await Promise.all(ids.map(exists)), Array(21).fill(false));
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import type { Account } from '../../model/account.ts';
import { insertFact } from '../../model/facts.ts';
import { FOUNDERS_FACT } from '../../model/migrations/0047-people.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { createAccount, getAccount, updateAccount } from '../accounts/accounts.ts';
import { confirmAddress } from '../accounts/addresses.ts';
import { findPerson, findPersonByEmail, listMemberships } from '../accounts/people.ts';
import { updateConfirmed, updateErased, updateProperties } from '../accounts/rows.ts';
import { startSession } from '../sessions/sessions.ts';
import { carryOverFounders } from './founders.ts';
import { memberNames } from './members.ts';

onEachEngine(engine => {
  describe('what nodes of the previous release changed during a restart', () => {
    it('is carried over: the address of a founder, confirmed or not, also if two exchange theirs', async () => {
      const { database, create, changeEmail } = await setUp(engine);
      const [ann, ben, eve] = [
        await create('ann@example.org'),
        await create('ben@example.org'),
        await create('e@x.org'),
      ];
      await changeEmail(ann, 'office@example.org', null);
      await changeEmail(ben, 'ann@example.org', 5);
      await changeEmail(ann, 'ben@example.org', 7);
      await database.write(tx => tx.run(updateConfirmed, { id: eve.id, confirmedAt: 9 }));
      await carryOverFounders(database);
      const seen = async (email: string) => {
        const person = await findPersonByEmail(database, email);
        return [person?.id, person?.emailConfirmedAt];
      };
      assert.deepEqual(await seen('ben@example.org'), [ann.id, 7]);
      assert.deepEqual(await seen('ann@example.org'), [ben.id, 5]);
      assert.deepEqual(await seen('e@x.org'), [eve.id, 9]);
      assert.deepEqual(await seen('office@example.org'), [undefined, undefined]);
    });

    it('is carried over: deletions, with and without the row of the account', async () => {
      const { database, create } = await setUp(engine);
      const [ann, ben, eve] = [
        await create('ann@example.org'),
        await create('ben@example.org'),
        await create('e@x.org'),
      ];
      await database.write(async tx => {
        const erased = { id: ann.id, email: `deleted-${ann.id}@account.invalid`, name: 'Deleted account', now: tx.now };
        await tx.run(updateErased, erased);
        await tx.run(deleteAccount, { id: ben.id });
      });
      await carryOverFounders(database);
      for (const { id } of [ann, ben]) {
        assert.equal(await findPerson(database, id), undefined);
        assert.equal((await memberNames(database, id)).size, 0);
      }
      assert.equal((await findPerson(database, eve.id))?.email, 'e@x.org');
    });

    it('is carried over once, over all nodes: later the contact of an account is another thing', async () => {
      const { database, create, changeEmail } = await setUp(engine);
      const [ann, eve] = [await create('ann@example.org'), await create('e@x.org')];
      await changeEmail(ann, 'new@example.org', null);
      await Promise.all([carryOverFounders(database), carryOverFounders(database)]);
      assert.equal((await findPerson(database, ann.id))?.email, 'new@example.org');
      await database.write(tx => updateAccount(tx, eve.id, { email: 'office@example.org' }));
      await carryOverFounders(database);
      assert.equal((await findPerson(database, eve.id))?.email, 'e@x.org');
    });

    it('includes an account with the address that a founder gave up', async () => {
      const { clock, database, create, changeEmail } = await setUp(engine);
      const ann = await create('ann@example.org');
      await changeEmail(ann, 'new@example.org', null);
      const { id } = (await database.write(tx => tx.first(insertOld, { now: tx.now })))!;
      const browser = { address: '192.0.2.1', userAgent: 'Test' };
      await database.write(tx => startSession(tx, id, browser));
      await carryOverFounders(database);
      assert.equal((await findPersonByEmail(database, 'ann@example.org'))?.id, id);
      await database.write(tx => startSession(tx, id, browser));
      assert.deepEqual((await memberNames(database, id)).get(id), 'Old');
      assert.equal((await listMemberships(database, id))[0]?.account.id, id);
      clock.advance(1);
      await database.write(async tx => confirmAddress(tx, (await findPerson(tx, id))!));
      assert.equal((await getAccount(database, id)).emailConfirmedAt, clock.now());
    });
  });
});

async function setUp(engine: Engine) {
  const clock = testClock(Date.UTC(2026, 10, 20, 12));
  const database: Database = await engine.open({ clock });
  await database.write(tx => tx.run(insertFact, { name: FOUNDERS_FACT, value: '' }));
  return {
    ...{ clock, database },
    create: (email: string) => database.write(tx => createAccount(tx, { email, name: 'Shelter' })),
    /** Changes the address of an account as the previous release does. */
    changeEmail: ({ id, name, plan }: Account, email: string, confirmedAt: number | null) =>
      database.write(async tx => {
        await tx.run(updateProperties, { id, name, plan, email, perMinute: null, perDay: null, admin: 0 });
        await tx.run(updateConfirmed, { id, confirmedAt });
      }),
  };
}

const deleteAccount = query((db, p: Params<{ id: number }>) => db.deleteFrom('accounts').where('id', '=', p.id));

const insertOld = query((db, p: Params<{ now: number }>) =>
  db
    .insertInto('accounts')
    .values({ email: 'ann@example.org', name: 'Old', plan: 'free', admin: 0, created_at: p.now } as never)
    .returning('id'),
);

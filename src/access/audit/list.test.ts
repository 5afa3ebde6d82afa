import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import type { Origin } from '../../lib/origin.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import type { Database } from '../../model/schema.ts';
import { createPet, deletePet, updatePet } from '../../store/pets/pets.ts';
import { createAccount } from '../accounts/accounts.ts';
import { createKey, revokeKey } from '../keys/keys.ts';
import { entryOf } from './entry.ts';
import { type AuditFilter, listAuditEntries } from './list.ts';

const HOUR = 60 * 60 * 1000;
const NOON = Date.parse('2026-11-21T12:00:00Z');
const cat = { name: 'Minka', categoryId: 2 };

onEachEngine(engine => {
  const clock = testClock(NOON);
  const open = () => engine.open({ clock });

  describe('the audit log', () => {
    it('shows an account what its keys did, and what the operator did to what it owns', async () => {
      const database = await open();
      await database.write(async tx => {
        for (const email of ['a@example.org', 'b@example.org']) await createAccount(tx, { email, name: 'x' });
      }, command('account create'));
      const { id } = await database.write(
        tx => createKey(tx, { accountId: 1, deployment: 'production' }),
        command('key create'),
      );
      await database.write(tx => createPet(tx, 1, cat, 'open'), request(1, 'first'));
      await database.write(tx => createPet(tx, 2, cat, 'open'), request(2, 'second'));
      await database.write(tx => deletePet(tx, operator, 1), command('pet delete'));
      await database.write(tx => revokeKey(tx, id), command('key revoke'));

      assert.deepEqual(await typesOf(database, account(1)), [
        ...['key.revoked', 'pet.deleted', 'pet.created', 'key.created', 'account.created'],
      ]);
      assert.deepEqual(await typesOf(database, account(2)), ['pet.created', 'account.created']);
      assert.equal((await typesOf(database, { accountId: 2, admin: true })).length, 7);
      assert.equal((await typesOf(database, operator)).length, 7);
      assert.equal((await typesOf(database, operator, { accountId: 2 })).length, 2);
      assert.deepEqual(await typesOf(database, account(1), { accountId: 2 }), []);

      const [revoked, , created] = await list(database, account(1));
      const time = '2026-11-21T12:00:00.000Z';
      const { id: _, eventId, ...key } = revoked!;
      assert.deepEqual(key, { time, type: 'key.revoked', resourceId: id, command: 'key revoke' });
      assert.deepEqual(
        { ...created, id: 0, eventId: '' },
        {
          ...{ id: 0, eventId: '', time, type: 'pet.created', resourceId: 1 },
          ...{ accountId: 1, keyId: 'key1', requestId: 'first', address: '192.0.2.1' },
        },
      );
    });

    it('hides the entries of an account from an admin who changes its pet', async () => {
      const database = await open();
      await database.write(tx => createPet(tx, 1, cat, 'open'), request(1, 'own'));
      const admin = { accountId: 2, admin: true };
      await database.write(tx => updatePet(tx, admin, 1, { name: 'Mia' }, 'open'), request(2, 'foreign'));
      assert.deepEqual(
        (await list(database, account(1))).map(({ requestId }) => requestId),
        ['own'],
      );
    });

    it('has a placeholder category, and no automatic change', async () => {
      const database = await open();
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 9000 }, 'open'), request(1, 'both'));
      await database.write(tx => createPet(tx, 1, cat, 'open'));
      assert.deepEqual(await typesOf(database, account(1)), ['pet.created', 'category.created']);
    });

    it('filters by key, request, address, type, resource and time', async () => {
      const database = await open();
      for (let hour = 0; hour < 4; hour++) {
        const origin = { ...request(1, `r${hour}`), keyId: `k${hour % 2}`, address: `192.0.2.${hour}` };
        await database.write(tx => createPet(tx, 1, cat, 'open'), origin);
        clock.advance(HOUR);
      }
      await database.write(tx => deletePet(tx, account(1), 3), request(1, 'last'));
      const requests = async (filter: AuditFilter) =>
        (await list(database, account(1), filter)).map(({ requestId }) => requestId);
      const start = clock.now() - 4 * HOUR;
      assert.deepEqual(await requests({ keyId: 'k1' }), ['r3', 'r1']);
      assert.deepEqual(await requests({ requestId: 'r2' }), ['r2']);
      assert.deepEqual(await requests({ address: '192.0.2.0' }), ['r0']);
      assert.deepEqual(await requests({ types: ['pet.deleted', 'order.*'] }), ['last']);
      assert.deepEqual(await requests({ types: ['pet.*'], keyId: 'k0' }), ['r2', 'r0']);
      assert.deepEqual(await requests({ resource: 'pet:3' }), ['last', 'r2']);
      assert.deepEqual(await requests({ since: start + HOUR, until: start + 3 * HOUR }), ['r2', 'r1']);
      assert.deepEqual(await requests({ since: start + 2 * HOUR + 1 }), ['last', 'r3']);
    });

    it('filters by the session of a browser', async () => {
      const database = await open();
      for (const sessionId of [1, 11, 1]) {
        const { keyId: _, ...origin } = { ...request(1, `session ${sessionId}`), sessionId };
        await database.write(tx => createPet(tx, 1, cat, 'open'), origin);
      }
      await database.write(tx => createPet(tx, 1, cat, 'open'), request(1, 'by key'));
      const found = await list(database, operator, { sessionId: 1 });
      assert.deepEqual(
        found.map(entry => [entry.sessionId, entry.requestId]),
        [
          [1, 'session 1'],
          [1, 'session 1'],
        ],
      );
    });

    it('is paginated, and scans no other accounts', async () => {
      const database = await open();
      for (let pet = 0; pet < 30; pet++) {
        const accountId = 1 + (pet % 3);
        await database.write(tx => createPet(tx, accountId, cat, 'open'), request(accountId, `r${pet}`));
      }
      const first = await listAuditEntries(database, account(2), {}, { limit: 4 });
      const second = await listAuditEntries(database, account(2), {}, { limit: 4, cursor: first.next });
      const third = await listAuditEntries(database, account(2), {}, { limit: 4, cursor: second.next });
      const back = await listAuditEntries(database, account(2), {}, { limit: 4, cursor: second.previous });
      const ids = [first, second, third].flatMap(({ rows }) => rows.map(({ subjectId }) => subjectId));
      assert.deepEqual(ids, [29, 26, 23, 20, 17, 14, 11, 8, 5, 2]);
      assert.equal(third.next, undefined);
      assert.deepEqual(back.rows, first.rows);
      await assert.rejects(async () => listAuditEntries(database, account(1), {}, { limit: 4, cursor: first.next }), {
        code: 'invalid_parameter',
      });
    });
  });
});

const account = (accountId: number): Actor => ({ accountId, admin: false });
const command = (name: string): Origin => ({ command: name });

function request(accountId: number, requestId: string) {
  return { accountId, keyId: `key${accountId}`, requestId, address: '192.0.2.1' };
}

async function list(database: Database, actor: Actor, filter: AuditFilter = {}) {
  return (await listAuditEntries(database, actor, filter, { limit: 100 })).rows.map(entryOf);
}

async function typesOf(database: Database, actor: Actor, filter?: AuditFilter) {
  return (await list(database, actor, filter)).map(({ type }) => type);
}

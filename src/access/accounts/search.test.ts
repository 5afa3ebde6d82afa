import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import type { Database } from '../../model/schema.ts';
import { createAccount, requestDeletion, suspendAccount } from './accounts.ts';
import { type AccountFilter, searchAccounts } from './search.ts';

onEachEngine(engine => {
  async function open(names: readonly string[], admins: readonly string[] = []) {
    const database = await engine.open();
    for (const [index, name] of names.entries()) {
      const email = `${index + 1}@example.org`;
      await database.write(tx => createAccount(tx, { email, name, admin: admins.includes(name) }));
    }
    return database;
  }

  const namesOf = async (database: Database, filter: AccountFilter) =>
    (await searchAccounts(database, filter, { limit: 100 })).rows.map(({ name }) => name);

  describe('searchAccounts', () => {
    it('finds accounts by a part of the name or address in any case, or by id, newest first', async () => {
      const database = await open(['Riverside', 'RIVER %_', 'Ärzte', 'Other']);
      assert.deepEqual(await namesOf(database, {}), ['Other', 'Ärzte', 'RIVER %_', 'Riverside']);
      assert.deepEqual(await namesOf(database, { text: 'river' }), ['RIVER %_', 'Riverside']);
      assert.deepEqual(await namesOf(database, { text: '%_' }), ['RIVER %_']);
      assert.deepEqual(await namesOf(database, { text: 'Ärz' }), ['Ärzte']);
      assert.deepEqual(await namesOf(database, { text: '4@EXAMPLE' }), ['Other']);
      assert.deepEqual(await namesOf(database, { text: '3' }), ['Ärzte']);
      assert.deepEqual(await namesOf(database, { text: "' or 1=1" }), []);
    });

    it('finds admins, and accounts that are suspended or being deleted', async () => {
      const database = await open(['Admin', 'Suspended', 'Deleted', 'Other'], ['Admin']);
      await database.write(tx => suspendAccount(tx, 2));
      await database.write(tx => requestDeletion(tx, 3, 1000));
      assert.deepEqual(await namesOf(database, { state: 'admin' }), ['Admin']);
      assert.deepEqual(await namesOf(database, { state: 'suspended' }), ['Deleted', 'Suspended']);
      assert.deepEqual(await namesOf(database, { state: 'deleting' }), ['Deleted']);
      assert.deepEqual(await namesOf(database, { state: 'deleting', text: 'admin' }), []);
    });

    it('is paginated', async () => {
      const database = await open(['a1', 'b', 'a2', 'b', 'a3']);
      const first = await searchAccounts(database, { text: 'a' }, { limit: 2 });
      const text = { text: 'A1' };
      assert.deepEqual(await namesOf(database, text), ['a1']);
      assert.deepEqual(first.rows.length, 2);
      await assert.rejects(async () => searchAccounts(database, text, { limit: 2, cursor: first.next! }), {
        code: 'invalid_parameter',
      });
    });
  });
});

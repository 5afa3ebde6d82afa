import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import {
  createAccount,
  eraseAccount,
  requestDeletion,
  resumeAccount,
  suspendAccount,
} from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import { listOrganizations } from './list.ts';
import { findOrganization, getOrganization, replaceOrganization, updateOrganization } from './organizations.ts';
import { updateVisibility, visibilityJob } from './visibility.ts';

const everyone = { admin: false };

onEachEngine(engine => {
  describe('the organization of a suspended account', () => {
    for (const deployment of ['production', 'staging'] as const) {
      const open = async () => {
        const clock = testClock(Date.UTC(2026, 10, 21, 12));
        const accounts = await engine.open({ clock });
        const database = deployment === 'production' ? accounts : await engine.open({ clock });
        for (const name of ['Ann', 'Ben']) {
          const { id } = await accounts.write(tx => createAccount(tx, { email: `${name}@example.org`, name }));
          const actor = { accountId: id, admin: false };
          await database.write(tx => replaceOrganization(tx, actor, id, { name: `Shelter of ${name}` }));
        }
        const visible = async () => (await listOrganizations(database, {}, { limit: 10 })).rows.map(({ id }) => id);
        return { clock, accounts, database, visible };
      };

      it(`is hidden until the account is resumed, on ${deployment}`, async () => {
        const { accounts, database, visible } = await open();
        assert.equal(await updateVisibility(database, accounts), 0);
        await accounts.write(tx => suspendAccount(tx, 1));
        assert.equal(await updateVisibility(database, accounts), 1);
        assert.equal(await updateVisibility(database, accounts), 0);
        assert.deepEqual(await visible(), [2]);
        await assert.rejects(getOrganization(database, everyone, 1), { code: 'organization_not_found' });
        assert.equal((await getOrganization(database, { admin: true }, 1)).name, 'Shelter of Ann');
        await accounts.write(tx => resumeAccount(tx, 1));
        assert.equal(await updateVisibility(database, accounts), 1);
        assert.deepEqual(await visible(), [1, 2]);
        assert.equal((await getOrganization(database, everyone, 1)).version, 1);
      });

      it(`stays hidden when an admin changes it, and until its account is deleted, on ${deployment}`, async () => {
        const { accounts, database, visible } = await open();
        await accounts.write(tx => requestDeletion(tx, 1, 1000));
        await updateVisibility(database, accounts);
        const admin = { accountId: 2, admin: true };
        await database.write(tx => updateOrganization(tx, admin, 1, { name: 'Another' }));
        await database.write(tx => replaceOrganization(tx, admin, 1, { name: 'A third' }));
        assert.deepEqual(await visible(), [2]);
        // The account is erased before its data on staging.
        await accounts.write(tx => eraseAccount(tx, 1));
        await updateVisibility(database, accounts);
        assert.deepEqual(await visible(), [2]);
        assert.equal((await findOrganization(database, 1))?.name, 'A third');
      });

      it(`is hidden by a job that is due after a change of an account, on ${deployment}`, async () => {
        const { clock, accounts, database, visible } = await open();
        const { type, dueAt } = visibilityJob({ accounts, database, now: () => clock.now() });
        assert.equal(dueAt(), 0);
        // PostgreSQL may still notify of the new accounts.
        do await type.claim(1);
        while (dueAt() === 0);
        assert.equal(dueAt(), clock.now() + 60_000);
        await accounts.write(tx => suspendAccount(tx, 2));
        if (engine.name === 'sqlite') assert.equal(dueAt(), 0);
        await type.claim(1);
        assert.deepEqual(await visible(), [1]);
      });
    }
  });
});

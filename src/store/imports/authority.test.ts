import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertBan } from '../../../test/support/bans.ts';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { addImporters } from '../../../test/support/import-accounts.ts';
import { suspendAccount } from '../../access/accounts/accounts.ts';
import { createKey, revokeKey, rotateKey } from '../../access/keys/keys.ts';
import { liftBan, newBan } from '../../access/limits/bans.ts';
import { suspendWithDependents } from '../../events/webhooks/account-changes.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../../events/webhooks/key-changes.ts';
import { testClock } from '../../lib/clock.ts';
import { recordUpgraded } from '../../model/facts.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type DeploymentName, type Params, query, sql } from '../../model/schema.ts';
import { rowsImported } from './budget.ts';
import { type ImportOptions, importOf, originOf } from './import.ts';
import { importJob } from './import-job.ts';
import { activateImport, getImport } from './imports.ts';
import { receiveImport } from './receive.ts';

const NOON = Date.UTC(2026, 10, 24, 12);
const owner = { accountId: 1, admin: false };
/** The rows of a chunk. */
const CHUNK = 25;

async function openStore(engine: Engine, deployment: DeploymentName, expiresAt?: number) {
  const clock = testClock(NOON);
  const accounts = await engine.open({ clock });
  const database = deployment === 'production' ? accounts : await engine.open({ clock });
  await recordUpgraded(database);
  const origin = await addImporters(accounts, deployment, expiresAt);
  const job = importJob({ database, accounts, rules: { categories: 'open', bounds: {} }, now: () => clock.now() });
  const options: ImportOptions = {
    ...{ accountId: 1, plan: 'free', mode: 'upsert', preset: 'petstore', format: 'csv', dryRun: false, origin },
    ...{ confirmRemovals: undefined, currency: undefined },
  };
  return {
    ...{ clock, accounts, database, keyId: origin.keyId, databases: { accounts, own: database } },
    async receive(file: AsyncIterable<Buffer>, more: Partial<ImportOptions> = {}) {
      return (await receiveImport({ database, clock, bounds: {} }, file, { ...options, ...more })).id;
    },
    /** Begins an import of four chunks. */
    async begin(more: Partial<ImportOptions> = {}) {
      const id = await this.receive(rows(4 * CHUNK), more);
      await database.write(tx => activateImport(tx, id, {}));
      return id;
    },
    /** Runs a number of steps, or all that are due. */
    async work(most = Number.POSITIVE_INFINITY) {
      for (let done = 0; done < most && (await job.claim(1)).rows > 0; done++);
    },
    /** Returns the state of an import, its code, and the animals that it added. */
    async outcome(id: number) {
      const row = await getImport(database, owner, id);
      const { state, error, created } = importOf(row, {});
      assert.equal(created, (await database.first(countPets, {}))!.pets);
      return [state, error?.code, created];
    },
  };
}

async function* rows(count: number) {
  yield Buffer.from(
    `externalId,name,categoryId\n${Array.from({ length: count }, (_, row) => `A-${row},Rex,1\n`).join('')}`,
  );
}

onEachEngine(engine => {
  for (const deployment of ['production', 'staging'] as const) {
    describe(`an import of ${deployment}`, () => {
      it('ends with the revocation of its key, which lists it, and adds nothing afterwards', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.work(2);
        const revoked = await revokeKeyAndDependents(store.databases, store.keyId);
        assert.deepEqual(
          revoked.imports.map(row => [row.id, row.rows_read, row.row_count]),
          [[id, 2 * CHUNK, 4 * CHUNK]],
        );
        assert.equal(await rowsImported(store.database, 1, NOON), 2 * CHUNK);
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', 2 * CHUNK]);
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', 2 * CHUNK]);
        const again = await revokeKeyAndDependents(store.databases, store.keyId);
        assert.deepEqual(
          again.imports.map(row => row.id),
          [id],
          'a retry has the same response',
        );
      });

      it('ends before the next step when its key is revoked by any transaction', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.work(2);
        await store.accounts.write(tx => revokeKey(tx, store.keyId));
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', 2 * CHUNK]);
      });

      it('stays when another key is revoked', async () => {
        const store = await openStore(engine, deployment);
        const other = await store.accounts.write(tx => createKey(tx, { accountId: 1, deployment }));
        const id = await store.begin();
        await store.work(1);
        assert.deepEqual((await revokeKeyAndDependents(store.databases, other.id)).imports, []);
        await store.work();
        assert.deepEqual(await store.outcome(id), ['completed', undefined, 4 * CHUNK]);
      });

      it('ends when its key expires', async () => {
        const store = await openStore(engine, deployment, NOON + 60_000);
        const id = await store.begin();
        store.clock.advance(59_999);
        await store.work(1);
        store.clock.advance(1);
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'expired_api_key', CHUNK]);
      });

      it('pauses while its key is banned, and goes on when the ban has ended', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.work(1);
        const ban = newBan(store.keyId, undefined, store.clock.now());
        await store.accounts.write(tx => tx.run(insertBan, ban));
        for (; store.clock.now() < ban.until; store.clock.advance(4000)) {
          await store.work();
          assert.deepEqual(await store.outcome(id), ['paused', undefined, CHUNK]);
          const { pausedUntil, endedAt } = importOf(await getImport(store.database, owner, id), {});
          assert.deepEqual([Date.parse(pausedUntil!), endedAt], [ban.until, undefined]);
        }
        await store.work();
        assert.deepEqual(await store.outcome(id), ['completed', undefined, 4 * CHUNK]);
        assert.equal(importOf(await getImport(store.database, owner, id), {}).pausedUntil, undefined);
      });

      it('continues within seconds when the ban of its key is lifted', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.accounts.write(tx => tx.run(insertBan, newBan(store.keyId, undefined, store.clock.now())));
        await store.work();
        await store.accounts.write(tx => liftBan(tx, store.keyId));
        store.clock.advance(5000);
        await store.work();
        assert.deepEqual(await store.outcome(id), ['completed', undefined, 4 * CHUNK]);
      });

      it('ends when a paused one loses its key', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.accounts.write(tx => tx.run(insertBan, newBan(store.keyId, undefined, store.clock.now())));
        await store.work();
        await revokeKeyAndDependents(store.databases, store.keyId);
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', 0]);
      });

      it('passes to the new key when its key is rotated, whose name its changes have, and ends with that one', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.work(1);
        const { issued } = await rotateKeyAndDependents(store.databases, store.keyId, { overlapMs: 0 });
        await store.work(1);
        assert.deepEqual((await revokeKeyAndDependents(store.databases, store.keyId)).imports, []);
        await store.work(1);
        assert.deepEqual(await store.outcome(id), ['running', undefined, 3 * CHUNK]);
        const { imports } = await revokeKeyAndDependents(store.databases, issued.id);
        assert.deepEqual(
          imports.map(row => [row.id, row.rows_read]),
          [[id, 3 * CHUNK]],
        );
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', 3 * CHUNK]);
        assert.deepEqual(await keysOf(store.database), [store.keyId, issued.id]);
      });

      it('passes to the new key also if it was not handed over', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        const { issued } = await store.accounts.write(tx => rotateKey(tx, store.keyId, 0));
        await store.work(1);
        const row = await getImport(store.database, owner, id);
        assert.deepEqual([originOf(row), row.created], [{ ...originOf(row), keyId: issued.id }, CHUNK]);
        await store.accounts.write(tx => revokeKey(tx, issued.id));
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'revoked_api_key', CHUNK]);
      });

      it('that was begun on a page ends with the suspension of its account', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin({ origin: { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' } });
        await store.work(1);
        await store.accounts.write(tx => revokeKey(tx, store.keyId));
        await store.work(1);
        assert.deepEqual(await store.outcome(id), ['running', undefined, 2 * CHUNK]);
        const { accounts, database: staging } = store;
        await suspendWithDependents({ accounts, staging }, 1, suspendAccount);
        assert.deepEqual(await store.outcome(id), ['failed', 'account_suspended', 2 * CHUNK]);
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'account_suspended', 2 * CHUNK]);
      });

      it('ends before the next step when its account is suspended by any transaction', async () => {
        const store = await openStore(engine, deployment);
        const id = await store.begin();
        await store.work(1);
        await store.accounts.write(tx => suspendAccount(tx, 1));
        await store.work();
        assert.deepEqual(await store.outcome(id), ['failed', 'account_suspended', CHUNK]);
      });

      it('never begins if the key is revoked while its file arrives', async () => {
        const store = await openStore(engine, deployment);
        async function* file() {
          yield* rows(1000);
          await revokeKeyAndDependents(store.databases, store.keyId);
          yield Buffer.from('B-1,Rex,1\n');
        }
        await assert.rejects(store.receive(file()), { code: 'revoked_api_key', status: 401 });
        await store.work();
        assert.deepEqual(await store.outcome(1), ['failed', 'revoked_api_key', 0]);
      });
    });
  }
});

const countPets = query(db => db.selectFrom('pets').select(sql<number>`count(*)`.as('pets')));
/** Returns the keys that added the first and the last animal. */
async function keysOf(database: Database) {
  const ids = (await database.first(petIds, {}))!;
  return Promise.all(
    [ids.first, ids.last].map(async id => {
      const [event] = await eventsOf(database, 'pet', id);
      return JSON.parse((await database.first(originOfEvent, { id: event!.id }))!.origin!).keyId;
    }),
  );
}

const petIds = query(db =>
  db.selectFrom('pets').select([sql<number>`min(id)`.as('first'), sql<number>`max(id)`.as('last')]),
);
const originOfEvent = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('events').select('origin').where('id', '=', p.id),
);

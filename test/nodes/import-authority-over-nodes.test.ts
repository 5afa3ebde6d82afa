import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { newBan } from '../../src/access/limits/bans.ts';
import { testClock } from '../../src/lib/clock.ts';
import { getImport } from '../../src/store/imports/imports.ts';
import { countOwned } from '../../src/store/pets/counts.ts';
import { insertBan } from '../support/bans.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { describeUnless } from '../support/selection.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signedIn, type Visitor } from '../web/session.ts';

const ROWS = 4000;
/** The rows of a chunk. */
const CHUNK = 25;
const UNBOUNDED = { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000 } as const;

overEachEngine(engine => {
  const isShared = engine.name === 'postgres';
  describeUnless(
    isShared ? withoutValkey : undefined,
    'an import whose key or account is changed on another node',
    () => {
      const clock = testClock(Date.UTC(2026, 10, 24, 12));
      let nodes: readonly TestService[];
      /** The node that takes the file, and the one that changes keys and accounts; one and the same on the embedded engine. */
      let one: TestService;
      let other: TestService;
      let operator: Visitor;
      before(async () => {
        const environment = {
          ...(await engine.settings()),
          ...(isShared && { PETSTORE_VALKEY_URL: valkeyUrl }),
          ...{ PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' },
        };
        const start = () => serve({ clock, environment });
        nodes = isShared ? [await start(), await start()] : [await start()];
        [one, other] = [nodes[0]!, nodes.at(-1)!];
        operator = await signedIn(other, { admin: true });
      });
      after(() => Promise.all(nodes.map(node => node.stop())));

      /** Begins an import, and waits until it has added animals. */
      async function begin({ expiresAt }: { expiresAt?: number } = {}) {
        const owner = await signedIn(other, UNBOUNDED);
        const { accountId } = owner;
        const key = await one.newKey({ accountId, ...(expiresAt !== undefined && { expiresAt }) });
        const { status, body } = await upload(one, key.token, ROWS);
        assert.equal(status, 202, JSON.stringify(body));
        const { production } = one.app.databases;
        const started = {
          ...{ owner, key },
          /** The animals that the import has added so far. */
          animals: () => countOwned(production, accountId),
          row: () => getImport(production, { accountId, admin: false }, body.id),
          /** Waits for the end of the import. Returns its code, and the animals that it added. */
          async ended() {
            await waitUntil(async () => (await started.row()).ended_at !== null);
            const { state, code, created } = await started.row();
            // Meanwhile, the nodes import other files.
            const last = await upload(other, (await one.newKey()).token, CHUNK);
            const isDone = () => send(`${other.urls.production}/imports/${last.body.id}`, { key: last.key });
            await waitUntil(async () => (await isDone()).body.state === 'completed');
            assert.equal(await started.animals(), created);
            return { state, code, created };
          },
        };
        await waitUntil(async () => (await started.animals()) > 0, 1);
        return started;
      }

      it('ends with the revocation of its key, and adds nothing afterwards', async () => {
        const { owner, key, animals, ended } = await begin();
        assert.equal((await owner.submit(`/keys/${key.id}/revoke`)).status, 303);
        const created = await animals();
        assert.ok(created < ROWS);
        assert.deepEqual(await ended(), { state: 'failed', code: 'revoked_api_key', created });
      });

      it('ends with the suspension of its account, and adds nothing afterwards', async () => {
        const { owner, animals, ended } = await begin();
        assert.equal((await operator.submit(`/operator/accounts/${owner.accountId}/suspend`)).status, 303);
        const created = await animals();
        assert.ok(created < ROWS);
        assert.deepEqual(await ended(), { state: 'failed', code: 'account_suspended', created });
      });

      it('ends when its key expires, within a chunk', async () => {
        const { animals, ended } = await begin({ expiresAt: clock.now() + 60_000 });
        clock.advance(60_000);
        const before = await animals();
        const { state, code, created } = await ended();
        assert.deepEqual([state, code], ['failed', 'expired_api_key']);
        assert.ok(created <= before + CHUNK && created < ROWS, `${before} animals, then ${created}`);
      });

      it('pauses within a chunk when its key is banned, and goes on when the ban is lifted', async () => {
        const { key, animals, row, ended } = await begin();
        const ban = newBan(key.id, undefined, clock.now());
        await other.app.databases.production.write(tx => tx.run(insertBan, ban));
        const before = await animals();
        await waitUntil(async () => (await row()).paused_until === ban.until);
        const created = await animals();
        assert.ok(created <= before + CHUNK && created < ROWS, `${before} animals, then ${created}`);
        clock.advance(20_000);
        await waitUntil(async () => (await row()).due_at! > clock.now());
        assert.equal(await animals(), created);

        assert.equal((await operator.submit(`/operator/keys/${key.id}/lift-ban`)).status, 303);
        clock.advance(5000);
        assert.deepEqual(await ended(), { state: 'completed', code: null, created: ROWS });
      });
    },
  );
});

async function upload({ urls }: TestService, key: string, rows: number) {
  const lines = Array.from({ length: rows }, (_, row) => `A-${row},Rex,1\n`);
  const body = `externalId,name,categoryId\n${lines.join('')}`;
  const headers = { 'Content-Type': 'text/csv' };
  return { key, ...(await send(`${urls.production}/imports`, { method: 'POST', key, body, headers })) };
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { overEachEngine, type ServedEngine } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const valkey = process.env['PETSTORE_TEST_VALKEY_URL'] ?? 'redis://127.0.0.1:6379';

overEachEngine(engine => {
  describe('the budgets of imports over HTTP', () => {
    it('refuse rows beyond the day, and end an import at the bytes of events, on every node alike', async t => {
      const nodes = await startNodes(engine, { PETSTORE_IMPORTED_ROWS_MAX: '60', PETSTORE_EVENTS_QUOTA_MIB: '1' });
      t.after(() => Promise.all(nodes.map(node => node.stop())));
      const [one, other] = [nodes[0]!, nodes.at(-1)!];
      const { token } = await one.newKey({ plan: 'free' });

      const first = await importing(one, token, csv(40));
      assert.deepEqual(first.budget, { day: new Date().toISOString().slice(0, 10), charged: 40, maximum: 60 });
      const refused = await upload(other, token, csv(21, 'Max'));
      assert.deepEqual([refused.status, refused.body.code], [409, 'import_limit_exceeded']);
      assert.ok(Number(refused.headers['retry-after']) > 0);
      const preview = await importing(other, token, csv(21, 'Max'), '?dryRun=true');
      assert.deepEqual([preview.warnings, preview.firstErrors[0].code], [1, 'import_limit_exceeded']);
      assert.equal((await importing(other, token, csv(20, 'Max'))).state, 'completed');
      const { bounds } = (await send(`${one.urls.production}/account`, { key: token })).body;
      assert.deepEqual(bounds.importedRows, { used: 60, maximum: 60 });
      assert.equal(bounds.eventBytes.maximum, 2 ** 20);
      assert.ok(bounds.eventBytes.used > 60 * 100 && bounds.eventBytes.used < 60 * 1024, `${bounds.eventBytes.used}`);

      const { token: writer } = await one.newKey();
      const description = 'x'.repeat(10_000);
      const create = (node: TestService) =>
        send(`${node.urls.production}/pets`, {
          method: 'POST',
          key: writer,
          body: { name: 'Rex', categoryId: 1, description },
        });
      for (let pets = 0; pets < 106; pets += 2) await Promise.all([create(one), create(other)]);
      const full = await upload(other, writer, csv(1));
      assert.deepEqual([full.status, full.body.code], [409, 'event_storage_exceeded']);
      assert.equal((await create(other)).status, 201);
    });
  });
});

/** Starts two nodes on PostgreSQL, and one on the embedded engine. */
async function startNodes(engine: ServedEngine, bounds: Readonly<Record<string, string>>): Promise<TestService[]> {
  const settings = { ...(await engine.settings()), ...bounds, PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
  const isShared = 'PETSTORE_DATABASE_URL' in settings;
  const environment = { ...settings, ...(isShared && { PETSTORE_VALKEY_URL: valkey }) };
  const first = await serve({ environment });
  return isShared ? [first, await serve({ environment })] : [first];
}

function csv(rows: number, name = 'Rex'): string {
  return `externalId,name,categoryId\n${Array.from({ length: rows }, (_, row) => `A-${row},${name},1\n`).join('')}`;
}

function upload({ urls }: TestService, key: string, body: string, query = ''): Promise<Reply> {
  return send(`${urls.production}/imports${query}`, {
    method: 'POST',
    key,
    body,
    headers: { 'Content-Type': 'text/csv' },
  });
}

/** Imports a file, and waits until the import has ended. */
async function importing(node: TestService, key: string, file: string, query = ''): Promise<Reply['body']> {
  const { status, body } = await upload(node, key, file, query);
  assert.equal(status, 202, JSON.stringify(body));
  let last: Reply['body'];
  await waitUntil(async () => {
    last = (await send(`${node.urls.production}/imports/${body.id}`, { key })).body;
    return last.endedAt !== undefined;
  });
  return last;
}

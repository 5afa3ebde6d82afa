import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { overPostgres } from '../support/engines-over-http.ts';
import { image, upload } from '../support/photos.ts';
import { openS3Server } from '../support/s3-server.ts';
import { send, serve, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const valkey = process.env['PETSTORE_TEST_VALKEY_URL'] ?? 'redis://127.0.0.1:6379';

overPostgres(engine => {
  describe('photos on several nodes', () => {
    const directory = () => ({ PETSTORE_PHOTOS_DIRECTORY: temporaryDirectory() });

    it('are served by every node that shares the directory, and no other node starts', async t => {
      await requireShared(t, directory());
    });

    it('are served by every node that shares the bucket, and no other node starts', async t => {
      const server = await openS3Server();
      t.after(() => server.close());
      await requireShared(t, server.environment);
    });

    it('are served by two nodes that start together on a fresh directory', async () => {
      const settings = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_VALKEY_URL: valkey };
      for (let pair = 0; pair < 10; pair++) {
        const environment = { ...settings, ...(await engine.settings()), ...directory() };
        const nodes = await Promise.all([spawnService({ environment }), spawnService({ environment })]);
        for (const node of nodes) {
          await node.stop();
          await node.remove();
        }
      }
    });

    async function requireShared(t: TestContext, shared: Readonly<Record<string, string>>): Promise<void> {
      const settings = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_VALKEY_URL: valkey };
      const start = (photos: typeof shared) => serve({ environment: { ...settings, ...photos } });
      const first = await start(shared);
      t.after(() => first.stop());
      await assert.rejects(start(directory()), /The photos of this database are not in /);
      const second = await start(shared);
      t.after(() => second.stop());

      const { token: key } = await first.newKey();
      const { production } = first.urls;
      const pet = await send(`${production}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } });
      const { body } = await upload(production, key, pet.body.id, await image('jpeg'));
      const there = new URL(new URL(body.urls[600]).pathname, second.urls.production);
      assert.equal((await fetch(there)).status, 200);
      await first.stop();
      await second.stop();
      await assert.rejects(start(directory()), /The photos of this database are not in /);
    }
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashOf, image } from '../support/photos.ts';
import { newProcessKey, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const PETS = 12;
const KILLS = 2;

/** Starts a server that serves each photo at `/<index>`, slowly. */
async function servePhotos(t: TestContext, photos: readonly Buffer[]): Promise<string> {
  const server = createServer(async ({ url }, response) => {
    await sleep(50);
    response.end(photos[Number(url!.slice(1))]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe(`the photos of an import whose server is killed ${KILLS} times`, () => {
  it('are all fetched, and added once each in the order of their rows', async t => {
    const directory = temporaryDirectory();
    const photos = await Promise.all(
      Array.from({ length: 2 * PETS }, () => image('jpeg', { width: 80, height: 60, noise: true })),
    );
    const address = await servePhotos(t, photos);
    const rows = Array.from(
      { length: PETS },
      (_, row) => `K-${row},Rex ${row},Dog,${address}/${2 * row},${address}/${2 * row + 1}`,
    );
    const file = `ID,AnimalName,Type,photo1,photo2\n${rows.join('\n')}\n`;
    let key: string | undefined;
    let fetched = 0;
    for (let kills = 0; ; kills++) {
      const server = await spawnService({ directory, environment: { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1' } });
      const { production } = server.urls;
      key ??= await newProcessKey(server);
      const upload = async (body: string, mode = 'upsert') => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/csv' };
        const url = `${production}/imports?preset=petfinder&mode=${mode}`;
        const response = await fetch(url, { method: 'POST', headers, body });
        assert.equal(response.status, 202);
        return ((await response.json()) as { id: number }).id;
      };
      const progress = async (id = 1) => (await send(`${production}/imports/${id}`, { key: key! })).body;
      const ended = (id: number) => waitUntil(async () => (await progress(id)).endedAt !== undefined);
      if (kills === 0) assert.equal(await upload(file), 1);
      if (kills < KILLS) {
        await waitUntil(async () => (await progress()).photosFetched > fetched, 1);
        ({ photosFetched: fetched } = await progress());
        assert.ok(fetched < photos.length, 'the import is killed before it ends');
        assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
        continue;
      }
      await ended(1);
      const { state, photosWanted, photosFetched, photosFailed } = await progress();
      assert.deepEqual([state, photosWanted, photosFetched, photosFailed], ['completed', 24, 24, 0]);
      for (let row = 0; row < PETS; row++) {
        const { body } = await send(`${production}/pets/${row + 1}?view=full`, { key: key! });
        const expected = photos.slice(2 * row, 2 * row + 2).map(hashOf);
        assert.deepEqual(
          body.photos.map(({ id }: { id: string }) => id),
          expected,
        );
      }
      // The export names the same photos, and changes nothing.
      const exported = `${production}/exports/pets.csv?preset=petfinder`;
      const text = await (await fetch(exported, { headers: { authorization: `Bearer ${key}` } })).text();
      for (const mode of ['upsert', 'replace']) {
        const id = await upload(text, mode);
        await ended(id);
        const again = await progress(id);
        assert.deepEqual([again.unchanged, again.photosWanted, again.failed], [PETS, 0, 0], mode);
      }
      await server.petstore('verify');
      assert.equal((await server.stop()).code, 0, server.log());
      return;
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newProcessKey, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const ROWS = 4000;
const KILLS = 4;

describe(`an import that is killed ${KILLS} times`, () => {
  it('continues without a duplicate, and changes every row once', async () => {
    const directory = temporaryDirectory();
    const rows = Array.from(
      { length: ROWS },
      (_, row) => `K-${row},Cat ${row},${row % 100 === 0 ? 'lost' : 'available'},2`,
    );
    const file = `externalId,name,status,categoryId\n${rows.join('\n')}\n`;
    let key: string | undefined;
    let read = 0;
    for (let kills = 0; ; kills++) {
      const server = await spawnService({ directory });
      const { production } = server.urls;
      key ??= await newProcessKey(server);
      const progress = async () => (await send(`${production}/imports/1`, { key: key! })).body;
      if (kills === 0) {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/csv' };
        assert.equal((await fetch(`${production}/imports`, { method: 'POST', headers, body: file })).status, 202);
      }
      if (kills < KILLS) {
        await waitUntil(async () => (await progress()).rowsRead > read, 1);
        ({ rowsRead: read } = await progress());
        assert.ok(read < ROWS, 'the import is killed before it ends');
        assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
        continue;
      }
      await waitUntil(async () => (await progress()).endedAt !== undefined);
      const { state, rowsRead, created, updated, failed } = await progress();
      assert.deepEqual([state, rowsRead, created, updated, failed], ['completed', ROWS, ROWS - 40, 0, 40]);
      const list = async (path: string) => {
        const response = await fetch(production + path, { headers: { authorization: `Bearer ${key}` } });
        return (await response.text())
          .trimEnd()
          .split('\n')
          .map(line => JSON.parse(line));
      };
      const pets = await list('/exports/pets.ndjson');
      assert.equal(new Set(pets.map(({ externalId }) => externalId)).size, ROWS - 40);
      assert.equal(pets.length, ROWS - 40);
      const lines = (await list('/imports/1/errors')).map(({ line }) => line);
      assert.deepEqual(
        lines,
        Array.from({ length: 40 }, (_, error) => error * 100 + 2),
      );
      await server.petstore('verify');
      assert.equal((await server.stop()).code, 0, server.log());
      return;
    }
  });
});

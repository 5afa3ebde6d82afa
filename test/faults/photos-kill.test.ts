import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashOf, image, upload } from '../support/photos.ts';
import { newProcessKey, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROUNDS = 3;

describe(`after ${ROUNDS} kills during uploads of photos`, () => {
  it('has every photo that was answered, byte for byte and in every size', async () => {
    const directory = temporaryDirectory();
    const answered: { petId: number; bytes: Buffer }[] = [];
    let key: string | undefined;
    for (let round = 0; round <= ROUNDS; round++) {
      const server = await spawnService({ directory });
      const { production } = server.urls;
      key ??= await newProcessKey(server);
      for (const { petId, bytes } of answered) {
        const { body: pet } = await send(`${production}/pets/${petId}?view=full`, { key });
        const photo = pet.photos.find(({ id }: { id: string }) => id === hashOf(bytes));
        assert.ok(photo, `a photo of animal ${petId} is lost`);
        const original: Response = await fetch(`${production}/pets/${petId}/photos/${photo.id}/original`, {
          headers: { authorization: `Bearer ${key}` },
        });
        assert.deepEqual(Buffer.from(await original.arrayBuffer()), bytes);
        const path = new URL(photo.urls[600]).pathname;
        const shown = await fetch(new URL(path, production));
        assert.equal(shown.status, 200);
        await shown.arrayBuffer();
      }
      if (round === ROUNDS) {
        assert.equal((await server.stop()).code, 0, server.log());
        return;
      }
      const { body: pet } = await send(`${production}/pets`, {
        method: 'POST',
        key,
        body: { name: 'Rex', categoryId: 1 },
      });
      let ended = false;
      const uploads = Array.from({ length: 4 }, async () => {
        for (let sent = 0; sent < 2; sent++) {
          const bytes = await image('jpeg', { width: 300, height: 300, noise: true });
          const { status } = await upload(production, key!, pet.id, bytes);
          if (status === 201) answered.push({ petId: pet.id, bytes });
          if (answered.length >= 3 * (round + 1)) ended = true;
        }
      });
      const failed = uploads.map(one => one.catch(() => {}));
      while (!ended) await Promise.race([Promise.all(failed).then(() => (ended = true)), new Promise(setImmediate)]);
      assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
      await Promise.all(failed);
      assert.ok(answered.length > 0);
    }
  });
});

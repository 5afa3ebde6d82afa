import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { DAY, openOrderStore, owner } from '../../test/support/order-store.ts';
import { hashOf } from '../../test/support/photos.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { transferPets } from '../orders/transfer.ts';
import { deletePet } from '../pets/pets.ts';
import { PhotoFiles } from './files/photo-files.ts';
import { addPhoto, deletePhoto } from './photos.ts';
import { photoBytes } from './references.ts';
import { deleteOrphans, deleteUnused } from './sweep.ts';

onEachEngine(engine => {
  describe('photos without an animal', () => {
    let store: Awaited<ReturnType<typeof openOrderStore>>;
    let files: PhotoFiles;
    beforeEach(async () => {
      store = await openOrderStore(engine);
      files = new PhotoFiles(temporaryDirectory(), undefined as never);
    });

    /** Stores the files of a photo as an upload does, and returns its hash. */
    async function storeFiles(): Promise<string> {
      const bytes = randomBytes(20);
      const directory = files.directoryOf(hashOf(bytes));
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, 'original'), bytes);
      return hashOf(bytes);
    }

    const add = (petId: number, hash: string) =>
      store.database.write(tx =>
        addPhoto(tx, owner, petId, { hash, type: 'image/jpeg', bytes: 20, width: 4, height: 3 }, 1e9),
      );

    it('keeps files while any animal has them, and for a day longer', async () => {
      const [one, other] = [await store.add(), await store.add()];
      const hash = await storeFiles();
      await add(one, hash);
      await add(other, hash);
      await store.database.write(tx => deletePhoto(tx, owner, one, hash));
      store.clock.advance(2 * DAY);
      assert.equal(await deleteUnused(store.database, files), 0);
      await store.database.write(tx => deletePet(tx, owner, other));
      store.clock.advance(DAY - 1000);
      assert.equal(await deleteUnused(store.database, files), 0);
      assert.equal(files.has(hash), true);
      store.clock.advance(2000);
      assert.equal(await deleteUnused(store.database, files), 1);
      assert.equal(files.has(hash), false);
      assert.equal(await deleteUnused(store.database, files), 0);
    });

    it('keeps files that an animal got again', async () => {
      const pet = await store.add();
      const hash = await storeFiles();
      await add(pet, hash);
      await store.database.write(tx => deletePhoto(tx, owner, pet, hash));
      await add(pet, hash);
      store.clock.advance(2 * DAY);
      assert.equal(await deleteUnused(store.database, files), 0);
      assert.equal(files.has(hash), true);
    });

    it('deletes files without a row once they are old', async () => {
      const pet = await store.add();
      const [known, orphan, recent] = [await storeFiles(), await storeFiles(), await storeFiles()];
      await add(pet, known);
      const old = new Date(Date.now() - 2 * DAY);
      for (const hash of [known, orphan]) await utimes(files.directoryOf(hash), old, old);
      await deleteOrphans(store.database, files, DAY);
      assert.deepEqual(
        [known, orphan, recent].map(hash => files.has(hash)),
        [true, false, true],
      );
      await add(pet, recent);
    });

    it('counts the bytes of photos for the owner of the animals', async () => {
      const pet = await store.add();
      await add(pet, await storeFiles());
      await add(pet, await storeFiles());
      assert.equal(await photoBytes.read(store.database, 1), 40);
      await store.database.write(tx => transferPets(tx, 1, 2, 10));
      assert.equal(await photoBytes.read(store.database, 1), 0);
      assert.equal(await photoBytes.read(store.database, 2), 40);
    });
  });
});

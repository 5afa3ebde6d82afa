import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { DAY, openOrderStore, owner } from '../../../test/support/order-store.ts';
import { hashOf } from '../../../test/support/photos.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { DiskStore } from '../../model/photo-files/disk-store.ts';
import { transferPets } from '../orders/transfer.ts';
import { deletePet } from '../pets/pets.ts';
import { findPhoto, keepPhoto, photoBytes } from '../photo-references.ts';
import { petPhotos } from './holders.ts';
import { addPhoto, deletePhoto } from './photos.ts';
import { deleteFailedUpload, deleteUnused } from './sweep.ts';

/** The columns of a row besides the hash. */
const facts = { type: 'image/jpeg', bytes: 20, width: 4, height: 3, sizes_bytes: 0 } as const;

onEachEngine(engine => {
  describe('photos without an animal', () => {
    let store: Awaited<ReturnType<typeof openOrderStore>>;
    let photos: DiskStore;
    beforeEach(async () => {
      store = await openOrderStore(engine);
      photos = new DiskStore(temporaryDirectory());
    });

    /** Stores the files of a photo like an upload. Returns its hash. */
    async function storeFiles(): Promise<string> {
      const bytes = randomBytes(20);
      const directory = photos.directoryOf(hashOf(bytes));
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, 'original'), bytes);
      return hashOf(bytes);
    }

    const add = (petId: number, hash: string) =>
      store.database.write(tx => addPhoto(tx, petPhotos, owner, petId, { ...facts, hash }, 1e9));

    it('keeps files while any animal has them, and for a day longer', async () => {
      const [one, other] = [await store.add(), await store.add()];
      const hash = await storeFiles();
      await add(one, hash);
      await add(other, hash);
      await store.database.write(tx => deletePhoto(tx, petPhotos, owner, one, hash));
      store.clock.advance(2 * DAY);
      assert.equal(await deleteUnused(store.database, photos), 0);
      await store.database.write(tx => deletePet(tx, owner, other));
      store.clock.advance(DAY - 1000);
      assert.equal(await deleteUnused(store.database, photos), 0);
      assert.equal(await photos.has(hash), true);
      store.clock.advance(2000);
      assert.equal(await deleteUnused(store.database, photos), 1);
      assert.equal(await photos.has(hash), false);
      assert.equal(await deleteUnused(store.database, photos), 0);
    });

    it('keeps files that an animal got again', async () => {
      const pet = await store.add();
      const hash = await storeFiles();
      await add(pet, hash);
      await store.database.write(tx => deletePhoto(tx, petPhotos, owner, pet, hash));
      await add(pet, hash);
      store.clock.advance(2 * DAY);
      assert.equal(await deleteUnused(store.database, photos), 0);
      assert.equal(await photos.has(hash), true);
    });

    it('deletes the files of an interrupted upload after a day', async () => {
      const hash = await storeFiles();
      await store.database.write(tx => keepPhoto(tx, { ...facts, hash }));
      assert.equal(await deleteUnused(store.database, photos), 0);
      store.clock.advance(DAY - 1000);
      await store.database.write(tx => keepPhoto(tx, { ...facts, hash }));
      store.clock.advance(DAY - 1000);
      assert.equal(await deleteUnused(store.database, photos), 0);
      store.clock.advance(1000);
      assert.equal(await deleteUnused(store.database, photos), 1);
      assert.equal(await photos.has(hash), false);
    });

    it('gives no animal a photo whose files are being deleted', async () => {
      const pet = await store.add();
      const hash = await storeFiles();
      await add(pet, hash);
      await store.database.write(tx => deletePhoto(tx, petPhotos, owner, pet, hash));
      store.clock.advance(DAY);
      let isAsked = false;
      const asking = Object.assign(Object.create(photos) as DiskStore, {
        async delete(one: string) {
          isAsked = true;
          await assert.rejects(add(pet, one), { code: 'overloaded' });
          await assert.rejects(
            store.database.write(tx => keepPhoto(tx, { ...facts, hash })),
            { code: 'overloaded' },
          );
          assert.equal(await deleteUnused(store.database, photos), 0);
          throw new Error('interrupted');
        },
      });
      await assert.rejects(deleteUnused(store.database, asking), /interrupted/);
      assert.ok(isAsked);
      assert.equal(await photos.has(hash), true);
      assert.equal(await deleteUnused(store.database, photos), 1);
      assert.equal(await photos.has(hash), false);
      await add(pet, hash);
    });

    it('deletes the other photos if one cannot be deleted', async () => {
      const hashes = [await storeFiles(), await storeFiles(), await storeFiles()];
      for (const hash of hashes) await store.database.write(tx => keepPhoto(tx, { ...facts, hash }));
      store.clock.advance(DAY);
      const failing = Object.assign(Object.create(photos) as DiskStore, {
        async delete(hash: string) {
          if (hash === hashes[0]) throw new Error('not permitted');
          await photos.delete(hash);
        },
      });
      await assert.rejects(deleteUnused(store.database, failing), /not permitted/);
      const known = await Promise.all(hashes.map(hash => findPhoto(store.database, hash)));
      assert.deepEqual(
        known.map(photo => photo?.hash),
        [hashes[0], undefined, undefined],
      );
      assert.equal(await deleteUnused(store.database, photos), 1);
    });

    it('deletes files again ten minutes after a process was killed that was deleting them', async () => {
      const hash = await storeFiles();
      await store.database.write(tx => keepPhoto(tx, { ...facts, hash }));
      store.clock.advance(DAY);
      const { promise: isDeleting, resolve } = Promise.withResolvers<void>();
      const hanging = Object.assign(Object.create(photos) as DiskStore, {
        delete() {
          resolve();
          return new Promise(() => {});
        },
      });
      deleteUnused(store.database, hanging);
      await isDeleting;
      store.clock.advance(599_000);
      assert.equal(await deleteUnused(store.database, photos), 0);
      store.clock.advance(1000);
      assert.equal(await deleteUnused(store.database, photos), 1);
      assert.equal(await photos.has(hash), false);
    });

    it('deletes a photo at once whose upload failed, unless something has it or another upload is about to', async () => {
      const pet = await store.add();
      const keep = (hash: string) => store.database.write(tx => keepPhoto(tx, { ...facts, hash }));
      const [used, unused, shared] = [await storeFiles(), await storeFiles(), await storeFiles()];
      // All in one millisecond of the stopped clock.
      const times = [await keep(used), await keep(unused), await keep(shared)];
      await add(pet, used);
      const later = await keep(shared);
      for (const [index, hash] of [used, unused, shared].entries()) {
        await deleteFailedUpload(store.database, photos, hash, times[index]!);
      }
      assert.deepEqual(await Promise.all([used, unused, shared].map(hash => photos.has(hash))), [true, false, true]);
      assert.equal(await keep(used), null);
      await deleteFailedUpload(store.database, photos, shared, later!);
      assert.equal(await photos.has(shared), false);
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

import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import sharp from 'sharp';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { openOrderStore, owner } from '../../../test/support/order-store.ts';
import { hashOf, image } from '../../../test/support/photos.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { storeFact } from '../../model/facts.ts';
import { photoSizes } from '../../model/photo.ts';
import { withChecksum } from '../../model/photo-files/checksum.ts';
import { DiskStore } from '../../model/photo-files/disk-store.ts';
import { PhotoEncoder } from '../../model/photo-files/encoder.ts';
import { damageOf } from '../../model/photo-files/photo-copies.ts';
import { PhotoFiles } from '../../model/photo-files/photo-files.ts';
import { type Params, query } from '../../model/schema.ts';
import { checks } from '../../operate/verify/checks.ts';
import { transferPets } from '../orders/transfer.ts';
import { photoBytes } from '../photo-references.ts';
import { COUNTED_RATIO, countHolders, countSizesOfOne } from './count-sizes.ts';
import { petPhotos } from './holders.ts';
import { addPhoto, deletePhoto } from './photos.ts';

onEachEngine(engine => {
  describe('the sizes of photos of an earlier release', () => {
    let store: Awaited<ReturnType<typeof openOrderStore>>;
    let files: PhotoFiles;
    const encoder = new PhotoEncoder({ log: silent, idleMs: 600_000 });
    beforeEach(async () => {
      store = await openOrderStore(engine);
      files = new PhotoFiles(new DiskStore(temporaryDirectory()), encoder);
    });
    after(() => encoder.close());

    /** Adds a photo to a pet like an earlier release: its sizes, some of them enlarged, are unknown. */
    async function addEarlier(petId: number, bytes: Buffer, width: number, height: number): Promise<string> {
      const hash = hashOf(bytes);
      const directory = (files.store as DiskStore).directoryOf(hash);
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, 'original'), bytes);
      for (const size of photoSizes) {
        const enlarged = sharp(bytes).resize(size, size, { fit: size === 450 ? 'cover' : 'inside' });
        await writeFile(join(directory, `${size}.jpg`), await enlarged.jpeg().toBuffer());
      }
      const facts = { hash, type: 'image/png' as const, bytes: bytes.length, width, height, sizes_bytes: null };
      await store.database.write(async tx => {
        await tx.run(storeFact, { name: 'photo-sizes', value: 'pets 0' });
        await addPhoto(tx, petPhotos, owner, petId, facts, 1e9);
      });
      return hash;
    }

    /**
     * Determines the sizes of all photos. Repeats it like the job, because a busy machine may delay an encoder too
     * long.
     */
    async function findSizes(): Promise<void> {
      const isBusy = (error: { code?: string }) => {
        assert.equal(error.code, 'overloaded');
        return true;
      };
      while (await countSizesOfOne(store.database, files).catch(isBusy));
    }

    async function countAll(): Promise<void> {
      await findSizes();
      while ((await countHolders(store.database)) > 0);
    }

    async function assertCounters(): Promise<void> {
      for (const { name, query } of checks.filter(({ name }) => name.includes('photos'))) {
        assert.deepEqual(await store.database.all(query, { now: store.now(), limit: 9 }), [], name);
      }
    }

    const used = (accountId = 1) => photoBytes.read(store.database, accountId);
    const noisy = (width: number, height: number) => image('png', { width, height, noise: true });

    it('are made again without enlargement, and count once they are known', async () => {
      const [pet, large] = [await store.add(), await store.add()];
      const bytes = await noisy(64, 48);
      const hash = await addEarlier(pet, bytes, 64, 48);
      const other = await noisy(1300, 700);
      const kept = await addEarlier(large, other, 1300, 700);
      assert.equal(await used(), bytes.length + other.length);
      const directory = (files.store as DiskStore).directoryOf(hash);
      const keptFile = join((files.store as DiskStore).directoryOf(kept), '450.jpg');
      const before = await readFile(keptFile);
      await countAll();
      for (const size of photoSizes) {
        const { width } = await sharp(join(directory, `${size}.jpg`)).metadata();
        assert.equal(width, size === 450 ? 48 : 64, `${size}`);
      }
      assert.deepEqual(await readFile(join(directory, 'original')), bytes);
      // The same picture, with a checksum.
      const after = await readFile(keptFile);
      assert.deepEqual(after, withChecksum(before));
      assert.deepEqual(await sharp(after).raw().toBuffer(), await sharp(before).raw().toBuffer());
      assert.equal(await damageOf(files.store, kept), undefined);
      const lengthOf = async (path: string) => (await stat(path)).size;
      const small = (await lengthOf(join(directory, '100.jpg'))) + (await lengthOf(join(directory, '450.jpg')));
      let sizes = 0;
      for (const size of photoSizes) {
        sizes += await lengthOf(join((files.store as DiskStore).directoryOf(kept), `${size}.jpg`));
      }
      const counted = (original: number, made: number) => Math.min(original + made, COUNTED_RATIO * original);
      assert.equal(await used(), counted(bytes.length, small) + counted(other.length, sizes));
      await assertCounters();
      assert.equal(await countSizesOfOne(store.database, files), false);
      assert.equal(await countHolders(store.database), 0);
    });

    it('count for every animal that has the photo, and no more than four times the original', async () => {
      const pets = [await store.add(), await store.add()];
      // A flat image whose original is much smaller than any JPEG of it.
      const bytes = await image('webp', { width: 1300, height: 1300 });
      for (const pet of pets) await addEarlier(pet, bytes, 1300, 1300);
      await countAll();
      assert.equal(await used(), 2 * COUNTED_RATIO * bytes.length);
      await assertCounters();
      await store.database.write(tx => transferPets(tx, 1, 2, 10));
      assert.deepEqual([await used(1), await used(2)], [0, 2 * COUNTED_RATIO * bytes.length]);
      await assertCounters();
    });

    it('leave the counter exact if the photo is deleted before or after, or is added in between', async () => {
      const [pet, other] = [await store.add(), await store.add()];
      const bytes = await noisy(64, 48);
      const hash = await addEarlier(pet, bytes, 64, 48);
      const remove = (petId: number) => store.database.write(tx => deletePhoto(tx, petPhotos, owner, petId, hash));
      await findSizes();
      await addEarlier(other, bytes, 64, 48);
      await assertCounters();
      const counted = (await used()) - bytes.length;
      await remove(pet);
      assert.equal(await used(), counted);
      while ((await countHolders(store.database)) > 0);
      assert.equal(await used(), counted);
      await assertCounters();
      await remove(other);
      assert.equal(await used(), 0);
      await assertCounters();
    });

    it('get no checksums if they are damaged', async () => {
      const pet = await store.add();
      const hash = await addEarlier(pet, await noisy(1300, 700), 1300, 700);
      const file = join((files.store as DiskStore).directoryOf(hash), '300.jpg');
      const torn = (await readFile(file)).subarray(0, -2);
      await writeFile(file, torn);
      await countAll();
      assert.deepEqual(await readFile(file), torn);
      assert.equal(await damageOf(files.store, hash), 'has a damaged size 300');
    });

    it('count by the original alone if there are no files', async () => {
      const pet = await store.add();
      const bytes = await noisy(64, 48);
      const hash = await addEarlier(pet, bytes, 64, 48);
      await files.store.delete(hash);
      await countAll();
      assert.equal(await used(), bytes.length);
      await assertCounters();
    });

    it('change neither the version of an animal nor what it shows', async () => {
      const pet = await store.add();
      await addEarlier(pet, await noisy(64, 48), 64, 48);
      const shown = async () => petPhotos.get(store.database, owner, pet, store.now());
      const before = await shown();
      await countAll();
      const after = await shown();
      assert.equal(after.version, before.version);
      assert.notEqual(after.photos, before.photos);
      const events = await store.database.all(eventsOfPet, { pet });
      assert.equal(events.length, before.version);
    });
  });
});

const eventsOfPet = query((db, p: Params<{ pet: number }>) =>
  db.selectFrom('events').select('id').where('kind', '=', 'pet').where('subject_id', '=', p.pet),
);

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Bucket } from '../../src/lib/bucket.ts';
import { readConfig } from '../../src/model/config.ts';
import { photoSizes } from '../../src/model/photo.ts';
import type { Manifest } from '../../src/operate/backup/manifest.ts';
import { jsonOf, petstore } from '../support/commands.ts';
import { type EmptyPlace, emptyPlaces } from '../support/empty-places.ts';
import { hashOf, image, upload } from '../support/photos.ts';
import { openS3Server, type S3Server } from '../support/s3-server.ts';
import { send, serve } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

type Place = EmptyPlace['environment'];

for (const { name, skip, create } of emptyPlaces) {
  describe(`photos in a backup ${name}`, { skip }, () => {
    const opened: EmptyPlace[] = [];
    const newPlace = async (): Promise<Place> => {
      const place = await create();
      opened.push(place);
      // As an operator sets it, so that the data directory of the tests makes no difference.
      const photos = join(place.environment['PETSTORE_DATA_DIR']!, 'photos');
      return { ...place.environment, PETSTORE_PHOTOS_DIRECTORY: photos };
    };
    after(() => Promise.all(opened.map(place => place.close())));
    const directoryOf = (place: Place) => readConfig(place).locations.production.photos.directory;
    let here: Place;
    let photo: Buffer;
    let backup: string;
    let id: string;

    before(async () => {
      here = await newPlace();
      await jsonOf(here, 'migrate');
      photo = await image('jpeg', { color: '#579' });
      id = hashOf(photo);
      const serving = await serve({ environment: { ...here, PETSTORE_STAGING_PORT: '' } });
      const { token: key } = await serving.newKey();
      const baseUrl = serving.urls.production;
      const pet = await send(`${baseUrl}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } });
      assert.equal((await upload(baseUrl, key, pet.body.id, photo)).status, 201);
      backup = join(here['PETSTORE_DATA_DIR']!, '..', `${id.slice(0, 8)}-${Date.now()}`);
      const manifest = await jsonOf(here, 'backup', backup);
      assert.deepEqual(countsOf(manifest), { production: [1, 0], staging: [0, 0] });
      // `stop` deletes the data directory of the test, which is not this one.
      await serving.app.close();
    });
    after(() => rmSync(backup, { recursive: true, force: true }));

    it('are restored with the database, and served there', async () => {
      const there = await newPlace();
      await jsonOf(there, 'restore', backup);
      assert.deepEqual((await jsonOf(there, 'verify')).findings, []);
      const serving = await serve({ environment: { ...there, PETSTORE_STAGING_PORT: '' } });
      try {
        const { origin } = new URL(serving.urls.production);
        assert.equal((await fetch(`${origin}/photos/${id}/600.jpg`)).status, 200);
      } finally {
        await serving.app.close();
      }
    });

    it('are copied with the database', async () => {
      if ('PETSTORE_STAGING_DATABASE_URL' in here) return;
      const there = await emptyPlaces[0]!.create();
      const target = there.environment['PETSTORE_DATA_DIR']!;
      const from = here['PETSTORE_DATABASE_URL'] ?? here['PETSTORE_DATA_DIR']!;
      const { PETSTORE_PHOTOS_DIRECTORY: _, ...settings } = here;
      await jsonOf(settings, 'copy', '--from', from, '--to', target);
      assert.deepEqual((await jsonOf(there.environment, 'verify')).findings, []);
      assert.deepEqual(readdirSync(join(target, 'photos', 'production')), [id.slice(0, 2)]);
    });

    it('are copied into the directory of the settings, unless they are there, and counted if they are missing', async () => {
      if ('PETSTORE_STAGING_DATABASE_URL' in here) return;
      const kept = here['PETSTORE_PHOTOS_DIRECTORY']!;
      const from = here['PETSTORE_DATABASE_URL'] ?? here['PETSTORE_DATA_DIR']!;
      const copyTo = async (settings: Place, ...more: string[]) => {
        const target = (await emptyPlaces[0]!.create()).environment['PETSTORE_DATA_DIR']!;
        const outcome = await petstore(settings, 'copy', '--from', from, '--to', target, '--json', ...more);
        return { ...outcome, target };
      };
      const shared = join(temporaryDirectory(), 'shared');
      const settings = { ...here, PETSTORE_PHOTOS_DIRECTORY: shared };
      const moved = await copyTo(settings, '--from-photos', kept);
      assert.deepEqual(JSON.parse(moved.printed).photos, { production: 1, staging: 0 });
      const verified = await jsonOf({ PETSTORE_DATA_DIR: moved.target, PETSTORE_PHOTOS_DIRECTORY: shared }, 'verify');
      assert.deepEqual(verified.findings, []);

      // Source and target share the directory.
      assert.equal((await copyTo(settings, '--from-photos', shared)).code, 0);
      const other = join(temporaryDirectory(), 'other');
      rmSync(join(shared, 'production', id.slice(0, 2), id, '600.jpg'));
      const lost = await copyTo({ ...here, PETSTORE_PHOTOS_DIRECTORY: other }, '--from-photos', shared);
      assert.equal(lost.code, 1);
      assert.match(lost.errors, /^Nothing was copied: of 1 photos of production, 1 lack files in /);
      assert.ok(lost.errors.includes(`${id} (600.jpg)`), lost.errors);
      assert.ok(!existsSync(other));
      const nowhere = await copyTo(here, '--from-photos', kept, '--to-photos', '/dev/null/photos');
      assert.match(nowhere.errors, /^\/dev\/null\/photos\/\S+ cannot be read or written \(ENOTDIR\)\. The copy /m);
      for (const { target } of [lost, nowhere]) assert.deepEqual(readdirSync(target), ['serve.lock']);
    });

    it('are found by verify if one byte of a size has changed', async () => {
      for (const size of photoSizes) {
        const file = join(directoryOf(here), id.slice(0, 2), id, `${size}.jpg`);
        const intact = readFileSync(file);
        const damaged = Buffer.from(intact);
        damaged[Math.floor(intact.length / 2)]! ^= 1;
        rmSync(file);
        writeFileSync(file, damaged);
        const { code, printed } = await petstore(here, 'verify', '--json');
        assert.equal(code, 1);
        const finding = `The photo ${id} has a damaged size ${size}.`;
        assert.deepEqual(JSON.parse(printed).findings, [
          { deployment: 'production', check: 'files of photos', finding },
        ]);
        writeFileSync(file, intact);
      }
      assert.deepEqual((await jsonOf(here, 'verify')).findings, []);
    });

    it('are missed by verify', async () => {
      const file = join(directoryOf(here), id.slice(0, 2), id, '600.jpg');
      const assertFinding = async (finding: string) => {
        const { code, printed } = await petstore(here, 'verify', '--json');
        assert.equal(code, 1);
        const check = 'files of photos';
        assert.deepEqual(JSON.parse(printed).findings, [{ deployment: 'production', check, finding }]);
      };
      // Not in place: the file of another size may be the same.
      const start = readFileSync(file).subarray(0, -10);
      rmSync(file);
      writeFileSync(file, start);
      await assertFinding(`The photo ${id} has a damaged size 600.`);
      rmSync(file);
      await assertFinding(`The photo ${id} lacks the size 600.`);
    });
  });
}

describe('photos of a bucket in a backup', () => {
  let server: S3Server;
  before(async () => {
    server = await openS3Server();
  });
  after(() => server?.close());

  it('are restored into a bucket or a directory, copied with the database, and missed by verify', async t => {
    const newPlace = async () => (await emptyPlaces[0]!.create()).environment;
    const here: Record<string, string> = { ...(await newPlace()), ...server.environment };
    await jsonOf(here, 'migrate');
    const photo = await image('jpeg', { color: '#975' });
    const id = hashOf(photo);
    const serving = await serve({ environment: { ...here, PETSTORE_STAGING_PORT: '' } });
    const { token: key } = await serving.newKey();
    const baseUrl = serving.urls.production;
    const pet = await send(`${baseUrl}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } });
    assert.equal((await upload(baseUrl, key, pet.body.id, photo)).status, 201);
    await serving.app.close();
    const backup = join(here['PETSTORE_DATA_DIR']!, '..', 'backup');
    assert.deepEqual(countsOf(await jsonOf(here, 'backup', backup)), { production: [1, 0], staging: [0, 0] });

    const directory = await newPlace();
    await jsonOf(directory, 'restore', backup);
    assert.deepEqual((await jsonOf(directory, 'verify')).findings, []);

    const other = await openS3Server();
    t.after(() => other.close());
    const there = { ...(await newPlace()), ...other.environment };
    await jsonOf(there, 'restore', backup);
    assert.deepEqual((await jsonOf(there, 'verify')).findings, []);
    const stored = other.requests.filter(request => request.startsWith('PUT'));
    assert.equal(stored.filter(request => request.includes(`/photos/production/${id.slice(0, 2)}/${id}/`)).length, 6);

    const target = await newPlace();
    const stores = ['--from', here['PETSTORE_DATA_DIR']!, '--to', target['PETSTORE_DATA_DIR']!];
    await jsonOf(here, 'copy', ...stores);
    assert.deepEqual((await jsonOf({ ...target, ...server.environment }, 'verify')).findings, []);

    await new Bucket(server.bucket).delete(`production/${id.slice(0, 2)}/${id}/600.jpg`);
    const { code, printed } = await petstore(here, 'verify', '--json');
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(printed).findings, [
      { deployment: 'production', check: 'files of photos', finding: `The photo ${id} lacks the size 600.` },
    ]);
  });
});

/** Returns how many photos each deployment has in a backup, and how many are missing. */
function countsOf({ photos }: { readonly photos: Manifest['photos'] }) {
  return Object.fromEntries(Object.entries(photos!).map(([name, { photos, missing }]) => [name, [photos, missing]]));
}

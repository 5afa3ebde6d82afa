import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { readConfig } from '../../src/model/config.ts';
import { openPhotoStore } from '../../src/model/photo-files/open.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { findPhoto } from '../../src/store/photo-references.ts';
import { deleteUnused } from '../../src/store/photos/sweep.ts';
import { hashOf, image, upload } from '../support/photos.ts';
import { openS3Server, type S3Server } from '../support/s3-server.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const DAY = 86_400_000;

describe('photos in a bucket', () => {
  const clock = testClock(Date.now());
  let storage: S3Server;
  let serving: TestService;
  let baseUrl: string;
  let key: string;
  let environment: Readonly<Record<string, string>>;

  before(async () => {
    storage = await openS3Server();
    environment = { ...storage.environment, PETSTORE_STAGING_PORT: '', PETSTORE_DATA_DIR: temporaryDirectory() };
    serving = await serve({ environment, clock });
    baseUrl = serving.urls.production;
    ({ token: key } = await serving.newKey());
  });
  afterEach(() => {
    storage.intercept = undefined;
  });
  after(async () => {
    await serving?.stop();
    await storage?.close();
  });

  const newPet = async (): Promise<number> =>
    (await send(`${baseUrl}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } })).body.id;
  const keys = () => {
    const all = readdirSync(join(storage.directory, 'photos'), { recursive: true }) as string[];
    return all.filter(name => name.endsWith('_object')).map(name => name.replace(/\._S3rver_object$/, ''));
  };
  const keysOf = (hash: string) => keys().filter(name => name.includes(hash));
  const drafts = () => readdirSync(join(environment['PETSTORE_DATA_DIR']!, 'photos', 'production', 'drafts'));

  it('stores and serves every size, and the original to its owner', async () => {
    const petId = await newPet();
    const original = await image('png', { width: 700, height: 400 });
    const { status, body } = await upload(baseUrl, key, petId, original);
    assert.equal(status, 201);
    assert.deepEqual(
      keysOf(body.id).sort(),
      ['100.jpg', '1280.jpg', '300.jpg', '450.jpg', '600.jpg', 'original'].map(
        name => `production/${body.id.slice(0, 2)}/${body.id}/${name}`,
      ),
    );
    assert.deepEqual(drafts(), []);
    for (const url of Object.values<string>(body.urls)) {
      const response = await fetch(url);
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.deepEqual(
        [response.status, response.headers.get('content-type'), response.headers.get('content-length')],
        [200, 'image/jpeg', String(bytes.length)],
      );
      assert.deepEqual([...bytes.subarray(0, 2)], [0xff, 0xd8]);
    }
    const response = await fetch(`${baseUrl}/pets/${petId}/photos/${body.id}/original`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), original);
    assert.equal((await fetch(body.urls[600].replace(body.id, hashOf(Buffer.from('other'))))).status, 404);
  });

  it('stores the same bytes once, and deletes them a day after the last animal lost them', async () => {
    const [one, other] = [await newPet(), await newPet()];
    const bytes = await image('jpeg', { color: '#123' });
    await upload(baseUrl, key, one, bytes);
    const before = storage.requests.filter(request => request.startsWith('PUT')).length;
    const { body } = await upload(baseUrl, key, other, bytes);
    assert.equal(storage.requests.filter(request => request.startsWith('PUT')).length, before);
    for (const pet of [one, other]) await send(`${baseUrl}/pets/${pet}`, { method: 'DELETE', key });
    const store = await openPhotoStore(readConfig(environment).locations.production.photos);
    assert.equal(await deleteUnused(serving.app.databases.production, store), 0);
    clock.advance(DAY);
    await deleteUnused(serving.app.databases.production, store);
    await waitUntil(() => keysOf(body.id).length === 0);
    assert.equal((await fetch(body.urls[600])).status, 404);
  });

  it('answers 503 while the storage fails, changes nothing, and stores the photo later', async () => {
    const petId = await newPet();
    const bytes = await image('jpeg', { color: '#321' });
    storage.intercept = (method, path) => (method === 'PUT' && path.includes('600.jpg') ? 503 : undefined);
    const refused = await upload(baseUrl, key, petId, bytes);
    assert.deepEqual([refused.status, refused.body.code], [503, 'storage_unavailable']);
    assert.match(refused.headers.get('retry-after')!, /^\d+$/);
    assert.doesNotMatch(JSON.stringify(refused.body), /127\.0\.0\.1|S3RVER/);
    const pet = await send(`${baseUrl}/pets/${petId}?view=full`, { key });
    assert.equal(pet.body.photos, undefined);
    assert.deepEqual(drafts(), []);
    storage.intercept = undefined;
    const { status, body } = await upload(baseUrl, key, petId, bytes);
    assert.equal(status, 201);
    storage.intercept = () => 500;
    assert.equal((await fetch(body.urls[600])).status, 503);
    storage.intercept = undefined;
    assert.equal((await fetch(body.urls[600])).status, 200);
  });

  it('answers 503 if the storage fails once it has named the size of a file', async () => {
    const petId = await newPet();
    const { body } = await upload(baseUrl, key, petId, await image('jpeg', { color: '#312' }));
    const original = `${baseUrl}/pets/${petId}/photos/${body.id}/original`;
    for (const [url, headers] of [
      [body.urls[600], {}],
      [original, { authorization: `Bearer ${key}` }],
    ]) {
      storage.intercept = method => (method === 'GET' ? 500 : undefined);
      const refused = await fetch(url, { headers });
      assert.deepEqual([refused.status, (await refused.json()).code], [503, 'storage_unavailable']);
      assert.match(refused.headers.get('retry-after')!, /^\d+$/);
      assert.equal((await fetch(url, { headers, method: 'HEAD' })).status, 200);
      storage.intercept = undefined;
      assert.equal((await fetch(url, { headers })).status, 200);
    }
  });

  it('keeps every size of a photo while another upload of the same bytes fails', { timeout: 30_000 }, async () => {
    const [petId, other] = [await newPet(), await newPet()];
    const bytes = await image('jpeg', { color: '#231' });
    const waiting = { first: Promise.withResolvers<void>(), last: Promise.withResolvers<void>() };
    const puts = (name: string) => storage.requests.filter(one => one.startsWith('PUT') && one.includes(name)).length;
    const [small, original] = [`${hashOf(bytes)}/100.jpg`, `${hashOf(bytes)}/original`];
    storage.intercept = async (method, path) => {
      if (method === 'PUT' && path.endsWith(small) && puts(small) === 1) await waiting.first.promise;
      // The other upload has stored every size by now.
      else if (method === 'PUT' && path.endsWith(original) && puts(original) === 1) await waiting.last.promise;
      return undefined;
    };
    const failing = upload(baseUrl, key, petId, bytes, { headers: { 'if-match': '"0"' } });
    await waitUntil(() => puts(small) === 1);
    const added = upload(baseUrl, key, other, bytes);
    await waitUntil(() => puts(original) === 1);
    waiting.first.resolve();
    assert.equal((await failing).status, 412);
    waiting.last.resolve();
    const { status, body } = await added;
    assert.equal(status, 201);
    for (const url of Object.values<string>(body.urls)) assert.equal((await fetch(url)).status, 200, url);
  });

  it('leaves the files of an interrupted upload to be deleted after a day', async () => {
    const petId = await newPet();
    const bytes = await image('jpeg', { color: '#213' });
    storage.intercept = (method, path) =>
      method === 'DELETE' || (method === 'PUT' && path.includes('original')) ? 503 : undefined;
    assert.equal((await upload(baseUrl, key, petId, bytes)).status, 503);
    assert.equal(keysOf(hashOf(bytes)).length, 5);
    storage.intercept = undefined;
    clock.advance(DAY);
    const store = await openPhotoStore(readConfig(environment).locations.production.photos);
    await deleteUnused(serving.app.databases.production, store);
    await waitUntil(() => keysOf(hashOf(bytes)).length === 0);
  });

  it('cannot be used with a wrong key or bucket, which the start says', async () => {
    const start = (settings: Record<string, string>) =>
      serve({ environment: { ...environment, PETSTORE_DATA_DIR: temporaryDirectory(), ...settings } });
    await assert.rejects(start({ PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY: 'another' }), {
      name: 'UserError',
      message: /^The bucket for photos cannot be used: .* responds 403.* Check PETSTORE_PHOTOS_S3_URL/,
    });
    const unknown = storage.bucket.url.replace('/photos', '/unknown');
    await assert.rejects(start({ PETSTORE_PHOTOS_S3_URL: unknown }), /The bucket for photos cannot be used: .* 404/);
  });

  it('makes the sizes of a photo of an earlier release again, and serves them meanwhile', async () => {
    const petId = await newPet();
    const original = await image('png', { width: 64, height: 48, noise: true });
    const { body } = await upload(baseUrl, key, petId, original);
    const before = await fetch(body.urls[450]);
    const expected = Buffer.from(await before.arrayBuffer());
    const settings = readConfig(environment).locations.production.photos;
    const store = await openPhotoStore(settings);
    const directory = temporaryDirectory();
    await store.copyTo(body.id, directory);
    const enlarged = await image('jpeg', { width: 450, height: 450 });
    await writeFile(join(directory, '450.jpg'), enlarged);
    await store.replaceSizes(body.id, directory);
    const earlier = await fetch(body.urls[450]);
    assert.notEqual(earlier.headers.get('etag'), before.headers.get('etag'));
    assert.equal(Number(earlier.headers.get('content-length')), enlarged.length);
    const { production } = serving.app.databases;
    await production.write(tx => tx.run(forgetSizes, { hash: body.id }));
    await waitUntil(async () => (await findPhoto(production, body.id))?.sizes_bytes !== null);
    const now = await fetch(body.urls[450]);
    assert.deepEqual(Buffer.from(await now.arrayBuffer()), expected);
    assert.equal(now.headers.get('etag'), before.headers.get('etag'));
  });

  it('shows the sample animals of staging with their photos', async t => {
    const samples = await openS3Server();
    t.after(() => samples.close());
    const { samplePhotos } = await import('../../src/operate/seeds/photos.ts');
    const { seedStaging } = await import('../../src/operate/seeds/staging.ts');
    const settings = { ...samples.environment, PETSTORE_DATA_DIR: temporaryDirectory() };
    const staging = await serve({ environment: settings });
    t.after(() => staging.stop());
    const { production, staging: database } = staging.app.databases;
    const store = await openPhotoStore(readConfig(settings).locations.staging.photos);
    await seedStaging(production, database!, store);
    for (const { hash } of samplePhotos().values()) assert.equal(await store.has(hash), true);
    const count = samples.requests.filter(request => request.startsWith('PUT')).length;
    await seedStaging(production, database!, store);
    assert.equal(samples.requests.filter(request => request.startsWith('PUT')).length, count);
  });
});

const forgetSizes = query((db, p: Params<{ hash: string }>) =>
  db.updateTable('photos').set({ sizes_bytes: null }).where('hash', '=', p.hash),
);

import assert from 'node:assert/strict';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { findPhoto } from '../../src/store/photo-references.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { hashOf, image, upload } from '../support/photos.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

overEachEngine(engine => {
  describe('photos of animals over HTTP', () => {
    let serving: TestService;
    let baseUrl: string;
    let photosDirectory: string;
    let owner: string;
    let accountId: number;

    before(async () => {
      photosDirectory = temporaryDirectory();
      serving = await serve({
        environment: {
          ...(await engine.settings()),
          PETSTORE_STAGING_PORT: '',
          PETSTORE_PHOTOS_DIRECTORY: photosDirectory,
        },
      });
      baseUrl = serving.urls.production;
      ({ token: owner, accountId } = await serving.newKey());
    });
    after(() => serving?.stop());

    const call = (method: string, path: string, body?: unknown, key = owner): Promise<Reply> =>
      send(baseUrl + path, { method, key, ...(body !== undefined && { body }) });
    const newPet = async (key = owner): Promise<number> =>
      (await call('POST', '/pets', { name: 'Rex', categoryId: 1 }, key)).body.id;
    const fullPet = async (id: number) => (await call('GET', `/pets/${id}?view=full`)).body;
    /** Returns what a photo counts: the bytes of its original and of its sizes, each once. */
    const countedBytes = async ({ bytes, urls }: { bytes: number; urls: Record<string, string> }): Promise<number> => {
      const sizes = new Map<string, number>();
      for (const url of Object.values(urls)) {
        const size = Buffer.from(await (await fetch(url)).arrayBuffer());
        sizes.set(hashOf(size), size.length);
      }
      return sizes.values().reduce((sum, length) => sum + length, bytes);
    };
    const bytesUsed = async () => (await call('GET', '/account')).body.bounds.photoBytes.used;

    it('stores a photo, shows it with the animal, and serves its sizes without a key', async () => {
      const petId = await newPet();
      const original = await image('jpeg', { width: 2000, height: 1000 });
      const { status, body, headers } = await upload(baseUrl, owner, petId, original, { query: '?alt=Rex%20asleep' });
      assert.deepEqual(
        [status, body.id, body.alt, body.width, body.height, body.bytes],
        [201, hashOf(original), 'Rex asleep', 2000, 1000, original.length],
      );
      const pet = await fullPet(petId);
      assert.deepEqual(pet.photos, [body]);
      assert.equal(headers.get('etag'), pet.etag);
      for (const [size, expected] of Object.entries({
        100: [100, 50],
        300: [300, 150],
        450: [450, 450],
        600: [600, 300],
        1280: [1280, 640],
      })) {
        const response = await fetch(body.urls[size]);
        const bytes = Buffer.from(await response.arrayBuffer());
        assert.equal(Number(response.headers.get('content-length')), bytes.length);
        const { format, width, height } = await sharp(bytes).metadata();
        assert.deepEqual([response.status, format, width, height], [200, 'jpeg', ...expected], size);
      }
      const { headers: sent } = await fetch(body.urls[600]);
      assert.deepEqual(
        ['cache-control', 'content-type', 'x-content-type-options', 'content-security-policy'].map(name =>
          sent.get(name),
        ),
        ['public, max-age=31536000, immutable', 'image/jpeg', 'nosniff', "default-src 'none'; sandbox"],
      );
      const head = await fetch(body.urls[600], { method: 'HEAD' });
      assert.equal(head.headers.get('content-length'), sent.get('content-length'));
      const known = await fetch(body.urls[600], { headers: { 'if-none-match': sent.get('etag')! } });
      assert.equal(known.status, 304);
      for (const missing of [`${body.id}/601.jpg`, `${body.id}/original`, `${'0'.repeat(64)}/600.jpg`, 'x/600.jpg']) {
        assert.equal((await fetch(`${new URL(baseUrl).origin}/photos/${missing}`)).status, 404, missing);
      }
    });

    it('accepts PNG and WebP, also without an alternative text', async () => {
      const petId = await newPet();
      for (const format of ['png', 'webp'] as const) {
        const { status, body } = await upload(baseUrl, owner, petId, await image(format), { type: `image/${format}` });
        assert.deepEqual([status, body.alt, body.width], [201, undefined, 64], format);
      }
      assert.equal((await fullPet(petId)).photos.length, 2);
    });

    it('returns the original byte for byte, to its owner only', async () => {
      const petId = await newPet();
      const original = await sharp(await image('jpeg', { color: '#345' }))
        .withExif({ IFD0: { Artist: 'Somebody' }, IFD3: { GPSLatitude: '51/1 30/1 0/1', GPSLatitudeRef: 'N' } })
        .toBuffer();
      const { body } = await upload(baseUrl, owner, petId, original);
      const url = `${baseUrl}/pets/${petId}/photos/${body.id}/original`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${owner}` } });
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), original);
      assert.equal(response.headers.get('content-disposition'), 'attachment; filename="photo.jpg"');
      assert.equal(response.headers.get('content-type'), 'application/octet-stream');
      const stranger = (await serving.newKey()).token;
      assert.deepEqual((await send(url, { key: stranger })).body.code, 'not_owner');
      assert.equal((await fetch(url)).status, 401);
      for (const shown of Object.values(body.urls as Record<string, string>)) {
        const bytes = Buffer.from(await (await fetch(shown)).arrayBuffer());
        const { exif, icc, xmp } = await sharp(bytes).metadata();
        assert.deepEqual([exif, icc, xmp], [undefined, undefined, undefined]);
        assert.equal(bytes.includes('Somebody'), false);
      }
    });

    it('turns photos upright', async () => {
      const petId = await newPet();
      const original = await sharp(await image('jpeg', { width: 80, height: 40 }))
        .withMetadata({ orientation: 6 })
        .toBuffer();
      const { body } = await upload(baseUrl, owner, petId, original);
      assert.deepEqual([body.width, body.height], [40, 80]);
      const shown = await sharp(Buffer.from(await (await fetch(body.urls[100])).arrayBuffer())).metadata();
      assert.deepEqual([shown.width, shown.height, shown.orientation], [40, 80, undefined]);
    });

    it('changes the text, the order and the main photo, and deletes', async () => {
      const petId = await newPet();
      const ids: string[] = [];
      for (const color of ['#111', '#222', '#333']) {
        ids.push((await upload(baseUrl, owner, petId, await image('jpeg', { color }))).body.id);
      }
      const order = async () => (await fullPet(petId)).photos.map(({ id }: { id: string }) => ids.indexOf(id));
      const patch = (index: number, body: object) => call('PATCH', `/pets/${petId}/photos/${ids[index]}`, body);
      assert.equal((await patch(2, { position: 1, alt: 'Main' })).body.alt, 'Main');
      assert.deepEqual(await order(), [2, 0, 1]);
      await patch(2, { position: 10 });
      assert.deepEqual(await order(), [0, 1, 2]);
      assert.equal((await patch(2, { alt: null })).body.alt, undefined);
      assert.equal((await patch(2, { alt: '' })).body.code, 'invalid_body');
      assert.equal((await patch(2, { position: 11 })).body.code, 'invalid_body');
      assert.equal((await call('DELETE', `/pets/${petId}/photos/${ids[0]}`)).status, 204);
      assert.deepEqual(await order(), [1, 2]);
      assert.equal((await call('DELETE', `/pets/${petId}/photos/${ids[0]}`)).body.code, 'photo_not_found');
      await call('DELETE', `/pets/${petId}/photos/${ids[1]}`);
      await call('DELETE', `/pets/${petId}/photos/${ids[2]}`);
      assert.equal((await fullPet(petId)).photos, undefined);
      const { body: history } = await call('GET', `/pets/${petId}/history`);
      const added = history.find((entry: { changes: object }) => 'photos' in entry.changes);
      assert.deepEqual(Object.keys(added.changes), ['photos']);
    });

    it('adds a photo once that is sent twice, and counts its original and its sizes for each animal', async () => {
      const [one, other] = [await newPet(), await newPet()];
      const photo = await image('jpeg', { color: '#987' });
      const before = await bytesUsed();
      const first = await upload(baseUrl, owner, one, photo);
      const again = await upload(baseUrl, owner, one, photo);
      assert.deepEqual([first.status, again.status, again.body], [201, 200, first.body]);
      assert.equal(again.headers.get('etag'), first.headers.get('etag'));
      assert.equal((await upload(baseUrl, owner, other, photo)).status, 201);
      assert.equal((await bytesUsed()) - before, 2 * (await countedBytes(first.body)));
      await call('DELETE', `/pets/${one}/photos/${first.body.id}`);
      assert.equal((await fetch(first.body.urls[100])).status, 200);
      await call('DELETE', `/pets/${other}`);
      assert.equal(await bytesUsed(), before);
    });

    it('stores photos of organizations too, and counts them for their accounts', async () => {
      const path = `/organizations/${accountId}`;
      const photos = async () => (await call('GET', path)).body.photos;
      const [yard, house] = [await image('jpeg', { color: '#789' }), await image('jpeg', { color: '#798' })];
      assert.equal((await upload(baseUrl, owner, path.slice(1), yard)).body.code, 'organization_not_found');
      const { headers: published } = await call('PUT', path, { name: 'Maple Lane' });
      const before = await bytesUsed();
      const { status, body, headers } = await upload(baseUrl, owner, path.slice(1), yard, { query: '?alt=Our%20yard' });
      assert.deepEqual([status, body.alt, body.id], [201, 'Our yard', hashOf(yard)]);
      assert.notEqual(headers.get('etag'), published['etag']);
      assert.equal((await fetch(body.urls[600])).status, 200);
      assert.equal((await upload(baseUrl, owner, path.slice(1), yard)).status, 200);
      const pet = await newPet();
      await upload(baseUrl, owner, pet, yard);
      const counted = await countedBytes(body);
      assert.equal((await bytesUsed()) - before, 2 * counted);
      const second = await upload(baseUrl, owner, path.slice(1), house);
      await call('PATCH', `${path}/photos/${second.body.id}`, { position: 1 });
      assert.deepEqual(
        (await photos()).map(({ id }: { id: string }) => id),
        [second.body.id, body.id],
      );
      await call('PUT', path, { name: 'Maple Lane Dog Rescue' });
      await call('PATCH', path, { mission: 'A home for every dog.' });
      assert.deepEqual((await photos())[1], body);
      const listed = (await call('GET', '/organizations?name=maple')).body;
      assert.deepEqual(listed[0].photos[1], body);
      const stranger = (await serving.newKey()).token;
      assert.equal((await upload(baseUrl, stranger, path.slice(1), yard)).body.code, 'not_owner');
      const reader = (await serving.newKey({ accountId, scopes: ['pets:write'] })).token;
      assert.equal((await upload(baseUrl, reader, path.slice(1), yard)).body.code, 'insufficient_scope');
      const original = `${path}/photos/${body.id}/original`;
      assert.equal((await call('GET', original, undefined, stranger)).body.code, 'not_owner');
      const response = await fetch(baseUrl + original, { headers: { authorization: `Bearer ${owner}` } });
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), yard);
      assert.equal((await call('DELETE', `${path}/photos/${body.id}`)).status, 204);
      assert.equal((await fetch(body.urls[600])).status, 200);
      assert.equal((await call('DELETE', path)).status, 204);
      assert.equal((await bytesUsed()) - before, counted);
      await call('PUT', path, { name: 'Maple Lane' });
      assert.equal(await photos(), undefined);
    });

    it('replays the response to a retry with an Idempotency-Key', async () => {
      const petId = await newPet();
      const [photo, other] = [await image('jpeg', { color: '#abc' }), await image('jpeg', { color: '#cba' })];
      const headers = { 'idempotency-key': `photo-${petId}` };
      const first = await upload(baseUrl, owner, petId, photo, { headers });
      await call('DELETE', `/pets/${petId}/photos/${first.body.id}`);
      const retry = await upload(baseUrl, owner, petId, photo, { headers });
      assert.deepEqual([retry.status, retry.body], [201, first.body]);
      assert.equal(retry.headers.get('idempotency-replayed'), 'true');
      assert.equal((await upload(baseUrl, owner, petId, other, { headers })).body.code, 'idempotency_key_reused');
      await call('DELETE', `/pets/${petId}`);
      const late = await upload(baseUrl, owner, petId, photo, { headers });
      assert.deepEqual([late.status, late.body], [201, first.body], 'although the animal was deleted');
      assert.equal((await upload(baseUrl, owner, petId, photo)).status, 404);
    });

    it('keeps no files of a photo that is not added', async () => {
      const petId = await newPet();
      const photo = await image('jpeg', { color: '#456' });
      const refused = await upload(baseUrl, owner, petId, photo, { headers: { 'if-match': '"0"' } });
      assert.equal(refused.body.code, 'precondition_failed');
      const { production } = serving.app.databases;
      assert.equal(await findPhoto(production, hashOf(photo)), undefined);
      const shown = new URL(`/photos/${hashOf(photo)}/600.jpg`, baseUrl);
      assert.equal((await fetch(shown)).status, 404);
      assert.equal((await upload(baseUrl, owner, petId, photo)).status, 201);
      assert.equal((await fetch(shown)).status, 200);
    });

    it('answers 503 while the directory cannot be read or written, and changes nothing', async () => {
      const petId = await newPet();
      const photo = await image('jpeg', { color: '#654' });
      const { body: stored } = await upload(baseUrl, owner, petId, await image('jpeg', { color: '#645' }));
      const original = `${baseUrl}/pets/${petId}/photos/${stored.id}/original`;
      const headers = { authorization: `Bearer ${owner}` };
      const directory = join(photosDirectory, 'production');
      // A file in its place fails like a file system that is read-only, also for root.
      const assertUnavailable = async (name: string, request: () => Promise<Response>) => {
        await rename(join(directory, name), join(directory, 'aside'));
        await writeFile(join(directory, name), '');
        const refused = await request();
        assert.deepEqual([refused.status, (await refused.json()).code], [503, 'storage_unavailable']);
        assert.match(refused.headers.get('retry-after')!, /^\d+$/);
        await rm(join(directory, name));
        await rename(join(directory, 'aside'), join(directory, name));
        assert.equal((await fullPet(petId)).photos.length, 1);
      };
      const add = () =>
        fetch(`${baseUrl}/pets/${petId}/photos`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'image/jpeg' },
          body: new Uint8Array(photo),
        });
      const prefix = stored.id.slice(0, 2);
      await assertUnavailable('drafts', add);
      await assertUnavailable(prefix, () => fetch(stored.urls[600]));
      await assertUnavailable(prefix, () => fetch(original, { headers }));
      assert.equal((await add()).status, 201);
      assert.equal((await fetch(original, { headers })).status, 200);
      assert.deepEqual(await readdir(join(directory, 'drafts')), []);
    });

    it('rejects photos of other owners, unknown animals and outdated versions', async () => {
      const petId = await newPet();
      const photo = await image('jpeg');
      const stranger = (await serving.newKey()).token;
      assert.equal((await upload(baseUrl, stranger, petId, photo)).body.code, 'not_owner');
      assert.equal((await upload(baseUrl, owner, 999_999, photo)).body.code, 'pet_not_found');
      const outdated = await upload(baseUrl, owner, petId, photo, { headers: { 'if-match': '"0"' } });
      assert.equal(outdated.body.code, 'precondition_failed');
      const reader = (await serving.newKey({ accountId, scopes: ['pets:read'] })).token;
      assert.equal((await upload(baseUrl, reader, petId, photo)).body.code, 'insufficient_scope');
    });

    it('shows photos on the pages of animals, with their dimensions and texts', async () => {
      const petId = await newPet();
      const hostile = '"><script>alert(1)</script>';
      const photo = await image('jpeg', { width: 800, height: 400, color: '#024' });
      const query = `?alt=${encodeURIComponent(hostile)}`;
      const { body } = await upload(baseUrl, owner, petId, photo, { query });
      await upload(baseUrl, owner, petId, await image('jpeg', { color: '#420' }));
      const pageOf = async (path: string) => {
        const response = await fetch(new URL(path, baseUrl), { headers: { accept: 'text/html' } });
        assert.match(response.headers.get('content-security-policy')!, /img-src 'self'/);
        return response.text();
      };
      const alt = '&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;';
      const page = await pageOf(`/animals/${petId}`);
      assert.equal(page.includes(hostile), false);
      const tags = page.match(new RegExp(`<img [^>]*src="/photos/${body.id}/600.jpg"[^>]*>`, 'g')) ?? [];
      assert.equal(tags.length, 2);
      for (const tag of tags) {
        assert.ok(tag.includes(`width="600" height="300" alt="${alt}" srcset="`), tag);
      }
      assert.ok(page.includes('alt="A photo of Rex"'));
      assert.match(
        await pageOf('/animals'),
        new RegExp(`<img [^>]*src="/photos/${body.id}/600.jpg"[^>]*300\\.jpg 300w[^>]*loading="lazy"`),
      );
    });

    it('bounds the photos of an animal', async () => {
      const petId = await newPet();
      for (let shade = 10; shade < 20; shade++) {
        const { status } = await upload(
          baseUrl,
          owner,
          petId,
          await image('jpeg', { color: `hsl(${36 * shade} 80% 50%)` }),
        );
        assert.equal(status, 201);
      }
      const more = await upload(baseUrl, owner, petId, await image('jpeg', { color: '#fff' }));
      assert.deepEqual([more.status, more.body.code], [409, 'photo_limit_exceeded']);
      const known = await upload(baseUrl, owner, petId, await image('jpeg', { color: `hsl(360 80% 50%)` }));
      assert.equal(known.status, 200);
    });
  });

  describe('the quota of photos', () => {
    it('bounds the bytes of an account', async t => {
      const serving = await serve({
        environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_PHOTO_QUOTA_MIB: '1' },
      });
      t.after(() => serving.stop());
      const { production } = serving.urls;
      const { token } = await serving.newKey();
      const { body: pet } = await send(`${production}/pets`, {
        method: 'POST',
        key: token,
        body: { name: 'Rex', categoryId: 1 },
      });
      const large = () => image('png', { width: 450, height: 400, noise: true });
      assert.equal((await upload(production, token, pet.id, await large(), { type: 'image/png' })).status, 201);
      const { status, body } = await upload(production, token, pet.id, await large(), { type: 'image/png' });
      assert.deepEqual([status, body.code], [409, 'photo_storage_exceeded']);
      const { body: account } = await send(`${production}/account`, { key: token });
      assert.equal(account.bounds.photoBytes.maximum, 1024 * 1024);
      assert.ok(account.bounds.photoBytes.used <= 1024 * 1024);
    });
  });
});

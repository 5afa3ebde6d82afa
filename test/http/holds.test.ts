import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { testClock } from '../../src/lib/clock.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import type { Database } from '../../src/model/schema.ts';
import { type Caller, newCaller } from '../support/caller.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, serve, type TestService } from '../support/serving.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;
const HELD_MAX = 20;

overEachEngine(engine => {
  describe('holds over HTTP', () => {
    const clock = testClock(START);
    let serving: TestService;
    let database: Database;
    let owner: Caller;
    let holder: Caller;
    let other: Caller;

    before(async () => {
      const environment = {
        ...(await engine.settings()),
        PETSTORE_HELD_MAX: String(HELD_MAX),
        PETSTORE_STAGING_PORT: '',
      };
      serving = await serve({ clock, environment });
      database = serving.app.databases.production;
      [owner, holder, other] = (await Promise.all([1, 2, 3].map(() => newCaller(serving)))) as [Caller, Caller, Caller];
    });
    after(() => serving?.stop());

    it('places a hold, returns its URL and shows the animals as pending', async () => {
      const [minka, moritz] = await addAnimals(owner, 2);
      const created = await holder.post('/holds', { petIds: [moritz, minka], note: 'Both' });
      assert.equal(created.status, 201);
      const { id } = created.body;
      assert.equal(created.headers.location, `${serving.urls.production}/holds/${id}`);
      assert.equal(created.headers.etag, `"${id}.1"`);
      const now = clock.now();
      assert.deepEqual(created.body, {
        id,
        petIds: [minka, moritz],
        accountId: holder.accountId,
        status: 'active',
        note: 'Both',
        expiresAt: new Date(now + 15 * MINUTE).toISOString(),
        createdAt: new Date(now).toISOString(),
        updatedAt: new Date(now).toISOString(),
      });
      for (const caller of [holder, owner]) {
        const read = await caller.get(`/holds/${id}`);
        assert.deepEqual([read.status, read.body, read.headers.etag], [200, created.body, created.headers.etag]);
        assert.equal((await caller.get(`/holds/${id}`, { 'If-None-Match': read.headers.etag! })).status, 304);
      }
      refused(await other.get(`/holds/${id}`), 404, 'hold_not_found');
      const pets = await other.get(`/pets?id=${minka},${moritz}`);
      assert.deepEqual(
        pets.body.map(({ status }: { status: string }) => status),
        ['pending', 'pending'],
      );
    });

    it('holds one animal by petId, as orders name it', async () => {
      const [minka] = await addAnimals(owner, 1);
      const created = await holder.post('/holds', { petId: minka });
      assert.deepEqual([created.status, created.body.petIds], [201, [minka]]);
      const again = await other.post('/holds', { petId: minka });
      refused(again, 409, 'pet_reserved');
      const unnamed = await Promise.all(['/holds', '/store/orders'].map(path => other.post(path, { note: 'None' })));
      assert.deepEqual(unnamed[0]!.body, unnamed[1]!.body);
      assert.equal(unnamed[0]!.body.message, 'Invalid body. /petId: petId or petIds is required.');
    });

    it('reports until when an animal is held, and stores nothing', async () => {
      const [minka, moritz] = await addAnimals(owner, 2);
      await holder.post('/holds', { petIds: [minka] });
      const late = await other.post('/holds', { petIds: [moritz, minka] });
      refused(late, 409, 'pet_reserved');
      assert.match(late.body.message, /^Animal \d+ is on hold until 2026-11-21T12:15:00.000Z/);
      assert.equal(late.headers['retry-after'], '900');
      assert.deepEqual((await other.get('/holds')).body, []);
      assert.equal((await owner.get(`/pets?id=${moritz}`)).body[0].status, 'available');
      refused(await other.post('/holds', { petIds: [minka, 999_999] }), 404, 'pet_not_found');
    });

    it('rejects invalid bodies, field by field', async () => {
      const [minka] = await addAnimals(owner, 1);
      const bad: [unknown, string][] = [
        [{}, '/petId'],
        [{ petId: minka, petIds: [minka] }, '/petIds'],
        [{ petId: '1' }, '/petId'],
        [{ petId: null }, '/petId'],
        [{ petIds: [] }, '/petIds'],
        [{ petIds: [minka, minka] }, '/petIds'],
        [{ petIds: Array.from({ length: 21 }, (_, index) => index + 1) }, '/petIds'],
        [{ petIds: new Array(32_000).fill(1) }, '/petIds'],
        [{ petIds: [JSON.parse(`${'['.repeat(9000)}1${']'.repeat(9000)}`)] }, '/petIds/0'],
        [{ petIds: ['1'] }, '/petIds/0'],
        [{ petIds: [0] }, '/petIds/0'],
        [{ petIds: minka }, '/petIds'],
        [{ petIds: [minka], note: '' }, '/note'],
        [{ petIds: [minka], note: 'a\u0000b' }, '/note'],
        [{ petIds: [minka], note: 'x'.repeat(1001) }, '/note'],
        [{ petIds: [minka], note: null }, '/note'],
        [{ petIds: [minka], expiresAt: 'tomorrow' }, '/expiresAt'],
        [{ petIds: [minka], expiresAt: 1 }, '/expiresAt'],
        [{ petIds: [minka], expiresAt: '2026-02-30T12:00:00Z' }, '/expiresAt'],
        [{ petIds: [minka], expiresAt: '0000-01-01T00:00:00+23:59' }, '/expiresAt'],
        [{ petIds: [minka], expiresAt: new Date(clock.now() + 999).toISOString() }, '/expiresAt'],
        [{ petIds: [minka], expiresAt: '9999-12-31T23:59:59-23:59' }, '/expiresAt'],
      ];
      for (const [body, path] of bad) {
        const reply = await holder.post('/holds', body);
        refused(reply, 400, 'invalid_body');
        assert.deepEqual(
          reply.body.errors.map((error: { path: string }) => error.path),
          [path],
          JSON.stringify(body),
        );
      }
      refused(await holder.get('/holds?status=gone'), 400, 'invalid_parameter');
      refused(await holder.get('/holds?petId=x'), 400, 'invalid_parameter');
      for (const id of ['x', '0', '007', '99999999999999999999', '999999']) {
        refused(await holder.get(`/holds/${id}`), 404, 'hold_not_found');
        refused(await holder.post(`/holds/${id}/release`), 404, 'hold_not_found');
      }
    });

    it('replays the response to a retry', async () => {
      const [minka] = await addAnimals(owner, 1);
      const retry = { 'Idempotency-Key': randomUUID() };
      const first = await holder.post('/holds', { petIds: [minka] }, retry);
      const second = await holder.post('/holds', { petIds: [minka] }, retry);
      assert.deepEqual([second.status, second.text], [201, first.text]);
      assert.equal(second.headers['idempotency-replayed'], 'true');
      assert.deepEqual([second.headers.etag, second.headers.location], [first.headers.etag, first.headers.location]);
      refused(await holder.post('/holds', { petIds: [minka] }), 409, 'pet_reserved');
      const again = { 'Idempotency-Key': randomUUID() };
      const released = await holder.post(`/holds/${first.body.id}/release`, undefined, again);
      assert.equal(released.body.status, 'released');
      assert.equal((await holder.post(`/holds/${first.body.id}/release`, undefined, again)).text, released.text);
    });

    it('changes the expiry for the placer, if the precondition holds', async () => {
      const [minka] = await addAnimals(owner, 1);
      const { body: hold, headers } = await holder.post('/holds', { petIds: [minka] });
      const to = (minutes: number) => ({ expiresAt: new Date(clock.now() + minutes * MINUTE).toISOString() });
      const path = `/holds/${hold.id}/extension`;
      refused(await owner.post(path, to(60)), 403, 'not_owner');
      refused(await other.post(path, to(60)), 404, 'hold_not_found');
      const moved = await holder.post(path, to(60), { 'If-Match': headers.etag! });
      assert.deepEqual([moved.status, moved.body.expiresAt], [200, to(60).expiresAt]);
      assert.equal(moved.headers.etag, `"${hold.id}.3"`);
      refused(await holder.post(path, to(90), { 'If-Match': headers.etag! }), 412, 'precondition_failed');
      refused(await holder.post(path, to(-1)), 400, 'invalid_body');
      refused(await holder.post(path, {}), 400, 'invalid_body');
      const released = await owner.post(`/holds/${hold.id}/release`, undefined, { 'If-Match': moved.headers.etag! });
      assert.equal(released.body.status, 'released');
      assert.equal(released.body.endedAt, new Date(clock.now()).toISOString());
      refused(await holder.post(path, to(60)), 409, 'hold_ended');
      refused(await holder.post(`/holds/${hold.id}/release`), 409, 'hold_ended');
    });

    it('lists visible holds in pages', async () => {
      const lister = await newCaller(serving);
      const pets = await addAnimals(owner, 5);
      for (const pet of pets) await lister.post('/holds', { petIds: [pet] });
      const seen: number[] = [];
      let url: string | undefined = '/holds?limit=2&status=active';
      for (let pages = 0; url !== undefined; pages++) {
        assert.ok(pages < 4);
        const page: Reply = await lister.get(url);
        assert.equal(page.status, 200);
        seen.push(...page.body.flatMap(({ petIds }: { petIds: number[] }) => petIds));
        const next = page.headers['x-next'] as string | undefined;
        url = next?.slice(serving.urls.production.length);
      }
      assert.deepEqual(seen, pets);
      const ofPet = await owner.get(`/holds?petId=${pets[0]}`);
      assert.deepEqual([ofPet.body.length, ofPet.body[0].accountId], [1, lister.accountId]);
      assert.deepEqual((await other.get(`/holds?petId=${pets[0]}`)).body, []);
      const admin = await newCaller(serving, true);
      assert.equal((await admin.get(`/holds?petId=${pets[0]}`)).body.length, 1);
      const known = await lister.get('/holds?limit=2');
      assert.equal((await lister.get('/holds?limit=2', { 'If-None-Match': known.headers.etag! })).status, 304);
    });

    it('limits the animals that an account holds', async () => {
      const hoarder = await newCaller(serving);
      const pets = await addAnimals(owner, HELD_MAX + 5);
      const replies = await Promise.all(pets.map(pet => hoarder.post('/holds', { petIds: [pet] })));
      const held = replies.filter(({ status }) => status === 201);
      assert.equal(held.length, HELD_MAX);
      for (const reply of replies) if (reply.status !== 201) refused(reply, 409, 'hold_limit_exceeded');
      await hoarder.post(`/holds/${held[0]!.body.id}/release`);
      assert.equal((await hoarder.post('/holds', { petIds: [held[0]!.body.petIds[0]] })).status, 201);
    });

    it('expires a hold at that millisecond in every response, and records it once', async () => {
      const [minka, moritz] = await addAnimals(owner, 2);
      const { body: hold } = await holder.post('/holds', {
        petIds: [minka, moritz],
        expiresAt: inMs(clock.now() + 90_000),
      });
      const urls = [
        `/pets?id=${minka},${moritz}`,
        `/pets?id=${minka}&status=pending`,
        `/pets?id=${minka}&status=available`,
      ];
      const counts = async () => (await owner.get('/store/inventory')).body;
      const look = async () => [
        ...(await Promise.all(urls.map(async url => (await owner.get(url)).body.length))),
        ...(await owner.get(urls[0]!)).body.map(({ status }: { status: string }) => status),
        (await holder.get(`/holds/${hold.id}`)).body.status,
        (await holder.get(`/holds?petId=${minka}&status=active`)).body.length,
      ];
      clock.advance(89_999);
      const before = await counts();
      const etags = await etagsOf(minka!, hold.id);
      assert.deepEqual(await look(), [2, 1, 0, 'pending', 'pending', 'active', 1]);
      refused(await other.post('/holds', { petIds: [minka] }), 409, 'pet_reserved');

      clock.advance(1);
      const gone = await etagsOf(minka!, hold.id);
      assert.deepEqual(await look(), [2, 0, 1, 'available', 'available', 'expired', 0]);
      const now = await counts();
      assert.deepEqual([now.available - before.available, before.pending - now.pending], [2, 2]);
      for (const [index, etag] of gone.entries()) assert.notEqual(etag, etags[index]);
      const late = await holder.post(`/holds/${hold.id}/extension`, { expiresAt: inMs(clock.now() + MINUTE) });
      refused(late, 409, 'hold_ended');

      // The job ends the hold, without a visible change.
      while ((await eventsOf(database, 'hold', hold.id)).length < 2) await pause(20);
      assert.deepEqual(await etagsOf(minka!, hold.id), gone);
      assert.deepEqual(await look(), [2, 0, 1, 'available', 'available', 'expired', 0]);
      assert.equal((await other.post('/holds', { petIds: [minka, moritz] })).status, 201);
      assert.equal((await holder.get(`/holds/${hold.id}`)).headers.etag, gone[1]);
      assert.deepEqual(
        (await eventsOf(database, 'hold', hold.id)).map(({ action }) => action),
        ['created', 'expired'],
      );
    });

    it('lets only the holder order a held animal', async () => {
      const [minka, moritz] = await addAnimals(owner, 2);
      const { body: hold } = await holder.post('/holds', { petIds: [minka, moritz] });
      refused(await other.post('/store/orders', { petId: minka, holdId: hold.id }), 404, 'hold_not_found');
      refused(await other.post('/store/orders', { petId: minka }), 409, 'pet_reserved');
      assert.equal((await holder.post('/store/orders', { petId: minka, holdId: hold.id })).status, 201);
      assert.equal((await holder.get(`/holds/${hold.id}`)).body.status, 'active');
      assert.equal((await holder.post('/store/orders', { petId: moritz, holdId: hold.id })).status, 201);
      const used = await holder.get(`/holds/${hold.id}`);
      assert.deepEqual([used.body.status, used.body.petIds], ['used', [minka, moritz]]);
      refused(await holder.post('/store/orders', { petId: moritz, holdId: hold.id }), 409, 'hold_ended');
    });

    it('logs no error in these tests', () => {
      assert.deepEqual(
        serving.lines.filter(line => JSON.parse(line).level === 'error'),
        [],
      );
    });

    async function etagsOf(petId: number, holdId: number) {
      const [pet, hold] = await Promise.all([owner.get(`/pets/${petId}`), holder.get(`/holds/${holdId}`)]);
      return [pet.headers.etag!, hold.headers.etag!];
    }
  });
});

async function addAnimals(owner: Caller, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let pet = 0; pet < count; pet++) {
    ids.push((await owner.post('/pets', { name: 'Minka', categoryId: 2 })).body.id);
  }
  return ids;
}

function refused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text);
}

const inMs = (ms: number) => new Date(ms).toISOString();

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { RESPONSE_MS } from '../support/selection.ts';
import { assertApiResponse, newProcessKey, type Process, type Reply, send, spawnService } from '../support/serving.ts';
import { StoreLoad } from '../support/store-load.ts';
import { assertShownAlike, Mirror } from '../support/store-mirror.ts';
import { assertStoredInvariants, storedIn } from '../support/stored.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { recorded, withoutRecorder } from './power-cut/recorder.ts';

for (const { name, setting, code, ordered, does } of [
  { name: 'full', setting: 'RECORD_FULL', code: 'storage_full', ordered: true, does: 'shows what has run out as gone' },
  {
    name: 'stalled',
    setting: 'RECORD_STALL',
    code: 'storage_unavailable',
    ordered: false,
    does: 'shows what has run out as gone',
  },
  {
    name: 'stalled while an order from a hold is on its way to it',
    setting: 'RECORD_STALL',
    code: 'storage_unavailable',
    ordered: true,
    does: 'shows no end as long as it is not decided',
  },
]) {
  describe(`the store on a disk that is ${name}`, { skip: withoutRecorder ?? false }, () => {
    it(`${does}, serves history and mirrors, and expires the hold once later`, async t => {
      const directory = temporaryDirectory();
      const switched = join(temporaryDirectory(), 'switched');
      const service = await start(t, directory, { ...recorded(directory), [setting]: switched });
      t.after(() => rmSync(switched, { force: true }));
      const key = await newProcessKey(service);
      const ask = (path: string, headers = {}) => timed(send(`${service.urls.production}${path}`, { key, headers }));
      const post = (path: string, body: object, headers = {}) =>
        send(`${service.urls.production}${path}`, { method: 'POST', key, body, headers });
      for (const animal of ['Minka', 'Tom']) await post('/pets', { name: animal, categoryId: 2 });
      const { headers } = await ask('/pets?updatedSince=1970-01-01T00:00:00Z');
      const token = String(headers['x-sync-token']);
      const expiresAt = new Date(Date.now() + 1500).toISOString();
      const hold = await post('/holds', { petIds: [1, 2], expiresAt });
      assert.equal(hold.status, 201, hold.text);
      assert.equal((await ask('/pets?status=available')).text, '[]');

      writeFileSync(switched, '');
      const order = () => post('/store/orders', { petId: 2, holdId: hold.body.id }, { 'Idempotency-Key': 'one-order' });
      const changing = ordered ? order() : post('/pets', { name: 'Rex', categoryId: 1 });
      const changed = code === 'storage_full' ? await changing : undefined;
      if (changed !== undefined) assert.deepEqual([changed.status, changed.body.code], [503, code]);
      // The service's clock may lack the part of a millisecond that this one does not show.
      while (Date.now() <= Date.parse(expiresAt)) await pause(1 + Date.parse(expiresAt) - Date.now());

      const undecided = ordered && code === 'storage_unavailable';
      const [available, version, status] = undecided ? [0, 2, 'active'] : [2, 3, 'expired'];
      assert.deepEqual((await ask('/store/inventory')).body, { available, pending: 2 - available, sold: 0 });
      const list = await ask('/pets?status=available', { Prefer: 'count=exact' });
      assert.deepEqual([list.body.length, list.headers['x-total-count']], [available, String(available)]);
      assert.equal((await ask('/pets/1', {})).headers.etag, `"1.${version}"`);
      assert.equal((await ask('/pets?view=full')).body[1].etag, `"2.${version}"`);
      assert.equal((await ask(`/holds/${hold.body.id}`)).body.status, status);
      assert.equal((await ask('/pets/1/history')).status, 200);
      for (const since of [token, '1970-01-01T00:00:00Z', expiresAt]) {
        const mirrored = await ask(`/pets?updatedSince=${encodeURIComponent(since)}`);
        assert.equal(mirrored.status, 200);
        for (const pet of mirrored.body) assert.equal(pet.status, undecided ? 'pending' : 'available');
      }
      if (changed === undefined) {
        const late = await changing;
        assert.deepEqual([late.status, late.body.code], [503, code], late.text);
      }

      rmSync(switched);
      for (;;) {
        const { body } = await send(`${new URL(service.urls.production).origin}/readyz`);
        if (body.storage.writes === 'ok') break;
        await pause(20);
      }
      // What was on its way to the disk came before the end, and nobody had seen that come.
      const again = await order();
      if (undecided) assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true'], again.text);
      else assert.equal(again.body.code, 'hold_ended', again.text);
      const mirror = new Mirror(key);
      await assertShownAlike(service.urls.production, mirror);
      while ((await ended(service, key)) !== 1) await pause(20);
      assert.equal((await service.stop()).code, 0, service.log());
      assertStoredInvariants(storedIn(directory));
      t.diagnostic(`the retry was answered ${again.status} ${again.body.code ?? ''}`);
    });
  });
}

describe('the store on a disk whose flush fails', { skip: withoutRecorder ?? false }, () => {
  it('reports no success that the next start has lost, and runs once per Idempotency-Key across the restart', async t => {
    const directory = temporaryDirectory();
    let service = await start(t, directory);
    const keys = [await newProcessKey(service), await newProcessKey(service), await newProcessKey(service)];
    assert.equal((await service.stop()).code, 0);
    const load = new StoreLoad(keys);
    for (let life = 0; life < 2; life++) {
      const flushes = String(100 + Math.floor(Math.random() * 100));
      service = await start(t, directory, { ...recorded(directory), RECORD_EIO_AT: flushes });
      await load.retry(service.urls.production);
      const { production } = service.urls;
      await Promise.all(Array.from({ length: 32 }, () => load.call(production, () => true)));
      const { child } = service;
      if (child.exitCode === null) await once(child, 'exit');
      assert.equal(child.exitCode, 1, service.log());
    }
    service = await start(t, directory);
    await load.retry(service.urls.production);
    await load.assertReplays(service.urls.production, 50);
    await assertShownAlike(service.urls.production, new Mirror(keys[0]!));
    assert.equal((await service.stop()).code, 0);
    const stored = storedIn(directory);
    assertStoredInvariants(stored);
    load.assertOnce(stored.events);
    load.assertKept(stored.events);
    t.diagnostic(`${load.answered} answered, ${load.again} sent again`);
  });
});

async function start(t: TestContext, directory: string, environment: Record<string, string> = {}): Promise<Process> {
  const service = await spawnService({ directory, environment });
  t.after(() => service.stop('SIGKILL'));
  return service;
}

/** A read whose answer must come in time. */
async function timed(answer: Promise<Reply>): Promise<Reply> {
  const fromMs = performance.now();
  const reply = await answer;
  const tookMs = performance.now() - fromMs;
  assert.ok(tookMs < RESPONSE_MS, `an answer took ${Math.round(tookMs)} ms`);
  assertApiResponse(reply);
  return reply;
}

/** How often the history of the first animal has that its hold has expired. */
async function ended(service: Process, key: string): Promise<number> {
  const { body } = await send(`${service.urls.production}/pets/1/history`, { key });
  return body.filter(({ reason }: { reason?: string }) => reason === 'hold_expired').length;
}

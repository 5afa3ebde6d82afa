import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { createSemaphore, type Slot } from './semaphore.ts';

/** Reports whether a slot is acquired by now. */
async function isAcquired({ ready }: Slot): Promise<boolean> {
  let acquired = ready === undefined;
  void ready?.then(() => {
    acquired = true;
  });
  await nextTurn();
  return acquired;
}

describe('Semaphore', () => {
  it('grants slots at once up to both limits, then in order as slots are released', async () => {
    const semaphore = createSemaphore({ perKey: 2, total: 3 });
    const [a1, a2, a3, a4] = [1, 2, 3, 4].map(() => semaphore.acquire('a')) as [Slot, Slot, Slot, Slot];
    assert.deepEqual(await Promise.all([a1, a2, a3, a4].map(isAcquired)), [true, true, false, false]);
    const [b1, b2] = [semaphore.acquire('b'), semaphore.acquire('b')];
    assert.deepEqual(await Promise.all([b1, b2].map(isAcquired)), [true, false]);
    a1.release();
    a1.release();
    // 'b' became runnable before 'a' did.
    assert.deepEqual(await Promise.all([a3, a4, b2].map(isAcquired)), [false, false, true]);
    a2.release();
    assert.deepEqual(await Promise.all([a3, a4].map(isAcquired)), [true, false]);
    b1.release();
    assert.equal(await isAcquired(a4), true);
  });

  it('alternates between keys, however many requests wait for one key', async () => {
    const semaphore = createSemaphore({ perKey: 10, total: 1 });
    const first = semaphore.acquire('a');
    const many = Array.from({ length: 50 }, () => semaphore.acquire('a'));
    const other = semaphore.acquire('b');
    first.release();
    assert.equal(await isAcquired(many[0]!), true);
    many[0]!.release();
    assert.equal(await isAcquired(other), true);
    assert.equal(await isAcquired(many[1]!), false);
  });

  it('skips requests that were released while they waited', async () => {
    const semaphore = createSemaphore({ perKey: 1, total: 1 });
    const held = semaphore.acquire('a');
    const [abandoned, next] = [semaphore.acquire('a'), semaphore.acquire('a')];
    abandoned.release();
    held.release();
    assert.deepEqual(await Promise.all([abandoned, next].map(isAcquired)), [false, true]);
    next.release();
    assert.equal(await isAcquired(semaphore.acquire('b')), true);
  });

  it('never exceeds a limit, and leaves no slot free that a waiting request could use', async () => {
    const steps = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), release: fc.option(fc.nat()) }));
    const limit = (max: number) => fc.integer({ min: 1, max });
    await fc.assert(
      fc.asyncProperty(limit(3), limit(5), steps, async (perKey, total, all) => {
        const semaphore = createSemaphore({ perKey, total });
        const requested: { key: string; slot: Slot }[] = [];
        for (const { key, release } of all) {
          if (release === null) requested.push({ key, slot: semaphore.acquire(key) });
          else if (requested.length > 0) requested.splice(release % requested.length, 1)[0]!.slot.release();
          const states = await Promise.all(requested.map(async one => ({ ...one, has: await isAcquired(one.slot) })));
          const acquired = states.filter(one => one.has);
          const of = (key: string) => acquired.filter(one => one.key === key).length;
          assert.ok(acquired.length <= total);
          for (const { key, has } of states) {
            assert.ok(of(key) <= perKey);
            if (!has) assert.ok(acquired.length === total || of(key) === perKey, 'a request waits for a free slot');
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { openPlaces, type Place } from './semaphore.ts';

/** Whether a place is there by now. */
async function isThere(place: Place): Promise<boolean> {
  let there = place.ready === undefined;
  void place.ready?.then(() => {
    there = true;
  });
  await turn();
  return there;
}

describe('places', () => {
  it('are there at once up to the bounds, and then in order as they are left', async () => {
    const places = openPlaces({ ofEach: 2, inAll: 3 });
    const [a1, a2, a3, a4] = [places.take('a'), places.take('a'), places.take('a'), places.take('a')];
    assert.deepEqual(await Promise.all([a1, a2, a3, a4].map(isThere)), [true, true, false, false]);
    const [b1, b2] = [places.take('b'), places.take('b')];
    assert.deepEqual(await Promise.all([b1, b2].map(isThere)), [true, false]);
    a1.leave();
    a1.leave();
    // 'b' could have used a place before 'a' could.
    assert.deepEqual(await Promise.all([a3, a4, b2].map(isThere)), [false, false, true]);
    a2.leave();
    assert.deepEqual(await Promise.all([a3, a4].map(isThere)), [true, false]);
    b1.leave();
    assert.equal(await isThere(a4), true);
  });

  it('take turns between kinds, whatever waits of one of them', async () => {
    const places = openPlaces({ ofEach: 10, inAll: 1 });
    const first = places.take('a');
    const many = Array.from({ length: 50 }, () => places.take('a'));
    const other = places.take('b');
    first.leave();
    assert.equal(await isThere(many[0]!), true);
    many[0]!.leave();
    assert.equal(await isThere(other), true);
    assert.equal(await isThere(many[1]!), false);
  });

  it('that are given up are for others', async () => {
    const places = openPlaces({ ofEach: 1, inAll: 1 });
    const held = places.take('a');
    const [givenUp, next] = [places.take('a'), places.take('a')];
    givenUp.leave();
    held.leave();
    assert.deepEqual(await Promise.all([givenUp, next].map(isThere)), [false, true]);
    next.leave();
    assert.equal(await isThere(places.take('b')), true);
  });

  it('are never more than the bounds, and never empty while somebody waits', async () => {
    const steps = fc.array(fc.record({ kind: fc.constantFrom('a', 'b', 'c'), leave: fc.option(fc.nat()) }));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        steps,
        async (ofEach, inAll, all) => {
          const places = openPlaces({ ofEach, inAll });
          const asked: { kind: string; place: Place }[] = [];
          for (const { kind, leave } of all) {
            if (leave === null) asked.push({ kind, place: places.take(kind) });
            else if (asked.length > 0) asked.splice(leave % asked.length, 1)[0]!.place.leave();
            const there = await Promise.all(asked.map(async one => ({ ...one, has: await isThere(one.place) })));
            const has = there.filter(one => one.has);
            const of = (kind: string) => has.filter(one => one.kind === kind).length;
            assert.ok(has.length <= inAll);
            for (const { kind, has: served } of there) {
              assert.ok(of(kind) <= ofEach);
              if (!served) assert.ok(has.length === inAll || of(kind) === ofEach, 'somebody waits for an empty place');
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LoadShedder } from './load-shedder.ts';

/** Runs turns of a simulated event loop with its own clock. */
function eventLoop() {
  let nowMs = 1000;
  let end = () => {};
  const queue = { expectedWaitMs: 0 };
  const shedder = new LoadShedder({
    expectedWaitMs: () => queue.expectedWaitMs,
    now: () => nowMs,
    atEndOfTurn(callback) {
      end = callback;
    },
  });
  return {
    shedder,
    queue,
    idle(ms: number) {
      nowMs += ms;
    },
    /** Runs a turn that reads a request each millisecond. Returns how many were rejected. */
    turn({ ms, accepts }: { ms: number; accepts: boolean }): number {
      if (accepts) shedder.noteConnection();
      let rejected = 0;
      for (let passed = 0; passed < ms; passed++, nowMs++) rejected += Number(shedder.rejects(nowMs));
      end();
      return rejected;
    },
  };
}

const long = { ms: 150, accepts: true };
const short = { ms: 10, accepts: false };

/** Runs long turns until load is shed. Returns how long that took, in milliseconds. */
function overload({ turn }: ReturnType<typeof eventLoop>): number {
  for (let passed = 0; passed < 9000; passed += 150) if (turn(long) > 0) return passed;
  return Number.POSITIVE_INFINITY;
}

describe('LoadShedder', () => {
  it('rejects what a turn reads after 100 ms, once all turns were long and accepted connections for two seconds', () => {
    const loop = eventLoop();
    assert.equal(overload(loop), 2250);
    assert.equal(loop.turn(long), 50);
    assert.equal(loop.turn({ ms: 100, accepts: true }), 0);
  });

  it('rejects nothing while no connection waits: so many busy connections are what clients want', () => {
    const { turn } = eventLoop();
    for (let count = 0; count < 100; count++) assert.equal(turn({ ms: 200, accepts: count % 5 === 0 }), 0);
  });

  it('rejects nothing while some turns are short, also in a long burst and after a long pause', () => {
    const { turn } = eventLoop();
    for (let count = 0; count < 100; count++) assert.equal(turn({ ms: count % 5 === 0 ? 2 : 300, accepts: true }), 0);
    assert.equal(turn({ ms: 6000, accepts: true }), 0);
  });

  it('rejects nothing of a burst after an idle time, nor of bursts with idle times between them', () => {
    const { turn, idle } = eventLoop();
    for (let count = 0; count < 50; count++) {
      idle(count % 10 === 0 ? 60_000 : 200);
      for (let turns = 0; turns < 10; turns++) assert.equal(turn(long), 0);
    }
  });

  it('goes on shedding in short turns until one accepts no connection', () => {
    const loop = eventLoop();
    overload(loop);
    for (let count = 0; count < 100; count++) loop.turn({ ms: 5, accepts: true });
    assert.equal(loop.turn(long), 50);
    loop.turn({ ms: 5, accepts: false });
    assert.equal(loop.turn(long), 0);
    assert.equal(overload(loop), 2100);
  });

  it('lets a burst wait for a second, and rejects what would wait longer', () => {
    const { turn, queue, shedder } = eventLoop();
    queue.expectedWaitMs = 999;
    for (let count = 0; count < 50; count++) assert.equal(turn(short), 0);
    queue.expectedWaitMs = 1000;
    assert.equal(turn(short), 10);
    assert.deepEqual(shedder.shed, { event_loop: 0, database: 10 });
  });

  it('keeps waits below 200 ms once they have been longer for half a second, until they have been shorter for two', () => {
    const { turn, queue } = eventLoop();
    queue.expectedWaitMs = 200;
    const rejected = Array.from({ length: 52 }, () => turn(short));
    assert.deepEqual(rejected, [...Array(51).fill(0), 10]);
    for (let count = 0; count < 100; count++) {
      queue.expectedWaitMs = 199;
      assert.equal(turn(short), 0);
      queue.expectedWaitMs = 200;
      assert.equal(turn(short), 10);
    }
    queue.expectedWaitMs = 199;
    for (let count = 0; count < 201; count++) assert.equal(turn(short), 0);
    queue.expectedWaitMs = 999;
    assert.equal(turn(short), 0);
  });

  it('lets a burst wait again after two seconds without a request', () => {
    const { turn, queue, idle } = eventLoop();
    queue.expectedWaitMs = 200;
    for (let count = 0; count < 52; count++) turn(short);
    queue.expectedWaitMs = 0;
    idle(2000);
    queue.expectedWaitMs = 999;
    assert.equal(turn(short), 0);
  });
});

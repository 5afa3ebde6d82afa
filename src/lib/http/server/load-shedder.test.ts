import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LoadShedder, type ReadPause } from './load-shedder.ts';

/** Runs turns of a simulated event loop with its own clock. A request takes a millisecond once it starts. */
function eventLoop() {
  let nowMs = 1000;
  let end: (() => void) | undefined;
  const database = { expectedWaitMs: 0 };
  const started: number[] = [];
  const shedder = new LoadShedder({
    expectedWaitMs: () => database.expectedWaitMs,
    now: () => nowMs,
    atEndOfTurn(callback) {
      assert.equal(end, undefined, 'one callback in each turn');
      end = callback;
    },
  });
  const start = (number: number) => {
    started.push(number);
    nowMs++;
  };
  return {
    shedder,
    database,
    started,
    now: () => nowMs,
    idle(ms: number) {
      nowMs += ms;
    },
    /** Runs a turn that reads requests. Returns how many were rejected. */
    turn({ requests, accepts = false, pause }: { requests: number; accepts?: boolean; pause?: ReadPause }): number {
      if (accepts) shedder.noteConnection();
      let rejected = 0;
      for (let number = 0; number < requests; number++) {
        const decision = shedder.admit(nowMs, () => pause);
        if (decision === 'start') start(number);
        else if (decision === 'wait') shedder.enqueue(() => start(number));
        else rejected++;
      }
      const callback = end;
      end = undefined;
      callback?.();
      return rejected;
    },
    /** Whether a request waits. */
    isBusy: () => end !== undefined,
  };
}

describe('LoadShedder', () => {
  it('starts requests for 10 ms of a turn, and the others in later turns, in the order of their arrival', () => {
    const loop = eventLoop();
    assert.equal(loop.turn({ requests: 35 }), 0);
    // 10 while the turn reads, 10 at its end.
    assert.equal(loop.started.length, 20);
    loop.turn({ requests: 0 });
    loop.turn({ requests: 0 });
    assert.deepEqual(
      loop.started,
      Array.from({ length: 35 }, (_, number) => number),
    );
    assert.equal(loop.isBusy(), false);
  });

  it('starts few requests in a turn that accepts a connection, so that the next turn accepts another one soon', () => {
    const loop = eventLoop();
    loop.turn({ requests: 35, accepts: true });
    assert.equal(loop.started.length, 2);
  });

  it('starts requests for as long as a turn took for other work', () => {
    const loop = eventLoop();
    loop.turn({ requests: 1000 });
    loop.started.length = 0;
    loop.idle(300);
    loop.turn({ requests: 0 });
    assert.equal(loop.started.length, 300);
  });

  it('rejects what would wait for a second, and serves all others', () => {
    const loop = eventLoop();
    assert.equal(loop.turn({ requests: 900 }), 0);
    for (let turns = 0; turns < 30; turns++) assert.equal(loop.turn({ requests: 0 }), 0);
    assert.equal(loop.turn({ requests: 200 }), 0);
    const rejected = loop.turn({ requests: 500 });
    assert.ok(rejected > 200 && rejected < 300, `${rejected} of 500`);
    assert.deepEqual(loop.shedder.shed, { event_loop: rejected, database: 0 });
    while (loop.isBusy()) loop.turn({ requests: 0 });
    assert.equal(loop.started.length, 1600 - rejected);
    assert.equal(loop.turn({ requests: 10 }), 0);
  });

  it('reads from 256 of the paused connections in each turn, in their order, less as many as there are requests', () => {
    const { shedder, turn, now } = eventLoop();
    const resumed: number[] = [];
    for (let number = 0; number < 600; number++) {
      shedder.enqueuePaused({ fromMs: now(), resume: () => resumed.push(number) });
    }
    turn({ requests: 120 });
    // 20 of the requests have started.
    assert.equal(resumed.length, 156);
    for (let turns = 0; turns < 20; turns++) turn({ requests: 0 });
    assert.deepEqual(
      resumed,
      Array.from({ length: 600 }, (_, number) => number),
    );
  });

  it('reads again from a connection that is paused while no request waits', () => {
    const { shedder, turn, isBusy, now } = eventLoop();
    let isResumed = false;
    shedder.enqueuePaused({
      fromMs: now(),
      resume() {
        isResumed = true;
      },
    });
    assert.ok(isBusy());
    turn({ requests: 0 });
    assert.deepEqual([isResumed, isBusy()], [true, false]);
  });

  it('adds the pause of a connection to the wait of a request that is read right after it, but not later', () => {
    const { shedder, turn, idle, now } = eventLoop();
    const pause: ReadPause = { fromMs: now(), resume() {} };
    shedder.enqueuePaused(pause);
    idle(999);
    turn({ requests: 1200 });
    assert.equal(pause.toMs, now());
    assert.equal(turn({ requests: 1, pause }), 1);
    assert.equal(turn({ requests: 1, pause }), 0);
  });

  it('keeps waits below 100 ms while connections arrive, once they have been longer for two seconds', () => {
    const loop = eventLoop();
    loop.turn({ requests: 250, accepts: true });
    const beginMs = loop.now();
    while (loop.turn({ requests: 1, accepts: true }) === 0) {}
    // The estimate needs some requests to learn how long one takes.
    assert.ok(loop.now() - beginMs >= 2000 && loop.now() - beginMs < 2100, `${loop.now() - beginMs} ms`);
    let admitted = 0;
    const before = loop.started.length;
    for (let turns = 0; turns < 2000; turns++) admitted += 2 - loop.turn({ requests: 2, accepts: true });
    assert.equal(loop.started.length - before, 2000);
    assert.ok(admitted > 1800 && admitted < 2000, `${admitted}`);
    while (loop.isBusy()) loop.turn({ requests: 0 });
    loop.idle(2000);
    assert.equal(loop.turn({ requests: 500, accepts: true }), 0);
  });

  it('lets a burst wait for the database for a second, and rejects what would wait longer', () => {
    const { turn, database, shedder } = eventLoop();
    database.expectedWaitMs = 999;
    for (let count = 0; count < 40; count++) assert.equal(turn({ requests: 10 }), 0);
    database.expectedWaitMs = 1000;
    assert.equal(turn({ requests: 10 }), 10);
    assert.deepEqual(shedder.shed, { event_loop: 0, database: 10 });
  });

  it('keeps waits for the database below 200 ms once they have been longer for 500, until they have been shorter for 2 s', () => {
    const { turn, database, idle } = eventLoop();
    const seconds = (count: number) => {
      for (let passed = 0; passed < count * 1000; passed += 50) {
        assert.equal(turn({ requests: 10 }), 0);
        idle(40);
      }
    };
    database.expectedWaitMs = 200;
    seconds(0.5);
    assert.equal(turn({ requests: 10 }), 0);
    assert.equal(turn({ requests: 10 }), 10);
    database.expectedWaitMs = 199;
    seconds(1.9);
    database.expectedWaitMs = 999;
    assert.equal(turn({ requests: 10 }), 10);
    database.expectedWaitMs = 199;
    seconds(2.1);
    database.expectedWaitMs = 999;
    assert.equal(turn({ requests: 10 }), 0);
  });

  it('lets a burst wait again after two seconds without a request', () => {
    const { turn, database, idle } = eventLoop();
    database.expectedWaitMs = 200;
    for (let count = 0; count < 60; count++) turn({ requests: 10 });
    assert.equal(turn({ requests: 10 }), 10);
    database.expectedWaitMs = 0;
    idle(2000);
    database.expectedWaitMs = 999;
    assert.equal(turn({ requests: 10 }), 0);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock, type TestClock, testClock } from '../clock.ts';
import { type Work, workOff } from './job-loop.ts';
import { retryAfter } from './retry-schedule.ts';

/** Rows of jobs of one kind by the time at which they are due, as one process keeps them. */
function rows(clock: TestClock, name: string, due: readonly number[], more: Partial<Work<number>> = {}) {
  const waiting = new Set(due);
  const done: number[] = [];
  const work: Work<number> & { takes: number } = {
    name,
    atOnce: 3,
    takes: 0,
    async take(most) {
      work.takes++;
      const jobs = [...waiting].filter(at => at <= clock.now()).slice(0, most);
      for (const job of jobs) waiting.delete(job);
      return { rows: jobs.length, jobs };
    },
    async work(job) {
      done.push(job);
    },
    ...more,
  };
  return { waiting, done, work, next: () => (waiting.size === 0 ? null : Math.min(...waiting)) };
}

/** Works off several kinds, and counts the questions of when the next is due. */
function works(clock: TestClock, kinds: readonly ReturnType<typeof rows>[], { lookMs = 60_000, failed = fails } = {}) {
  const looks: number[] = [];
  const worker = workOff(
    kinds.map(({ work }) => work),
    {
      clock,
      lookMs,
      failed,
      dueAt() {
        looks.push(performance.now());
        return Object.fromEntries(kinds.map(({ work, next }) => [work.name, next()]));
      },
    },
  );
  return { ...worker, looks };
}

const until = async (met: () => boolean) => {
  while (!met()) await pause(1);
};
const fails = (error: unknown): unknown => {
  throw error;
};

describe('the job loop', () => {
  it('runs due jobs up to the concurrency limit', async () => {
    const clock = testClock(1000);
    let most = 0;
    let now = 0;
    const some = rows(clock, 'a', [1, 2, 3, 4, 5, 6, 7, 8, 9], {
      async work(job) {
        most = Math.max(most, ++now);
        await pause(2);
        now--;
        some.done.push(job);
      },
    });
    const worker = works(clock, [some]);
    await until(() => some.done.length === 9);
    assert.equal(most, 3);
    await worker.close(1000);
  });

  it('finds jobs immediately when nudged, and otherwise by polling', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', []);
    const worker = works(clock, [some], { lookMs: 50 });
    await pause(120);
    assert.ok(worker.looks.length <= 4, `${worker.looks.length} looks`);
    assert.equal(some.work.takes, 0, 'nothing is taken where nothing is due');
    some.waiting.add(7);
    worker.nudge('a');
    await until(() => some.done.length === 1);
    some.waiting.add(8);
    await until(() => some.done.length === 2);
    worker.nudge('there is no such kind');
    await worker.close(1000);
    some.waiting.add(9);
    worker.nudge('a');
    await pause(60);
    assert.deepEqual(some.done, [7, 8]);
  });

  it('polls all kinds with one query at a time', async () => {
    const clock = testClock(1000);
    const kinds = ['a', 'b', 'c', 'd', 'e'].map(name => rows(clock, name, []));
    const worker = works(clock, kinds, { lookMs: 40 });
    await pause(200);
    await worker.close(1000);
    const { looks } = worker;
    assert.ok(looks.length >= 3, `${looks.length} looks`);
    for (const [index, at] of looks.entries()) assert.ok(index === 0 || at - looks[index - 1]! >= 40);
  });

  it('runs a job when it is due, whether polled before or after', async () => {
    const clock = systemClock();
    const start = clock.now();
    const some = rows({ now: () => clock.now(), advance() {} }, 'a', [start + 60, start + 61, start + 140]);
    const at: number[] = [];
    some.work.work = async job => void at.push(clock.now() - job);
    const worker = works({ now: () => clock.now(), advance() {} }, [some]);
    await until(() => at.length === 3);
    for (const late of at) assert.ok(late >= 0 && late < 500, `${late} ms late`);
    // At the start, and once or twice after each time that something was taken.
    assert.ok(worker.looks.length <= 7, `${worker.looks.length} looks`);
    await worker.close(1000);
  });

  it('isolates kinds: a slow, full or failing kind delays only itself', async () => {
    const clock = testClock(1000);
    const never = new Promise<never>(() => {});
    const slow = rows(clock, 'slow', [1], { take: () => never });
    const full = rows(clock, 'full', [1, 2, 3, 4], { atOnce: 2, work: () => never });
    const ill = rows(clock, 'ill', [1], { take: () => Promise.reject(new Error('ill')) });
    const well = rows(clock, 'well', [1]);
    const errors: unknown[] = [];
    const worker = works(clock, [slow, full, ill, well], { failed: error => errors.push(error) });
    await until(() => well.done.length === 1 && full.waiting.size === 2);
    well.waiting.add(2);
    worker.nudge('well');
    await until(() => well.done.length === 2);
    full.waiting.add(5);
    for (let times = 0; times < 10; times++) worker.nudge('full');
    await pause(20);
    assert.equal(full.work.takes, 1, 'nothing is taken by one that is full');
    assert.equal(errors.length, 1);
    await worker.close(1);
  });

  it('accepts a nudge while it claims jobs', async () => {
    const clock = testClock(1000);
    const gate = Promise.withResolvers<void>();
    const some = rows(clock, 'a', [1], {
      async take(most) {
        // What comes after these were seen.
        const jobs = [...some.waiting].slice(0, most);
        for (const job of jobs) some.waiting.delete(job);
        await gate.promise;
        return { rows: jobs.length, jobs };
      },
      atOnce: 100,
    });
    const worker = works(clock, [some]);
    await until(() => some.waiting.size === 0);
    some.waiting.add(2);
    worker.nudge('a');
    gate.resolve();
    await until(() => some.done.length === 2);
    await worker.close(1000);
  });

  it('does not report jobs that are left to the next process as failures', async () => {
    const gate = Promise.withResolvers<void>();
    const some = rows(testClock(1000), 'a', [1], {
      async work() {
        some.done.push(1);
        await gate.promise;
        throw new Error('The database is closed.');
      },
    });
    const errors: unknown[] = [];
    const worker = works(testClock(1000), [some], { failed: error => errors.push(error) });
    await until(() => some.done.length === 1);
    await worker.close(1);
    gate.resolve();
    await pause(5);
    assert.deepEqual(errors, []);
  });

  it('continues after an error and reports its kind', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', [1, 2], {
      atOnce: 1,
      async work(job) {
        if (job === 1) throw new Error('one');
        some.done.push(job);
      },
    });
    const errors: [string, string | undefined][] = [];
    let looks = 0;
    const worker = workOff([some.work], {
      clock,
      lookMs: 1,
      failed: (error, name) => errors.push([(error as Error).message, name]),
      dueAt() {
        if (looks++ === 0) throw new Error('away');
        return { a: some.next() };
      },
    });
    await until(() => some.done.length === 1);
    assert.deepEqual(errors, [
      ['away', undefined],
      ['one', 'a'],
    ]);
    await worker.close(1000);
  });

  it('initializes a kind once before claiming, and retries on failure', async () => {
    const clock = testClock(1000);
    const said: string[] = [];
    let fails = 1;
    const some = rows(clock, 'a', [1], {
      async begin() {
        said.push('begin');
        if (fails-- > 0) throw new Error('not yet');
      },
      async work() {
        said.push('work');
      },
    });
    const worker = works(clock, [some], { lookMs: 5, failed: () => said.push('failed') });
    await until(() => said.includes('work'));
    some.waiting.add(2);
    worker.nudge('a');
    await until(() => said.length === 5);
    assert.deepEqual(said, ['begin', 'failed', 'begin', 'work', 'work']);
    await worker.close(1000);
  });

  it('waits for running jobs on close for a bounded time', async () => {
    const clock = testClock(1000);
    const gate = Promise.withResolvers<void>();
    let stopping: AbortSignal | undefined;
    const some = rows(clock, 'a', [1], {
      work(_, signal) {
        stopping = signal;
        return gate.promise;
      },
    });
    const worker = works(clock, [some]);
    await until(() => stopping !== undefined);
    assert.equal(stopping!.aborted, false);
    await worker.close(10);
    assert.equal(stopping!.aborted, true);
    let closed = false;
    const closing = worker.close(60_000).then(() => {
      closed = true;
    });
    await pause(5);
    assert.equal(closed, false);
    gate.resolve();
    await closing;
  });

  it('does not poll eagerly for jobs that other processes hold', async () => {
    const clock = testClock(1000);
    const stuck = rows(clock, 'stuck', [1], {
      async take() {
        stuck.work.takes++;
        return { rows: 0, jobs: [] };
      },
    });
    const going = rows(clock, 'going', [], { restMs: 1 });
    const worker = works(clock, [stuck, going], { lookMs: 60 });
    for (let job = 0; job < 100; job++) {
      going.waiting.add(job);
      worker.nudge('going');
      await pause(1);
    }
    assert.ok(going.done.length > 50);
    assert.ok(stuck.work.takes >= 2 && stuck.work.takes <= 8, `${stuck.work.takes} times taken`);
    await worker.close(1000);
  });

  it('pauses between claims while more jobs wait', async () => {
    const clock = testClock(1000);
    const at: number[] = [];
    const some = rows(clock, 'a', [], {
      restMs: 15,
      async take() {
        at.push(performance.now());
        return { rows: at.length < 5 ? 1 : 0, jobs: [] };
      },
    });
    const worker = works(clock, [some]);
    worker.nudge('a');
    await until(() => at.length === 5);
    for (const [index, time] of at.entries()) assert.ok(index === 0 || time - at[index - 1]! >= 15);
    await worker.close(1000);
  });
});

describe('retryAfter', () => {
  it('follows the schedule with a tenth of jitter until it ends', () => {
    assert.equal(
      retryAfter([1000, 5000], 1, () => 0.5),
      1000,
    );
    assert.equal(
      retryAfter([1000, 5000], 1, () => 0),
      900,
    );
    assert.equal(
      retryAfter([1000, 5000], 2, () => 1),
      5500,
    );
    assert.equal(retryAfter([1000, 5000], 3), undefined);
  });
});

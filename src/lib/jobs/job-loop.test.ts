import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock, type TestClock, testClock } from '../clock.ts';
import { JobLoop, type JobType } from './job-loop.ts';
import { retryAfter } from './retry-schedule.ts';

/** A job type whose rows are the times at which they are due. */
function rows(clock: TestClock, name: string, due: readonly number[], more: Partial<JobType<number>> = {}) {
  const waiting = new Set(due);
  const done: number[] = [];
  const work: JobType<number> & { takes: number } = {
    name,
    concurrency: 3,
    takes: 0,
    async claim(most) {
      work.takes++;
      const jobs = [...waiting].filter(at => at <= clock.now()).slice(0, most);
      for (const job of jobs) waiting.delete(job);
      return { rows: jobs.length, jobs };
    },
    async run(job) {
      done.push(job);
    },
    ...more,
  };
  return { waiting, done, work, next: () => (waiting.size === 0 ? null : Math.min(...waiting)) };
}

/** Starts a job loop over several types, and records its polls. */
function startLoop(
  clock: TestClock,
  kinds: readonly ReturnType<typeof rows>[],
  { pollMs = 60_000, onError = fails } = {},
) {
  const polls: number[] = [];
  const loop = new JobLoop(
    kinds.map(({ work }) => work),
    {
      clock,
      pollMs,
      onError,
      dueAt() {
        polls.push(performance.now());
        return Object.fromEntries(kinds.map(({ work, next }) => [work.name, next()]));
      },
    },
  );
  return { loop, polls };
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
      async run(job) {
        most = Math.max(most, ++now);
        await pause(2);
        now--;
        some.done.push(job);
      },
    });
    const { loop } = startLoop(clock, [some]);
    await until(() => some.done.length === 9);
    assert.equal(most, 3);
    await loop.close(1000);
  });

  it('finds jobs immediately when woken, and otherwise by polling', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', []);
    const { loop, polls } = startLoop(clock, [some], { pollMs: 50 });
    await pause(120);
    assert.ok(polls.length <= 4, `${polls.length} polls`);
    assert.equal(some.work.takes, 0, 'nothing is taken where nothing is due');
    some.waiting.add(7);
    loop.wake('a');
    await until(() => some.done.length === 1);
    some.waiting.add(8);
    await until(() => some.done.length === 2);
    loop.wake('unknown');
    await loop.close(1000);
    some.waiting.add(9);
    loop.wake('a');
    await pause(60);
    assert.deepEqual(some.done, [7, 8]);
  });

  it('polls all types with one query at a time', async () => {
    const clock = testClock(1000);
    const kinds = ['a', 'b', 'c', 'd', 'e'].map(name => rows(clock, name, []));
    const { loop, polls } = startLoop(clock, kinds, { pollMs: 40 });
    await pause(200);
    await loop.close(1000);
    assert.ok(polls.length >= 3, `${polls.length} polls`);
    for (const [index, at] of polls.entries()) assert.ok(index === 0 || at - polls[index - 1]! >= 40);
  });

  it('runs a job when it is due, whether polled before or after', async () => {
    const clock = systemClock();
    const start = clock.now();
    const some = rows({ now: () => clock.now(), advance() {} }, 'a', [start + 60, start + 61, start + 140]);
    const at: number[] = [];
    some.work.run = async job => void at.push(clock.now() - job);
    const { loop, polls } = startLoop({ now: () => clock.now(), advance() {} }, [some]);
    await until(() => at.length === 3);
    for (const late of at) assert.ok(late >= 0 && late < 500, `${late} ms late`);
    // At the start, and once or twice after each time that something was taken.
    assert.ok(polls.length <= 7, `${polls.length} polls`);
    await loop.close(1000);
  });

  it('isolates types: a slow, full or failing type delays only itself', async () => {
    const clock = testClock(1000);
    const never = new Promise<never>(() => {});
    const slow = rows(clock, 'slow', [1], { claim: () => never });
    const full = rows(clock, 'full', [1, 2, 3, 4], { concurrency: 2, run: () => never });
    const ill = rows(clock, 'ill', [1], { claim: () => Promise.reject(new Error('ill')) });
    const well = rows(clock, 'well', [1]);
    const errors: unknown[] = [];
    const { loop } = startLoop(clock, [slow, full, ill, well], { onError: error => errors.push(error) });
    await until(() => well.done.length === 1 && full.waiting.size === 2);
    well.waiting.add(2);
    loop.wake('well');
    await until(() => well.done.length === 2);
    full.waiting.add(5);
    for (let times = 0; times < 10; times++) loop.wake('full');
    await pause(20);
    assert.equal(full.work.takes, 1, 'nothing is taken by one that is full');
    assert.equal(errors.length, 1);
    await loop.close(1);
  });

  it('accepts a wake while it claims jobs', async () => {
    const clock = testClock(1000);
    const gate = Promise.withResolvers<void>();
    const some = rows(clock, 'a', [1], {
      async claim(most) {
        // What comes after these were seen.
        const jobs = [...some.waiting].slice(0, most);
        for (const job of jobs) some.waiting.delete(job);
        await gate.promise;
        return { rows: jobs.length, jobs };
      },
      concurrency: 100,
    });
    const { loop } = startLoop(clock, [some]);
    await until(() => some.waiting.size === 0);
    some.waiting.add(2);
    loop.wake('a');
    gate.resolve();
    await until(() => some.done.length === 2);
    await loop.close(1000);
  });

  it('does not report jobs that are left to the next process as failures', async () => {
    const gate = Promise.withResolvers<void>();
    const some = rows(testClock(1000), 'a', [1], {
      async run() {
        some.done.push(1);
        await gate.promise;
        throw new Error('The database is closed.');
      },
    });
    const errors: unknown[] = [];
    const { loop } = startLoop(testClock(1000), [some], { onError: error => errors.push(error) });
    await until(() => some.done.length === 1);
    await loop.close(1);
    gate.resolve();
    await pause(5);
    assert.deepEqual(errors, []);
  });

  it('continues after an error and reports its type', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', [1, 2], {
      concurrency: 1,
      async run(job) {
        if (job === 1) throw new Error('one');
        some.done.push(job);
      },
    });
    const errors: [string, string | undefined][] = [];
    let polls = 0;
    const loop = new JobLoop([some.work], {
      clock,
      pollMs: 1,
      onError: (error, name) => errors.push([(error as Error).message, name]),
      dueAt() {
        if (polls++ === 0) throw new Error('away');
        return { a: some.next() };
      },
    });
    await until(() => some.done.length === 1);
    assert.deepEqual(errors, [
      ['away', undefined],
      ['one', 'a'],
    ]);
    await loop.close(1000);
  });

  it('initializes a type once before claiming, and retries on failure', async () => {
    const clock = testClock(1000);
    const said: string[] = [];
    let fails = 1;
    const some = rows(clock, 'a', [1], {
      async init() {
        said.push('begin');
        if (fails-- > 0) throw new Error('not yet');
      },
      async run() {
        said.push('work');
      },
    });
    const { loop } = startLoop(clock, [some], { pollMs: 5, onError: () => said.push('failed') });
    await until(() => said.includes('work'));
    some.waiting.add(2);
    loop.wake('a');
    await until(() => said.length === 5);
    assert.deepEqual(said, ['begin', 'failed', 'begin', 'work', 'work']);
    await loop.close(1000);
  });

  it('waits for running jobs on close for a bounded time', async () => {
    const clock = testClock(1000);
    const gate = Promise.withResolvers<void>();
    let stopping: AbortSignal | undefined;
    const some = rows(clock, 'a', [1], {
      run(_, signal) {
        stopping = signal;
        return gate.promise;
      },
    });
    const { loop } = startLoop(clock, [some]);
    await until(() => stopping !== undefined);
    assert.equal(stopping!.aborted, false);
    await loop.close(10);
    assert.equal(stopping!.aborted, true);
    let closed = false;
    const closing = loop.close(60_000).then(() => {
      closed = true;
    });
    await pause(5);
    assert.equal(closed, false);
    gate.resolve();
    await closing;
  });

  it('does not poll eagerly for jobs that other processes have claimed', async () => {
    const clock = testClock(1000);
    const stuck = rows(clock, 'stuck', [1], {
      async claim() {
        stuck.work.takes++;
        return { rows: 0, jobs: [] };
      },
    });
    const going = rows(clock, 'going', [], { pauseMs: 1 });
    const { loop } = startLoop(clock, [stuck, going], { pollMs: 60 });
    for (let job = 0; job < 100; job++) {
      going.waiting.add(job);
      loop.wake('going');
      await pause(1);
    }
    assert.ok(going.done.length > 50);
    assert.ok(stuck.work.takes >= 2 && stuck.work.takes <= 8, `${stuck.work.takes} times taken`);
    await loop.close(1000);
  });

  it('pauses between claims while more jobs wait', async () => {
    const clock = testClock(1000);
    const at: number[] = [];
    const some = rows(clock, 'a', [], {
      pauseMs: 15,
      async claim() {
        at.push(performance.now());
        return { rows: at.length < 5 ? 1 : 0, jobs: [] };
      },
    });
    const { loop } = startLoop(clock, [some]);
    loop.wake('a');
    await until(() => at.length === 5);
    for (const [index, time] of at.entries()) assert.ok(index === 0 || time - at[index - 1]! >= 15);
    await loop.close(1000);
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Clock, systemClock, testClock } from '../clock.ts';
import { JobLoop, type JobLoopOptions, type JobType } from './job-loop.ts';
import { scheduledDelay } from './retry-schedule.ts';

/** A job type whose rows are the times at which they are due. */
function rows(clock: Clock, name: string, due: readonly number[], more: Partial<JobType<number>> = {}) {
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
  clock: Clock,
  kinds: readonly ReturnType<typeof rows>[],
  { pollMs = 60_000, idlePollMs = pollMs, onError = fails }: Partial<JobLoopOptions> = {},
) {
  const polls: number[] = [];
  const loop = new JobLoop(
    kinds.map(({ work }) => work),
    {
      clock,
      pollMs,
      idlePollMs,
      onError,
      dueAt() {
        polls.push(performance.now());
        return Object.fromEntries(kinds.map(({ work, next }) => [work.name, next()]));
      },
    },
  );
  return { loop, polls };
}

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
    await waitUntil(() => some.done.length === 9);
    assert.equal(most, 3);
    await loop.close(1000);
  });

  it('runs no row twice at the same time, although it is claimed again', async () => {
    const clock = testClock(1000);
    const { promise, resolve } = Promise.withResolvers<void>();
    // The second claim finds a row whose lease has expired, and a new row.
    const claims = [[1], [11, 2]];
    const some = rows(clock, 'a', [], {
      async claim() {
        const jobs = claims.shift() ?? [];
        return { rows: jobs.length, jobs };
      },
      idOf: job => job % 10,
      async run(job) {
        some.done.push(job);
        await promise;
      },
    });
    const { loop } = startLoop(clock, [some]);
    loop.wake('a');
    await waitUntil(() => claims.length === 1);
    loop.wake('a');
    await waitUntil(() => some.done.length === 2);
    assert.deepEqual(some.done, [1, 2]);
    resolve();
    await loop.close(1000);
  });

  it('runs no row twice whose job ends while the row is claimed again', async () => {
    const clock = testClock(1000);
    const [first, claim] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const claims = [[1], [11, 2]];
    const some = rows(clock, 'a', [], {
      async claim() {
        const jobs = claims.shift() ?? [];
        if (jobs.length > 1) await claim.promise;
        return { rows: jobs.length, jobs };
      },
      idOf: job => job % 10,
      async run(job) {
        if (job === 1) await first.promise;
        some.done.push(job);
      },
    });
    const { loop } = startLoop(clock, [some]);
    loop.wake('a');
    await waitUntil(() => claims.length === 1);
    loop.wake('a');
    await waitUntil(() => claims.length === 0);
    first.resolve();
    await waitUntil(() => some.done.length === 1);
    claim.resolve();
    await waitUntil(() => some.done.length >= 2);
    await loop.close(1000);
    assert.deepEqual(some.done, [1, 2]);
  });

  it('finds jobs immediately when woken, and otherwise by polling', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', []);
    const startMs = performance.now();
    const { loop, polls } = startLoop(clock, [some], { pollMs: 50 });
    await waitUntil(() => polls.length >= 3);
    assert.ok(performance.now() - startMs >= 100, 'polls are 50 ms apart');
    assert.equal(some.work.takes, 0, 'claims nothing while nothing is due');
    some.waiting.add(7);
    loop.wake('a');
    await waitUntil(() => some.done.length === 1);
    some.waiting.add(8);
    await waitUntil(() => some.done.length === 2);
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
    await waitUntil(() => polls.length >= 4);
    await loop.close(1000);
    for (const [index, at] of polls.entries()) assert.ok(index === 0 || at - polls[index - 1]! >= 40);
  });

  it('runs a job when it is due, whether polled before or after', async () => {
    const clock = systemClock();
    const start = clock.now();
    const some = rows(clock, 'a', [start + 60, start + 61, start + 140]);
    const at: number[] = [];
    some.work.run = async job => void at.push(clock.now() - job);
    const { loop, polls } = startLoop(clock, [some]);
    await waitUntil(() => at.length === 3);
    // The next poll would be a minute later.
    for (const late of at) assert.ok(late >= 0 && late < 10_000, `${late} ms late`);
    // At the start, and once or twice after each claim.
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
    await waitUntil(() => well.done.length === 1 && full.waiting.size === 2);
    well.waiting.add(2);
    loop.wake('well');
    await waitUntil(() => well.done.length === 2);
    full.waiting.add(5);
    for (let times = 0; times < 10; times++) loop.wake('full');
    await pause(20);
    assert.equal(full.work.takes, 1, 'a type at its limit claims nothing');
    assert.equal(errors.length, 1);
    await loop.close(1);
  });

  it('accepts a wake while it claims jobs', async () => {
    const clock = testClock(1000);
    const gate = Promise.withResolvers<void>();
    const some = rows(clock, 'a', [1], {
      async claim(most) {
        // The next claim finds rows that are added after this.
        const jobs = [...some.waiting].slice(0, most);
        for (const job of jobs) some.waiting.delete(job);
        await gate.promise;
        return { rows: jobs.length, jobs };
      },
      concurrency: 100,
    });
    const { loop } = startLoop(clock, [some]);
    await waitUntil(() => some.waiting.size === 0);
    some.waiting.add(2);
    loop.wake('a');
    gate.resolve();
    await waitUntil(() => some.done.length === 2);
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
    await waitUntil(() => some.done.length === 1);
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
      idlePollMs: 1,
      onError: (error, name) => errors.push([(error as Error).message, name]),
      dueAt() {
        if (polls++ === 0) throw new Error('away');
        return { a: some.next() };
      },
    });
    await waitUntil(() => some.done.length === 1);
    assert.deepEqual(errors, [
      ['away', undefined],
      ['one', 'a'],
    ]);
    await loop.close(1000);
  });

  it('polls rarely while nothing happens, and often again after poll, wake or a due job', async () => {
    const clock = testClock(1000);
    const some = rows(clock, 'a', []);
    const { loop, polls } = startLoop(clock, [some], { pollMs: 5, idlePollMs: 3_600_000 });
    await waitUntil(() => polls.length === 1);
    for (const stir of [() => loop.poll(), () => loop.wake('a')]) {
      const before = polls.length;
      some.waiting.add(before);
      stir();
      await waitUntil(() => some.done.includes(before) && polls.length > before);
    }
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
    await waitUntil(() => said.includes('work'));
    some.waiting.add(2);
    loop.wake('a');
    await waitUntil(() => said.length === 5);
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
    await waitUntil(() => stopping !== undefined);
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
    const startMs = performance.now();
    const { loop } = startLoop(clock, [stuck, going], { pollMs: 60 });
    for (let job = 0; job < 100; job++) {
      going.waiting.add(job);
      loop.wake('going');
      await pause(1);
    }
    await waitUntil(() => going.done.length === 100 && stuck.work.takes >= 2);
    const most = 1 + (performance.now() - startMs) / 60;
    assert.ok(stuck.work.takes <= most, `${stuck.work.takes} claims, but at most one every 60 ms: ${most}`);
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
    await waitUntil(() => at.length === 5);
    for (const [index, time] of at.entries()) assert.ok(index === 0 || time - at[index - 1]! >= 15);
    await loop.close(1000);
  });
});

describe('scheduledDelay', () => {
  it('follows the schedule with a tenth of jitter until it ends', () => {
    assert.equal(
      scheduledDelay([1000, 5000], 1, () => 0.5),
      1000,
    );
    assert.equal(
      scheduledDelay([1000, 5000], 1, () => 0),
      900,
    );
    assert.equal(
      scheduledDelay([1000, 5000], 2, () => 1),
      5500,
    );
    assert.equal(scheduledDelay([1000, 5000], 3), undefined);
  });
});

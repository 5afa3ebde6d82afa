import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { testClock } from '../clock.ts';
import { retryAfter } from './schedule.ts';
import { workOff } from './work-off.ts';

/** Rows of jobs by the time at which they are due, as one process keeps them. */
function rows(...due: number[]) {
  const clock = testClock(1000);
  const waiting = new Set(due);
  const looks: number[] = [];
  return {
    clock,
    waiting,
    looks,
    dueAt() {
      looks.push(clock.now());
      return waiting.size === 0 ? undefined : Math.min(...waiting);
    },
    async take(most: number) {
      const jobs = [...waiting].filter(at => at <= clock.now()).slice(0, most);
      for (const job of jobs) waiting.delete(job);
      return { rows: jobs.length, jobs };
    },
  };
}

const until = async (met: () => boolean) => {
  while (!met()) await pause(1);
};
const failed = (error: unknown) => {
  throw error;
};

describe('work that waits', () => {
  it('is done when it is due, so many at once and no more', async () => {
    const work = rows(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const done: number[] = [];
    let most = 0;
    let now = 0;
    const worker = workOff(
      {
        ...work,
        async work(job) {
          most = Math.max(most, ++now);
          await pause(2);
          now--;
          done.push(job);
        },
      },
      { clock: work.clock, atOnce: 3, lookMs: 60_000, failed },
    );
    await until(() => done.length === 9);
    assert.equal(most, 3);
    await worker.close(1000);
  });

  it('is found by a nudge at once, and else looked for once in a while', async () => {
    const work = rows();
    const done: number[] = [];
    const worker = workOff(
      { ...work, work: async job => void done.push(job) },
      { clock: work.clock, atOnce: 3, lookMs: 50, failed },
    );
    await pause(120);
    assert.ok(work.looks.length <= 4, `${work.looks.length} looks`);
    work.waiting.add(7);
    worker.nudge();
    await until(() => done.length === 1);
    work.waiting.add(8);
    await until(() => done.length === 2);
    await worker.close(1000);
    work.waiting.add(9);
    worker.nudge();
    await pause(5);
    assert.deepEqual(done, [7, 8]);
  });

  it('goes on after what goes wrong', async () => {
    const work = rows(1, 2);
    const errors: unknown[] = [];
    const done: number[] = [];
    let looks = 0;
    const worker = workOff(
      {
        take: work.take,
        dueAt() {
          if (looks++ === 0) throw new Error('away');
          return work.dueAt();
        },
        async work(job) {
          if (job === 1) throw new Error('one');
          done.push(job);
        },
      },
      { clock: work.clock, atOnce: 1, lookMs: 1, failed: error => errors.push(error) },
    );
    await until(() => done.length === 1);
    assert.deepEqual(
      errors.map(error => (error as Error).message),
      ['away', 'one'],
    );
    await worker.close(1000);
  });

  it('that is in hand is waited for at the end, for a bounded time', async () => {
    const work = rows(1);
    const gate = Promise.withResolvers<void>();
    const worker = workOff(
      { ...work, work: () => gate.promise },
      { clock: work.clock, atOnce: 1, lookMs: 60_000, failed },
    );
    await until(() => work.waiting.size === 0);
    await worker.close(10);
    let closed = false;
    const closing = worker.close(60_000).then(() => {
      closed = true;
    });
    await pause(5);
    assert.equal(closed, false);
    gate.resolve();
    await closing;
  });

  it('is not hurried after while others have it in hand', async () => {
    const clock = testClock(1000);
    let looks = 0;
    const worker = workOff(
      { dueAt: () => 1, take: async () => ({ rows: 0, jobs: [] }), work: async () => {} },
      {
        clock: {
          now() {
            looks++;
            return clock.now();
          },
        },
        atOnce: 1,
        lookMs: 40,
        failed,
      },
    );
    await pause(100);
    await worker.close(1000);
    assert.ok(looks <= 4, `${looks} looks`);
  });
});

describe('what has failed', () => {
  it('comes back by the schedule, a tenth sooner or later, until it was tried often enough', () => {
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

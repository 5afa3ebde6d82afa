import { WaitEstimate } from '../../wait-estimate.ts';
import { StorageError } from '../database.ts';
import { type Calls, slowError } from './calls.ts';
import { isLockTimeout } from './errors.ts';
import { runShared, runTransaction, type SharedWork } from './transaction.ts';

/** How many works share a transaction at most. */
const WORKS_MAX = 32;

/** Work that waits for its group. */
interface Waiting extends SharedWork {
  readonly deadlineMs: number;
  readonly outcome: PromiseWithResolvers<unknown>;
}

/**
 * Runs writes. Writes of one group that wait at the same time share a transaction: its statements are sent together,
 * and it commits once for all of them. Each group runs one such transaction at a time, so that more writes share the
 * next one the longer it takes.
 */
export class WriteGroups {
  readonly #calls: Calls;
  readonly #waiting = new Map<number, Waiting[]>();
  readonly #estimate = new WaitEstimate();

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Runs work in a transaction of its own. */
  runAlone({ work, options }: SharedWork, timeoutMs?: number): Promise<unknown> {
    return this.#calls.run((connection, deadlineMs) => {
      options.notified.clear();
      options.changedTables.clear();
      return runTransaction(connection, deadlineMs, options, work);
    }, timeoutMs);
  }

  /** Runs work, possibly in a transaction with others of its group. */
  run(work: SharedWork, group: number): Promise<unknown> {
    const outcome = Promise.withResolvers<unknown>();
    const entry = { ...work, deadlineMs: performance.now() + this.#calls.timeoutMs, outcome };
    this.#estimate.enter();
    const waiting = this.#waiting.get(group);
    if (waiting !== undefined) waiting.push(entry);
    else {
      this.#waiting.set(group, [entry]);
      // Requests of the same turn of the event loop join.
      setImmediate(() => this.#runGroup(group));
    }
    return outcome.promise;
  }

  /** Returns how long new work will probably wait for its transaction, in milliseconds. */
  expectedWaitMs(): number {
    return this.#estimate.expectedMs();
  }

  /** Runs all work of a group that waits. Never rejects. */
  async #runGroup(group: number): Promise<void> {
    const waiting = this.#waiting.get(group)!;
    while (waiting.length > 0) {
      const all = waiting.splice(0, WORKS_MAX);
      const nowMs = performance.now();
      for (const _ of all) this.#estimate.leave(nowMs);
      await this.#runTogether(all);
    }
    this.#waiting.delete(group);
  }

  /** Settles work. Work that has to run alone continues after this has resolved. Never rejects. */
  async #runTogether(all: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#calls.run(
        (connection, deadlineMs) => runShared(connection, deadlineMs, all),
        timeLeft(all[0]!),
      );
      for (const [index, outcome] of outcomes.entries()) {
        const work = all[index]!;
        if (outcome === undefined) this.#finishAlone(work);
        else if ('error' in outcome) work.outcome.reject(outcome.error);
        else work.outcome.resolve(outcome.value);
      }
    } catch (error) {
      const canContinue = !(error instanceof StorageError) || isLockTimeout(error);
      for (const work of all) {
        if (canContinue) this.#finishAlone(work);
        else work.outcome.reject(error);
      }
    }
  }

  async #finishAlone(work: Waiting): Promise<void> {
    const { outcome } = work;
    try {
      outcome.resolve(await this.runAlone(work, timeLeft(work)));
    } catch (error) {
      outcome.reject(error);
    }
  }
}

/** Returns the milliseconds that are left for work. Throws if there are none. */
function timeLeft({ deadlineMs }: Waiting): number {
  const leftMs = deadlineMs - performance.now();
  if (leftMs <= 0) throw slowError();
  return leftMs;
}

import { setTimeout as pause } from 'node:timers/promises';
import { endsWithin } from '../../timeout.ts';
import { StorageError } from '../database.ts';
import type { PostgresPool } from './connection.ts';
import { isReadOnly, UnknownOutcomeError } from './errors.ts';
import type { Connection } from './session.ts';

/** How often a call is attempted when it conflicts with others or loses its connection before the commit. */
const ATTEMPTS_MAX = 5;

type Work<T> = (connection: Connection, deadlineMs: number) => Promise<T>;

/**
 * Runs calls on the connections of a pool: limits their time, retries failures that are safe to retry, and waits for
 * them when closing.
 */
export class Calls {
  readonly #pool: PostgresPool;
  /** How long a call may take unless it has a timeout of its own. */
  readonly timeoutMs: number;
  readonly #running = new Set<Promise<unknown>>();
  #closing = false;
  /** When a call last succeeded, on the scale of `performance.now()`. */
  lastSuccessMs = Number.NEGATIVE_INFINITY;

  constructor(pool: PostgresPool, timeoutMs: number) {
    this.#pool = pool;
    this.timeoutMs = timeoutMs;
  }

  /** Runs `work` on a connection. It may run more than once. */
  async run<T>(work: Work<T>, timeoutMs = this.timeoutMs): Promise<T> {
    if (this.#closing) throw new StorageError('closed', 'The database is being closed.');
    const call = this.#attempt(work, timeoutMs);
    this.#running.add(call);
    try {
      return await call;
    } finally {
      this.#running.delete(call);
    }
  }

  /** Rejects new calls and waits for the running ones. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.allSettled(this.#running);
  }

  async #attempt<T>(work: Work<T>, timeoutMs: number) {
    const deadlineMs = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      // A new call may wait for a connection as long as the pool lets it.
      const isNew = attempt === 1 && timeoutMs === this.timeoutMs;
      const connection = await (isNew ? this.#pool.acquire() : acquireBefore(this.#pool, deadlineMs));
      try {
        const result = await work(connection, deadlineMs);
        this.lastSuccessMs = performance.now();
        return result;
      } catch (error) {
        const inTime = performance.now() < deadlineMs;
        // If one connection was cut, the idle ones probably were too.
        if (connection.broken && inTime) this.#pool.closeIdle();
        if (attempt === ATTEMPTS_MAX || !inTime || !mayRetry(error, connection)) throw error;
      } finally {
        connection.release();
      }
      await pause(Math.random() * 10 * attempt);
    }
  }
}

/** Rejects with `unavailable` unless `result` settles within the limit. */
export async function withTimeout(result: Promise<unknown>, timeoutMs: number): Promise<void> {
  if (!(await endsWithin(result, timeoutMs))) throw slowError();
}

export function slowError(): StorageError {
  return new StorageError('unavailable', 'The database did not respond in time.', { isSlow: true });
}

async function acquireBefore(pool: PostgresPool, deadlineMs: number): Promise<Connection> {
  const acquiring = pool.acquire();
  try {
    await withTimeout(acquiring, Math.max(1, deadlineMs - performance.now()));
  } catch (error) {
    acquiring.then(connection => connection.release()).catch(() => {});
    throw error;
  }
  return acquiring;
}

/** Reports whether a failed call changed nothing and may succeed if repeated. */
function mayRetry(error: unknown, connection: Connection): boolean {
  if (!(error instanceof StorageError) || error instanceof UnknownOutcomeError || isReadOnly(error)) return false;
  const { code } = (error.cause ?? {}) as { code?: string };
  return connection.broken || code === '40001' || code === '40P01';
}

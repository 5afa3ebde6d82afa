import { type Health, StorageError } from '../database.ts';
import { type Calls, withTimeout } from './calls.ts';
import { isReadOnly, REQUIRE_WRITABLE } from './errors.ts';
import type { Connection } from './session.ts';

/** How long `health` reports a full disk after the last occurrence. */
const FULL_MS = 5000;
/** How long a result is valid, and how long the check may take. */
const CHECK_MS = 1000;

/** Determines the state of the database from recent calls, or with a query. */
export class HealthCheck {
  readonly #calls: Calls;
  #fullMs = Number.NEGATIVE_INFINITY;
  /** When the latest write succeeded. Reads also succeed on a standby and on a read-only database. */
  #lastWriteMs = Number.NEGATIVE_INFINITY;
  /** Whether the latest write failed because the database is a standby or read-only. */
  #isReadOnly = false;
  #last: { readonly startedMs: number; readonly health: Promise<Health> } | undefined;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  onWrite(): void {
    this.#lastWriteMs = performance.now();
    this.#fullMs = Number.NEGATIVE_INFINITY;
    this.#isReadOnly = false;
  }

  onWriteFailed(error: unknown): void {
    if (!(error instanceof StorageError)) return;
    if (error.reason === 'full') this.#fullMs = performance.now();
    if (isReadOnly(error)) this.#isReadOnly = true;
  }

  /** @param lostLocks the advisory locks that another process took from this one */
  check(lostLocks: readonly string[]): Promise<Health> {
    if (this.#last === undefined || performance.now() - this.#last.startedMs > CHECK_MS) {
      this.#last = { startedMs: performance.now(), health: this.#check(lostLocks) };
    }
    return this.#last.health;
  }

  async #check(lostLocks: readonly string[]): Promise<Health> {
    if (this.#isReadOnly || performance.now() - this.#lastWriteMs > CHECK_MS) {
      try {
        const check = (connection: Connection, deadlineMs: number) => connection.query(deadlineMs, REQUIRE_WRITABLE);
        await withTimeout(this.#calls.run(check, CHECK_MS), CHECK_MS);
        this.#isReadOnly = false;
      } catch (error) {
        this.#isReadOnly = isReadOnly(error);
        // Reads succeed, so the check only waited too long for a connection.
        if (!this.#isReadOnly && performance.now() - this.#calls.lastSuccessMs <= CHECK_MS)
          return this.#working(lostLocks);
        const detail = error instanceof StorageError ? error.publicMessage : 'The database rejects queries.';
        return { ok: this.#isReadOnly, writes: 'unavailable', detail };
      }
    }
    return this.#working(lostLocks);
  }

  #working(lostLocks: readonly string[]): Health {
    if (performance.now() - this.#fullMs < FULL_MS) {
      return { ok: true, writes: 'full', detail: 'The disk of the database is full.' };
    }
    const detail = lostLocks.map(name => `Another process has taken the advisory lock "${name}".`).join(' ');
    return { ok: true, writes: 'ok', detail };
  }
}

import type { MaybePromise } from '../../lib/maybe-promise.ts';
import type { Reader } from '../../model/schema.ts';
import { type Authority, allowsActing, authoritiesOf, type Dependent } from './authority.ts';

/** How long an authority that was read is valid. Commands that revoke keys wait longer before they finish. */
const VALID_MS = 500;

/**
 * Returns a function that reports whether a webhook or an import may act now, as stored when it is called or later.
 * Call it directly before sending or storing.
 *
 * On the embedded engine it reads immediately. On PostgreSQL one query runs at a time, and calls in the meantime share
 * the next query. It rejects when storage is unavailable.
 */
export function createAuthorityCheck(
  accounts: Reader,
  now: () => number,
): (dependent: Dependent) => MaybePromise<boolean> {
  let waiting: { dependent: Dependent; resolve(allowed: boolean): void; reject(error: unknown): void }[] = [];
  let running = false;

  async function run() {
    running = true;
    // Calls of this turn of the event loop share a query.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const startedMs = performance.now();
      try {
        const dependents = batch.map(({ dependent }) => dependent);
        const authorities = await authoritiesOf(accounts, dependents, now());
        if (performance.now() - startedMs > VALID_MS) {
          waiting.unshift(...batch);
          continue;
        }
        for (const [index, { resolve }] of batch.entries()) resolve(allowsActing(authorities[index]!, now()));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return dependent => {
    if (accounts.engine === 'postgres') {
      return new Promise((resolve, reject) => {
        waiting.push({ dependent, resolve, reject });
        if (!running) void run();
      });
    }
    const [authority] = authoritiesOf(accounts, [dependent], now()) as readonly Authority[];
    return allowsActing(authority!, now());
  };
}

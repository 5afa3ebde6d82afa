import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { Reader } from '../schema.ts';
import { type Authority, allowsSending, authoritiesOf, type Dependent } from './authority.ts';

/** How old what was read may be when something is sent. Commands that revoke wait longer before they finish. */
const VALID_MS = 500;

/**
 * Returns a function that reports whether something may be sent to a webhook now, as stored when it is called or later. Call
 * it directly before sending.
 *
 * On the embedded engine it reads at once. On PostgreSQL one query runs at a time, and the calls that come meanwhile share
 * the next one. It rejects when storage is unavailable.
 */
export function createAuthorityCheck(
  accounts: Reader,
  now: () => number,
): (webhook: Dependent) => MaybePromise<boolean> {
  let waiting: { webhook: Dependent; resolve(allowed: boolean): void; reject(error: unknown): void }[] = [];
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
        const webhooks = batch.map(({ webhook }) => webhook);
        const authorities = await authoritiesOf(accounts, webhooks, now());
        if (performance.now() - startedMs > VALID_MS) {
          waiting.unshift(...batch);
          continue;
        }
        for (const [index, { resolve }] of batch.entries()) resolve(allowsSending(authorities[index]!, now()));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return webhook => {
    if (accounts.engine === 'postgres') {
      return new Promise((resolve, reject) => {
        waiting.push({ webhook, resolve, reject });
        if (!running) void run();
      });
    }
    const [authority] = authoritiesOf(accounts, [webhook], now()) as readonly Authority[];
    return allowsSending(authority!, now());
  };
}

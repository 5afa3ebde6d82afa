import type { Clock } from '../../lib/clock.ts';
import type { Histogram } from '../../lib/histogram.ts';
import type { Log } from '../../lib/log.ts';
import type { Database, MaybePromise } from '../../model/schema.ts';
import type { Bans } from './bans.ts';
import type { Nodes } from './nodes.ts';
import type { Subject } from './subject.ts';
import type { Verdict, WindowState } from './verdict.ts';
import type { WriteBehind } from './write-behind.ts';

export type { Verdict, WindowState } from './verdict.ts';

/** The caller of a request, with the limits that apply to it. */
export interface CountedCaller {
  readonly keyId: string;
  /** The account of the key, on the deployment of the key; the message address serves keys of both. */
  readonly account: Subject;
  /** The key itself, if it has a budget; all sandbox accounts together, if its account is in the sandbox. */
  readonly budget: Subject | undefined;
  /** Whether rejections never ban it. */
  readonly neverBanned?: true;
}

/** The state of the counters, for `/readyz`. */
export interface LimiterHealth {
  /** `local` while Valkey is unavailable and this node enforces its share of each limit. */
  readonly counts: 'exact' | 'local';
  /** `memory` while day counts cannot be written, so that a crash would lose some. */
  readonly day: 'durable' | 'memory';
}

/** The measurements of a limiter. */
export interface LimiterMeasurements {
  /** The number of currently banned keys that this process knows. */
  readonly bannedKeys: number;
  /** The number of bans that this process has imposed. */
  readonly bansImposed: number;
  /** The durations of calls to Valkey, in seconds; absent without Valkey. */
  readonly valkeyCalls?: Histogram;
}

/**
 * The rate limiter: counts the requests of one process against their plans, and returns the rate limit headers.
 *
 * A request counts in all windows or in none: a sliding minute and a UTC day of its account, and of its key if that has
 * a budget. A rejected request does not count. See docs/decisions/rate-limits.md.
 */
export interface Limiter {
  /**
   * Counts an authenticated request, or rejects it. Returns a promise only when it has to read, write or call Valkey.
   */
  count(caller: CountedCaller): MaybePromise<Verdict>;
  /**
   * Reverses the count of an accepted request that is rejected without being served. Does not change runs of rejections
   * and bans.
   * @param at the time of the verdict that counted it
   * @returns the state of the windows without the request; always `accepted`
   */
  uncount(caller: CountedCaller, at: number): MaybePromise<Verdict>;
  /** Returns the state of both windows of an account or a key. Does not count a request. */
  status(subject: Subject): MaybePromise<WindowState>;
  /** Counts a request without a valid key against `address` (see `canonicalAddress`): never `banned`. */
  countAddress(address: string): MaybePromise<Verdict>;
  /** Returns the headers of `address` without counting a request; always `accepted`. */
  addressStatus(address: string): Verdict;
  /** Reports whether `address` sent a request without a valid key in the last minute, as far as this process knows. */
  hasRejections(address: string): boolean;
  /** Reports whether a key is banned now. Does not count a request. */
  isBanned(keyId: string): MaybePromise<boolean>;
  health(): LimiterHealth;
  measurements(): LimiterMeasurements;
  /** Saves both windows for the next start and releases all resources. The limiter must not be used afterwards. */
  close(): Promise<void>;
}

/** The dependencies of the local and the shared limiter. */
export interface LimiterDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** The name under which this process reserves requests; unique among running processes. */
  readonly node: string;
  readonly writeBehind: WriteBehind;
  readonly bans: Bans;
  /** Absent on the embedded engine, which only one process serves. */
  readonly nodes: Nodes | undefined;
}

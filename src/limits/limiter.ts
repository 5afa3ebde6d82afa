import { randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Limits } from '../plans/plan.ts';
import type { Database, DeploymentName, MaybePromise } from '../schema.ts';
import { Bans } from './bans.ts';
import { LocalLimiter } from './local-limiter.ts';
import { ALONE, joinNodes } from './nodes.ts';
import type { SharedLimiter } from './shared-limiter.ts';
import { sharedPrefix } from './shared-prefix.ts';
import type { Verdict } from './verdict.ts';
import { WriteBehind } from './write-behind.ts';

export type { Verdict } from './verdict.ts';

/** The caller of a request, with the limits that apply. */
export interface CountedCaller {
  readonly keyId: string;
  readonly accountId: number;
  /** The deployment of the key; the message address serves keys of both. */
  readonly deployment: DeploymentName;
  readonly limits: Limits;
}

/** The state of the counters, for `/readyz`. */
export interface LimiterHealth {
  /** `local` while Valkey is unavailable and this node enforces its share of each limit. */
  readonly counts: 'exact' | 'local';
  /** `memory` while day counts cannot be written, so that a crash would lose some. */
  readonly day: 'durable' | 'memory';
}

/**
 * The rate limiter: counts the requests of one process against their plans, and returns the rate limit headers.
 *
 * A request consumes both windows (a sliding minute and a UTC day) or neither; a rejected request costs nothing.
 * See docs/decisions/rate-limits.md.
 */
export interface Limiter {
  /** Counts an authenticated request, or rejects it. Returns a promise only when it has to read, write or call Valkey. */
  count(caller: CountedCaller): MaybePromise<Verdict>;
  /** Counts a request without a valid key against `address` (see `canonicalAddress`): never `banned`. */
  countAddress(address: string): MaybePromise<Verdict>;
  /** Returns the headers of `address` without counting a request; always `accepted`. */
  addressStatus(address: string): Verdict;
  /** Reports whether a key is banned now. Counts nothing. */
  isBanned(keyId: string): MaybePromise<boolean>;
  health(): LimiterHealth;
  /** Saves both windows for the next start and releases all resources. The limiter must not be used afterwards. */
  close(): Promise<void>;
}

/**
 * Opens the limiter of this process and restores the counts that the last process saved.
 * @throws {UserError} when another node serves the same PostgreSQL database without sharing its counts
 */
export async function openLimiter(options: {
  /** The production database, which stores accounts, bans and counts. */
  database: Database;
  clock: Clock;
  log: Log;
  /** The Valkey server in which nodes share their counts; without it this process counts alone. */
  valkeyUrl?: string;
  /** The unique name of this node; random by default. */
  nodeId?: string;
}): Promise<Limiter> {
  const { database, clock, valkeyUrl: url } = options;
  const node = url === undefined ? ALONE : (options.nodeId ?? randomBytes(9).toString('base64url'));
  const nodes = database.engine === 'postgres' ? await joinNodes(database, clock, node) : undefined;
  try {
    const writeBehind = new WriteBehind(database, options.log);
    const bans = new Bans(database, writeBehind);
    await bans.refresh('', clock.now());
    const parts = { ...options, node, nodes, writeBehind, bans };
    const limiter = url === undefined ? new LocalLimiter(parts) : await shared(url, parts);
    await limiter.restore();
    return limiter;
  } catch (error) {
    await nodes?.close();
    throw error;
  }
}

async function shared(url: string, parts: Omit<ConstructorParameters<typeof SharedLimiter>[0], 'url' | 'prefix'>) {
  const { SharedLimiter } = await import('./shared-limiter.ts');
  return new SharedLimiter({ ...parts, url, prefix: await sharedPrefix(parts.database) });
}

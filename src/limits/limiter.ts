import { randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Limits } from '../plans/plan.ts';
import type { Database, DeploymentName, Soon } from '../schema.ts';
import { Bans } from './bans.ts';
import { LocalLimiter } from './local-limiter.ts';
import { ALONE, joinNodes } from './nodes.ts';
import type { SharedLimiter } from './shared-limiter.ts';
import { sharedPrefix } from './shared-prefix.ts';
import type { Verdict } from './verdict.ts';
import { WriteBehind } from './write-behind.ts';

export type { Verdict } from './verdict.ts';

/** Whose request is counted, by what limits. */
export interface CountedCaller {
  readonly keyId: string;
  readonly accountId: number;
  /** The deployment of the key, which for messages is not the address that was called. */
  readonly deployment: DeploymentName;
  readonly limits: Limits;
}

/** How the counts are, for `/readyz`. */
export interface LimiterHealth {
  /** `local` while the shared counts are away and this node goes on with its share. */
  readonly counts: 'exact' | 'local';
  /** `memory` while the day's counts cannot be written, so that a crash would forget some. */
  readonly day: 'durable' | 'memory';
}

/**
 * Counts every request of one process against its plan, and says what its answer's rate limit headers are.
 *
 * Both windows are consumed, or neither; a refused request costs nothing. See the decision "limits".
 */
export interface Limiter {
  /** Counts an authenticated request, or refuses it. Answers at once on counts of its own, except now and then. */
  count(caller: CountedCaller): Soon<Verdict>;
  /** Counts a request without a valid key against `address` (see `canonicalAddress`): never `banned`. */
  countAddress(address: string): Soon<Verdict>;
  /** The numbers of `address` for an answer that counts nothing; always `accepted`. */
  showAddress(address: string): Verdict;
  /** Whether a key is banned at the moment; counts nothing. */
  isBanned(keyId: string): Soon<boolean>;
  health(): LimiterHealth;
  /** Keeps both windows for the next start and lets go of everything; nothing may be counted afterwards. */
  close(): Promise<void>;
}

/**
 * Opens the counts of this process, going on from what the last one left behind.
 * @throws {Refusal} where another node serves the same PostgreSQL database and the two do not share their counts
 */
export async function openLimiter(options: {
  /** Production's database, in which accounts, bans and counts are kept. */
  database: Database;
  clock: Clock;
  log: Log;
  /** Where several nodes share their counts; left out, this process counts alone. */
  valkeyUrl?: string;
  /** This node's name among those that run; random where left out. */
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

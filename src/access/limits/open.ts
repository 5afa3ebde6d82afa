import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { factNamed, insertFact } from '../../model/facts.ts';
import type { Database } from '../../model/schema.ts';
import { Bans } from './bans.ts';
import type { Limiter, LimiterDeps } from './limiter.ts';
import { LocalLimiter } from './local-limiter.ts';
import { ALONE, joinNodes } from './nodes.ts';
import { WriteBehind } from './write-behind.ts';

/**
 * Opens the limiter of this process and restores the counts that the last process saved.
 * @throws {UserError} when another node serves the same PostgreSQL database without sharing its counts, or Valkey
 *   evicts them
 */
export async function openLimiter(options: {
  /** The production database, which stores accounts, bans and counts. */
  database: Database;
  clock: Clock;
  log: Log;
  /** The Valkey server in which nodes share their counts; without it, this process counts alone. */
  valkeyUrl?: string;
  /** The unique name of this node; random by default. */
  nodeId?: string;
  /** Called on PostgreSQL once no node of an older release serves the database. */
  onUpgraded?: () => Promise<unknown>;
}): Promise<Limiter> {
  const { database, clock, valkeyUrl: url } = options;
  const node = url === undefined ? ALONE : (options.nodeId ?? randomBytes(9).toString('base64url'));
  const nodes = database.engine === 'postgres' ? await joinNodes(database, clock, node, options.onUpgraded) : undefined;
  try {
    const writeBehind = new WriteBehind(database, options.log);
    const bans = new Bans(database, writeBehind);
    await bans.refresh('', clock.now());
    const deps = { database, clock, log: options.log, node, nodes, writeBehind, bans };
    const limiter = url === undefined ? new LocalLimiter(deps) : await shared(url, deps);
    await limiter.restore();
    return limiter;
  } catch (error) {
    await nodes?.close();
    throw error;
  }
}

async function shared(url: string, deps: LimiterDeps) {
  const { SharedLimiter } = await import('./shared-limiter.ts');
  return new SharedLimiter({ ...deps, url, prefix: await sharedPrefix(deps.database) });
}

/**
 * Returns the prefix of this database's keys in Valkey, common to all its nodes: several databases can share one
 * Valkey.
 */
async function sharedPrefix(database: Database): Promise<string> {
  const known = await database.first(factNamed, { name: NAME });
  if (known !== undefined) return known.value;
  return await database.write(async tx => {
    await tx.run(insertFact, { name: NAME, value: `petstore ${randomBytes(9).toString('base64url')} ` });
    return (await tx.first(factNamed, { name: NAME }))!.value;
  });
}

const NAME = 'shared-counts-prefix';

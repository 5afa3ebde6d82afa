import type { Clock } from '../../src/lib/clock.ts';
import { COMMIT_MARGIN_MS } from '../../src/lib/storage/deadlines.ts';
import type { Database } from '../../src/model/schema.ts';
import type { Engine } from '../support/engines.ts';

/**
 * Opens a new database several times, once for each clock: as nodes on PostgreSQL, or as a server and the CLI on the
 * embedded engine, which serves one process.
 */
export async function openNodes(engine: Engine, clocks: readonly Clock[]): Promise<Database[]> {
  const location = await engine.newLocation({ quick: true });
  const nodes: Database[] = [];
  for (const [index, clock] of clocks.entries()) {
    const role = engine.name === 'postgres' || index === 0 ? 'server' : 'cli';
    nodes.push(await engine.open({ location, clock, role }));
  }
  return nodes;
}

/** How long before an expiry each node rejects changes, because other nodes might see them too late. */
export function marginsOf(engine: Engine): readonly [number, number] {
  return engine.name === 'sqlite' ? [0, COMMIT_MARGIN_MS] : [COMMIT_MARGIN_MS, COMMIT_MARGIN_MS];
}

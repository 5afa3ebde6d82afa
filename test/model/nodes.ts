import type { Clock } from '../../src/lib/clock.ts';
import { COMMIT_MARGIN_MS } from '../../src/lib/storage/deadlines.ts';
import type { Database } from '../../src/schema.ts';
import type { Engine } from '../support/engines.ts';

/**
 * Opens a new database several times, once for each clock: as nodes on PostgreSQL, or as a server and the CLI on the
 * embedded engine, which serves one process.
 * | Commits do not wait for the disk. That does not affect their order, and allows more rounds.
 */
export async function openNodes(engine: Engine, clocks: readonly Clock[]): Promise<Database[]> {
  const location = await engine.newLocation({ quick: true });
  const nodes: Database[] = [];
  for (const [index, clock] of clocks.entries()) {
    if ('directory' in location)
      nodes.push(await engine.open({ location, clock, role: index === 0 ? 'server' : 'cli' }));
    else nodes.push(await engine.open({ location: { ...location, url: withoutWaiting(location.url) }, clock }));
  }
  return nodes;
}

/** How long before an expiry each node rejects changes, because other nodes might see them too late. */
export function marginsOf(engine: Engine): readonly [number, number] {
  return engine.name === 'sqlite' ? [0, COMMIT_MARGIN_MS] : [COMMIT_MARGIN_MS, COMMIT_MARGIN_MS];
}

function withoutWaiting(url: string): string {
  const changed = new URL(url);
  changed.searchParams.set('options', '-c synchronous_commit=off');
  return changed.href;
}

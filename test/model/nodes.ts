import type { Clock } from '../../src/lib/clock.ts';
import { COMMIT_MARGIN_MS } from '../../src/lib/storage/deadlines.ts';
import type { Database } from '../../src/schema.ts';
import type { Engine } from '../support/engines.ts';

/**
 * Opens one new database several times, once for each clock: on PostgreSQL as nodes do; on the embedded engine, which one
 * process serves, as this process and the command line do.
 *
 * Nobody waits for a disk here: that changes nothing of who comes first, and leaves time for more.
 */
export async function openNodes(engine: Engine, clocks: readonly Clock[]): Promise<Database[]> {
  const place = await engine.place({ quick: true });
  const nodes: Database[] = [];
  for (const [index, clock] of clocks.entries()) {
    if ('directory' in place) nodes.push(await engine.open({ place, clock, role: index === 0 ? 'server' : 'cli' }));
    else nodes.push(await engine.open({ place: { ...place, url: withoutWaiting(place.url) }, clock }));
  }
  return nodes;
}

/** For how long before its end each node leaves alone what runs out, because others might see it too late. */
export function marginsOf(engine: Engine): readonly [number, number] {
  return engine.name === 'sqlite' ? [0, COMMIT_MARGIN_MS] : [COMMIT_MARGIN_MS, COMMIT_MARGIN_MS];
}

function withoutWaiting(url: string): string {
  const changed = new URL(url);
  changed.searchParams.set('options', '-c synchronous_commit=off');
  return changed.href;
}

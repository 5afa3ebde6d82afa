import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';
import { type Database, type Params, query } from '../schema.ts';

/** The heartbeat interval, and how long a node counts as live after its last heartbeat. */
const HEARTBEAT_MS = 1000;
const LIVE_MS = 5000;
/** A row without a heartbeat for this long belongs to a killed node. */
const STALE_MS = 60_000;
/** Long enough to observe a heartbeat. */
const OBSERVE_MS = 2 * HEARTBEAT_MS + 200;

/** The name of a node that does not share its counts. */
export const ALONE = 'alone';

/** The nodes that serve one database. */
export interface Nodes {
  /** Returns the number of live nodes, including this one; the last known number while the database is unreachable. */
  live(): number;
  /** Updates the number of live nodes now. */
  refresh(): void;
  /** Removes this node from the others' count. */
  close(): Promise<void>;
}

/**
 * Joins the nodes that serve a PostgreSQL database: several if they share their counts, otherwise only one.
 *
 * Clocks of nodes are never compared: a node is live while its row changes, on this node's own clock.
 * @param id the name of this node, or `ALONE` if it does not share its counts
 * @throws {UserError} when it may not join
 */
export async function joinNodes(database: Database, clock: Clock, id: string): Promise<Nodes> {
  const alone = id === ALONE;
  if (alone && (await database.tryAdvisoryLock?.('counts')) === false) throw sharedDatabaseError();
  if (await hasHeartbeat(database, clock, row => row.id !== id && (alone || row.id === ALONE))) {
    throw sharedDatabaseError();
  }

  const others = new Map<string, { seenAt: number; changedMs: number }>();
  const stop = new AbortController();
  let live = 1;

  async function heartbeat() {
    const seenAt = Math.floor(clock.now());
    const rows = await database.write(async tx => {
      await tx.run(upsertHeartbeat, { id, seenAt });
      return await tx.all(allNodes, {});
    });
    const nowMs = performance.now();
    for (const row of rows) {
      if (row.id === id) continue;
      const known = others.get(row.id);
      if (known === undefined) {
        const changedMs = Math.abs(seenAt - row.seenAt) < STALE_MS ? nowMs : Number.NEGATIVE_INFINITY;
        others.set(row.id, { seenAt: row.seenAt, changedMs });
      } else if (known.seenAt !== row.seenAt) {
        known.seenAt = row.seenAt;
        known.changedMs = nowMs;
      }
    }
    const here = new Set(rows.map(row => row.id));
    live = 1;
    for (const [other, { changedMs }] of others) {
      if (!here.has(other)) others.delete(other);
      else if (nowMs - changedMs < LIVE_MS) live++;
      else if (nowMs - changedMs > STALE_MS) await database.write(tx => tx.run(deleteNode, { id: other }));
    }
  }

  async function run() {
    while (!stop.signal.aborted) {
      await pause(HEARTBEAT_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      // While the database is unreachable, the last known number stays in use.
      if (!stop.signal.aborted) await heartbeat().catch(() => {});
    }
  }

  // A node can start even when the disk is full.
  await heartbeat().catch(() => {});
  const running = run();
  return {
    live: () => live,
    refresh() {
      heartbeat().catch(() => {});
    },
    async close() {
      stop.abort();
      await running;
      await database.write(tx => tx.run(deleteNode, { id })).catch(() => {});
    },
  };
}

function sharedDatabaseError(): UserError {
  return new UserError(
    'Another process serves this database. To run several, set PETSTORE_VALKEY_URL for each of them, so that they share request counts.',
  );
}

interface Row {
  readonly id: string;
  readonly seenAt: number;
}

/** Reports whether a matching node sends heartbeats; reads a second time only if one seems to. */
async function hasHeartbeat(database: Database, clock: Clock, kind: (row: Row) => boolean): Promise<boolean> {
  const find = async () => (await database.all(allNodes, {})).filter(kind);
  const before = (await find()).filter(row => Math.abs(clock.now() - row.seenAt) < STALE_MS);
  if (before.length === 0) return false;
  await pause(OBSERVE_MS);
  return (await find()).some(row => before.some(other => other.id === row.id && other.seenAt !== row.seenAt));
}

const allNodes = query(db => db.selectFrom('nodes').select(['id', 'seen_at as seenAt']));

const upsertHeartbeat = query((db, p: Params<{ id: string; seenAt: number }>) =>
  db
    .insertInto('nodes')
    .values({ id: p.id, started_at: p.seenAt, seen_at: p.seenAt })
    .onConflict(conflict =>
      conflict.column('id').doUpdateSet(eb => ({
        // Increases with every heartbeat, even if the clock is set back.
        seen_at: eb
          .case()
          .when('excluded.seen_at', '>', eb.ref('nodes.seen_at'))
          .then(eb.ref('excluded.seen_at'))
          .else(eb('nodes.seen_at', '+', 1))
          .end(),
      })),
    ),
);

const deleteNode = query((db, p: Params<{ id: string }>) => db.deleteFrom('nodes').where('id', '=', p.id));

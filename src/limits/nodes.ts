import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';
import { type Database, type Params, query } from '../schema.ts';

/** How often a node shows that it lives, and how long it is thought to live after it last did. */
const BEAT_MS = 1000;
const LIVE_MS = 5000;
/** A row that nobody touched for so long is a node's that was killed. */
const GONE_MS = 60_000;
/** Long enough to see a node's heart beat. */
const LISTEN_MS = 2 * BEAT_MS + 200;

/** The name of a node that counts alone. */
export const ALONE = 'alone';

/** The processes that serve one database. */
export interface Nodes {
  /** How many live, this one included: at least 1, and the last known number where the database cannot be asked. */
  live(): number;
  /** Looks at once who lives. */
  look(): void;
  /** Tells the others that this node leaves. */
  close(): Promise<void>;
}

/**
 * Joins the nodes that serve a PostgreSQL database: several where they share their counts, else only one.
 *
 * Clocks of nodes are never compared: a node lives while its row moves, as seen by this node's own clock.
 * @param id this node's name, or `ALONE` where it does not share its counts
 * @throws {UserError} where it may not join, in one sentence
 */
export async function joinNodes(database: Database, clock: Clock, id: string): Promise<Nodes> {
  const alone = id === ALONE;
  if (alone && (await database.tryAdvisoryLock?.('counts')) === false) throw refusal();
  if (await beats(database, clock, row => row.id !== id && (alone || row.id === ALONE))) throw refusal();

  const others = new Map<string, { seenAt: number; movedMs: number }>();
  const stop = new AbortController();
  let live = 1;

  async function beat() {
    const seenAt = Math.floor(clock.now());
    const rows = await database.write(async tx => {
      await tx.run(show, { id, seenAt });
      return await tx.all(nodes, {});
    });
    const nowMs = performance.now();
    for (const row of rows) {
      if (row.id === id) continue;
      const known = others.get(row.id);
      if (known === undefined) {
        const movedMs = Math.abs(seenAt - row.seenAt) < GONE_MS ? nowMs : Number.NEGATIVE_INFINITY;
        others.set(row.id, { seenAt: row.seenAt, movedMs });
      } else if (known.seenAt !== row.seenAt) {
        known.seenAt = row.seenAt;
        known.movedMs = nowMs;
      }
    }
    const here = new Set(rows.map(row => row.id));
    live = 1;
    for (const [other, { movedMs }] of others) {
      if (!here.has(other)) others.delete(other);
      else if (nowMs - movedMs < LIVE_MS) live++;
      else if (nowMs - movedMs > GONE_MS) await database.write(tx => tx.run(remove, { id: other }));
    }
  }

  async function run() {
    while (!stop.signal.aborted) {
      await pause(BEAT_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      // Where the database cannot be asked, the last known number goes on to count.
      if (!stop.signal.aborted) await beat().catch(() => {});
    }
  }

  // A node may also start on a full disk.
  await beat().catch(() => {});
  const running = run();
  return {
    live: () => live,
    look() {
      beat().catch(() => {});
    },
    async close() {
      stop.abort();
      await running;
      await database.write(tx => tx.run(remove, { id })).catch(() => {});
    },
  };
}

function refusal(): UserError {
  return new UserError(
    'Another process serves this database: several can, when each of them has PETSTORE_VALKEY_URL to share the counts of requests.',
  );
}

interface Row {
  readonly id: string;
  readonly seenAt: number;
}

/** Whether the heart of a node of a kind beats; asks twice only where one seems to. */
async function beats(database: Database, clock: Clock, kind: (row: Row) => boolean): Promise<boolean> {
  const find = async () => (await database.all(nodes, {})).filter(kind);
  const before = (await find()).filter(row => Math.abs(clock.now() - row.seenAt) < GONE_MS);
  if (before.length === 0) return false;
  await pause(LISTEN_MS);
  return (await find()).some(row => before.some(other => other.id === row.id && other.seenAt !== row.seenAt));
}

const nodes = query(db => db.selectFrom('nodes').select(['id', 'seen_at as seenAt']));

const show = query((db, p: Params<{ id: string; seenAt: number }>) =>
  db
    .insertInto('nodes')
    .values({ id: p.id, started_at: p.seenAt, seen_at: p.seenAt })
    .onConflict(conflict =>
      conflict.column('id').doUpdateSet(eb => ({
        // It moves with every beat, whatever the clock does.
        seen_at: eb
          .case()
          .when('excluded.seen_at', '>', eb.ref('nodes.seen_at'))
          .then(eb.ref('excluded.seen_at'))
          .else(eb('nodes.seen_at', '+', 1))
          .end(),
      })),
    ),
);

const remove = query((db, p: Params<{ id: string }>) => db.deleteFrom('nodes').where('id', '=', p.id));

import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { UserError } from '../../lib/user-error.ts';
import { migrations } from '../../model/migrations/index.ts';
import { type Database, type Params, query, type Reader } from '../../model/schema.ts';

/** The heartbeat interval, and how long a node counts as live after its last heartbeat. */
export const HEARTBEAT_MS = 5000;
const LIVE_MS = 3 * HEARTBEAT_MS;
/** A row without a heartbeat for this long belongs to a killed node. */
const STALE_MS = 60_000;
/** Long enough to observe a heartbeat. */
const OBSERVE_MS = HEARTBEAT_MS + 1200;

/** The advisory lock of a node that does not share its counts with other nodes. */
export const SERVE_LOCK = 'counts';

/** The name of a node that does not share its counts with other nodes. */
export const ALONE = 'alone';

/**
 * Joins the nodes that serve a PostgreSQL database: several if they share their counts, otherwise only one.
 * @param id the name of this node, or `ALONE` if it does not share its counts
 * @param onUpgraded called once no node of an older release is left
 * @throws {UserError} when this node may not join
 */
export async function joinNodes(
  database: Database,
  clock: Clock,
  id: string,
  onUpgraded?: () => Promise<unknown>,
): Promise<Nodes> {
  const alone = id === ALONE;
  if (alone && (await database.tryAdvisoryLock?.(SERVE_LOCK)) === false) throw sharedDatabaseError();
  if (await hasHeartbeat(database, clock, row => row.id !== id && (alone || row.id === ALONE))) {
    throw sharedDatabaseError();
  }
  const nodes = new Nodes(database, clock, id, onUpgraded);
  await nodes.start();
  return nodes;
}

/**
 * The nodes that serve one database. Clocks of nodes are never compared: a node is live while its row changes, measured
 * on this node's clock.
 */
export class Nodes {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #id: string;
  /** Called again until it succeeds. */
  #onUpgraded: (() => Promise<unknown>) | undefined;
  readonly #others = new Map<string, { seenAt: number; changedMs: number }>();
  readonly #stop = new AbortController();
  #live = 1;
  /** The latest heartbeat, and whether it waits for the previous one. */
  #latest = Promise.resolve();
  #isWaiting = false;
  #running: Promise<void> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(database: Database, clock: Clock, id: string, onUpgraded?: () => Promise<unknown>) {
    this.#database = database;
    this.#clock = clock;
    this.#id = id;
    this.#onUpgraded = onUpgraded;
  }

  /**
   * Sends heartbeats until `close`, which announce this node to the others. A node can start even when the disk is
   * full.
   */
  async start(): Promise<void> {
    // Subscribe first, so as not to miss a node that joins during this node's first heartbeat.
    this.#unsubscribe = this.#database.onNotification?.(() => this.refresh());
    this.#latest = this.#heartbeat('joining').catch(() => {});
    await this.#latest;
    this.#running = this.#run();
  }

  /** Returns the number of live nodes, including this one; the last known number while the database is unreachable. */
  live(): number {
    return this.#live;
  }

  /**
   * Sends a heartbeat and updates the number of live nodes, unless the database is unreachable. Heartbeats run one
   * after the other, so that a late one does not overwrite a newer number. All calls share the heartbeat that waits to
   * begin.
   */
  refresh(): Promise<void> {
    if (this.#isWaiting) return this.#latest;
    this.#isWaiting = true;
    this.#latest = this.#latest
      .then(() => {
        this.#isWaiting = false;
        return this.#heartbeat();
      })
      .catch(() => {});
    return this.#latest;
  }

  /** Removes this node from the count of the others. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe?.();
    await this.#running;
    await this.#latest;
    await this.#delete(this.#id).catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(HEARTBEAT_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.refresh();
    }
  }

  async #heartbeat(joining?: 'joining'): Promise<void> {
    const seenAt = Math.floor(this.#clock.now());
    const rows = await this.#database.write(async tx => {
      await tx.run(upsertHeartbeat, { id: this.#id, seenAt, migration: NEWEST });
      if (joining) await tx.notify('nodes');
      return await tx.all(allNodes, {});
    });
    const nowMs = performance.now();
    for (const row of rows) if (row.id !== this.#id) this.#observe(row, seenAt, nowMs);
    const stored = new Set(rows.map(row => row.id));
    this.#live = 1;
    for (const [other, { changedMs }] of this.#others) {
      if (!stored.has(other)) this.#others.delete(other);
      else if (nowMs - changedMs < LIVE_MS) this.#live++;
      else if (nowMs - changedMs > STALE_MS) await this.#delete(other);
    }
    if (this.#onUpgraded === undefined || rows.some(({ migration }) => migration === null || migration < NEWEST))
      return;
    await this.#onUpgraded();
    this.#onUpgraded = undefined;
  }

  #observe({ id, seenAt }: Row, ownSeenAt: number, nowMs: number): void {
    const known = this.#others.get(id);
    if (known?.seenAt === seenAt) return;
    const isStale = known === undefined && Math.abs(ownSeenAt - seenAt) >= STALE_MS;
    this.#others.set(id, { seenAt, changedMs: isStale ? Number.NEGATIVE_INFINITY : nowMs });
  }

  async #delete(id: string): Promise<void> {
    await this.#database.write(async tx => {
      await tx.run(deleteNode, { id });
      await tx.notify('nodes');
    });
  }
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

/** Reports whether any node serves a database. */
export function isServed(reader: Reader, clock: Clock): Promise<boolean> {
  return hasHeartbeat(reader, clock, () => true);
}

/** Reports whether a matching node sends heartbeats. Reads a second time only if a row suggests it. */
async function hasHeartbeat(reader: Reader, clock: Clock, kind: (row: Row) => boolean): Promise<boolean> {
  const find = async () => (await reader.all(heartbeats, {})).filter(kind);
  const before = (await find()).filter(row => Math.abs(clock.now() - row.seenAt) < STALE_MS);
  if (before.length === 0) return false;
  await pause(OBSERVE_MS);
  return (await find()).some(row => before.some(other => other.id === row.id && other.seenAt !== row.seenAt));
}

const heartbeats = query(db => db.selectFrom('nodes').select(['id', 'seen_at as seenAt']));

/** The newest migration of this release. Older releases have an earlier one; the oldest ones store none. */
const NEWEST = migrations.at(-1)!.name;

const allNodes = query(db => db.selectFrom('nodes').select(['id', 'seen_at as seenAt', 'migration']));

const upsertHeartbeat = query((db, p: Params<{ id: string; seenAt: number; migration: string }>) =>
  db
    .insertInto('nodes')
    .values({ id: p.id, started_at: p.seenAt, seen_at: p.seenAt, migration: p.migration })
    .onConflict(conflict =>
      conflict.column('id').doUpdateSet(eb => ({
        migration: eb.ref('excluded.migration'),
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

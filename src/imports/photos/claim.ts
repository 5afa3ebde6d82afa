import {
  type Database,
  type NextDue,
  type Params,
  query,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../schema.ts';
import type { ImportRow } from '../import.ts';
import type { PhotoSource } from './sources.ts';

/** A URL that this process fetches: until the lease ends, no other process does. */
export interface ClaimedSource extends PhotoSource {
  readonly import: ImportRow;
  readonly due_at: number;
}

/** The fetches in progress in a process: of all imports, of one, and from one host. */
export const TOTAL = 32;
const PER_IMPORT = 4;
const PER_HOST = 8;
/** Covers the request, and the queue of photos that are encoded. */
const LEASE_MS = 5 * 60_000;
/** The imports that one claim examines; more than can be in progress. */
const IMPORTS = 2 * TOTAL;

/** Claims photos in turn by import, within the limits of this process. */
export class PhotoClaimer {
  readonly #database: Database;
  readonly #byImport = new Map<number, number>();
  readonly #byHost = new Map<string, number>();
  /** The import that was served last. */
  #last = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Claims up to `limit` due photos. Call `release` for each when it is done. */
  async claim(limit: number): Promise<ClaimedSource[]> {
    const claimed = await this.#database.write(async tx => {
      const claimed: ClaimedSource[] = [];
      for (const row of await tx.all(importsInTurn, { after: this.#last, now: tx.now, limit: IMPORTS })) {
        await this.#claimOf(tx, row, limit, claimed);
        if (claimed.length >= limit) break;
      }
      return claimed;
    });
    for (const source of claimed) this.#count(source, 1);
    this.#last = claimed.at(-1)?.import_id ?? this.#last;
    return claimed;
  }

  release(source: ClaimedSource): void {
    this.#count(source, -1);
  }

  async #claimOf(tx: Transaction, row: ImportRow, limit: number, claimed: ClaimedSource[]): Promise<void> {
    const until = tx.now + LEASE_MS;
    let free = PER_IMPORT - (this.#byImport.get(row.id) ?? 0);
    while (free-- > 0 && claimed.length < limit) {
      const hosts = JSON.stringify(this.#fullHosts(claimed));
      const source = await tx.first(claimNext, { id: row.id, now: tx.now, until, hosts });
      if (source === undefined) return;
      claimed.push({ ...source, due_at: until, import: row });
    }
  }

  #fullHosts(claimed: readonly ClaimedSource[]): string[] {
    const running = new Map(this.#byHost);
    for (const { host } of claimed) running.set(host, (running.get(host) ?? 0) + 1);
    return [...running].filter(([, count]) => count >= PER_HOST).map(([host]) => host);
  }

  #count({ import_id, host }: ClaimedSource, by: number): void {
    add(this.#byImport, import_id, by);
    add(this.#byHost, host, by);
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/**
 * Releases every claim on the embedded engine, where one process serves a database: the claims are those of a process
 * that has ended.
 */
export async function releaseClaims(database: Database): Promise<void> {
  if (database.engine === 'sqlite') await database.write(tx => tx.run(releaseAll, { now: tx.now }));
}

/** The time of the earliest photo to fetch. */
export const nextPhotoFetch: NextDue = db =>
  db.selectFrom('photo_sources').select(sql<number | null>`min(due_at)`.as('dueAt')).where('due_at', 'is not', null);

const importsInTurn = query((db, p: Params<{ after: number; now: number; limit: number }>) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('paused_until', 'is', null)
    .where(sql<boolean>`exists (
      select 1 from photo_sources where import_id = imports.id and photo_sources.due_at <= ${p.now}
    )`)
    .orderBy(sql`case when id > ${p.after} then 0 else 1 end`)
    .orderBy('id')
    .limit(p.limit),
);

const claimNext = query((db, p: Params<{ id: number; now: number; until: number; hosts: string }>, engine) =>
  db
    .updateTable('photo_sources')
    .set({ due_at: p.until })
    .where('id', '=', eb =>
      eb
        .selectFrom('photo_sources')
        .select('id')
        .where('import_id', '=', p.id)
        .where('due_at', '<=', p.now)
        .where('host', 'not in', selectJsonTexts(p.hosts, engine))
        .orderBy('due_at')
        .orderBy('line')
        .orderBy('position')
        .limit(1)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returningAll(),
);

const releaseAll = query((db, p: Params<{ now: number }>) =>
  db.updateTable('photo_sources').set({ due_at: p.now }).where('due_at', '>', p.now),
);

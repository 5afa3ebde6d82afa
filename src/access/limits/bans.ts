import type { Expression, Kysely } from 'kysely';
import { DAY_MS, formatTime } from '../../lib/time.ts';
import { succeedsWithin } from '../../lib/timeout.ts';
import { record } from '../../model/log/log.ts';
import { BAN_MINUTES } from '../../model/rules.ts';
import {
  type Database,
  type DeploymentName,
  type Params,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';
import { secondOf } from './minute-window.ts';
import type { WriteBehind } from './write-behind.ts';

/** A ban that ended this long ago does not prolong the next one. */
const REMEMBERED_MS = (BAN_MINUTES.length - 1) * DAY_MS;
/** How long to wait for a read of the table. */
const READ_MS = 1000;

/** The latest ban of a key. Times are milliseconds since the Unix epoch. */
export interface Ban {
  readonly keyId: string;
  /** From 0 (1 minute) to 3 (60 minutes). */
  readonly step: number;
  readonly bannedAt: number;
  /** When it ends: a whole second. */
  readonly until: number;
  readonly liftedAt: number | null;
}

/** A ban with the account and the deployment of its key. */
export interface BanOfAccount extends Ban {
  readonly accountId: number;
  readonly deployment: DeploymentName;
}

/** Returns every ban that is active at `now` (milliseconds), latest end first. */
export async function listBans(reader: Reader, now: number): Promise<BanOfAccount[]> {
  return await reader.all(activeBans, { now: Math.floor(now) });
}

/** Returns the ban of a key if it is active at `now` (milliseconds). */
export async function findActiveBan(reader: Reader, keyId: string, now: number): Promise<Ban | undefined> {
  const ban = await reader.first(banOf, { keyId });
  return ban !== undefined && isActive(ban, now) ? ban : undefined;
}

/**
 * Lifts the ban of a key, with effect on the next request. The next ban has the same duration as if this ban had not
 * been lifted. Idempotent.
 * @returns false if the key is not banned
 */
export async function liftBan(tx: Transaction, keyId: string): Promise<boolean> {
  if ((await tx.run(liftActiveBan, { keyId, now: tx.now })) === 0) return false;
  await announce(tx, 'lifted', keyId);
  return true;
}

/** Reports whether a ban is active at `now` (milliseconds). */
export function isActive(ban: Ban, now: number): boolean {
  return ban.liftedAt === null && now < ban.until;
}

/** Returns the step of a ban that starts at `now`: one above that of `ban`, minus one for each day without a ban. */
export function nextStep(ban: Ban | undefined, now: number): number {
  if (ban === undefined) return 0;
  const cleanDays = Math.max(0, Math.floor((now - (ban.liftedAt ?? ban.until)) / DAY_MS));
  return Math.max(0, Math.min(BAN_MINUTES.length - 1, ban.step + 1) - cleanDays);
}

/** Returns the duration of a step in minutes. */
export function stepMinutes(step: number): number {
  return BAN_MINUTES[step]!;
}

/** Returns a ban of the next step that starts at `now` (milliseconds). */
export function newBan(keyId: string, previous: Ban | undefined, now: number): Ban {
  const step = nextStep(previous, now);
  const until = (secondOf(now) + stepMinutes(step) * 60) * 1000;
  return { keyId, step, bannedAt: Math.floor(now), until, liftedAt: null };
}

/** The bans that a process knows: stored bans, and bans that are being written. */
export class Bans {
  /** The latest ban of each key, active or not. */
  readonly latest = new Map<string, Ban>();
  /** How many bans this process has imposed. */
  imposed = 0;
  readonly #database: Database;
  readonly #writeBehind: WriteBehind;
  readonly #unwritten = new Map<string, Ban>();
  #topicVersion: number | undefined = -1;
  #reading: Promise<void> | undefined;
  #retryReadAt = 0;

  constructor(database: Database, writeBehind: WriteBehind) {
    this.#database = database;
    this.#writeBehind = writeBehind;
  }

  /**
   * Updates the known ban of `keyId` from storage, including changes by other processes. Returns `undefined` if no read
   * is needed; otherwise a promise that resolves within a second and never rejects.
   */
  refresh(keyId: string, now: number): Promise<void> | undefined {
    const version = this.#database.topicVersion('registry');
    if ((version !== undefined && version === this.#topicVersion) || now < this.#retryReadAt) return undefined;
    if (version === undefined) return this.#awaitRead(this.#readOne(keyId), now);
    if (this.#reading !== undefined) return this.#reading;
    const rows = this.#database.all(bansSince, { since: Math.floor(now - REMEMBERED_MS) });
    if (!(rows instanceof Promise)) {
      this.#replaceAll(rows, version);
      return undefined;
    }
    const reading = rows.then(bans => this.#replaceAll(bans, version));
    this.#reading = this.#awaitRead(reading, now).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Counts the keys that are banned at `now` (milliseconds), as far as this process knows. */
  countActive(now: number): number {
    let active = 0;
    for (const ban of this.latest.values()) if (isActive(ban, now)) active++;
    return active;
  }

  /** Bans a key from now on. The promise resolves once the ban is on disk, or after a second. */
  add(ban: Ban): Promise<void> {
    this.imposed++;
    this.#unwritten.set(ban.keyId, ban);
    this.latest.set(ban.keyId, ban);
    return this.#writeBehind.add({
      write: async tx => {
        await writeBan(tx, ban);
        return () => {
          if (this.#unwritten.get(ban.keyId) === ban) this.#unwritten.delete(ban.keyId);
        };
      },
    });
  }

  /** If the table cannot be read in time, the known bans stay in use, and for a while no request waits for a read. */
  async #awaitRead(reading: Promise<void>, now: number): Promise<void> {
    if (!(await succeedsWithin(reading, READ_MS))) this.#retryReadAt = now + 2 * READ_MS;
  }

  #replaceAll(bans: readonly Ban[], version: number): void {
    this.latest.clear();
    for (const ban of [...bans, ...this.#unwritten.values()]) this.latest.set(ban.keyId, ban);
    this.#topicVersion = version;
  }

  async #readOne(keyId: string): Promise<void> {
    // Notifications may have been missed, so all bans are read again afterwards.
    this.#topicVersion = -1;
    const stored = await this.#database.first(banOf, { keyId });
    const ban = this.#unwritten.get(keyId) ?? stored;
    if (ban === undefined) this.latest.delete(keyId);
    else this.latest.set(keyId, ban);
  }
}

async function writeBan(tx: Transaction, { keyId, step, bannedAt, until }: Ban): Promise<void> {
  // If the row exists, an earlier attempt wrote it, and it may have been lifted since.
  if ((await tx.run(upsertBan, { keyId, step, bannedAt, until })) > 0) await announce(tx, 'imposed', keyId);
}

export interface BanEventData {
  /** The ban after the change; `id` is the id of the key. */
  readonly ban: Pick<BanOfAccount, 'accountId' | 'deployment'> & {
    readonly id: string;
    readonly bannedAt: string;
    readonly until: string;
    readonly liftedAt?: string;
  };
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: { readonly liftedAt: null };
  /** The account that owns the key. */
  readonly ownerId: number;
  /** When the ban started, if before the event was recorded: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Records an event about the current ban of a key, and notifies the topic `registry`. The subject is the account that
 * owns the key. The event has no actor: the limiter imposes bans, and the operator lifts them.
 */
async function announce(tx: Transaction, action: 'imposed' | 'lifted', keyId: string): Promise<void> {
  const { accountId, deployment, bannedAt, until, liftedAt } = (await tx.first(banOf, { keyId }))!;
  const data: BanEventData = {
    ban: {
      ...{ id: keyId, accountId, deployment },
      ...{ bannedAt: formatTime(bannedAt), until: formatTime(until) },
      ...(liftedAt !== null && { liftedAt: formatTime(liftedAt) }),
    },
    ...(action === 'lifted' && { was: { liftedAt: null } }),
    ownerId: accountId,
    ...(action === 'imposed' && bannedAt !== tx.now && { at: bannedAt }),
  };
  await record(tx, { kind: 'ban', action, subjectId: accountId, accountId: null, data });
  await tx.notify('registry');
}

function selectBans(db: Kysely<Tables>) {
  return db
    .selectFrom('bans')
    .innerJoin('keys', 'keys.id', 'bans.key_id')
    .select([
      'bans.key_id as keyId',
      'bans.step',
      'bans.banned_at as bannedAt',
      'bans.until',
      'bans.lifted_at as liftedAt',
      'keys.account_id as accountId',
      'keys.deployment',
    ]);
}

const bansSince = query((db, p: Params<{ since: number }>) => selectBans(db).where('bans.until', '>', p.since));

const banOf = query((db, p: Params<{ keyId: string }>) => selectBans(db).where('bans.key_id', '=', p.keyId));

const activeBans = query((db, p: Params<{ now: number }>) =>
  selectBans(db)
    .where('bans.until', '>', p.now)
    .where('bans.lifted_at', 'is', null)
    .orderBy('bans.until', 'desc')
    .orderBy('bans.key_id'),
);

const upsertBan = query((db, p: Params<Omit<Ban, 'liftedAt'>>) =>
  db
    .insertInto('bans')
    .columns(['key_id', 'step', 'banned_at', 'until'])
    .expression(eb =>
      // Selecting from the key's row skips keys that were deleted meanwhile.
      eb
        .selectFrom('keys')
        .select(['keys.id', number(p.step), number(p.bannedAt), number(p.until)])
        .where('keys.id', '=', p.keyId),
    )
    .onConflict(conflict =>
      conflict
        .column('key_id')
        .doUpdateSet(eb => ({
          step: eb.ref('excluded.step'),
          banned_at: eb.ref('excluded.banned_at'),
          until: eb.ref('excluded.until'),
          lifted_at: null,
        }))
        .whereRef('bans.banned_at', '<>', 'excluded.banned_at' as never),
    ),
);

/** A parameter whose type PostgreSQL cannot infer from a column. */
function number(value: Expression<number>) {
  return sql<number>`cast(${value} as bigint)`.as('value');
}

const liftActiveBan = query((db, p: Params<{ keyId: string; now: number }>) =>
  db
    .updateTable('bans')
    .set({ lifted_at: p.now })
    .where('key_id', '=', p.keyId)
    .where('until', '>', p.now)
    .where('lifted_at', 'is', null),
);

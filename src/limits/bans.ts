import type { Expression } from 'kysely';
import { type Database, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { recordBan } from './ban-log.ts';
import { bounded } from './bounded.ts';
import { secondOf } from './minute-window.ts';
import type { Change, WriteBehind } from './write-behind.ts';

/** How long a ban lasts, by its step. */
const MINUTES = [1, 5, 15, 60] as const;
const DAY_MS = 86_400_000;
/** A ban that ended so long ago makes the next one no longer. */
const REMEMBERED_MS = (MINUTES.length - 1) * DAY_MS;
/** How long a look at the table is waited for. */
const LOOK_MS = 1000;

/** The latest ban of a key. Times in milliseconds since the Unix epoch. */
export interface Ban {
  readonly keyId: string;
  /** From 0 (1 minute) to 3 (60 minutes). */
  readonly step: number;
  readonly bannedAt: number;
  /** When it ends: a whole second. */
  readonly until: number;
  /** When an admin lifted it. */
  readonly liftedAt: number | null;
}

/** A ban in force, with whose key it is. */
export interface BanInForce extends Ban {
  readonly accountId: number;
}

/** Every ban in force at `now` (milliseconds), the one that ends last first. */
export async function listBans(reader: Reader, now: number): Promise<BanInForce[]> {
  return await reader.all(bansInForce, { now: Math.floor(now) });
}

/**
 * Lifts the ban of a key; it counts for the very next request, and for how long the next ban lasts as though it had
 * ended by itself. Safe to repeat.
 * @returns false when the key is not banned
 */
export async function liftBan(tx: Transaction, keyId: string): Promise<boolean> {
  if ((await tx.run(lift, { keyId, now: tx.now })) === 0) return false;
  await recordBan(tx, 'lifted', keyId);
  await tx.notify('registry');
  return true;
}

/** How long after `ban` the next one of its key would be, if it began at `now`: one step up, one back for each clean day. */
export function nextStep(ban: Ban | undefined, now: number): number {
  if (ban === undefined) return 0;
  const cleanDays = Math.max(0, Math.floor((now - (ban.liftedAt ?? ban.until)) / DAY_MS));
  return Math.max(0, Math.min(MINUTES.length - 1, ban.step + 1) - cleanDays);
}

/** How many minutes a ban of a step lasts. */
export function stepMinutes(step: number): number {
  return MINUTES[step]!;
}

/** A ban that begins at `now` (milliseconds). */
export function newBan(keyId: string, step: number, now: number): Ban {
  const until = (secondOf(now) + stepMinutes(step) * 60) * 1000;
  return { keyId, step, bannedAt: Math.floor(now), until, liftedAt: null };
}

/** The bans that a process knows: those on disk, and those that are on their way there. */
export class Bans {
  readonly #database: Database;
  readonly #writeBehind: WriteBehind;
  #known = new Map<string, Ban>();
  readonly #unwritten = new Map<string, Ban>();
  #heard: number | undefined = -1;
  #reading: Promise<void> | undefined;
  #unreadUntil = 0;

  constructor(database: Database, writeBehind: WriteBehind) {
    this.#database = database;
    this.#writeBehind = writeBehind;
  }

  /**
   * Makes sure that what is known of `keyId` is what stands on disk, changes by other processes included. `undefined`
   * when it is already, or is at once; else a promise, which ends after a second at most and never rejects.
   */
  refresh(keyId: string, now: number): Promise<void> | undefined {
    const heard = this.#database.topicVersion('registry');
    if ((heard !== undefined && heard === this.#heard) || now < this.#unreadUntil) return undefined;
    if (heard === undefined) return this.#within(this.#look(keyId), now);
    if (this.#reading !== undefined) return this.#reading;
    const rows = this.#database.all(bansSince, { since: Math.floor(now - REMEMBERED_MS) });
    if (!(rows instanceof Promise)) {
      this.#take(rows, heard);
      return undefined;
    }
    const reading = rows.then(bans => this.#take(bans, heard));
    this.#reading = this.#within(reading, now).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** The latest ban of a key, over or not; `undefined` where none counts any more. */
  latest(keyId: string): Ban | undefined {
    if (this.#unwritten.size > 0) {
      const unwritten = this.#unwritten.get(keyId);
      if (unwritten !== undefined) return unwritten;
    }
    return this.#known.size === 0 ? undefined : this.#known.get(keyId);
  }

  /** Bans a key from now on; the promise ends once the ban is on disk, or after a second at most. */
  add(ban: Ban): Promise<void> {
    this.#unwritten.set(ban.keyId, ban);
    return this.#writeBehind.add(new NewBan(ban, () => this.#written(ban)));
  }

  #written(ban: Ban): void {
    this.#known.set(ban.keyId, ban);
    if (this.#unwritten.get(ban.keyId) === ban) this.#unwritten.delete(ban.keyId);
  }

  /** Where the table cannot be read in time, what is known goes on to count, and for a while nobody waits again. */
  async #within(reading: Promise<void>, now: number): Promise<void> {
    if (!(await bounded(reading, LOOK_MS))) this.#unreadUntil = now + 2 * LOOK_MS;
  }

  #take(bans: readonly Ban[], heard: number): void {
    this.#known = new Map(bans.map(ban => [ban.keyId, ban]));
    this.#heard = heard;
  }

  async #look(keyId: string): Promise<void> {
    // What was heard is no longer known, so all of it is to be read again afterwards.
    this.#heard = -1;
    const ban = await this.#database.first(banOf, { keyId });
    if (ban === undefined) this.#known.delete(keyId);
    else this.#known.set(keyId, ban);
  }
}

/** Whether a ban is in force at `now` (milliseconds). */
export function inForce(ban: Ban | undefined, now: number): ban is Ban {
  return ban !== undefined && ban.liftedAt === null && now < ban.until;
}

class NewBan implements Change {
  readonly #ban: Ban;
  readonly written: () => void;

  constructor(ban: Ban, written: () => void) {
    this.#ban = ban;
    this.written = written;
  }

  async write(tx: Transaction): Promise<void> {
    const { keyId, step, bannedAt, until } = this.#ban;
    // Where it stands already, it was written before this process knew, and may have been lifted since.
    if ((await tx.run(keep, { keyId, step, bannedAt, until })) === 0) return;
    await recordBan(tx, 'imposed', keyId);
    await tx.notify('registry');
  }
}

const bansSince = query((db, p: Params<{ since: number }>) =>
  db
    .selectFrom('bans')
    .select(['key_id as keyId', 'step', 'banned_at as bannedAt', 'until', 'lifted_at as liftedAt'])
    .where('until', '>', p.since),
);

const banOf = query((db, p: Params<{ keyId: string }>) =>
  db
    .selectFrom('bans')
    .select(['key_id as keyId', 'step', 'banned_at as bannedAt', 'until', 'lifted_at as liftedAt'])
    .where('key_id', '=', p.keyId),
);

const bansInForce = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('bans')
    .innerJoin('keys', 'keys.id', 'bans.key_id')
    .select([
      'bans.key_id as keyId',
      'keys.account_id as accountId',
      'bans.step',
      'bans.banned_at as bannedAt',
      'bans.until',
      'bans.lifted_at as liftedAt',
    ])
    .where('bans.until', '>', p.now)
    .where('bans.lifted_at', 'is', null)
    .orderBy('bans.until', 'desc')
    .orderBy('bans.key_id'),
);

const keep = query((db, p: Params<{ keyId: string; step: number; bannedAt: number; until: number }>) =>
  db
    .insertInto('bans')
    .columns(['key_id', 'step', 'banned_at', 'until'])
    .expression(eb =>
      // From the key's row, so that a key that is gone by now holds nothing up.
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

/** A parameter that stands where its type cannot be told from a column. */
function number(value: Expression<number>) {
  return sql<number>`cast(${value} as bigint)`.as('value');
}

const lift = query((db, p: Params<{ keyId: string; now: number }>) =>
  db
    .updateTable('bans')
    .set({ lifted_at: p.now })
    .where('key_id', '=', p.keyId)
    .where('until', '>', p.now)
    .where('lifted_at', 'is', null),
);

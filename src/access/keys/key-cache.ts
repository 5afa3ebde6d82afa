import type { Caller } from '../../lib/http/route.ts';
import { type Networks, parseNetworks } from '../../lib/networks.ts';
import { budgetOf } from '../../model/key.ts';
import { limitsOf } from '../../model/plan.ts';
import type { Database, MaybePromise } from '../../model/schema.ts';
import { scopeSet } from '../../model/scopes.ts';
import type { CountedCaller } from '../limits/limiter.ts';
import { accountSubject, keySubject, sandboxAccountSubject, sandboxSubject } from '../limits/subject.ts';
import { AcceptedHeaders } from './accepted-headers.ts';
import { KeyLookup } from './key-lookup.ts';
import { findKeyWithAccount, type KeyWithAccount } from './key-with-account.ts';
import { recordLastUse } from './keys.ts';

/** The parts of a key that the authenticator, the limiter and the routes use. */
export interface CachedKey extends CountedCaller {
  /** The bytes of the stored hash, as text. */
  readonly hash: Buffer;
  readonly revoked: boolean;
  /** The key that replaced it when it was rotated; null if none did. */
  readonly replacedBy: string | null;
  /** Whether its account is suspended. */
  readonly suspended: boolean;
  /** Milliseconds since the Unix epoch; infinity if the key does not expire. */
  readonly expiresAt: number;
  /** The networks from which it is accepted; absent if all are. */
  readonly networks: Networks | undefined;
  readonly caller: Caller;
}

const KEYS_MAX = 50_000;
/** Fewer than keys, and in a separate cache, so that invented ids never evict a key. */
const UNKNOWN_MAX = 10_000;
const WRITE_EVERY_MS = 60_000;
/** An accepted header is kept for one to two of these after its last use. */
const GENERATION_MS = 30_000;

/**
 * A cache of recently used keys, so that authentication needs no database read.
 *
 * Changes to keys take effect on the next look-up on the embedded engine, and within a second on PostgreSQL. A node
 * that cannot know whether keys have changed reads every time. Last uses are written once a minute; a crash loses at
 * most a minute of them.
 */
export class KeyCache {
  readonly #database: Database;
  readonly #sandboxPerMinute: number;
  readonly #timers: readonly NodeJS.Timeout[];
  /** Absent on the embedded engine, where a look-up takes a few microseconds of this thread. */
  readonly #lookup: KeyLookup | undefined;
  readonly #keys = new Map<string, CachedKey>();
  readonly #accepted = new AcceptedHeaders<CachedKey>();
  /** Ids without a key. */
  readonly #unknown = new Set<string>();
  #topicVersion: number | undefined;
  /** When keys were last used since the last write, in milliseconds since the Unix epoch. */
  lastUses = new Map<string, number>();

  /**
   * @param database the production database, which stores all keys
   * @param sandboxPerMinute the requests that all sandbox accounts together may send in any 60 seconds
   */
  constructor(database: Database, sandboxPerMinute: number) {
    this.#database = database;
    this.#sandboxPerMinute = sandboxPerMinute;
    this.#lookup = database.engine === 'postgres' ? new KeyLookup(database) : undefined;
    this.#timers = [
      setInterval(() => this.#writeLastUses().catch(() => {}), WRITE_EVERY_MS).unref(),
      setInterval(() => this.#accepted.beginGeneration(), GENERATION_MS).unref(),
    ];
  }

  /**
   * Returns the key with this id and its account, or `undefined`. Throws when storage is unavailable.
   * @param canWait reports whether the request may wait up to 50 ms; called only for a key that is not cached
   */
  find(id: string, canWait = () => false): MaybePromise<CachedKey | undefined> {
    const version = this.#database.topicVersion('registry');
    if (version !== undefined) {
      if (version !== this.#topicVersion) {
        this.#keys.clear();
        this.#unknown.clear();
        this.#accepted.clear();
      }
      this.#topicVersion = version;
      const known = this.#keys.get(id);
      if (known !== undefined || this.#unknown.has(id)) return known;
    }
    const row = this.#lookup?.find(id, canWait()) ?? findKeyWithAccount(this.#database, id);
    return row instanceof Promise ? row.then(found => this.#keep(version, id, found)) : this.#keep(version, id, row);
  }

  /** Returns the key for which this `Authorization` header was accepted within the last minute, if the key is unchanged. */
  findAccepted(header: string): CachedKey | undefined {
    const key = this.#accepted.find(header);
    if (key === undefined) return undefined;
    const version = this.#database.topicVersion('registry');
    const isCurrent = version !== undefined && version === this.#topicVersion && this.#keys.get(key.keyId) === key;
    return isCurrent ? key : undefined;
  }

  /** Records that this `Authorization` header has the secret of a key. */
  noteAccepted(header: string, key: CachedKey): void {
    if (this.#keys.get(key.keyId) === key) this.#accepted.note(header, key);
  }

  /** Writes pending last uses if storage is available, and stops. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writeLastUses().catch(() => {});
  }

  #keep(version: number | undefined, id: string, row: KeyWithAccount | undefined): CachedKey | undefined {
    const key = row && cachedKeyOf(row, this.#sandboxPerMinute);
    // A result that was read before a change must not be cached after the change.
    if (version === undefined || version !== this.#topicVersion) return key;
    if (key === undefined) {
      if (this.#unknown.size >= UNKNOWN_MAX) this.#unknown.clear();
      this.#unknown.add(id);
    } else {
      if (this.#keys.size >= KEYS_MAX) this.#keys.clear();
      this.#keys.set(id, key);
    }
    return key;
  }

  /** Uses that cannot be written are lost until the next use of the key. */
  async #writeLastUses(): Promise<void> {
    if (this.lastUses.size === 0) return;
    const uses = Array.from(this.lastUses, ([id, at]) => ({ id, at: Math.floor(at) }));
    this.lastUses = new Map();
    await this.#database.write(tx => recordLastUse(tx, uses));
  }
}

function cachedKeyOf(row: KeyWithAccount, sandboxPerMinute: number): CachedKey {
  const { id: keyId, account_id: accountId, deployment } = row;
  return {
    keyId,
    ...(row.sandbox === 1 ? sandboxSubjectsOf(row, sandboxPerMinute) : subjectsOf(row)),
    hash: Buffer.from(row.hash, 'latin1'),
    revoked: row.revoked_at !== null,
    replacedBy: row.replaced_by,
    suspended: row.suspended_at !== null,
    expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
    networks: row.networks === null ? undefined : parseNetworks(row.networks.split(' ')),
    caller: {
      ...{ keyId, deployment, accountId, admin: row.admin === 1, plan: row.plan, scopes: scopeSet(row.scopes) },
      ...(row.sandbox === 1 && { sandbox: true }),
    },
  };
}

type Subjects = Pick<CountedCaller, 'account' | 'budget'>;

function subjectsOf(row: KeyWithAccount): Subjects {
  const account = accountSubject(row.deployment, row.account_id, limitsOf(row));
  const budget = budgetOf(row.key_per_minute, row.key_per_day);
  return { account, budget: budget && keySubject(account, row.id, budget) };
}

/** Keys of the sandbox have no individual budgets. */
function sandboxSubjectsOf(row: KeyWithAccount, perMinute: number): Subjects {
  const sandbox = sandboxSubject(row.deployment, perMinute);
  return { account: sandboxAccountSubject(sandbox, row.account_id, limitsOf(row)), budget: sandbox };
}

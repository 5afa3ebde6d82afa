import type { Clock } from '../lib/clock.ts';
import type { Caller } from '../lib/http/route.ts';
import type { Exchange } from '../lib/http/server/exchange.ts';
import type { Outcome } from '../lib/http/server/options.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { HOUR_MS } from '../lib/time.ts';
import { succeedsWithin } from '../lib/timeout.ts';
import type { Database, DeploymentName } from '../schema.ts';
import { UsageAlerts } from './alerts.ts';
import { addUsage, type KeyHour, type OutcomeName, outcomeOf } from './counts.ts';
import { addRequests, trimRequests } from './log.ts';
import type { NewLoggedRequest } from './logged-request.ts';
import { type Line, lineOf, rowOf } from './waiting-line.ts';

export interface UsageRecorderDeps {
  /** Production's database, which stores the accounts of both deployments. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** The bounds of the request log on one node. Requests beyond them are counted, but not logged. */
export const logBounds = {
  /** The requests in one second: of an account, and of all. */
  perSecondAndAccount: 100,
  perSecond: 1000,
  /** The requests that wait to be written, and the characters of their paths and queries. */
  waiting: 2000,
  waitingCharacters: 2 * 1024 * 1024,
};

/** The delay between a request and the write of its count and line. */
const WRITE_AFTER_MS = 1000;
/** The requests in one transaction, so that it delays nothing else for long. */
const LINES_AT_ONCE = 200;
/** The requests added to the log of an account between two trims. */
const TRIM_EVERY = 200;
/** The most hours of keys that wait while storage is away; more requests are added to the hours that wait already. */
const HOURS_MAX = 20_000;
/** The most accounts of which the recorder knows when their log was trimmed. */
const ACCOUNTS_MAX = 10_000;
const CLOSE_MS = 5000;

/**
 * Counts the requests of accounts and logs them, and writes both about once a second, off the path of requests. It holds a
 * bounded amount of memory: while storage is away, counts add up and further requests are not logged. A crash loses what
 * was not written: a second or two. An idle recorder does nothing.
 */
export class UsageRecorder {
  readonly #deps: UsageRecorderDeps;
  /** The alerts of accounts, which are written with the usage. */
  readonly alerts: UsageAlerts;
  readonly #throttle = new LogThrottle();
  /** The requests that are logged. Their counts derive from their lines and commit with them. */
  #lines: Line[] = [];
  #characters = 0;
  /** The counts of the unlogged requests since the last write by key, all of them in the hour that they name. */
  #unlogged = new Map<string, Mutable<KeyHour>>();
  /** Those of hours that are over. */
  #pastHours: KeyHour[] = [];
  /** The current second, and the requests logged in it by account. */
  #second = 0;
  #loggedInSecond = 0;
  readonly #loggedBy = new Map<number, number>();
  /** The requests added to the log of an account since it was trimmed; absent for accounts of which this is not known. */
  readonly #untrimmed = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();
  #isClosed = false;

  constructor(deps: UsageRecorderDeps) {
    this.#deps = deps;
    this.alerts = new UsageAlerts(deps.database);
  }

  /** Records the response to a request. Does nothing for callers without a valid key. @param prefix of the API's paths */
  record(prefix: string, exchange: Exchange, outcome: Outcome): void {
    const { caller } = exchange;
    if (caller === undefined) return;
    const now = this.#deps.clock.now();
    if (this.#takeRoom(caller.accountId, now, exchange)) {
      this.#lines.push(lineOf(prefix, exchange, outcome, caller, now));
    } else {
      const counts = this.#unloggedOf(caller, Math.floor(now / HOUR_MS));
      counts[outcomeOf(outcome.status, outcome.code)]++;
      counts.unlogged++;
    }
    this.#timer ??= this.#isClosed ? undefined : setTimeout(() => this.#writeLater(), WRITE_AFTER_MS).unref();
  }

  /**
   * Writes everything that was recorded so far.
   * @throws {StorageError} when that fails; then it stays for the next time
   */
  async write(): Promise<void> {
    const before = this.#writing.catch(() => {});
    this.#writing = before.then(() => this.#writeAll());
    await this.#writing;
  }

  /** Writes everything if storage allows it, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (await succeedsWithin(this.write(), CLOSE_MS)) return;
    this.#deps.log.warn('The usage of the last seconds could not be written.');
  }

  #writeLater(): void {
    this.write()
      .catch(error => {
        if (this.#throttle.shouldLog('usage')) this.#deps.log.warn({ err: error }, WRITE_FAILED);
      })
      .finally(() => {
        const isEmpty = this.#lines.length === 0 && this.#unlogged.size === 0 && this.#pastHours.length === 0;
        this.#timer =
          isEmpty || this.#isClosed ? undefined : setTimeout(() => this.#writeLater(), WRITE_AFTER_MS).unref();
      });
  }

  #unloggedOf(caller: Caller, hour: number): Mutable<KeyHour> {
    const counts = this.#unlogged.get(caller.keyId);
    if (counts?.hour === hour) return counts;
    if (counts !== undefined) {
      if (this.#pastHours.length >= HOURS_MAX) return counts;
      this.#pastHours.push(counts);
    }
    const fresh = emptyHour(caller, hour);
    this.#unlogged.set(caller.keyId, fresh);
    return fresh;
  }

  /** Reports whether a request is logged, and takes its room. */
  #takeRoom(accountId: number, now: number, { path, search }: Exchange): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#loggedInSecond = 0;
      this.#loggedBy.clear();
    }
    const logged = this.#loggedBy.get(accountId) ?? 0;
    const characters = path.length + search.length;
    if (
      logged >= logBounds.perSecondAndAccount ||
      this.#loggedInSecond >= logBounds.perSecond ||
      this.#lines.length >= logBounds.waiting ||
      this.#characters + characters > logBounds.waitingCharacters
    ) {
      return false;
    }
    this.#loggedBy.set(accountId, logged + 1);
    this.#loggedInSecond++;
    this.#characters += characters;
    return true;
  }

  async #writeAll(): Promise<void> {
    let left = this.#lines.length;
    do {
      const lines = this.#lines.slice(0, Math.min(LINES_AT_ONCE, left));
      left -= lines.length;
      const unlogged = [...this.#pastHours, ...this.#unlogged.values()];
      if (unlogged.length === 0 && lines.length === 0) break;
      this.#pastHours = [];
      this.#unlogged = new Map();
      try {
        await this.#writeBatch(withLines(unlogged, lines), lines.map(rowOf));
      } catch (error) {
        for (const hour of unlogged) this.#putBack(hour);
        throw error;
      }
      this.#lines.splice(0, lines.length);
      for (const { search, path } of lines) this.#characters -= path.length + search.length;
    } while (left > 0);
    await this.alerts.write();
  }

  /** Adds counts that could not be written to those of their key and hour. */
  #putBack(counts: KeyHour): void {
    const known = this.#unlogged.get(counts.keyId);
    if (known === undefined) this.#unlogged.set(counts.keyId, counts);
    else if (known.hour !== counts.hour && this.#pastHours.length < HOURS_MAX) this.#pastHours.push(counts);
    else for (const name of countNames) known[name] += counts[name];
  }

  async #writeBatch(usage: readonly KeyHour[], rows: readonly NewLoggedRequest[]): Promise<void> {
    const added = [...Map.groupBy(rows, ({ accountId }) => accountId)].sort(([one], [other]) => one - other);
    const untrimmed = added.map(([id, { length }]) => [id, (this.#untrimmed.get(id) ?? TRIM_EVERY) + length] as const);
    const trimmed = untrimmed.filter(([, count]) => count >= TRIM_EVERY).map(([id]) => id);
    await this.#deps.database.write(async tx => {
      if (usage.length > 0) await addUsage(tx, usage);
      if (rows.length > 0) await addRequests(tx, rows);
      for (const id of trimmed) await trimRequests(tx, id, 2 * TRIM_EVERY);
    });
    if (this.#untrimmed.size > ACCOUNTS_MAX) this.#untrimmed.clear();
    for (const [id, count] of untrimmed) this.#untrimmed.set(id, trimmed.includes(id) ? 0 : count);
  }
}

const WRITE_FAILED = 'The usage of accounts cannot be written; it is kept in memory, and requests are not logged.';

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Returns the counts of unlogged requests with those of lines added, one entry per key and hour. */
function withLines(unlogged: readonly KeyHour[], lines: readonly Line[]): KeyHour[] {
  const hours = new Map(unlogged.map(counts => [`${counts.hour} ${counts.keyId}`, { ...counts }]));
  for (const { caller, at, status, code } of lines) {
    const hour = Math.floor(at / HOUR_MS);
    const counts = hours.getOrInsertComputed(`${hour} ${caller.keyId}`, () => emptyHour(caller, hour));
    counts[outcomeOf(status, code)]++;
  }
  return [...hours.values()];
}

function emptyHour({ keyId, accountId, deployment }: Caller, hour: number): Mutable<KeyHour> {
  return { keyId, accountId, deployment: deployment as DeploymentName, hour, ...noRequests };
}

const noRequests = { succeeded: 0, clientErrors: 0, rateLimited: 0, banned: 0, serverErrors: 0, unlogged: 0 };
const countNames = Object.keys(noRequests) as (OutcomeName | 'unlogged')[];

import type { Clock } from '../../lib/clock.ts';
import type { Caller } from '../../lib/http/route.ts';
import type { Exchange } from '../../lib/http/server/exchange.ts';
import type { RequestOutcome } from '../../lib/http/server/options.ts';
import type { Log } from '../../lib/log.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { HOUR_MS } from '../../lib/time.ts';
import { succeedsWithin } from '../../lib/timeout.ts';
import type { NewLoggedRequest } from '../../model/logged-request.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import { UsageAlerts } from './alerts.ts';
import { addUsage, type KeyHour, noRequests, outcomeOf } from './counts.ts';
import { addRequests, trimRequests } from './log.ts';
import { shownPath } from './shown-path.ts';

interface UsageRecorderDeps {
  /** Production's database, which stores the accounts of both deployments. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** The bounds of the request log on one node. Requests beyond them are counted but not logged. */
export const logBounds = {
  /** The maximum numbers of logged requests per second: of an account, and of all accounts. */
  perSecondAndAccount: 100,
  perSecond: 1000,
  /** The maximum number of requests that wait to be written, and of characters in their paths and queries. */
  waiting: 2000,
  waitingCharacters: 2 * 1024 * 1024,
};

/** The delay between a request and the write of its count and log entry. */
const WRITE_AFTER_MS = 1000;
/** The maximum number of requests in one transaction, so that it does not delay other work. */
const LINES_AT_ONCE = 200;
/** The number of requests added to the log of an account between two trims. */
const TRIM_EVERY = 200;
/**
 * The maximum number of waiting counts, each of a key and an hour, while storage is unavailable; further requests are
 * added to waiting counts.
 */
const HOURS_MAX = 20_000;
/** The maximum number of accounts whose last trim the recorder remembers. */
const ACCOUNTS_MAX = 10_000;
const CLOSE_MS = 5000;

/**
 * Counts the requests of accounts and logs them, and writes both about once a second, off the path of requests. Its
 * memory is bounded: while storage is unavailable, counts are summed and further requests are not logged. A crash loses
 * the requests of the last second or two. An idle recorder does not write.
 */
export class UsageRecorder {
  readonly #deps: UsageRecorderDeps;
  /** The usage alerts of accounts, which are written with the usage. */
  readonly alerts: UsageAlerts;
  readonly #throttle = new LogThrottle();
  /** The requests to log. Their counts derive from these lines and commit with them. */
  #lines: Line[] = [];
  #characters = 0;
  /** The counts of the unlogged requests since the last write by key, all in the same hour. */
  #unlogged = new Map<string, Mutable<KeyHour>>();
  /** The counts of earlier hours. */
  #pastHours: KeyHour[] = [];
  /** The current second, and the requests logged in it by account. */
  #second = 0;
  #loggedInSecond = 0;
  readonly #loggedBy = new Map<number, number>();
  /** The number of requests added to the log of an account since it was trimmed; absent if it is unknown. */
  readonly #untrimmed = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();
  #isClosed = false;

  constructor(deps: UsageRecorderDeps) {
    this.#deps = deps;
    this.alerts = new UsageAlerts(deps.database);
  }

  /** Records the response to a request. Does nothing for callers without a valid key. */
  record(exchange: Exchange, outcome: RequestOutcome): void {
    const { caller } = exchange;
    if (caller === undefined) return;
    const now = this.#deps.clock.now();
    if (this.#takeRoom(caller.accountId, now, exchange)) {
      const { request, path, parameters, search, requestId } = exchange;
      const line = {
        caller,
        method: request.method!,
        path,
        parameters,
        search,
        requestId,
        at: Math.floor(now),
      };
      this.#lines.push({ ...line, ...outcome });
    } else {
      const counts = this.#unloggedOf(caller, Math.floor(now / HOUR_MS));
      counts[outcomeOf(outcome.status, outcome.code)]++;
      counts.unlogged++;
    }
    this.#timer ??= this.#isClosed ? undefined : setTimeout(() => this.#writeLater(), WRITE_AFTER_MS).unref();
  }

  /**
   * Writes all recorded requests.
   * @throws {StorageError} when that fails; then the next call writes them
   */
  async write(): Promise<void> {
    const before = this.#writing.catch(() => {});
    this.#writing = before.then(() => this.#writeAll());
    await this.#writing;
  }

  /** Writes all recorded requests if storage is available, and stops. */
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

  /** Reports whether to log a request, and reserves its share of the bounds. */
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

  /** Adds counts that could not be written to the counts of their key and hour. */
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

/** Returns the counts of unlogged requests plus those of lines, one entry per key and hour. */
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

const countNames = Object.keys(noRequests) as (keyof typeof noRequests)[];

/** A request that waits to be written. It keeps no reference to the connection. */
interface Line extends RequestOutcome {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly parameters: Exchange['parameters'];
  readonly search: string;
  readonly requestId: string;
  /** The time of its response, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Returns a line as a row of the request log. */
function rowOf({ caller, route, ...line }: Line): NewLoggedRequest {
  const { keyId, accountId, deployment } = caller;
  return {
    ...{ keyId, accountId, deployment: deployment as DeploymentName },
    requestId: line.requestId,
    time: line.at,
    method: line.method,
    path: route === undefined ? null : shownPath({ ...line, route }),
    operation: route?.operationId ?? null,
    status: line.status,
    code: line.code === '' ? null : line.code,
    durationMs: Math.round(line.durationMs * 1000),
  };
}

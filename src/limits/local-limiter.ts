import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { addressPerMinute } from '../plans/plan.ts';
import type { Database, DeploymentName, MaybePromise } from '../schema.ts';
import { AccountCounts } from './account-counts.ts';
import { type Bans, isActive, newBan, nextStep } from './bans.ts';
import { type DayCount, dayOf, endOfDay, reservations, saveExactCounts } from './day-counts.ts';
import { GenerationalCache } from './generational-cache.ts';
import type { CountedCaller, Limiter, LimiterDeps, LimiterHealth } from './limiter.ts';
import { deleteMinuteCounts, type MinuteCount, readMinuteCounts, saveMinuteCounts } from './minute-counts.ts';
import { MinuteWindow, secondOf } from './minute-window.ts';
import type { Nodes } from './nodes.ts';
import { succeedsWithin } from './succeeds-within.ts';
import { accepted, addressWindows, allowedAt, banned, limited, type Verdict, type WindowState } from './verdict.ts';
import type { WriteBehind } from './write-behind.ts';

/** The maximum number of addresses in memory; beyond it the least recently seen ones start again at zero. */
const addressesMax = 100_000;
/** After this time every request has left the minute window. */
const MINUTE_AGE_MS = 61_000;
const DAY_MS = 86_400_000;
/** How long to wait for stored counts, and how long after a failure to retry. */
const READ_MS = 1000;
/** How long startup and shutdown wait for a write. */
const WRITE_MS = 3000;

const EMPTY_WINDOW = new MinuteWindow();
const deployments = ['production', 'staging'] as const;

/**
 * A limiter that counts in the memory of this process; most calls return without a promise.
 *
 * It returns a promise when it has to read or write first: the stored day count on an account's first request, the first
 * reservation of the day, a new ban, and bans that another process has changed.
 */
export class LocalLimiter implements Limiter {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #node: string;
  readonly #writeBehind: WriteBehind;
  readonly #bans: Bans;
  readonly #membership: Nodes | undefined;
  readonly #accounts = {
    production: new GenerationalCache<number, AccountCounts>(Number.POSITIVE_INFINITY, DAY_MS),
    staging: new GenerationalCache<number, AccountCounts>(Number.POSITIVE_INFINITY, DAY_MS),
  };
  readonly #addresses = new GenerationalCache<string, MinuteWindow>(addressesMax, MINUTE_AGE_MS);
  #nodes = 1;
  #addressLimit: number = addressPerMinute;
  #fence = 0;
  #outage = 0;

  constructor({ database, clock, log, node, writeBehind, bans, nodes }: LimiterDeps) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
    this.#writeBehind = writeBehind;
    this.#bans = bans;
    this.#membership = nodes;
  }

  count(caller: CountedCaller): MaybePromise<Verdict> {
    const now = this.#clock.now();
    const refreshing = this.#bans.refresh(caller.keyId, now);
    if (refreshing !== undefined) return refreshing.then(() => this.#judge(caller, this.#clock.now()));
    return this.#judge(caller, now);
  }

  countAddress(address: string): Verdict {
    const now = this.#clock.now();
    const minute = this.#addressCounts(address, now);
    const fits = minute.total < this.#addressLimit;
    if (fits) minute.add(secondOf(now));
    const windows = this.#addressWindows(minute, now);
    return fits ? accepted(windows) : limited(windows);
  }

  addressStatus(address: string): Verdict {
    const now = this.#clock.now();
    const minute = this.#addresses.peek(address) ?? EMPTY_WINDOW;
    minute.expire(now);
    return accepted(this.#addressWindows(minute, now));
  }

  isBanned(keyId: string): MaybePromise<boolean> {
    const now = this.#clock.now();
    const judge = () => isActive(this.#bans.latest(keyId), now);
    return this.#bans.refresh(keyId, now)?.then(judge) ?? judge();
  }

  health(): LimiterHealth {
    return { counts: 'exact', day: this.#writeBehind.state };
  }

  /** Restores the minute counts that the last process saved. */
  async restore(): Promise<void> {
    const now = this.#clock.now();
    for (const { subject, second, requests } of await readMinuteCounts(this.#database)) {
      const [kind, name, id] = subject.split(' ') as [string, string, string];
      const minute =
        kind === 'address'
          ? this.#addressCounts(name, now)
          : this.#accountCounts(name as DeploymentName, Number(id), now).minute;
      // If the clock was set back meanwhile, requests from the future count now.
      minute.add(Math.min(second, secondOf(now)), requests);
      minute.expire(now);
    }
    await this.#logged(deleteMinuteCounts(this.#database));
  }

  /** @param keep.minutes which minute counts to save for the next start: all, those since `startOutage`, or none */
  async close(keep: { minutes: 'all' | 'since' | 'none' } = { minutes: 'all' }): Promise<void> {
    await this.#writeBehind.close();
    await this.saveDays();
    if (keep.minutes !== 'none') await this.#keepMinutes(keep.minutes);
    await this.#membership?.close();
  }

  async #keepMinutes(which: 'all' | 'since'): Promise<void> {
    const now = this.#clock.now();
    const counts: MinuteCount[] = [];
    const collect = (subject: string, minute: MinuteWindow) => {
      minute.expire(now);
      const pairs = which === 'all' ? minute.pairs : minute.since(this.#fenceOf(minute));
      for (let i = 0; i < pairs.length; i += 2) counts.push({ subject, second: pairs[i]!, requests: pairs[i + 1]! });
    };
    for (const [deployment, id, { minute }] of this.#everyAccount()) collect(`account ${deployment} ${id}`, minute);
    for (const [address, minute] of this.#addresses.entries()) collect(`address ${address}`, minute);
    await this.#logged(saveMinuteCounts(this.#database, counts));
  }

  /** Replaces the stored reservations by exact counts. */
  async saveDays(): Promise<void> {
    const today = dayOf(this.#clock.now());
    const days = [...this.#everyAccount()]
      .map(([, , { day }]) => day)
      .filter(day => day.loaded && day.day === today && day.own !== day.reserved);
    await this.#logged(saveExactCounts(this.#database, days));
  }

  /** Enforces one of `nodes` equal shares of every limit from now on. */
  share(nodes: number): void {
    this.#nodes = nodes;
    this.#addressLimit = Math.max(1, Math.floor(addressPerMinute / nodes));
  }

  /**
   * Starts counting alone: Valkey has counted up to the second before `firstSecond`. Stored day counts are read again,
   * because other nodes have counted there.
   */
  startOutage(fence: number): void {
    this.#fence = Math.max(this.#fence, fence);
    this.#outage++;
  }

  /** Records a request that Valkey accepted in `second`. */
  recordAccount(caller: CountedCaller, second: number): void {
    const now = this.#clock.now();
    const { minute } = this.#accountCounts(caller.deployment, caller.accountId, now);
    minute.expire(now);
    minute.add(second);
  }

  /** Records how many requests Valkey has counted for an address by `second`. */
  recordAddress(address: string, second: number, total: number): void {
    const minute = this.#addressCounts(address, this.#clock.now());
    if (total > minute.total) minute.add(second, total - minute.total);
  }

  /**
   * Yields the counts since `startOutage`, to be added to Valkey; with `everything` also those that Valkey had counted
   * before for this node. Each count is yielded once: call it until nothing is left.
   */
  *unsyncedCounts(everything: boolean): Generator<UnsyncedCounts> {
    for (const [deployment, accountId, { minute, day }] of this.#everyAccount()) {
      const pairs = minute.transfer(everything ? 0 : this.#fenceOf(minute));
      if (pairs.length > 0) yield { account: { deployment, accountId, day: day.day, own: day.own }, pairs };
    }
    for (const [address, minute] of this.#addresses.entries()) {
      const pairs = minute.transfer(everything ? 0 : this.#fenceOf(minute));
      if (pairs.length > 0) yield { address, pairs };
    }
  }

  *#everyAccount(): Generator<[DeploymentName, number, AccountCounts]> {
    for (const deployment of deployments) {
      for (const [id, account] of this.#accounts[deployment].entries()) yield [deployment, id, account];
    }
  }

  /** Returns the first second of a window that Valkey does not know. */
  #fenceOf(minute: MinuteWindow): number {
    return Math.max(minute.firstSecond, this.#fence);
  }

  #judge(caller: CountedCaller, now: number): MaybePromise<Verdict> {
    const account = this.#accountCounts(caller.deployment, caller.accountId, now);
    const { minute, day } = account;
    account.setLimits(caller.limits, this.#nodes);
    if (!day.loaded || account.outage !== this.#outage) {
      if (account.retryReadAt === 0) return this.#read(account).then(() => this.#judge(caller, this.#clock.now()));
      if (now >= account.retryReadAt) this.#read(account);
    }
    const second = secondOf(now);
    minute.expire(now);
    const ban = this.#bans.latest(caller.keyId);
    if (isActive(ban, now)) return banned(windowsOf(account, now, second), ban.until / 1000);

    const { perMinute, perDay } = account.limits;
    if (minute.total >= perMinute || account.usedToday >= perDay) return this.#refuse(caller, account, now, second);

    minute.add(second);
    day.own++;
    account.recordAccepted(caller.keyId, now);
    const verdict = accepted(windowsOf(account, now, second));
    return day.needsReservation ? this.#reserve(day, verdict) : verdict;
  }

  #refuse(caller: CountedCaller, account: AccountCounts, now: number, second: number): MaybePromise<Verdict> {
    const { keyId } = caller;
    const windows = windowsOf(account, now, second);
    if (!account.violationsOf(keyId).recordRejection(now, allowedAt(windows))) return limited(windows);

    account.clearViolations(keyId);
    const ban = newBan(keyId, nextStep(this.#bans.latest(keyId), now), now);
    const verdict = banned(windows, ban.until / 1000);
    return this.#bans.add(ban).then(() => verdict);
  }

  /** Reserves requests ahead; waits only if this request is not reserved yet. */
  #reserve(day: DayCount, verdict: Verdict): MaybePromise<Verdict> {
    const written = this.#writeBehind.add(day);
    if (day.own <= day.reserved || this.#writeBehind.state === 'memory') return verdict;
    return this.#reserved(written, day, day.own, verdict);
  }

  async #reserved(written: Promise<void>, day: DayCount, own: number, verdict: Verdict): Promise<Verdict> {
    const date = day.day;
    await written;
    while (day.reserved < own && day.day === date && this.#writeBehind.state === 'durable') {
      await this.#writeBehind.add(day);
    }
    return verdict;
  }

  /** Reads the stored day count of an account, for a second at most; on failure counting continues in memory. */
  #read(account: AccountCounts): Promise<void> {
    account.reading ??= this.#load(account).finally(() => {
      account.reading = undefined;
    });
    return account.reading;
  }

  async #load(account: AccountCounts): Promise<void> {
    const { day } = account;
    const date = day.day;
    const outage = this.#outage;
    const rows = reservations(this.#database, day.accountId, day.deployment, date);
    const read = await succeedsWithin(
      rows.then(found => {
        if (day.day !== date) return;
        day.load(found);
        account.outage = outage;
        account.retryReadAt = 0;
      }),
      READ_MS,
    );
    if (read) return;
    account.retryReadAt = this.#clock.now() + READ_MS;
    this.#writeBehind.reportFailure(new Error('the storage does not respond'));
  }

  #accountCounts(deployment: DeploymentName, id: number, now: number): AccountCounts {
    const today = dayOf(now);
    const accounts = this.#accounts[deployment];
    let account = accounts.get(id, now);
    if (account === undefined) {
      account = new AccountCounts(id, deployment, this.#node, today);
      accounts.set(id, account, now);
    }
    // Without other nodes, nothing is stored yet for a day that starts while this process runs.
    if (account.day.day !== today) account.day.startDay(today, account.day.loaded && this.#outage === 0);
    if (account.minute.firstSecond < this.#fence) account.minute.firstSecond = this.#fence;
    return account;
  }

  #addressCounts(address: string, now: number): MinuteWindow {
    let minute = this.#addresses.get(address, now);
    if (minute === undefined) {
      minute = new MinuteWindow();
      this.#addresses.set(address, minute, now);
    }
    if (minute.firstSecond < this.#fence) minute.firstSecond = this.#fence;
    minute.expire(now);
    return minute;
  }

  #addressWindows(minute: MinuteWindow, now: number): WindowState {
    const limit = this.#addressLimit;
    return addressWindows(limit, now, Math.max(0, limit - minute.total), minute.reset(limit, secondOf(now)));
  }

  /** Waits for a write for a limited time, and logs a failure: the product works without it. */
  async #logged(write: Promise<void>): Promise<void> {
    let cause: unknown = new Error('the storage does not respond');
    const noted = write.catch(error => {
      cause = error;
      throw error;
    });
    if (await succeedsWithin(noted, WRITE_MS)) return;
    this.#log.warn({ err: cause }, 'The request counts could not be written.');
  }
}

/** Counts of one account or address that Valkey does not have yet. */
export interface UnsyncedCounts {
  readonly account?: {
    readonly deployment: DeploymentName;
    readonly accountId: number;
    readonly day: number;
    /** The requests that this node counted alone on that day. */
    readonly own: number;
  };
  readonly address?: string;
  /** Seconds and requests in turn. */
  readonly pairs: readonly number[];
}

function windowsOf(account: AccountCounts, now: number, second: number): WindowState {
  const { limits, policy, minute, day } = account;
  return {
    now,
    limits,
    policy,
    minuteLeft: limits.perMinute - minute.total,
    minuteReset: minute.reset(limits.perMinute, second),
    dayLeft: limits.perDay - account.usedToday,
    dayReset: endOfDay(day.day),
  };
}

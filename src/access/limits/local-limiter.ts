import type { Clock } from '../../lib/clock.ts';
import { DAY_MS, dayOf } from '../../lib/time.ts';
import { succeedsWithin } from '../../lib/timeout.ts';
import type { MaybePromise } from '../../model/schema.ts';
import { AddressCounts } from './address-counts.ts';
import { type Bans, isActive, newBan } from './bans.ts';
import { type DayCount, saveExactCounts } from './day-counts.ts';
import { GenerationalCache } from './generational-cache.ts';
import type { CountedCaller, Limiter, LimiterDeps, LimiterHealth, LimiterMeasurements } from './limiter.ts';
import { deleteMinuteCounts, type MinuteCount, readMinuteCounts, saveMinuteCounts } from './minute-counts.ts';
import { MINUTE_AGE_MS, type MinuteWindow, secondOf } from './minute-window.ts';
import type { Subject } from './subject.ts';
import { SubjectCounts } from './subject-counts.ts';
import { accepts, allowedAt, type Verdict, verdictOf, type WindowState } from './verdict.ts';
import { Violations } from './violations.ts';
import { storageTimeout, type WriteBehind } from './write-behind.ts';

/** How long startup and shutdown wait for a write. */
const WRITE_MS = 3000;

/** The prefix of addresses in the names of `minute_counts`. */
const ADDRESS = 'address ';

/**
 * A limiter that counts in the memory of this process; most calls return without a promise. It returns a promise for
 *
 * - the first request of an account or a key with a budget, which reads the stored count of the day,
 * - the first block of a day,
 * - a new ban, and after another process changed bans.
 *
 * The shared limiter updates it with `record`, `remove` and `recordAddress`. While Valkey is unavailable, the shared
 * limiter counts with it, using `share`, `startOutage`, `unsyncedCounts` and `saveDays`.
 */
export class LocalLimiter implements Limiter {
  readonly #deps: LimiterDeps;
  readonly #clock: Clock;
  readonly #bans: Bans;
  readonly #writeBehind: WriteBehind;
  /** The counts of accounts and of keys with a budget, by the names of the subjects. */
  readonly #subjects = new GenerationalCache<string, SubjectCounts>(Number.POSITIVE_INFINITY, DAY_MS);
  readonly #addresses = new AddressCounts();
  #nodes = 1;
  /** The first second that Valkey has not counted. */
  #fence = 0;
  /** The number of outages of Valkey. */
  #outages = 0;
  /** The value of the clock's `steppedMs` to which the windows were shifted. */
  #steppedMs = 0;

  constructor(deps: LimiterDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#bans = deps.bans;
    this.#writeBehind = deps.writeBehind;
  }

  /**
   * Returns the current time. When the clock is set, shifts the requests of the last minute, so that they still count.
   */
  #now(): number {
    const now = this.#clock.now();
    const seconds = ((this.#clock.steppedMs ?? 0) - this.#steppedMs) / 1000;
    if (seconds === 0) return now;
    this.#steppedMs += seconds * 1000;
    if (this.#fence > 0) this.#fence += seconds;
    for (const [, counts] of this.#subjects.entries()) counts.shift(seconds);
    this.#addresses.shift(seconds);
    return now;
  }

  count(caller: CountedCaller): MaybePromise<Verdict> {
    const now = this.#now();
    const refreshing = this.#bans.refresh(caller.keyId, now);
    if (refreshing !== undefined) return refreshing.then(() => this.#judge(caller, this.#now()));
    return this.#judge(caller, now);
  }

  uncount({ account, budget }: CountedCaller, at: number): Verdict {
    const now = this.#now();
    const windows = this.#uncount(account, at, now);
    return verdictOf('accepted', windows, budget && this.#uncount(budget, at, now));
  }

  #uncount(subject: Subject, at: number, now: number): WindowState {
    const counts = this.#counts(subject.name, now);
    counts.minute.remove(secondOf(at), now);
    counts.day.remove(at);
    return counts.windows(subject, this.#nodes, now);
  }

  status(subject: Subject): MaybePromise<WindowState> {
    const state = () => {
      const now = this.#now();
      return this.#counts(subject.name, now).windows(subject, this.#nodes, now);
    };
    const now = this.#now();
    return this.#counts(subject.name, now).load(this.#deps, this.#outages, now)?.then(state) ?? state();
  }

  countAddress(address: string): Verdict {
    return this.#addresses.count(address, this.#now());
  }

  addressStatus(address: string): Verdict {
    return this.#addresses.status(address, this.#now());
  }

  hasRejections(address: string): boolean {
    return this.#addresses.has(address, this.#now());
  }

  isBanned(keyId: string): MaybePromise<boolean> {
    const now = this.#now();
    const judge = () => {
      const ban = this.#bans.latest.get(keyId);
      return ban !== undefined && isActive(ban, now);
    };
    return this.#bans.refresh(keyId, now)?.then(judge) ?? judge();
  }

  health(): LimiterHealth {
    return { counts: 'exact', day: this.#writeBehind.state };
  }

  measurements(): LimiterMeasurements {
    return { bannedKeys: this.#bans.countActive(this.#now()), bansImposed: this.#bans.imposed };
  }

  /** Restores the minute counts that the last process saved. */
  async restore(): Promise<void> {
    const now = this.#now();
    for (const { subject, second, requests } of await readMinuteCounts(this.#deps.database)) {
      const minute = subject.startsWith(ADDRESS)
        ? this.#addresses.minute(subject.slice(ADDRESS.length), now)
        : this.#counts(subject, now).minute;
      // If the clock was set back meanwhile, requests in the future count now.
      minute.add(Math.min(second, secondOf(now)), requests);
      minute.expire(now);
    }
    await this.#tryWrite(deleteMinuteCounts(this.#deps.database));
  }

  /** @param savesMinutes whether to save the minute counts since `startOutage` for the next start */
  async close(savesMinutes = true): Promise<void> {
    await this.#writeBehind.close();
    await this.saveDays();
    if (savesMinutes) await this.#saveMinutes();
    await this.#deps.nodes?.close();
  }

  async #saveMinutes(): Promise<void> {
    const now = this.#now();
    const counts: MinuteCount[] = [];
    for (const { subject, minute } of this.#windows()) {
      minute.expire(now);
      const pairs = minute.since(minute.firstSecond);
      for (let i = 0; i < pairs.length; i += 2) counts.push([subject, pairs[i]!, pairs[i + 1]!]);
    }
    await this.#tryWrite(saveMinuteCounts(this.#deps.database, counts));
  }

  /** Replaces the stored counts, which include requests reserved in advance, by exact ones. */
  async saveDays(): Promise<void> {
    const today = dayOf(this.#now());
    const days: DayCount[] = [];
    for (const { day } of this.#windows()) {
      if (day?.loaded && day.day === today && day.own !== day.reserved) days.push(day);
    }
    await this.#tryWrite(saveExactCounts(this.#deps.database, days));
  }

  /** From now on, enforces one of `nodes` equal shares of every limit. */
  share(nodes: number): void {
    this.#nodes = nodes;
    this.#addresses.share(nodes);
  }

  /**
   * Starts to count without Valkey, which has counted up to the second before `fence`. Stored day counts are read
   * again, because other nodes have counted there.
   */
  startOutage(fence: number): void {
    // The fence is a second of the current clock.
    this.#now();
    this.#fence = Math.max(this.#fence, fence);
    this.#addresses.startAt(this.#fence);
    for (const { minute } of this.#windows()) minute.startAt(this.#fence);
    this.#outages++;
  }

  /**
   * Records a request that Valkey accepted in `second`. Returns the requests of the subject that this node has
   * recorded.
   */
  record(subject: string, second: number): MinuteWindow {
    const { minute, keyUse } = this.#counts(subject, this.#now());
    minute.add(second);
    keyUse.clear();
    return minute;
  }

  /** Reverses the count of a request that Valkey accepted in `second`. */
  remove(subject: string, second: number): void {
    const now = this.#now();
    this.#counts(subject, now).minute.remove(second, now);
  }

  /** Records how many requests Valkey has counted for an address by `second`. */
  recordAddress(address: string, second: number, total: number): void {
    this.#addresses.record(address, second, total, this.#now());
  }

  /**
   * Yields the counts since `startOutage`, to be added to Valkey; with `everything`, also counts that Valkey had before
   * it lost its data. Yields each count once: call it until none is left.
   */
  *unsyncedCounts(everything: boolean): Generator<UnsyncedCounts> {
    for (const { subject, minute, day } of this.#windows()) {
      const pairs = minute.transfer(everything ? 0 : minute.firstSecond);
      if (pairs.length > 0) yield { subject, day, pairs };
    }
  }

  /** Yields the windows of every subject and address, with their names in `minute_counts`. */
  *#windows(): Generator<{ subject: string; minute: MinuteWindow; day: DayCount | undefined }> {
    for (const [subject, { minute, day }] of this.#subjects.entries()) yield { subject, minute, day };
    for (const [address, minute] of this.#addresses.minutes()) {
      yield { subject: ADDRESS + address, minute, day: undefined };
    }
  }

  #judge(caller: CountedCaller, now: number): MaybePromise<Verdict> {
    const account = this.#counts(caller.account.name, now);
    const budget = caller.budget && this.#counts(caller.budget.name, now);
    const loading = account.load(this.#deps, this.#outages, now);
    const loadingBudget = budget?.load(this.#deps, this.#outages, now);
    if (loading !== undefined || loadingBudget !== undefined) {
      return Promise.all([loading, loadingBudget]).then(() => this.#judge(caller, this.#now()));
    }
    const windows = account.windows(caller.account, this.#nodes, now);
    const budgetWindows = budget?.windows(caller.budget!, this.#nodes, now);
    const ban = this.#bans.latest.get(caller.keyId);
    if (ban !== undefined && isActive(ban, now)) return verdictOf('banned', windows, budgetWindows, ban.until / 1000);
    if (!accepts(windows) || (budgetWindows !== undefined && !accepts(budgetWindows))) {
      return this.#refuse(caller, account, windows, budgetWindows);
    }

    const { violations, keyUse } = account;
    const { perMinute, perDay } = windows.limits;
    keyUse.recordAccepted(caller.keyId, now, windows.minuteLeft < perMinute || windows.dayLeft < perDay);
    const reserving = this.#add(account, windows);
    const reservingBudget = budget && this.#add(budget, budgetWindows!);
    if (violations.get(caller.keyId)?.recordAccepted(now)) violations.delete(caller.keyId);
    const verdict = verdictOf('accepted', windows, budgetWindows);
    if (reserving === undefined && reservingBudget === undefined) return verdict;
    return Promise.all([reserving, reservingBudget]).then(() => verdict);
  }

  /**
   * Counts a request in both windows of a subject. Returns a promise only if the request has to be reserved on disk
   * first.
   */
  #add({ minute, day }: SubjectCounts, windows: WindowState): Promise<void> | undefined {
    minute.add(secondOf(windows.now));
    day.own++;
    windows.minuteLeft--;
    windows.dayLeft--;
    return day.reserve(this.#writeBehind, minute);
  }

  #refuse(
    { keyId, neverBanned }: CountedCaller,
    { violations, keyUse }: SubjectCounts,
    windows: WindowState,
    budget: WindowState | undefined,
  ): MaybePromise<Verdict> {
    const { now } = windows;
    const known = violations.get(keyId) ?? new Violations();
    violations.set(keyId, known);
    const overBudget = budget?.prefix === 'key-' && !accepts(budget);
    const hasUsedAlone = !accepts(windows) && isOutside(keyUse.otherThan(keyId), windows);
    const atFault = !neverBanned && (overBudget || hasUsedAlone);
    if (!known.recordRejection(now, allowedAt(windows, budget), atFault)) return verdictOf('limited', windows, budget);

    violations.delete(keyId);
    const ban = newBan(keyId, this.#bans.latest.get(keyId), now);
    const verdict = verdictOf('banned', windows, budget, ban.until / 1000);
    return this.#bans.add(ban).then(() => verdict);
  }

  /** Returns the counts of the subject with this name. */
  #counts(subject: string, now: number): SubjectCounts {
    const create = () => new SubjectCounts(subject, this.#deps.node, dayOf(now), this.#fence);
    const counts = this.#subjects.getOrInsertComputed(subject, now - this.#steppedMs, create);
    // Before any outage, no other node has stored counts that this process does not know, so a new day starts empty.
    const { day, minute } = counts;
    if (now >= day.end * 1000) {
      day.startDay(dayOf(now), day.loaded && this.#outages === 0);
      counts.keyUse.clear();
    }
    minute.expire(now);
    return counts;
  }

  /** Waits for a write for a limited time, and logs a failure: the limiter works without the write. */
  async #tryWrite(write: Promise<void>): Promise<void> {
    let cause: unknown = storageTimeout();
    const noted = write.catch(error => {
      cause = error;
      throw error;
    });
    if (await succeedsWithin(noted, WRITE_MS)) return;
    this.#deps.log.warn({ err: cause }, 'The request counts could not be written.');
  }
}

/** Reports whether a request accepted at a time counts in none of the used-up windows. */
function isOutside(at: number, { now, minuteLeft, dayLeft }: WindowState): boolean {
  return (minuteLeft > 0 || now - at >= MINUTE_AGE_MS) && (dayLeft > 0 || dayOf(at) < dayOf(now));
}

/** Counts of a subject or an address that Valkey does not have yet. */
export interface UnsyncedCounts {
  /** The name in `minute_counts`. */
  readonly subject: string;
  /** The requests that this node counted without Valkey; absent for an address. */
  readonly day: DayCount | undefined;
  /** Seconds and requests in turn. */
  readonly pairs: readonly number[];
}

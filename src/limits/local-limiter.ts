import type { Clock } from '../lib/clock.ts';
import { DAY_MS, dayOf } from '../lib/time.ts';
import { succeedsWithin } from '../lib/timeout.ts';
import { addressPerMinute } from '../plans/plan.ts';
import type { MaybePromise } from '../schema.ts';
import { type Bans, isActive, newBan } from './bans.ts';
import { type DayCount, saveExactCounts } from './day-counts.ts';
import { GenerationalCache } from './generational-cache.ts';
import type { CountedCaller, Limiter, LimiterDeps, LimiterHealth, LimiterMeasurements } from './limiter.ts';
import { deleteMinuteCounts, type MinuteCount, readMinuteCounts, saveMinuteCounts } from './minute-counts.ts';
import { MINUTE_AGE_MS, MinuteWindow, secondOf } from './minute-window.ts';
import type { Subject } from './subject.ts';
import { SubjectCounts } from './subject-counts.ts';
import { accepts, addressWindows, allowedAt, type Verdict, verdictOf, type WindowState } from './verdict.ts';
import { Violations } from './violations.ts';
import { storageTimeout, type WriteBehind } from './write-behind.ts';

/** The maximum number of addresses in memory; beyond it the least recently seen ones start again at zero. */
const ADDRESSES_MAX = 100_000;
/** How long startup and shutdown wait for a write. */
const WRITE_MS = 3000;

/** What the names of addresses in `minute_counts` start with. */
const ADDRESS = 'address ';

const EMPTY_WINDOW = new MinuteWindow();

/**
 * A limiter that counts in the memory of this process; most calls return without a promise. It returns a promise for
 *
 * - the first request of an account or a key with a budget, which reads the stored count of the day,
 * - the first block of a day,
 * - a new ban, and after another process changed bans.
 *
 * The shared limiter keeps it up to date with `record`, `remove` and `recordAddress`, and counts with it while
 * Valkey is unavailable: `share`, `startOutage`, `unsyncedCounts` and `saveDays` are for that.
 */
export class LocalLimiter implements Limiter {
  readonly #deps: LimiterDeps;
  readonly #clock: Clock;
  readonly #bans: Bans;
  readonly #writeBehind: WriteBehind;
  /** Accounts and keys with a budget, by the names of the subjects. */
  readonly #subjects = new GenerationalCache<string, SubjectCounts>(Number.POSITIVE_INFINITY, DAY_MS);
  readonly #addresses = new GenerationalCache<string, MinuteWindow>(ADDRESSES_MAX, MINUTE_AGE_MS);
  #nodes = 1;
  #addressLimit: number = addressPerMinute;
  /** The first second that Valkey has not counted. */
  #fence = 0;
  /** The number of times that Valkey was lost. */
  #outages = 0;
  /** The steps of the clock that the windows have followed. */
  #steppedMs = 0;

  constructor(deps: LimiterDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#bans = deps.bans;
    this.#writeBehind = deps.writeBehind;
  }

  /** Returns the present time. When the clock is set, the requests of the last minute move along, so that they still count. */
  #now(): number {
    const now = this.#clock.now();
    const seconds = ((this.#clock.steppedMs?.() ?? 0) - this.#steppedMs) / 1000;
    if (seconds === 0) return now;
    this.#steppedMs += seconds * 1000;
    if (this.#fence > 0) this.#fence += seconds;
    for (const [, counts] of this.#subjects.entries()) counts.shift(seconds);
    for (const [, minute] of this.#addresses.entries()) minute.shift(seconds);
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
    const counts = this.#countsOf(subject, now);
    counts.minute.remove(secondOf(at), now);
    counts.day.remove(at);
    return counts.windows(now, secondOf(now));
  }

  status(subject: Subject): MaybePromise<WindowState> {
    const state = () => {
      const now = this.#now();
      return this.#countsOf(subject, now).windows(now, secondOf(now));
    };
    const now = this.#now();
    return this.#countsOf(subject, now).load(this.#deps, this.#outages, now)?.then(state) ?? state();
  }

  countAddress(address: string): Verdict {
    const now = this.#now();
    const minute = this.#addressCounts(address, now);
    const fits = minute.total < this.#addressLimit;
    if (fits) minute.add(secondOf(now));
    return verdictOf(fits ? 'accepted' : 'limited', this.#addressWindows(minute, now));
  }

  addressStatus(address: string): Verdict {
    const now = this.#now();
    const minute = this.#addresses.peek(address) ?? EMPTY_WINDOW;
    minute.expire(now);
    return verdictOf('accepted', this.#addressWindows(minute, now));
  }

  hasRejections(address: string): boolean {
    const minute = this.#addresses.peek(address);
    minute?.expire(this.#now());
    return minute !== undefined && minute.total > 0;
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
        ? this.#addressCounts(subject.slice(ADDRESS.length), now)
        : this.#counts(subject, now).minute;
      // If the clock was set back meanwhile, requests from the future count now.
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

  /** Replaces the stored counts, which include requests reserved ahead, by exact ones. */
  async saveDays(): Promise<void> {
    const today = dayOf(this.#now());
    const days: DayCount[] = [];
    for (const { day } of this.#windows()) {
      if (day?.loaded && day.day === today && day.own !== day.reserved) days.push(day);
    }
    await this.#tryWrite(saveExactCounts(this.#deps.database, days));
  }

  /** Enforces one of `nodes` equal shares of every limit from now on. */
  share(nodes: number): void {
    this.#nodes = nodes;
    this.#addressLimit = Math.max(1, Math.floor(addressPerMinute / nodes));
  }

  /**
   * Starts counting alone: Valkey has counted up to the second before `fence`. Stored day counts are read again, because
   * other nodes have counted there.
   */
  startOutage(fence: number): void {
    // The fence is a second of the present clock.
    this.#now();
    this.#fence = Math.max(this.#fence, fence);
    this.#outages++;
  }

  /** Records a request that Valkey accepted in `second`, and returns those of the subject that this node recorded. */
  record(subject: string, second: number): MinuteWindow {
    const { minute, keyUse } = this.#counts(subject, this.#now());
    minute.add(second);
    keyUse.clear();
    return minute;
  }

  /** Takes back a request that Valkey accepted in `second`. */
  remove(subject: string, second: number): void {
    const now = this.#now();
    this.#counts(subject, now).minute.remove(second, now);
  }

  /** Records how many requests Valkey has counted for an address by `second`. */
  recordAddress(address: string, second: number, total: number): void {
    const minute = this.#addressCounts(address, this.#now());
    if (total > minute.total) minute.add(second, total - minute.total);
  }

  /**
   * Yields the counts since `startOutage`, to be added to Valkey; with `everything`, for a Valkey that lost its data, also those
   * that it had counted. Each count is yielded once: call it until nothing is left.
   */
  *unsyncedCounts(everything: boolean): Generator<UnsyncedCounts> {
    for (const { subject, minute, day } of this.#windows()) {
      const pairs = minute.transfer(everything ? 0 : minute.firstSecond);
      if (pairs.length > 0) yield { subject, day, pairs };
    }
  }

  /** Yields the windows of every subject and address, with their names in `minute_counts` and the fence applied. */
  *#windows(): Generator<{ subject: string; minute: MinuteWindow; day: DayCount | undefined }> {
    for (const [subject, { minute, day }] of this.#subjects.entries()) {
      this.#applyFence(minute);
      yield { subject, minute, day };
    }
    for (const [address, minute] of this.#addresses.entries()) {
      this.#applyFence(minute);
      yield { subject: ADDRESS + address, minute, day: undefined };
    }
  }

  /** Counts no more requests in seconds that Valkey has counted. */
  #applyFence(minute: MinuteWindow): void {
    if (minute.firstSecond < this.#fence) minute.firstSecond = this.#fence;
  }

  #judge(caller: CountedCaller, now: number): MaybePromise<Verdict> {
    const account = this.#countsOf(caller.account, now);
    const budget = caller.budget && this.#countsOf(caller.budget, now);
    const loading = both(account.load(this.#deps, this.#outages, now), budget?.load(this.#deps, this.#outages, now));
    if (loading !== undefined) return loading.then(() => this.#judge(caller, this.#now()));
    const second = secondOf(now);
    const windows = account.windows(now, second);
    const budgetWindows = budget?.windows(now, second);
    const ban = this.#bans.latest.get(caller.keyId);
    if (ban !== undefined && isActive(ban, now)) return verdictOf('banned', windows, budgetWindows, ban.until / 1000);
    if (!accepts(windows) || (budgetWindows !== undefined && !accepts(budgetWindows))) {
      return this.#refuse(caller.keyId, account, windows, budgetWindows);
    }

    const { violations, keyUse } = account;
    const { perMinute, perDay } = windows.limits;
    keyUse.recordAccepted(caller.keyId, now, windows.minuteLeft < perMinute || windows.dayLeft < perDay);
    const reserving = both(this.#add(account, second, windows), budget && this.#add(budget, second, budgetWindows!));
    if (violations.get(caller.keyId)?.recordAccepted(now)) violations.delete(caller.keyId);
    const verdict = verdictOf('accepted', windows, budgetWindows);
    return reserving === undefined ? verdict : reserving.then(() => verdict);
  }

  /** Counts a request in both windows of a subject. Returns a promise only if it has to be reserved on disk first. */
  #add({ minute, day }: SubjectCounts, second: number, windows: WindowState): Promise<void> | undefined {
    minute.add(second);
    day.own++;
    windows.minuteLeft--;
    windows.dayLeft--;
    return day.reserve(this.#writeBehind, minute);
  }

  #refuse(
    keyId: string,
    { violations, keyUse }: SubjectCounts,
    windows: WindowState,
    budget: WindowState | undefined,
  ): MaybePromise<Verdict> {
    const { now } = windows;
    const known = violations.get(keyId) ?? new Violations();
    violations.set(keyId, known);
    const overBudget = budget?.prefix === 'key-' && !accepts(budget);
    const hasUsedAlone = !accepts(windows) && isOutside(keyUse.otherThan(keyId), windows);
    const atFault = overBudget || hasUsedAlone;
    if (!known.recordRejection(now, allowedAt(windows, budget), atFault)) return verdictOf('limited', windows, budget);

    violations.delete(keyId);
    const ban = newBan(keyId, this.#bans.latest.get(keyId), now);
    const verdict = verdictOf('banned', windows, budget, ban.until / 1000);
    return this.#bans.add(ban).then(() => verdict);
  }

  /** Returns the counts of a subject, with its limits set. */
  #countsOf(subject: Subject, now: number): SubjectCounts {
    const counts = this.#counts(subject.name, now);
    counts.setLimits(subject, this.#nodes);
    return counts;
  }

  #counts(subject: string, now: number): SubjectCounts {
    const create = () => new SubjectCounts(subject, this.#deps.node, dayOf(now));
    const counts = this.#subjects.getOrInsertComputed(subject, now - this.#steppedMs, create);
    // Before any outage, no other node stored counts that this process does not know: a new day starts empty.
    const { day, minute } = counts;
    if (now >= day.end * 1000) {
      day.startDay(dayOf(now), day.loaded && this.#outages === 0);
      counts.keyUse.clear();
    }
    this.#applyFence(minute);
    minute.expire(now);
    return counts;
  }

  #addressCounts(address: string, now: number): MinuteWindow {
    const minute = this.#addresses.getOrInsertComputed(address, now - this.#steppedMs, () => new MinuteWindow());
    this.#applyFence(minute);
    minute.expire(now);
    return minute;
  }

  #addressWindows(minute: MinuteWindow, now: number): WindowState {
    const limit = this.#addressLimit;
    return addressWindows(limit, now, Math.max(0, limit - minute.total), minute.reset(limit, secondOf(now)));
  }

  /** Waits for a write for a limited time, and logs a failure: the product works without it. */
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

/** Reports whether a request that was accepted at a time counts in no window that is used up. */
function isOutside(at: number, { now, minuteLeft, dayLeft }: WindowState): boolean {
  return (minuteLeft > 0 || now - at >= MINUTE_AGE_MS) && (dayLeft > 0 || dayOf(at) < dayOf(now));
}

/** Returns a promise that resolves when both have; `undefined` if there is none. */
function both(one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Promise.all([one, other]).then(() => {});
}

/** Counts of one subject or address that Valkey does not have yet. */
export interface UnsyncedCounts {
  /** The name in `minute_counts`. */
  readonly subject: string;
  /** The requests that this node counted alone; absent for an address. */
  readonly day: DayCount | undefined;
  /** Seconds and requests in turn. */
  readonly pairs: readonly number[];
}

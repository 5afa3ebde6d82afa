import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { durationBounds, Histogram } from '../../lib/histogram.ts';
import { DAY_MS, dayOf } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { addressPerMinute } from '../../model/plan.ts';
import type { MaybePromise } from '../../model/schema.ts';
import { nextStep } from './bans.ts';
import { readReserved } from './day-counts.ts';
import { EvictionCheck } from './eviction-check.ts';
import { GenerationalCache } from './generational-cache.ts';
import type { CountedCaller, Limiter, LimiterDeps, LimiterHealth, LimiterMeasurements } from './limiter.ts';
import { LocalLimiter, type UnsyncedCounts } from './local-limiter.ts';
import { secondOf } from './minute-window.ts';
import { SharedClock } from './shared-clock.ts';
import { finite, runCountScript } from './shared-count.ts';
import { SharedDay, valkeyKeys } from './shared-day.ts';
import { type AddressReply, type Reply, type SubjectReply, verdictOfReply, windowsOf } from './shared-reply.ts';
import { countAddressScript, markScript, syncScript, uncountScript } from './shared-scripts.ts';
import { type Subject, valkeyName } from './subject.ts';
import { connectValkey, type Valkey } from './valkey.ts';
import { addressWindows, type Verdict, verdictOf, type WindowState } from './verdict.ts';

const RETRY_MS = 250;
/** A second and a day without requests. */
const NEVER = -1;
/** The mark of a Valkey whose clock was set ahead. Valkey itself never has this mark. */
const CLOCK_SET = '';
/** The number of subjects and addresses sent to Valkey at a time. */
const SYNC_BATCH_SIZE = 200;

export interface SharedLimiterDeps extends LimiterDeps {
  readonly url: string;
  /** The prefix that separates the counts of this database from others on the same Valkey. */
  readonly prefix: string;
}

/**
 * A limiter that shares its counts with other nodes through Valkey: one round trip per request, on Valkey's clock.
 *
 * While Valkey is unavailable, it counts in this process and enforces this node's share of every limit. It sends those
 * counts to Valkey before Valkey decides again.
 */
export class SharedLimiter implements Limiter {
  readonly #deps: SharedLimiterDeps;
  readonly #clock: SharedClock;
  readonly #local: LocalLimiter;
  /** The days that Valkey counts, by subject name. */
  readonly #days = new GenerationalCache<string, SharedDay>(Number.POSITIVE_INFINITY, DAY_MS);
  readonly #calls = new Histogram(durationBounds);
  readonly #closing = new AbortController();
  readonly #eviction: EvictionCheck;
  /** The connection to Valkey; `undefined` while it is unavailable. */
  #valkey: Valkey | undefined;
  #mark: string | undefined;
  #reportedUnavailable = false;
  #reconnecting: Promise<void> | undefined;

  constructor(deps: SharedLimiterDeps) {
    this.#deps = deps;
    this.#eviction = new EvictionCheck(deps.url, deps.log);
    this.#clock = new SharedClock(deps.clock);
    this.#local = new LocalLimiter({ ...deps, clock: this.#clock });
  }

  count(caller: CountedCaller): MaybePromise<Verdict> {
    if (this.#valkey !== undefined) return this.#count(caller, this.#valkey);
    return this.#countingAlone().count(caller);
  }

  uncount(caller: CountedCaller, at: number): MaybePromise<Verdict> {
    if (this.#valkey !== undefined) return this.#uncount(caller, at, this.#valkey);
    return this.#countingAlone().uncount(caller, at);
  }

  status(subject: Subject): MaybePromise<WindowState> {
    if (this.#valkey !== undefined) return this.#status(subject, this.#valkey);
    return this.#countingAlone().status(subject);
  }

  countAddress(address: string): MaybePromise<Verdict> {
    if (this.#valkey !== undefined) return this.#countAddress(address, this.#valkey);
    return this.#countingAlone().countAddress(address);
  }

  addressStatus(address: string): Verdict {
    return this.#local.addressStatus(address);
  }

  hasRejections(address: string): boolean {
    return this.#local.hasRejections(address);
  }

  isBanned(keyId: string): MaybePromise<boolean> {
    return this.#local.isBanned(keyId);
  }

  health(): LimiterHealth {
    return { counts: this.#valkey === undefined ? 'local' : 'exact', day: this.#deps.writeBehind.state };
  }

  measurements(): LimiterMeasurements {
    return { ...this.#local.measurements(), valkeyCalls: this.#calls };
  }

  /**
   * Restores the counts that the last process saved, and waits for Valkey for at most a second.
   * @throws {UserError} if Valkey evicts counts
   */
  async restore(): Promise<void> {
    this.#local.startOutage(0);
    await this.#local.restore();
    try {
      await this.#join();
    } catch (error) {
      if (error instanceof UserError) {
        // Saves the counts again for the next start.
        await this.#local.close();
        throw error;
      }
      this.#reportUnavailable(error as Error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reconnecting;
    await this.#local.close(this.#valkey === undefined);
    this.#valkey?.close();
  }

  /** Returns the limiter that enforces this node's share of every limit. */
  #countingAlone(): LocalLimiter {
    this.#local.share(this.#deps.nodes?.live() ?? 1);
    return this.#local;
  }

  async #count(caller: CountedCaller, valkey: Valkey): Promise<Verdict> {
    const { keyId, neverBanned } = caller;
    await this.#deps.bans.refresh(keyId, this.#clock.now());
    const subjects = subjectsOf(caller);
    const days = subjects.map(subject => this.#dayOf(subject));
    const request = { keyId, neverBanned, subjects, days, now: this.#clock.now() };
    const reply = await runCountScript(valkey, this.#deps, request).catch(() => undefined);
    if (reply === undefined) return await this.count(caller);

    const [outcome, sec, us, until, bannedAt, ...counts] = reply;
    const now = this.#follow(sec, us, valkey);
    if (outcome === 'newlyBanned') {
      const step = nextStep(this.#deps.bans.latest.get(keyId), now);
      await this.#deps.bans.add({ keyId, step, bannedAt, until, liftedAt: null });
    }
    if (outcome === 'accepted') {
      await Promise.all(days.map((day, i) => this.#reserve(day, subjects[i]!, now, counts[i]!)));
    }
    return verdictOfReply(reply, caller);
  }

  async #uncount(caller: CountedCaller, at: number, valkey: Valkey): Promise<Verdict> {
    const subjects = subjectsOf(caller);
    const days = subjects.map(subject => this.#dayOf(subject));
    const args = [secondOf(at), dayOf(at), ...subjects.map(({ limits }) => finite(limits.perMinute))];
    const keys = days.flatMap(day => day.keys);
    const reply = await valkey.run<Reply>(uncountScript, keys, args).catch(() => undefined);
    if (reply === undefined) return await this.uncount(caller, at);
    const [, sec, us, , , ...counts] = reply;
    const now = this.#follow(sec, us, valkey);
    for (const [i, day] of days.entries()) {
      this.#local.remove(day.subject, secondOf(at));
      day.follow(now, counts[i]!);
    }
    return verdictOfReply(reply, caller);
  }

  async #status(subject: Subject, valkey: Valkey): Promise<WindowState> {
    const day = new SharedDay(subject.name, this.#deps.prefix, dayOf(this.#clock.now()));
    // With a second and a day without requests, the script reverses no count.
    const args = [NEVER, NEVER, finite(subject.limits.perMinute)];
    const reply = await valkey.run<Reply>(uncountScript, day.keys, args).catch(() => undefined);
    if (reply === undefined) return await this.status(subject);
    const [, sec, us, , , counts] = reply;
    const windows = windowsOf(subject, this.#follow(sec, us, valkey), counts);
    if (counts[3] > 0) return windows;
    // Valkey does not know a day before its first request, nor after it has lost its data.
    let reserved = 0;
    await readReserved(this.#deps, day, rows => {
      for (const row of rows) reserved += row.reserved;
    });
    return { ...windows, dayLeft: windows.dayLeft - reserved };
  }

  /** Reserves requests of all nodes in advance. Waits only if this request is not reserved yet. */
  #reserve(day: SharedDay, subject: Subject, now: number, counts: SubjectReply): Promise<void> | undefined {
    const minute = this.#local.record(day.subject, secondOf(now));
    const date = dayOf(now);
    if (date < day.day && day.own > 0) return undefined;
    if (date !== day.day) day.startDay(date, true);
    day.setLimit(subject.limits.perDay, 1);
    day.follow(now, counts);
    return day.reserve(this.#deps.writeBehind, minute);
  }

  #dayOf({ name }: Subject): SharedDay {
    const now = this.#clock.now();
    return this.#days.getOrInsertComputed(name, now, () => new SharedDay(name, this.#deps.prefix, dayOf(now)));
  }

  async #countAddress(address: string, valkey: Valkey): Promise<Verdict> {
    const keys = [`${this.#deps.prefix}{address ${address}}`];
    const reply = await valkey.run<AddressReply>(countAddressScript, keys, [addressPerMinute]).catch(() => undefined);
    if (reply === undefined) return await this.countAddress(address);
    const [outcome, sec, us, minuteLeft, minuteReset] = reply;
    const now = this.#follow(sec, us, valkey);
    this.#local.recordAddress(address, secondOf(now), addressPerMinute - minuteLeft);
    const windows = addressWindows(addressPerMinute, now, minuteLeft, minuteReset);
    return verdictOf(outcome, windows);
  }

  /**
   * Adjusts to Valkey's time, and returns it in milliseconds. If Valkey's clock was set ahead, it has dropped the
   * counts of the last minute; then this node joins it again and sends its own counts, as if Valkey had lost its data.
   */
  #follow(sec: number, us: number, valkey: Valkey): number {
    const { setAhead } = this.#clock;
    const now = this.#clock.follow(sec, us);
    if (this.#clock.setAhead > setAhead && this.#valkey === valkey) {
      this.#mark = CLOCK_SET;
      this.#handleLoss(valkey, new Error('the clock of Valkey was set ahead'));
      valkey.close();
    }
    return now;
  }

  #handleLoss(valkey: Valkey | undefined, error: Error): void {
    if (valkey === undefined || this.#valkey !== valkey) return;
    this.#valkey = undefined;
    // This node counts from the next second on, so that its counts never overlap with Valkey's.
    this.#local.startOutage(secondOf(this.#clock.now()) + 1);
    this.#reportUnavailable(error);
  }

  #reportUnavailable(error: Error): void {
    if (!this.#reportedUnavailable) {
      const nodes = this.#deps.nodes?.live() ?? 1;
      this.#deps.log.warn(
        { err: error },
        `Valkey is unavailable; this node counts alone${nodes === 1 ? '' : ` and enforces 1/${nodes} of each limit`}.`,
      );
    }
    this.#reportedUnavailable = true;
    this.#deps.nodes?.refresh();
    this.#reconnecting ??= this.#reconnect().finally(() => {
      this.#reconnecting = undefined;
    });
  }

  async #reconnect(): Promise<void> {
    while (this.#valkey === undefined && !this.#closing.signal.aborted) {
      await pause(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
      if (!this.#closing.signal.aborted) await this.#join().catch(error => this.#eviction.report(error));
    }
  }

  /** Connects and sends the local counts. From the next request on, Valkey counts. */
  async #join(): Promise<void> {
    let valkey: Valkey | undefined;
    valkey = await connectValkey(this.#deps.url, error => this.#handleLoss(valkey, error), { durations: this.#calls });
    try {
      await this.#eviction.require(valkey);
      const fresh = randomBytes(12).toString('base64url');
      const [mark] = await valkey.run<[string]>(markScript, [`${this.#deps.prefix}mark`], [fresh]);
      // If Valkey has lost its data, it also gets the counts of the last minute that it had before.
      const forgot = this.#mark !== undefined && this.#mark !== mark;
      this.#mark = mark;
      let batch: Promise<unknown>[] = [];
      for (const counts of this.#local.unsyncedCounts(forgot)) {
        batch.push(this.#sync(counts, valkey));
        if (batch.length === SYNC_BATCH_SIZE) await Promise.all(batch.splice(0));
      }
      await Promise.all(batch);
      // Requests counted meanwhile are sent in the same turn of the event loop, so they arrive before any other
      // request.
      batch = [...this.#local.unsyncedCounts(false)].map(counts => this.#sync(counts, valkey!));
      this.#valkey = valkey;
      this.#local.share(1);
      await Promise.all(batch);
    } catch (error) {
      valkey.close();
      if (this.#valkey === valkey) this.#handleLoss(valkey, error as Error);
      throw error;
    }
    await this.#local.saveDays();
    if (this.#reportedUnavailable) this.#deps.log.info('Valkey is available again.');
    this.#reportedUnavailable = false;
  }

  #sync({ subject, day, pairs }: UnsyncedCounts, valkey: Valkey): Promise<unknown> {
    const { node, prefix } = this.#deps;
    return day === undefined
      ? valkey.run(syncScript, [prefix + valkeyName(subject)], [node, -1, 0, ...pairs])
      : valkey.run(syncScript, valkeyKeys(subject, prefix), [node, day.day, day.own, ...pairs]);
  }
}

/** Returns the subjects of a request: the account and, if any, the budget. */
function subjectsOf({ account, budget }: CountedCaller): readonly Subject[] {
  return budget === undefined ? [account] : [account, budget];
}

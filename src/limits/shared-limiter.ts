import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { DAY_MS } from '../lib/time.ts';
import { addressPerMinute, type Limits } from '../plans/plan.ts';
import type { MaybePromise } from '../schema.ts';
import { nextStep, stepMinutes } from './bans.ts';
import { DayCount, dayOf, readReserved } from './day-counts.ts';
import { GenerationalCache } from './generational-cache.ts';
import type { CountedCaller, Limiter, LimiterDeps, LimiterHealth } from './limiter.ts';
import { LocalLimiter, type UnsyncedCounts } from './local-limiter.ts';
import { type MinuteWindow, secondOf } from './minute-window.ts';
import { countAddressScript, countScript, markScript, syncScript, uncountScript } from './shared-scripts.ts';
import { connectValkey, type Valkey } from './valkey.ts';
import { addressWindows, policyOf, type Verdict, verdictOf } from './verdict.ts';

/** The node name under which requests counted by Valkey are reserved. */
const SHARED = 'shared';
const RETRY_MS = 250;
/** The number of accounts and addresses sent to Valkey at a time. */
const SYNC_BATCH_SIZE = 200;

/** The result of `countScript` and `uncountScript`. */
export type Reply = [
  outcome: Verdict['outcome'] | 'newlyBanned' | 'unknownDay',
  sec: number,
  us: number,
  minuteLeft: number,
  minuteReset: number,
  shared: number,
  used: number,
  banUntil: number,
  bannedAt: number,
  returned: number,
];

export interface SharedLimiterDeps extends LimiterDeps {
  readonly url: string;
  /** Separates the counts of this database from others on the same Valkey. */
  readonly prefix: string;
}

/**
 * A limiter that shares its counts with other nodes through Valkey: one round trip per request, on Valkey's clock.
 *
 * While Valkey is unavailable, it counts in this process and enforces this node's share of every limit. Those counts are
 * sent to Valkey before it decides again.
 */
export class SharedLimiter implements Limiter {
  readonly #deps: SharedLimiterDeps;
  readonly #clock: SharedClock;
  readonly #local: LocalLimiter;
  /** The days that Valkey counts, by the prefix of an account's keys in Valkey. */
  readonly #days = new GenerationalCache<string, SharedDay>(Number.POSITIVE_INFINITY, DAY_MS);
  readonly #closing = new AbortController();
  /** The connection to Valkey; `undefined` while it is unavailable. */
  #valkey: Valkey | undefined;
  #mark: string | undefined;
  #reportedUnavailable = false;
  #reconnecting: Promise<void> | undefined;

  constructor(deps: SharedLimiterDeps) {
    this.#deps = deps;
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

  countAddress(address: string): MaybePromise<Verdict> {
    if (this.#valkey !== undefined) return this.#countAddress(address, this.#valkey);
    return this.#countingAlone().countAddress(address);
  }

  addressStatus(address: string): Verdict {
    return this.#local.addressStatus(address);
  }

  isAddressLimited(address: string): boolean {
    return this.#local.isAddressLimited(address);
  }

  isBanned(keyId: string): MaybePromise<boolean> {
    return this.#local.isBanned(keyId);
  }

  health(): LimiterHealth {
    return { counts: this.#valkey === undefined ? 'local' : 'exact', day: this.#deps.writeBehind.state };
  }

  /** Restores the counts that the last process saved, and waits for Valkey a second at most. */
  async restore(): Promise<void> {
    this.#local.startOutage(0);
    await this.#local.restore();
    try {
      await this.#join();
    } catch (error) {
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
    const { keyId, limits } = caller;
    await this.#deps.bans.refresh(keyId, this.#clock.now());
    const account = this.#keyOf(caller);
    const keys = [`${account} minute`, `${account} day`, `${account} key ${keyId}`];
    const day = this.#dayOf(account, caller);
    const reply = await this.#runCountScript(caller, keys, day, valkey).catch(() => undefined);
    if (reply === undefined) return await this.count(caller);

    const [outcome, sec, us, , , , , until, bannedAt] = reply;
    const now = this.#clock.follow(sec, us);
    if (outcome === 'newlyBanned') {
      const step = nextStep(this.#deps.bans.latest.get(keyId), now);
      await this.#deps.bans.add({ keyId, step, bannedAt, until, liftedAt: null });
    }
    if (outcome === 'accepted') {
      const minute = this.#local.recordAccount(caller, secondOf(now));
      await this.#reserve(day, minute, limits, reply);
    }
    return verdictOfReply(reply, limits);
  }

  async #uncount(caller: CountedCaller, at: number, valkey: Valkey): Promise<Verdict> {
    const account = this.#keyOf(caller);
    const keys = [`${account} minute`, `${account} day`];
    const args = [caller.limits.perMinute, secondOf(at), dayOf(at)];
    const reply = await valkey.run<Reply>(uncountScript, keys, args).catch(() => undefined);
    if (reply === undefined) return await this.uncount(caller, at);
    this.#local.removeAccount(caller, secondOf(at));
    this.#dayOf(account, caller).follow(reply);
    return verdictOfReply(reply, caller.limits);
  }

  /** Returns the prefix of an account's keys in Valkey. */
  #keyOf({ deployment, accountId }: CountedCaller): string {
    return `${this.#deps.prefix}{${deployment} ${accountId}}`;
  }

  async #runCountScript(caller: CountedCaller, keys: string[], day: SharedDay, valkey: Valkey): Promise<Reply> {
    const { keyId, limits } = caller;
    const ban = this.#deps.bans.latest.get(keyId);
    const args = [
      limits.perMinute,
      limits.perDay,
      ban?.liftedAt === null ? ban.until : 0,
      ban === undefined || ban.liftedAt === null ? 0 : ban.bannedAt,
      stepMinutes(nextStep(ban, this.#clock.now())),
      day.day,
      day.counted,
      day.returned,
    ];
    // The first request of an account also sends the stored counts of nodes that counted alone.
    const first = day.loaded ? [0] : await this.#storedCounts(day);
    day.loaded = true;
    const reply = await valkey.run<Reply>(countScript, keys, [...args, ...first]);
    if (reply[0] !== 'unknownDay') return reply;
    const today = dayOf(reply[1] * 1000);
    if (today !== day.day) day.startDay(today, true);
    return await valkey.run<Reply>(countScript, keys, [...args, ...(await this.#storedCounts(day))]);
  }

  /** Returns a day and its stored counts, node and count in turn; without counts if they cannot be read in time. */
  async #storedCounts(day: DayCount): Promise<(string | number)[]> {
    const date = day.day;
    let stored: (string | number)[] = [];
    await readReserved(this.#deps, day, rows => {
      stored = rows.flatMap(({ node, reserved }) => [node, reserved]);
    });
    return [date, ...stored];
  }

  /** Reserves requests of all nodes ahead; waits only if this request is not reserved yet. */
  async #reserve(day: SharedDay, minute: MinuteWindow, { perDay }: Limits, reply: Reply): Promise<void> {
    const date = dayOf(reply[1] * 1000);
    if (date < day.day && day.own > 0) return;
    if (date !== day.day) day.startDay(date, true);
    day.setLimit(perDay, 1);
    day.follow(reply);
    await day.reserve(this.#deps.writeBehind, minute);
  }

  #dayOf(account: string, { accountId, deployment }: CountedCaller): SharedDay {
    const now = this.#clock.now();
    let day = this.#days.get(account, now);
    if (day === undefined) {
      day = new SharedDay(accountId, deployment, SHARED, dayOf(now));
      this.#days.set(account, day, now);
    }
    return day;
  }

  async #countAddress(address: string, valkey: Valkey): Promise<Verdict> {
    const keys = [`${this.#deps.prefix}{address ${address}}`];
    const reply = await valkey.run<Reply>(countAddressScript, keys, [addressPerMinute]).catch(() => undefined);
    if (reply === undefined) return await this.countAddress(address);
    const [outcome, sec, us, minuteLeft, minuteReset] = reply;
    const now = this.#clock.follow(sec, us);
    this.#local.recordAddress(address, secondOf(now), addressPerMinute - minuteLeft);
    const windows = addressWindows(addressPerMinute, now, minuteLeft, minuteReset);
    return verdictOf(outcome === 'accepted' ? 'accepted' : 'limited', windows);
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
      if (!this.#closing.signal.aborted) await this.#join().catch(() => {});
    }
  }

  /** Connects, sends the local counts, and lets Valkey count from the next request on. */
  async #join(): Promise<void> {
    let valkey: Valkey | undefined;
    valkey = await connectValkey(this.#deps.url, error => this.#handleLoss(valkey, error));
    try {
      const fresh = randomBytes(12).toString('base64url');
      const [mark] = await valkey.run<[string]>(markScript, [`${this.#deps.prefix}mark`], [fresh]);
      // A Valkey that lost its data also gets the counts of the last minute that were its own.
      const forgot = this.#mark !== undefined && this.#mark !== mark;
      this.#mark = mark;
      let batch: Promise<unknown>[] = [];
      for (const counts of this.#local.unsyncedCounts(forgot)) {
        batch.push(this.#sync(counts, valkey));
        if (batch.length === SYNC_BATCH_SIZE) await Promise.all(batch.splice(0));
      }
      await Promise.all(batch);
      // Requests counted meanwhile are sent in the same turn of the event loop, so they arrive before any request.
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
    const key = `${prefix}{${subject.replace(/^account /, '')}}`;
    return day === undefined
      ? valkey.run(syncScript, [key], [node, -1, 0, ...pairs])
      : valkey.run(syncScript, [`${key} minute`, `${key} day`], [node, day.day, day.own, ...pairs]);
  }
}

/** The requests of an account on one day that Valkey counts for all nodes, as this node knows them. */
class SharedDay extends DayCount {
  /** The requests that Valkey has counted, and those of them that it has taken back: of the latest known state. */
  counted = 0;
  returned = 0;

  override startDay(day: number, loaded: boolean): void {
    super.startDay(day, loaded);
    this.counted = 0;
    this.returned = 0;
  }

  /** Takes over a state of the day in Valkey; replies may arrive in another order. */
  follow([, sec, , , , counted, used, , , returned]: Reply): void {
    if (dayOf(sec * 1000) !== this.day) return;
    if (counted > this.counted || (counted === this.counted && returned > this.returned)) {
      this.counted = counted;
      this.returned = returned;
    }
    this.own = Math.max(this.own, counted - returned);
    this.others = used - (counted - returned);
  }
}

/** Converts the result of a script for a request under `limits`. */
export function verdictOfReply(reply: Reply, limits: Limits): Verdict {
  const [outcome, sec, us, minuteLeft, minuteReset, , used, banUntil] = reply;
  const windows = {
    now: sec * 1000 + us / 1000,
    limits,
    policy: policyOf(limits),
    minuteLeft,
    minuteReset,
    dayLeft: limits.perDay - used,
    dayReset: (dayOf(sec * 1000) + 1) * (DAY_MS / 1000),
  };
  if (outcome === 'accepted' || outcome === 'limited') return verdictOf(outcome, windows);
  return verdictOf('banned', windows, banUntil / 1000);
}

/** The clock of this process, adjusted to Valkey's; it never runs backwards. */
class SharedClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    this.#last = Math.max(this.#last, this.#clock.now() + this.#aheadMs);
    return this.#last;
  }

  /** Adjusts to Valkey's time (seconds and microseconds), and returns it in milliseconds. */
  follow(sec: number, us: number): number {
    const nowMs = sec * 1000 + us / 1000;
    this.#aheadMs = nowMs - this.#clock.now();
    return nowMs;
  }
}

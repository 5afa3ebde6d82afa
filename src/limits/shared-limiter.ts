import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { addressPerMinute, type Limits } from '../plans/plan.ts';
import type { Database, Soon } from '../schema.ts';
import { type Bans, nextStep, stepMinutes } from './bans.ts';
import { bounded } from './bounded.ts';
import { DayCount, dayOf, endOfDay, type Reservation, reservations } from './day-counts.ts';
import { Generations } from './generations.ts';
import type { CountedCaller, Limiter, LimiterHealth } from './limiter.ts';
import { type HandedOver, LocalLimiter } from './local-limiter.ts';
import { secondOf } from './minute-window.ts';
import type { Nodes } from './nodes.ts';
import { countAddressScript, countScript, handOverScript, markScript, outcomes } from './shared-scripts.ts';
import { connectValkey, type Valkey } from './valkey.ts';
import { accepted, addressWindows, banned, limited, policyOf, type Verdict, type Windows } from './verdict.ts';
import type { WriteBehind } from './write-behind.ts';

/** The name under which the shared counts are reserved. */
const SHARED = 'shared';
const DAY_MS = 86_400_000;
/** How long what is on disk of an account's day is waited for. */
const READ_MS = 1000;
const RETRY_MS = 250;
/** How many accounts and addresses are handed over at a time. */
const HANDED_AT_ONCE = 200;

/** What `countScript` answers. */
export type Reply = [
  outcome: number,
  sec: number,
  us: number,
  minuteLeft: number,
  minuteReset: number,
  shared: number,
  used: number,
  banUntil: number,
  bannedAt: number,
];

/**
 * Counts in Valkey together with other nodes: one round trip for each request, by Valkey's clock.
 *
 * While Valkey is away it counts in this process, with this node's share of every limit. What was counted meanwhile is
 * handed over before the shared counts are trusted again.
 */
export class SharedLimiter implements Limiter {
  readonly #url: string;
  /** Tells the counts of one product from those of another on the same Valkey. */
  readonly #prefix: string;
  readonly #node: string;
  readonly #nodes: Nodes | undefined;
  readonly #database: Database;
  readonly #log: Log;
  readonly #writeBehind: WriteBehind;
  readonly #bans: Bans;
  readonly #clock: SharedClock;
  readonly #local: LocalLimiter;
  readonly #days = {
    production: new Generations<number, DayCount>(Number.POSITIVE_INFINITY, DAY_MS),
    staging: new Generations<number, DayCount>(Number.POSITIVE_INFINITY, DAY_MS),
  };
  readonly #closing = new AbortController();
  /** Where the counts are; `undefined` while it is away. */
  #valkey: Valkey | undefined;
  #mark: string | undefined;
  #saidAway = false;
  #returning: Promise<void> | undefined;

  constructor(options: {
    url: string;
    prefix: string;
    node: string;
    nodes: Nodes | undefined;
    database: Database;
    clock: Clock;
    log: Log;
    writeBehind: WriteBehind;
    bans: Bans;
  }) {
    this.#url = options.url;
    this.#prefix = options.prefix;
    this.#node = options.node;
    this.#nodes = options.nodes;
    this.#database = options.database;
    this.#log = options.log;
    this.#writeBehind = options.writeBehind;
    this.#bans = options.bans;
    this.#clock = new SharedClock(options.clock);
    this.#local = new LocalLimiter({ ...options, clock: this.#clock });
  }

  count(caller: CountedCaller): Soon<Verdict> {
    if (this.#valkey !== undefined) return this.#count(caller, this.#valkey);
    this.#local.share(this.#nodes?.live() ?? 1);
    return this.#local.count(caller);
  }

  countAddress(address: string): Soon<Verdict> {
    if (this.#valkey !== undefined) return this.#countAddress(address, this.#valkey);
    this.#local.share(this.#nodes?.live() ?? 1);
    return this.#local.countAddress(address);
  }

  showAddress(address: string): Verdict {
    return this.#local.showAddress(address);
  }

  isBanned(keyId: string): Soon<boolean> {
    return this.#local.isBanned(keyId);
  }

  health(): LimiterHealth {
    return { counts: this.#valkey === undefined ? 'local' : 'exact', day: this.#writeBehind.state };
  }

  /** Goes on from what the last process left behind, and waits for Valkey a second at most. */
  async restore(): Promise<void> {
    this.#local.takeOver(0);
    await this.#local.restore();
    try {
      await this.#join();
    } catch (error) {
      this.#away(error as Error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#returning;
    await this.#local.close({ minutes: this.#valkey === undefined ? 'since' : 'none' });
    this.#valkey?.close();
  }

  async #count(caller: CountedCaller, valkey: Valkey): Promise<Verdict> {
    const { keyId, limits } = caller;
    await this.#bans.refresh(keyId, this.#clock.now());
    const reply = await this.#ask(caller, valkey).catch(() => undefined);
    if (reply === undefined) return await this.count(caller);

    const [outcome, sec, us, , , , , until, bannedAt] = reply;
    const now = this.#clock.follow(sec, us);
    if (outcome === outcomes.newlyBanned) {
      const step = nextStep(this.#bans.latest(keyId), now);
      await this.#bans.add({ keyId, step, bannedAt, until, liftedAt: null });
    }
    if (outcome === outcomes.accepted) {
      this.#local.noteAccount(caller, secondOf(now));
      await this.#reserve(caller, reply);
    }
    return verdictOf(reply, limits);
  }

  async #ask(caller: CountedCaller, valkey: Valkey): Promise<Reply> {
    const { keyId, accountId, deployment, limits } = caller;
    const ban = this.#bans.latest(keyId);
    const day = this.#day(caller);
    const account = `${this.#prefix}{${deployment} ${accountId}}`;
    const keys = [`${account} minute`, `${account} day`, `${account} key ${keyId}`];
    const args = [
      limits.perMinute,
      limits.perDay,
      ban?.liftedAt === null ? ban.until : 0,
      ban === undefined || ban.liftedAt === null ? 0 : ban.bannedAt,
      stepMinutes(nextStep(ban, this.#clock.now())),
      day.day,
      day.own,
    ];
    // On this process's first sight of an account, what nodes had counted alone and not handed over is told, too.
    const first = day.loaded ? [0] : await this.#onDisk(day);
    day.loaded = true;
    const reply = await valkey.run<Reply>(countScript, keys, [...args, ...first]);
    if (reply[0] !== outcomes.unknownDay) return reply;
    if (dayOf(reply[1] * 1000) !== day.day) day.begin(dayOf(reply[1] * 1000), true);
    return await valkey.run<Reply>(countScript, keys, [...args, ...(await this.#onDisk(day))]);
  }

  /** A day, and what the nodes have reserved of it in turn; where that cannot be read in time, as though nothing were. */
  async #onDisk({ accountId, deployment, day }: DayCount): Promise<(string | number)[]> {
    let rows: readonly Reservation[] = [];
    const reading = reservations(this.#database, accountId, deployment, day).then(found => {
      rows = found;
    });
    if (!(await bounded(reading, READ_MS))) this.#writeBehind.failed(new Error('the storage does not answer'));
    return [day, ...rows.flatMap(({ node, reserved }) => [node, reserved])];
  }

  /** Reserves ahead what all nodes have counted together; waits only where this request is not reserved yet. */
  async #reserve(caller: CountedCaller, [, sec, , , , shared, used]: Reply): Promise<void> {
    const day = this.#day(caller);
    const date = dayOf(sec * 1000);
    if (date < day.day && day.own > 0) return;
    if (date !== day.day) day.begin(date, true);
    day.limits = caller.limits;
    day.own = Math.max(day.own, shared);
    day.others = used - shared;
    if (!day.due) return;
    do {
      const written = this.#writeBehind.add(day);
      if (day.reserved >= shared || this.#writeBehind.state === 'memory') return;
      await written;
    } while (day.reserved < shared && day.day === date);
  }

  #day({ accountId, deployment }: CountedCaller): DayCount {
    const now = this.#clock.now();
    let day = this.#days[deployment].get(accountId, now);
    if (day === undefined) {
      day = new DayCount(accountId, deployment, SHARED, dayOf(now));
      this.#days[deployment].set(accountId, day, now);
    }
    return day;
  }

  async #countAddress(address: string, valkey: Valkey): Promise<Verdict> {
    const asked = valkey.run<Reply>(countAddressScript, [`${this.#prefix}{address ${address}}`], [addressPerMinute]);
    const reply = await asked.catch(() => undefined);
    if (reply === undefined) return await this.countAddress(address);
    const [outcome, sec, us, minuteLeft, minuteReset] = reply;
    const now = this.#clock.follow(sec, us);
    this.#local.noteAddress(address, secondOf(now), addressPerMinute - minuteLeft);
    const windows = addressWindows(addressPerMinute, now, minuteLeft, minuteReset);
    return outcome === outcomes.accepted ? accepted(windows) : limited(windows);
  }

  #lost(valkey: Valkey | undefined, error: Error): void {
    if (valkey === undefined || this.#valkey !== valkey) return;
    this.#valkey = undefined;
    // Seconds in which Valkey has counted are over for this node, so that it is clear what is to be handed over.
    this.#local.takeOver(secondOf(this.#clock.now()) + 1);
    this.#away(error);
  }

  #away(error: Error): void {
    if (!this.#saidAway) {
      const nodes = this.#nodes?.live() ?? 1;
      this.#log.warn(
        { err: error },
        `The shared counts are away; this node goes on with ${nodes === 1 ? 'its own' : `one of ${nodes} parts of each limit`}.`,
      );
    }
    this.#saidAway = true;
    this.#nodes?.look();
    this.#returning ??= this.#return().finally(() => {
      this.#returning = undefined;
    });
  }

  async #return(): Promise<void> {
    while (this.#valkey === undefined && !this.#closing.signal.aborted) {
      await pause(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
      if (!this.#closing.signal.aborted) await this.#join().catch(() => {});
    }
  }

  /** Connects, hands over what was counted here, and lets Valkey count from the next request on. */
  async #join(): Promise<void> {
    let valkey: Valkey | undefined;
    valkey = await connectValkey(this.#url, error => this.#lost(valkey, error));
    try {
      const fresh = randomBytes(12).toString('base64url');
      const [mark] = await valkey.run<[string]>(markScript, [`${this.#prefix}mark`], [fresh]);
      // A Valkey that lost everything is told also what it had counted itself in the last minute.
      const forgot = this.#mark !== undefined && this.#mark !== mark;
      this.#mark = mark;
      let batch: Promise<unknown>[] = [];
      for (const counts of this.#local.handOver(forgot)) {
        batch.push(this.#handOver(counts, valkey));
        if (batch.length === HANDED_AT_ONCE) await Promise.all(batch.splice(0));
      }
      await Promise.all(batch);
      // What came meanwhile is sent in the turn in which Valkey begins to count, so it arrives before any request.
      batch = [...this.#local.handOver(false)].map(counts => this.#handOver(counts, valkey!));
      this.#valkey = valkey;
      this.#local.share(1);
      await Promise.all(batch);
    } catch (error) {
      valkey.close();
      if (this.#valkey === valkey) this.#lost(valkey, error as Error);
      throw error;
    }
    await this.#local.keepDays();
    if (this.#saidAway) this.#log.info('The shared counts are back.');
    this.#saidAway = false;
  }

  #handOver({ account, address, pairs }: HandedOver, valkey: Valkey): Promise<unknown> {
    if (account === undefined) {
      return valkey.run(handOverScript, [`${this.#prefix}{address ${address}}`], [this.#node, -1, 0, ...pairs]);
    }
    const { deployment, accountId, day, own } = account;
    const place = `${this.#prefix}{${deployment} ${accountId}}`;
    return valkey.run(handOverScript, [`${place} minute`, `${place} day`], [this.#node, day, own, ...pairs]);
  }
}

/** What an answer of `countScript` means for a request under `limits`. */
export function verdictOf(reply: Reply, limits: Limits): Verdict {
  const [outcome, sec, us, minuteLeft, minuteReset, , used, banUntil] = reply;
  const windows: Windows = {
    now: sec * 1000 + us / 1000,
    limits,
    policy: policyOf(limits.perMinute, limits.perDay),
    minuteLeft,
    minuteReset,
    dayLeft: limits.perDay - used,
    dayReset: endOfDay(dayOf(sec * 1000)),
  };
  if (outcome === outcomes.accepted) return accepted(windows);
  return outcome === outcomes.limited ? limited(windows) : banned(windows, banUntil / 1000);
}

/** This process's clock, set by Valkey's; it never runs backwards. */
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

  /** Follows Valkey's time, in seconds and microseconds; that time in milliseconds. */
  follow(sec: number, us: number): number {
    const nowMs = sec * 1000 + us / 1000;
    this.#aheadMs = nowMs - this.#clock.now();
    return nowMs;
  }
}

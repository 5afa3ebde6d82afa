import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { addressPerMinute } from '../plans/plan.ts';
import type { Database, DeploymentName, Soon } from '../schema.ts';
import { AccountCounts } from './account-counts.ts';
import { type Bans, inForce, newBan, nextStep } from './bans.ts';
import { bounded } from './bounded.ts';
import { type DayCount, dayOf, endOfDay, keepExact, reservations } from './day-counts.ts';
import { Generations } from './generations.ts';
import type { CountedCaller, Limiter, LimiterHealth } from './limiter.ts';
import { keepMinuteCounts, type MinuteCount, readMinuteCounts, removeMinuteCounts } from './minute-counts.ts';
import { MinuteWindow, secondOf } from './minute-window.ts';
import type { Nodes } from './nodes.ts';
import { accepted, addressWindows, allowedAt, banned, limited, type Verdict, type Windows } from './verdict.ts';
import type { WriteBehind } from './write-behind.ts';

/** So many addresses are remembered at most; beyond, those that were silent longest begin anew. */
const addressesMax = 100_000;
/** All of a minute's requests have come back after so long. */
const MINUTE_AGE_MS = 61_000;
const DAY_MS = 86_400_000;
/** How long what is on disk of an account is waited for, and how long after a failure it is looked for again. */
const READ_MS = 1000;
/** How long a start or a stop waits for a write. */
const WRITE_MS = 3000;

const nothing = new MinuteWindow();
const deployments = ['production', 'staging'] as const;

/**
 * Counts in the memory of this process, without a promise for nearly every request.
 *
 * It answers a promise where something must be read or written first: what an account has counted today, on its first
 * request; its first reservation of the day; a ban that begins; bans that another process has changed.
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
    production: new Generations<number, AccountCounts>(Number.POSITIVE_INFINITY, DAY_MS),
    staging: new Generations<number, AccountCounts>(Number.POSITIVE_INFINITY, DAY_MS),
  };
  readonly #addresses = new Generations<string, MinuteWindow>(addressesMax, MINUTE_AGE_MS);
  #nodes = 1;
  #addressLimit: number = addressPerMinute;
  #fence = 0;
  #outage = 0;

  /** @param options.node the name under which this process reserves; no other that runs may have it */
  constructor(options: {
    database: Database;
    clock: Clock;
    log: Log;
    node: string;
    writeBehind: WriteBehind;
    bans: Bans;
    nodes: Nodes | undefined;
  }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#node = options.node;
    this.#writeBehind = options.writeBehind;
    this.#bans = options.bans;
    this.#membership = options.nodes;
  }

  count(caller: CountedCaller): Soon<Verdict> {
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

  showAddress(address: string): Verdict {
    const now = this.#clock.now();
    const minute = this.#addresses.peek(address) ?? nothing;
    minute.expire(now);
    return accepted(this.#addressWindows(minute, now));
  }

  isBanned(keyId: string): Soon<boolean> {
    const now = this.#clock.now();
    const judge = () => inForce(this.#bans.latest(keyId), now);
    return this.#bans.refresh(keyId, now)?.then(judge) ?? judge();
  }

  health(): LimiterHealth {
    return { counts: 'exact', day: this.#writeBehind.state };
  }

  /** Goes on from what the last process left behind. */
  async restore(): Promise<void> {
    const now = this.#clock.now();
    for (const { subject, second, requests } of await readMinuteCounts(this.#database)) {
      const [kind, name, id] = subject.split(' ') as [string, string, string];
      const minute =
        kind === 'address'
          ? this.#addressCounts(name, now)
          : this.#accountCounts(name as DeploymentName, Number(id), now).minute;
      // Where the clock was set back meanwhile, what was counted later than now counts now.
      minute.add(Math.min(second, secondOf(now)), requests);
      minute.expire(now);
    }
    await this.#logged(removeMinuteCounts(this.#database));
  }

  /** @param keep.minutes which minute's counts are left for the next start: those counted since `takeOver`, or all */
  async close(keep: { minutes: 'all' | 'since' | 'none' } = { minutes: 'all' }): Promise<void> {
    await this.#writeBehind.close();
    await this.keepDays();
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
    await this.#logged(keepMinuteCounts(this.#database, counts));
  }

  /** Leaves exact numbers on disk in place of what was reserved ahead. */
  async keepDays(): Promise<void> {
    const today = dayOf(this.#clock.now());
    const days = [...this.#everyAccount()]
      .map(([, , { day }]) => day)
      .filter(day => day.loaded && day.day === today && day.own !== day.reserved);
    await this.#logged(keepExact(this.#database, days));
  }

  /** Goes on with one of `nodes` equal parts of every account's limits; 1 is all of it. */
  share(nodes: number): void {
    this.#nodes = nodes;
    this.#addressLimit = Math.max(1, Math.floor(addressPerMinute / nodes));
  }

  /**
   * Takes over from the shared counts, which have counted up to the second before `fence`. What is on disk of an account
   * is read again, because other nodes have counted there.
   */
  takeOver(fence: number): void {
    this.#fence = Math.max(this.#fence, fence);
    this.#outage++;
  }

  /** Takes note of a request that the shared counts have accepted in `second`. */
  noteAccount(caller: CountedCaller, second: number): void {
    const now = this.#clock.now();
    const { minute } = this.#accountCounts(caller.deployment, caller.accountId, now);
    minute.expire(now);
    minute.add(second);
  }

  /** Takes note of how many requests the shared counts have counted for an address by `second`. */
  noteAddress(address: string, second: number, total: number): void {
    const minute = this.#addressCounts(address, this.#clock.now());
    if (total > minute.total) minute.add(second, total - minute.total);
  }

  /**
   * What was counted here since `takeOver` and is to be counted in the shared counts from now on; with `everything`,
   * also what they had counted before for this node. To be asked for until nothing is left, each time once.
   */
  *handOver(everything: boolean): Generator<HandedOver> {
    for (const [deployment, accountId, { minute, day }] of this.#everyAccount()) {
      const pairs = minute.handOver(everything ? 0 : this.#fenceOf(minute));
      if (pairs.length > 0) yield { account: { deployment, accountId, day: day.day, own: day.own }, pairs };
    }
    for (const [address, minute] of this.#addresses.entries()) {
      const pairs = minute.handOver(everything ? 0 : this.#fenceOf(minute));
      if (pairs.length > 0) yield { address, pairs };
    }
  }

  *#everyAccount(): Generator<[DeploymentName, number, AccountCounts]> {
    for (const deployment of deployments) {
      for (const [id, account] of this.#accounts[deployment].entries()) yield [deployment, id, account];
    }
  }

  /** The first second of a window that the shared counts do not know. */
  #fenceOf(minute: MinuteWindow): number {
    return Math.max(minute.fence, this.#fence);
  }

  #judge(caller: CountedCaller, now: number): Soon<Verdict> {
    const account = this.#accountCounts(caller.deployment, caller.accountId, now);
    const { minute, day } = account;
    account.agree(caller.limits, this.#nodes);
    if (!day.loaded || account.outage !== this.#outage) {
      if (account.unreadUntil === 0) return this.#read(account).then(() => this.#judge(caller, this.#clock.now()));
      if (now >= account.unreadUntil) this.#read(account);
    }
    const second = secondOf(now);
    minute.expire(now);
    const ban = this.#bans.latest(caller.keyId);
    if (inForce(ban, now)) return banned(windowsOf(account, now, second), ban.until / 1000);

    const { perMinute, perDay } = account.limits;
    if (minute.total >= perMinute || account.usedOfDay >= perDay) return this.#refuse(caller, account, now, second);

    minute.add(second);
    day.own++;
    account.accepted(caller.keyId, now);
    const verdict = accepted(windowsOf(account, now, second));
    return day.due ? this.#reserve(day, verdict) : verdict;
  }

  #refuse(caller: CountedCaller, account: AccountCounts, now: number, second: number): Soon<Verdict> {
    const { keyId } = caller;
    const windows = windowsOf(account, now, second);
    if (!account.violationsOf(keyId).refused(now, allowedAt(windows))) return limited(windows);

    account.forget(keyId);
    const ban = newBan(keyId, nextStep(this.#bans.latest(keyId), now), now);
    const verdict = banned(windows, ban.until / 1000);
    return this.#bans.add(ban).then(() => verdict);
  }

  /** Reserves ahead; the verdict waits only where what it counted is not reserved yet. */
  #reserve(day: DayCount, verdict: Verdict): Soon<Verdict> {
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

  /** Reads what is on disk of an account's day, for a second at most; where that fails, it goes on in memory. */
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
    const read = await bounded(
      rows.then(found => {
        if (day.day !== date) return;
        day.load(found);
        account.outage = outage;
        account.unreadUntil = 0;
      }),
      READ_MS,
    );
    if (read) return;
    account.unreadUntil = this.#clock.now() + READ_MS;
    this.#writeBehind.failed(new Error('the storage does not answer'));
  }

  #accountCounts(deployment: DeploymentName, id: number, now: number): AccountCounts {
    const today = dayOf(now);
    const accounts = this.#accounts[deployment];
    let account = accounts.get(id, now);
    if (account === undefined) {
      account = new AccountCounts(id, deployment, this.#node, today);
      accounts.set(id, account, now);
    }
    // Where no other node counts, a day that begins while this one runs has nothing on disk.
    if (account.day.day !== today) account.day.begin(today, account.day.loaded && this.#outage === 0);
    if (account.minute.fence < this.#fence) account.minute.fence = this.#fence;
    return account;
  }

  #addressCounts(address: string, now: number): MinuteWindow {
    let minute = this.#addresses.get(address, now);
    if (minute === undefined) {
      minute = new MinuteWindow();
      this.#addresses.set(address, minute, now);
    }
    if (minute.fence < this.#fence) minute.fence = this.#fence;
    minute.expire(now);
    return minute;
  }

  #addressWindows(minute: MinuteWindow, now: number): Windows {
    const limit = this.#addressLimit;
    return addressWindows(limit, now, Math.max(0, limit - minute.total), minute.reset(limit, secondOf(now)));
  }

  /** Waits for a write that can also be done without, for a while. */
  async #logged(write: Promise<void>): Promise<void> {
    let cause: unknown = new Error('the storage does not answer');
    const noted = write.catch(error => {
      cause = error;
      throw error;
    });
    if (await bounded(noted, WRITE_MS)) return;
    this.#log.warn({ err: cause }, 'The counts of requests could not be written.');
  }
}

/** The counts of one account or address on their way to the shared counts. */
export interface HandedOver {
  readonly account?: {
    readonly deployment: DeploymentName;
    readonly accountId: number;
    readonly day: number;
    /** What this node has counted by itself on that day. */
    readonly own: number;
  };
  readonly address?: string;
  /** Seconds and requests in turn. */
  readonly pairs: readonly number[];
}

function windowsOf(account: AccountCounts, now: number, second: number): Windows {
  const { limits, policy, minute, day } = account;
  return {
    now,
    limits,
    policy,
    minuteLeft: limits.perMinute - minute.total,
    minuteReset: minute.reset(limits.perMinute, second),
    dayLeft: limits.perDay - account.usedOfDay,
    dayReset: endOfDay(day.day),
  };
}

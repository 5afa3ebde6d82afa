import type { Clock } from '../lib/clock.ts';
import type { Database, Deployment, Soon } from '../schema.ts';
import { Generations } from './generations.ts';
import { MinuteWindow, secondOf } from './minute-window.ts';
import { addressPerMinute, type Limits } from './plan.ts';
import { accepted, limited, policyOf, type Verdict, type Windows } from './verdict.ts';

export type { Verdict } from './verdict.ts';

/** Whose request is counted, by what limits. */
export interface CountedCaller {
  readonly keyId: string;
  readonly accountId: number;
  /** The deployment of the key, which for messages is not the address that was called. */
  readonly deployment: Deployment;
  readonly limits: Limits;
}

/** Where the log lines of the counts go; a pino logger is one. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** How the counts are, for `/readyz`. */
export interface LimiterHealth {
  /** `local` while the shared counts are away and this node goes on with its share. */
  readonly counts: 'exact' | 'local';
  /** `memory` while the day's counts cannot be written, so that a crash would forget some. */
  readonly day: 'durable' | 'memory';
}

/**
 * Counts every request of one process against its plan, and says what its answer's rate limit headers are.
 *
 * Both windows are consumed, or neither; a refused request costs nothing. See the decision "limits".
 */
export interface Limiter {
  /** Counts an authenticated request, or refuses it. Answers at once on counts of its own, except now and then. */
  count(caller: CountedCaller): Soon<Verdict>;
  /** Counts a request without a valid key against `address` (see `canonicalAddress`): never `banned`. */
  countAddress(address: string): Soon<Verdict>;
  /** The numbers of `address` for an answer that counts nothing; always `accepted`. */
  showAddress(address: string): Verdict;
  health(): LimiterHealth;
  /** Keeps both windows for the next start and lets go of everything; nothing may be counted afterwards. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
const addressPolicy = policyOf(addressPerMinute);
const addressLimits = { perMinute: addressPerMinute, perDay: undefined };

/** Opens the counts of this process. */
export async function openLimiter(options: {
  /** Production's database, in which accounts, bans and counts are kept. */
  database: Database;
  clock: Clock;
  valkeyUrl?: string;
  log: Log;
  nodeId?: string;
}): Promise<Limiter> {
  return new LocalLimiter(options.clock);
}

interface Account {
  readonly minute: MinuteWindow;
  day: number;
  used: number;
  limits: Limits;
  policy: string;
}

class LocalLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #accounts: Record<Deployment, Map<number, Account>> = { production: new Map(), staging: new Map() };
  readonly #addresses = new Generations<MinuteWindow>(200_000, 61_000);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(caller: CountedCaller): Soon<Verdict> {
    const now = this.#clock.now();
    const second = secondOf(now);
    const account = this.#account(caller, now);
    const { minute } = account;
    const { perMinute, perDay } = caller.limits;
    minute.expire(now);
    const fits = minute.total < perMinute && account.used < perDay;
    if (fits) {
      minute.add(second);
      account.used++;
    }
    const windows: Windows = {
      now,
      limits: caller.limits,
      policy: account.policy,
      minuteLeft: perMinute - minute.total,
      minuteReset: minute.reset(perMinute, second),
      dayLeft: perDay - account.used,
      dayReset: (account.day + 1) * (DAY_MS / 1000),
    };
    return fits ? accepted(windows) : limited(windows);
  }

  countAddress(address: string): Soon<Verdict> {
    const now = this.#clock.now();
    const minute = this.#addresses.take(address, now, () => new MinuteWindow());
    minute.expire(now);
    const fits = minute.total < addressPerMinute;
    if (fits) minute.add(secondOf(now));
    const windows = addressWindows(minute, now);
    return fits ? accepted(windows) : limited(windows);
  }

  showAddress(address: string): Verdict {
    const now = this.#clock.now();
    const minute = this.#addresses.peek(address) ?? new MinuteWindow();
    minute.expire(now);
    return accepted(addressWindows(minute, now));
  }

  health(): LimiterHealth {
    return { counts: 'exact', day: 'durable' };
  }

  async close(): Promise<void> {}

  #account(caller: CountedCaller, now: number): Account {
    const day = Math.floor(now / DAY_MS);
    const accounts = this.#accounts[caller.deployment];
    let account = accounts.get(caller.accountId);
    if (account === undefined) {
      account = { minute: new MinuteWindow(), day, used: 0, limits: caller.limits, policy: policyFor(caller.limits) };
      accounts.set(caller.accountId, account);
    } else if (account.limits !== caller.limits) {
      account.limits = caller.limits;
      account.policy = policyFor(caller.limits);
    }
    if (account.day !== day) {
      account.day = day;
      account.used = 0;
    }
    return account;
  }
}

function policyFor({ perMinute, perDay }: Limits): string {
  return policyOf(perMinute, perDay);
}

function addressWindows(minute: MinuteWindow, now: number): Windows {
  return {
    now,
    limits: addressLimits,
    policy: addressPolicy,
    minuteLeft: addressPerMinute - minute.total,
    minuteReset: minute.reset(addressPerMinute, secondOf(now)),
    dayLeft: 0,
    dayReset: 0,
  };
}

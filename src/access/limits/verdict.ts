import { type Limits, UNLIMITED } from '../../model/plan.ts';
import type { Subject } from './subject.ts';

/** The limiter's decision on a request, and the headers of its response. */
export interface Verdict {
  /**
   * `limited` (by the account) and `overBudget` (by the key's budget): 429 `rate_limit_exceeded`; `overSandbox` (by all
   * sandbox accounts together): 429 `sandbox_rate_limit_exceeded`; `banned`: 429 `api_key_banned`.
   */
  readonly outcome: 'accepted' | 'limited' | 'overBudget' | 'overSandbox' | 'banned';
  /**
   * Names and values in turn: `X-RateLimit-Limit`, `-Remaining`, `-Reset`, `RateLimit-Policy`, `RateLimit`, and
   * `Retry-After` when the request is rejected.
   */
  readonly headers: readonly string[];
  /** When the limiter decided, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The share of the day limit that the account has used, in whole percent; 0 without a limit. */
  readonly dayPercent: number;
}

/** The state of both windows of a subject. Resets are Unix seconds, always later than `now`. */
export interface WindowState {
  /** Milliseconds since the Unix epoch, with a fraction. */
  readonly now: number;
  readonly limits: Limits;
  /** The prefix of its windows. */
  readonly prefix: Subject['prefix'];
  /** Its part of the `RateLimit-Policy` header; see `policyOf`. */
  readonly policy: string;
  /** Infinite without a limit. */
  minuteLeft: number;
  /** When the oldest request leaves the window; if no request is left, when the window accepts one. */
  readonly minuteReset: number;
  /** Infinite without a limit. */
  dayLeft: number;
  readonly dayReset: number;
}

/**
 * Returns the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
 * @param prefix the prefix of the names of the windows
 */
export function policyOf({ perMinute, perDay }: Limits, prefix: Subject['prefix'] = ''): string {
  const minute = perMinute === UNLIMITED ? '' : `"${prefix}minute";q=${perMinute};w=60`;
  const day = perDay === UNLIMITED ? '' : `"${prefix}day";q=${perDay};w=86400`;
  return [minute, day].filter(Boolean).join(', ');
}

/** Returns the state of an address, which has no day window. */
export function addressWindows(perMinute: number, now: number, minuteLeft: number, minuteReset: number): WindowState {
  const limits = { perMinute, perDay: UNLIMITED };
  const policy = policyOf(limits);
  return { now, limits, prefix: '', policy, minuteLeft, minuteReset, dayLeft: UNLIMITED, dayReset: 0 };
}

/**
 * Returns a verdict with its headers. For an accepted request, they show the window with the fewest requests left (if
 * equal, the minute and the account). For a rejected request, they show the used-up window with the longest wait.
 * @param windows the state of the account or address after the decision
 * @param budget the state of a key that has a budget, or of all sandbox accounts together
 * @param bannedUntil the end of a ban in Unix seconds; its reset is the later of that and the windows
 */
export function verdictOf(
  outcome: 'accepted' | 'limited' | 'banned',
  windows: WindowState,
  budget?: WindowState,
  bannedUntil = 0,
): Verdict {
  const { now, dayLeft } = windows;
  const { perDay } = windows.limits;
  const rejected = outcome !== 'accepted';
  const shown = budget !== undefined && decides(budget, windows, rejected) ? budget : windows;
  const showsDay = rejected ? dayDecides(shown) : shown.dayLeft < shown.minuteLeft;
  let reset = showsDay ? shown.dayReset : shown.minuteReset;
  let items: string;
  if (outcome === 'banned') {
    reset = Math.max(bannedUntil, allowedAt(windows, budget));
    items = itemsOf(windows, 0, reset);
  } else {
    items = itemsOf(windows, windows.minuteLeft, windows.minuteReset);
  }
  const headers = [
    'X-RateLimit-Limit',
    `${showsDay ? shown.limits.perDay : shown.limits.perMinute}`,
    'X-RateLimit-Remaining',
    `${rejected ? 0 : Math.min(shown.minuteLeft, shown.dayLeft)}`,
    'X-RateLimit-Reset',
    `${reset}`,
    'RateLimit-Policy',
    budget === undefined ? windows.policy : `${windows.policy}, ${budget.policy}`,
    'RateLimit',
    budget === undefined ? items : `${items}, ${itemsOf(budget, budget.minuteLeft, budget.minuteReset)}`,
  ];
  if (rejected) headers.push('Retry-After', `${secondsUntil(reset, now)}`);
  return {
    outcome: outcome === 'limited' ? limitedBy[shown.prefix] : outcome,
    headers,
    at: now,
    dayPercent: perDay === UNLIMITED ? 0 : Math.floor((100 * (perDay - dayLeft)) / perDay),
  };
}

/** The outcome of a request that a window of a subject rejects. */
const limitedBy = { '': 'limited', 'key-': 'overBudget', 'sandbox-': 'overSandbox' } as const;

/** Reports whether all windows of a subject accept a request. */
export function accepts({ minuteLeft, dayLeft }: WindowState): boolean {
  return minuteLeft > 0 && dayLeft > 0;
}

/** Returns the Unix second at which all windows accept a request; 0 if they accept one now. */
export function allowedAt(windows: WindowState, budget?: WindowState): number {
  if (budget !== undefined) return Math.max(allowedAt(windows), allowedAt(budget));
  if (dayDecides(windows)) return windows.dayReset;
  return windows.minuteLeft <= 0 ? windows.minuteReset : 0;
}

/** Reports whether the headers show a window of the budget instead of the account's. */
function decides(budget: WindowState, account: WindowState, rejected: boolean): boolean {
  if (rejected) return allowedAt(budget) > allowedAt(account);
  const budgetLeft = Math.min(budget.minuteLeft, budget.dayLeft);
  const accountLeft = Math.min(account.minuteLeft, account.dayLeft);
  if (budgetLeft !== accountLeft) return budgetLeft < accountLeft;
  return budget.minuteLeft === budgetLeft && account.minuteLeft > accountLeft;
}

/** Reports whether the day window is used up for longer than the minute. */
function dayDecides({ minuteLeft, minuteReset, dayLeft, dayReset }: WindowState): boolean {
  return dayLeft <= 0 && (minuteLeft > 0 || dayReset > minuteReset);
}

/** Returns the items of a subject in the `RateLimit` header. */
function itemsOf(
  { now, limits, prefix, dayLeft, dayReset }: WindowState,
  minuteLeft: number,
  minuteReset: number,
): string {
  const wait = secondsUntil(minuteReset, now);
  // Seconds are rounded up, so a window can last up to 61 s; report more than 60 only when no request is left.
  const t = minuteLeft > 0 ? Math.min(wait, 60) : wait;
  const minute = limits.perMinute === UNLIMITED ? '' : `"${prefix}minute";r=${Math.max(minuteLeft, 0)};t=${t}`;
  const day =
    limits.perDay === UNLIMITED ? '' : `"${prefix}day";r=${Math.max(dayLeft, 0)};t=${secondsUntil(dayReset, now)}`;
  return [minute, day].filter(Boolean).join(', ');
}

/** Returns the whole seconds to wait, rounded up: at least 1, because a reset is never in the past. */
function secondsUntil(reset: number, now: number): number {
  return Math.ceil((reset * 1000 - now) / 1000);
}

import type { Limits } from '../plans/plan.ts';

/** The limiter's decision on a request, and the headers of its response. */
export interface Verdict {
  /** `limited`: 429 `rate_limit_exceeded`; `banned`: 429 `api_key_banned`. */
  readonly outcome: 'accepted' | 'limited' | 'banned';
  /**
   * Names and values in turn: `X-RateLimit-Limit`, `-Remaining`, `-Reset`, `RateLimit-Policy`, `RateLimit`, and
   * `Retry-After` when the request is rejected.
   */
  readonly headers: readonly string[];
  /** When the request was decided on, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** The state of both windows. Resets are Unix seconds, always later than `now`. */
export interface WindowState {
  /** Milliseconds since the Unix epoch, with a fraction. */
  readonly now: number;
  /** An address has no day window. */
  readonly limits: Limits | { readonly perMinute: number; readonly perDay: undefined };
  /** The `RateLimit-Policy` header; see `policyOf`. */
  readonly policy: string;
  minuteLeft: number;
  /** When the oldest request leaves the window; if none is left, when the window accepts a request. */
  readonly minuteReset: number;
  /** Infinite without a day window. */
  dayLeft: number;
  readonly dayReset: number;
}

/** Returns the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
export function policyOf({ perMinute, perDay }: WindowState['limits']): string {
  const minute = `"minute";q=${perMinute};w=60`;
  return perDay === undefined ? minute : `${minute}, "day";q=${perDay};w=86400`;
}

/** Returns the state of an address. */
export function addressWindows(perMinute: number, now: number, minuteLeft: number, minuteReset: number): WindowState {
  const limits = { perMinute, perDay: undefined };
  const dayLeft = Number.POSITIVE_INFINITY;
  return { now, limits, policy: policyOf(limits), minuteLeft, minuteReset, dayLeft, dayReset: 0 };
}

/**
 * Returns a verdict with its headers: of an accepted request, they show the window with the fewest requests left (the
 * minute if equal); of a rejected one, the exhausted window with the longest wait.
 * @param windows the state after the decision
 * @param bannedUntil the end of a ban in Unix seconds; its reset is the later of that and the windows
 */
export function verdictOf(outcome: Verdict['outcome'], windows: WindowState, bannedUntil = 0): Verdict {
  const { now, limits, policy, dayLeft, dayReset } = windows;
  let { minuteLeft, minuteReset } = windows;
  const rejected = outcome !== 'accepted';
  const showsDay = rejected ? dayDecides(windows) : dayLeft < minuteLeft;
  let reset = showsDay ? dayReset : minuteReset;
  if (outcome === 'banned') {
    reset = Math.max(bannedUntil, allowedAt(windows));
    minuteLeft = 0;
    minuteReset = reset;
  }
  const wait = secondsUntil(minuteReset, now);
  // Seconds are rounded up, so a window can last up to 61 s; report more than 60 only when none is left.
  const minute = `"minute";r=${Math.max(minuteLeft, 0)};t=${minuteLeft > 0 ? Math.min(wait, 60) : wait}`;
  const headers = [
    'X-RateLimit-Limit',
    `${showsDay ? limits.perDay : limits.perMinute}`,
    'X-RateLimit-Remaining',
    `${rejected ? 0 : Math.min(minuteLeft, dayLeft)}`,
    'X-RateLimit-Reset',
    `${reset}`,
    'RateLimit-Policy',
    policy,
    'RateLimit',
    limits.perDay === undefined
      ? minute
      : `${minute}, "day";r=${Math.max(dayLeft, 0)};t=${secondsUntil(dayReset, now)}`,
  ];
  if (rejected) headers.push('Retry-After', `${secondsUntil(reset, now)}`);
  return { outcome, headers, at: now };
}

/** Returns the Unix second at which both windows accept a request; 0 if they do now. */
export function allowedAt(windows: WindowState): number {
  if (dayDecides(windows)) return windows.dayReset;
  return windows.minuteLeft <= 0 ? windows.minuteReset : 0;
}

/** Reports whether the day window is exhausted, and for longer than the minute. */
function dayDecides({ minuteLeft, minuteReset, dayLeft, dayReset }: WindowState): boolean {
  return dayLeft <= 0 && (minuteLeft > 0 || dayReset > minuteReset);
}

/** Returns the whole seconds to wait, rounded up: at least 1, because a reset is never in the past. */
function secondsUntil(reset: number, now: number): number {
  return Math.ceil((reset * 1000 - now) / 1000);
}

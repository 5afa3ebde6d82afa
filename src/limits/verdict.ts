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
}

/** The state of both windows after a decision. Resets are Unix seconds, always later than `now`. */
export interface WindowState {
  /** Milliseconds since the Unix epoch, with a fraction. */
  readonly now: number;
  readonly limits: Readonly<Limits> | { readonly perMinute: number; readonly perDay: undefined };
  /** The `RateLimit-Policy` header; see `policyOf`. */
  readonly policy: string;
  readonly minuteLeft: number;
  /** When the oldest request leaves the window; if none is left, when the window accepts a request. */
  readonly minuteReset: number;
  /** Meaningless without a day window. */
  readonly dayLeft: number;
  readonly dayReset: number;
}

/** Returns the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
export function policyOf(perMinute: number, perDay?: number): string {
  const minute = `"minute";q=${perMinute};w=60`;
  return perDay === undefined ? minute : `${minute}, "day";q=${perDay};w=86400`;
}

/** Returns the state of an address, which has no day window. */
export function addressWindows(perMinute: number, now: number, minuteLeft: number, minuteReset: number): WindowState {
  return {
    now,
    limits: { perMinute, perDay: undefined },
    policy: policyOf(perMinute),
    minuteLeft,
    minuteReset,
    dayLeft: 0,
    dayReset: 0,
  };
}

/** Accepts a request, or reports the state: the headers show the window with the fewest requests left. */
export function accepted(windows: WindowState): Verdict {
  const { limits, minuteLeft, dayLeft } = windows;
  const headers =
    limits.perDay === undefined || minuteLeft <= dayLeft
      ? headersOf(windows, limits.perMinute, minuteLeft, windows.minuteReset, minuteLeft, windows.minuteReset)
      : headersOf(windows, limits.perDay, dayLeft, windows.dayReset, minuteLeft, windows.minuteReset);
  return { outcome: 'accepted', headers };
}

/** Rejects a request: the headers show the exhausted window with the longest wait. */
export function limited(windows: WindowState): Verdict {
  const { limits, minuteReset } = windows;
  const reset = allowedAt(windows);
  const limit = dayDecides(windows) ? limits.perDay! : limits.perMinute;
  return {
    outcome: 'limited',
    headers: withRetryAfter(headersOf(windows, limit, 0, reset, windows.minuteLeft, minuteReset), reset, windows.now),
  };
}

/** Rejects a request of a key that is banned until `until` (Unix seconds): the reset is the later of the ban and the windows. */
export function banned(windows: WindowState, until: number): Verdict {
  const reset = Math.max(until, allowedAt(windows));
  const limit = dayDecides(windows) ? windows.limits.perDay! : windows.limits.perMinute;
  return {
    outcome: 'banned',
    headers: withRetryAfter(headersOf(windows, limit, 0, reset, 0, reset), reset, windows.now),
  };
}

/** Returns the Unix second at which both windows accept a request; 0 if they do now. */
export function allowedAt(windows: WindowState): number {
  if (dayDecides(windows)) return windows.dayReset;
  return windows.minuteLeft <= 0 ? windows.minuteReset : 0;
}

/** Reports whether the day window is exhausted, and for longer than the minute. */
function dayDecides({ limits, minuteLeft, minuteReset, dayLeft, dayReset }: WindowState): boolean {
  return limits.perDay !== undefined && dayLeft <= 0 && (minuteLeft > 0 || dayReset > minuteReset);
}

function headersOf(
  windows: WindowState,
  limit: number,
  left: number,
  reset: number,
  minuteLeft: number,
  minuteReset: number,
): string[] {
  const { now, limits, policy, dayLeft, dayReset } = windows;
  const wait = secondsUntil(minuteReset, now);
  // Seconds are rounded up, so a window can last up to 61 s; report more than 60 only when none is left.
  const minute = `"minute";r=${Math.max(minuteLeft, 0)};t=${minuteLeft > 0 && wait > 60 ? 60 : wait}`;
  return [
    'X-RateLimit-Limit',
    `${limit}`,
    'X-RateLimit-Remaining',
    `${left}`,
    'X-RateLimit-Reset',
    `${reset}`,
    'RateLimit-Policy',
    policy,
    'RateLimit',
    limits.perDay === undefined
      ? minute
      : `${minute}, "day";r=${Math.max(dayLeft, 0)};t=${secondsUntil(dayReset, now)}`,
  ];
}

function withRetryAfter(headers: string[], reset: number, now: number): string[] {
  headers.push('Retry-After', `${secondsUntil(reset, now)}`);
  return headers;
}

/** Returns the whole seconds to wait, rounded up: at least 1, because a reset is never in the past. */
function secondsUntil(reset: number, now: number): number {
  return Math.ceil((reset * 1000 - now) / 1000);
}

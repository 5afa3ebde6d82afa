import type { Limits } from '../plans/plan.ts';

/** What became of one request, and the headers that its answer carries whatever its status. */
export interface Verdict {
  /** `limited`: 429 `rate_limit_exceeded`; `banned`: 429 `api_key_banned`. */
  readonly outcome: 'accepted' | 'limited' | 'banned';
  /**
   * Names and values in turn: `X-RateLimit-Limit`, `-Remaining`, `-Reset`, `RateLimit-Policy`, `RateLimit`, and
   * `Retry-After` where the request is refused.
   */
  readonly headers: readonly string[];
}

/** How both windows stand once a request was judged. Resets are Unix seconds, always after `now`. */
export interface Windows {
  /** Milliseconds since the Unix epoch, with their fraction. */
  readonly now: number;
  readonly limits: Readonly<Limits> | { readonly perMinute: number; readonly perDay: undefined };
  /** What `RateLimit-Policy` says of the limits; see `policyOf`. */
  readonly policy: string;
  readonly minuteLeft: number;
  /** When the first request comes back; where none is left, when the minute will accept one. */
  readonly minuteReset: number;
  /** Meaningless where there is no day window. */
  readonly dayLeft: number;
  readonly dayReset: number;
}

/** The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
export function policyOf(perMinute: number, perDay?: number): string {
  const minute = `"minute";q=${perMinute};w=60`;
  return perDay === undefined ? minute : `${minute}, "day";q=${perDay};w=86400`;
}

/** How the window of an address stands, which has no day. */
export function addressWindows(perMinute: number, now: number, minuteLeft: number, minuteReset: number): Windows {
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

/** A request that was counted, or that shows the numbers and counts nothing: the window with the fewest left is shown. */
export function accepted(windows: Windows): Verdict {
  const { limits, minuteLeft, dayLeft } = windows;
  const headers =
    limits.perDay === undefined || minuteLeft <= dayLeft
      ? headersOf(windows, limits.perMinute, minuteLeft, windows.minuteReset, minuteLeft, windows.minuteReset)
      : headersOf(windows, limits.perDay, dayLeft, windows.dayReset, minuteLeft, windows.minuteReset);
  return { outcome: 'accepted', headers };
}

/** A request that at least one window refuses: the violated window with the longest wait is shown. */
export function limited(windows: Windows): Verdict {
  const { limits, minuteReset } = windows;
  const reset = allowedAt(windows);
  const limit = dayRules(windows) ? limits.perDay! : limits.perMinute;
  return {
    outcome: 'limited',
    headers: refused(headersOf(windows, limit, 0, reset, windows.minuteLeft, minuteReset), reset, windows.now),
  };
}

/** A request of a key that is banned until `until` (Unix seconds): nothing is left, to the later of that and the windows. */
export function banned(windows: Windows, until: number): Verdict {
  const reset = Math.max(until, allowedAt(windows));
  const limit = dayRules(windows) ? windows.limits.perDay! : windows.limits.perMinute;
  return { outcome: 'banned', headers: refused(headersOf(windows, limit, 0, reset, 0, reset), reset, windows.now) };
}

/** The Unix second at which both windows will accept a request; 0 when they do now. */
export function allowedAt(windows: Windows): number {
  if (dayRules(windows)) return windows.dayReset;
  return windows.minuteLeft <= 0 ? windows.minuteReset : 0;
}

/** Whether the day refuses, and for longer than the minute does. */
function dayRules({ limits, minuteLeft, minuteReset, dayLeft, dayReset }: Windows): boolean {
  return limits.perDay !== undefined && dayLeft <= 0 && (minuteLeft > 0 || dayReset > minuteReset);
}

function headersOf(
  windows: Windows,
  limit: number,
  left: number,
  reset: number,
  minuteLeft: number,
  minuteReset: number,
): string[] {
  const { now, limits, policy, dayLeft, dayReset } = windows;
  const wait = secondsUntil(minuteReset, now);
  // A window of 60 s that was entered within a second ends up to 61 s later; who has none left must hear of all of it.
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

function refused(headers: string[], reset: number, now: number): string[] {
  headers.push('Retry-After', `${secondsUntil(reset, now)}`);
  return headers;
}

/** Whole seconds to wait, rounded up: at least 1, because a reset is never in the past. */
function secondsUntil(reset: number, now: number): number {
  return Math.ceil((reset * 1000 - now) / 1000);
}

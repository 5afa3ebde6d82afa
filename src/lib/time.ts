import { countText, spelled } from './text.ts';

/** The maximum length of a time, in characters. */
export const TIME_LENGTH_MAX = 64;

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Returns the UTC calendar day of a time (milliseconds), as days since 1970-01-01. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

const MS_OF = { s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS } as const;

/** The maximum duration: a hundred years of 365 days. */
const DURATION_MS_MAX = 100 * 365 * MS_OF.d;

/**
 * Parses a duration such as `30s`, `15m`, `24h` or `7d`, up to a hundred years.
 * @returns whole milliseconds; `undefined` for any other text
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})([smhd])$/.exec(text);
  if (match === null) return undefined;
  const ms = Number(match[1]) * MS_OF[match[2] as keyof typeof MS_OF];
  return ms <= DURATION_MS_MAX ? ms : undefined;
}

const unitMs = { second: 1000, minute: 60_000, hour: HOUR_MS, day: DAY_MS, year: 365 * DAY_MS } as const;

/**
 * Returns a duration as sentences print it: `30 days`, `seven days` with `words`, and with `article` also `an hour`
 * instead of `one hour`.
 */
export function durationIn(
  unit: keyof typeof unitMs,
  ms: number,
  style: 'digits' | 'words' | 'article' = 'digits',
): string {
  const count = ms / unitMs[unit];
  if (count === 1 && style === 'article') return unit === 'hour' ? 'an hour' : `a ${unit}`;
  return `${style === 'digits' ? countText(count) : spelled(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/**
 * Parses an RFC 3339 time such as `2026-11-20T12:00:00Z`, with an optional fraction and any offset.
 * @returns milliseconds since the Unix epoch; `undefined` for any other text, including impossible dates
 */
export function parseTime(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d)$/.exec(text);
  if (match === null) return undefined;
  const [, day, time, offset] = match;
  const isDay = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(isDay.getTime()) || isDay.toISOString().slice(0, 10) !== day) return undefined;
  const ms = Date.parse(`${day}T${time}${offset!.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Parses a date such as `2026-11-20`. @returns the start of that day in UTC, in milliseconds since the Unix epoch;
 * `undefined` for any other text
 */
export function parseDate(text: string): number | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? parseTime(`${text}T00:00:00Z`) : undefined;
}

/** Formats the UTC date of milliseconds since the Unix epoch: `2026-11-20`. */
export function formatDate(ms: number): string {
  return formatTime(ms).slice(0, 'yyyy-mm-dd'.length);
}

/** Formats milliseconds since the Unix epoch as an RFC 3339 time in UTC: `2026-11-20T12:00:00.000Z`. */
export function formatTime(ms: number): string {
  let text = formatted.get(ms);
  if (text === undefined) {
    text = new Date(ms).toISOString();
    if (formatted.size >= FORMATTED_MAX) formatted.clear();
    formatted.set(ms, text);
  }
  return text;
}

/** Recent texts: the changes of one commit have the same times, and each is in a response and an event. */
const formatted = new Map<number, string>();
const FORMATTED_MAX = 64;

/** Formats a UTC day as people read it: `22 Nov 2026`. */
export const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** Returns an object whose times (the members `…At` and `until`) are converted from milliseconds to RFC 3339. */
// biome-ignore lint/suspicious/noExplicitAny: the members differ from object to object
export function withTimes(value: object): Record<string, any> {
  const members = Object.entries(value).map(([name, member]) => {
    const isTime = typeof member === 'number' && /At$|^until$/.test(name);
    return [name, isTime ? formatTime(member) : member];
  });
  return Object.fromEntries(members);
}

import { parseDuration, parseTime } from '../lib/time.ts';
import { UsageError } from './command.ts';

/** Parses the id in the option or argument `name`. @throws {UsageError} */
export function parseId(name: string, text: string): number {
  return parseInteger(name, text, 1, Number.MAX_SAFE_INTEGER);
}

/** Parses a whole number in plain decimal digits, without a sign or leading zeros. @throws {UsageError} */
export function parseInteger(name: string, text: string, minimum: number, maximum: number): number {
  const value = Number(text);
  if (/^(?:0|[1-9]\d{0,15})$/.test(text) && value >= minimum && value <= maximum) return value;
  throw new UsageError(`${name} must be a whole number from ${minimum} to ${maximum}.`);
}

/** The description in help of the times that `parseWhen` accepts. */
export const WHEN = 'a duration from now (30s, 15m, 24h, 7d) or an RFC 3339 time';

/** The same for filters, whose times are in the past; see `parsePast`. */
export const PAST = 'a duration before now (30s, 15m, 24h, 7d) or an RFC 3339 time';

/** Parses a time in whole milliseconds since the Unix epoch; durations count from `now`. @throws {UsageError} */
export function parseWhen(name: string, text: string, now: number): number {
  return parseTimeFrom(name, text, duration => now + duration);
}

/** Parses a time as `parseWhen` does; durations count back from `now`. @throws {UsageError} */
export function parsePast(name: string, text: string, now: number): number {
  return parseTimeFrom(name, text, duration => now - duration);
}

function parseTimeFrom(name: string, text: string, add: (duration: number) => number): number {
  const duration = parseDuration(text);
  const time = duration === undefined ? parseTime(text) : add(duration);
  if (time !== undefined) return Math.ceil(time);
  throw new UsageError(`${name} must be a duration like 30s, 15m, 24h or 7d, or a time like 2027-01-31T12:00:00Z.`);
}

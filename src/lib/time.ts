const MS_OF = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The most that `parseDuration` takes: a hundred years of 365 days. */
const DURATION_MS_MAX = 100 * 365 * MS_OF.d;

/**
 * The whole milliseconds of a length of time as a person writes it: a whole number and `s`, `m`, `h` or `d`
 * (`30s`, `15m`, `24h`, `7d`), up to a hundred years; `undefined` for any other text.
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})([smhd])$/.exec(text);
  if (match === null) return undefined;
  const ms = Number(match[1]) * MS_OF[match[2] as keyof typeof MS_OF];
  return ms <= DURATION_MS_MAX ? ms : undefined;
}

/**
 * The milliseconds since the Unix epoch of a time as RFC 3339 writes it (`2026-11-20T12:00:00Z`, with a fraction and
 * any offset); `undefined` for any other text, days that no calendar has included.
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

/** A time (milliseconds since the Unix epoch) as RFC 3339 has it, in UTC: `2026-11-20T12:00:00.000Z`. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

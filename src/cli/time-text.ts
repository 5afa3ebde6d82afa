import { parseDuration, parseTime } from '../lib/time.ts';
import { UsageError } from './command.ts';

/** What stands in help for what `readWhen` takes, after "when it …: ". */
export const WHEN = 'a duration from now (30s, 15m, 24h, 7d) or an RFC 3339 time';

/**
 * The time that an option means, in whole milliseconds since the Unix epoch: as what comes of the time that it is then.
 * @throws {UsageError} naming the option
 */
export function readWhen(option: string, text: string): (now: number) => number {
  const duration = parseDuration(text);
  const time = parseTime(text);
  if (duration === undefined && time === undefined) {
    throw new UsageError(
      `--${option} must be a duration like 30s, 15m, 24h or 7d, or a time like 2027-01-31T12:00:00Z.`,
    );
  }
  return now => Math.ceil(duration === undefined ? time! : now + duration);
}

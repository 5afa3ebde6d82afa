import type { Config } from '../../config.ts';

/** When backups are due: at a time of day in UTC, and at the interval before and after. Both in milliseconds. */
export type Schedule = Pick<Config['backups'], 'intervalMs' | 'timeMs'>;

/** Returns the last due time that is not after `now`. All times are milliseconds since the Unix epoch, a midnight in UTC. */
export function lastDue({ intervalMs, timeMs }: Schedule, now: number): number {
  return Math.floor((now - timeMs) / intervalMs) * intervalMs + timeMs;
}

/** Returns the first due time after `now`. */
export function nextDue(schedule: Schedule, now: number): number {
  return lastDue(schedule, now) + schedule.intervalMs;
}

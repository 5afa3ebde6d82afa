/**
 * Returns the delay before the next attempt, in milliseconds; `undefined` after the last one.
 *
 * Each delay varies by up to a tenth (jitter), so that jobs that failed together are not retried together.
 * @param schedule the delays after the first failure, the second, and so on, in milliseconds
 * @param failures the number of failures so far, at least 1
 */
export function scheduledDelay(
  schedule: readonly number[],
  failures: number,
  random: () => number = Math.random,
): number | undefined {
  const delay = schedule[failures - 1];
  return delay === undefined ? undefined : Math.round(delay * (0.9 + 0.2 * random()));
}

/**
 * When to try again what has failed, in milliseconds from now; `undefined` when it was tried often enough.
 *
 * Each wait is up to a tenth shorter or longer than the schedule says, so that what failed together does not come back
 * together.
 * @param schedule how long to wait after the first failure, after the second, and so on, in milliseconds
 * @param failures how often it has failed by now, at least once
 */
export function retryAfter(
  schedule: readonly number[],
  failures: number,
  random: () => number = Math.random,
): number | undefined {
  const wait = schedule[failures - 1];
  return wait === undefined ? undefined : Math.round(wait * (0.9 + 0.2 * random()));
}

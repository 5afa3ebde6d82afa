import type { Measured } from './load.ts';

/** The measurement of each round, by side. */
export type Rounds<Side extends string> = Readonly<Record<Side, readonly Measured[]>>;

/**
 * Measures several sides alternately, round after round, so that a disturbance of the machine affects them all.
 * @param warm whether each side first runs once without being counted, until its code is compiled
 */
export async function interleave<Side extends string>(
  sides: Readonly<Record<Side, () => Promise<Measured>>>,
  { rounds, warm }: { readonly rounds: number; readonly warm: boolean },
): Promise<Rounds<Side>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map(name => [name, [] as Measured[]])) as Record<Side, Measured[]>;
  if (warm) for (const name of names) await sides[name]();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) results[name].push(await sides[name]());
  }
  return results;
}

/** Returns the throughput of one side divided by that of the other: the median, minimum and maximum of the rounds. */
export function ratio<Side extends string>(
  rounds: Rounds<Side>,
  one: Side,
  other: Side,
): { median: number; min: number; max: number } {
  const ratios = rounds[one].map(({ perSecond }, round) => perSecond / rounds[other][round]!.perSecond);
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/** Returns the median of each figure over the rounds. */
export function medianOf(rounds: readonly Measured[]): Measured {
  const of = (field: 'perSecond' | 'p50Ms' | 'p99Ms') => median(rounds.map(round => round[field]));
  return { perSecond: of('perSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
}

/** Returns the throughput and the percentiles of these delays, which occurred within `seconds`. */
export function summarize(delaysMs: readonly number[], seconds: number): Measured {
  const sorted = Float64Array.from(delaysMs).sort();
  return { perSecond: sorted.length / seconds, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}

/** Returns a percentile of sorted numbers; `share` is from 0 to 1. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** Returns the median. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

import type { Measured } from './load.ts';

/** What was found round by round, by side. */
export type Rounds<Side extends string> = Readonly<Record<Side, readonly Measured[]>>;

/**
 * Measures several sides in turns, round after round, so that what disturbs the machine for a while disturbs them all.
 * @param warm whether each side is measured once before, which does not count: code becomes fast by running
 */
export async function inTurns<Side extends string>(
  sides: Readonly<Record<Side, () => Promise<Measured>>>,
  { rounds, warm }: { readonly rounds: number; readonly warm: boolean },
): Promise<Rounds<Side>> {
  const names = Object.keys(sides) as Side[];
  const found = Object.fromEntries(names.map(name => [name, [] as Measured[]])) as Record<Side, Measured[]>;
  if (warm) for (const name of names) await sides[name]();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) found[name].push(await sides[name]());
  }
  return found;
}

/** How many times as much one side did as the other, compared round by round. */
export function ratio<Side extends string>(
  rounds: Rounds<Side>,
  one: Side,
  other: Side,
): { median: number; least: number; most: number } {
  const ratios = rounds[one].map(({ perSecond }, round) => perSecond / rounds[other][round]!.perSecond);
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}

/** What a side found in the middle of its rounds. */
export function middle(rounds: readonly Measured[]): Measured {
  const of = (field: 'perSecond' | 'p50Ms' | 'p99Ms') => median(rounds.map(round => round[field]));
  return { perSecond: of('perSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

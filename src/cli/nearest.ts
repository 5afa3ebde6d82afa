/**
 * The end of a sentence that suggests what was probably meant (`; did you mean serve?`), or just ends it where no
 * name is near enough: at most a third of its letters wrong, missing, added or swapped.
 */
export function nearest(text: string, names: readonly string[]): string {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const steps = distance(text.toLowerCase(), name.toLowerCase());
    if (steps < bestDistance && steps <= Math.max(1, Math.floor(name.length / 3))) {
      best = name;
      bestDistance = steps;
    }
  }
  return best === undefined ? '.' : `; did you mean ${best}?`;
}

/** Optimal string alignment: letters changed, missing, added, or two neighbours swapped. */
function distance(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, i) => [i, ...Array(other.length).fill(0)] as number[]);
  for (let j = 1; j <= other.length; j++) rows[0]![j] = j;
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const change = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + change);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      }
      rows[i]![j] = least;
    }
  }
  return rows[one.length]![other.length]!;
}

/**
 * Returns the end of a sentence: `; did you mean serve?` with the nearest name, or a full stop when no name is near.
 * At most a third of the letters of a near name are wrong, missing, extra or swapped.
 */
export function suggestion(text: string, names: readonly string[]): string {
  const best = nearest(text, names);
  return best === undefined ? '.' : `; did you mean ${best}?`;
}

/** Returns the nearest name, or `undefined` when no name is near; see `suggestion`. */
export function nearest(text: string, names: readonly string[]): string | undefined {
  const tolerance = (name: string) => Math.max(1, Math.floor(name.length / 3));
  const [best] = names
    .filter(name => Math.abs(name.length - text.length) <= tolerance(name))
    .map(name => ({ name, distance: editDistance(text.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= tolerance(name))
    .sort((one, other) => one.distance - other.distance);
  return best?.name;
}

/** Returns the optimal string alignment distance: letters changed, missing, extra, or two neighbors swapped. */
function editDistance(one: string, other: string): number {
  const distance = (i: number, j: number): number => {
    if (i === 0 || j === 0) return i + j;
    const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
    return Math.min(
      at(i - 1, j) + 1,
      at(i, j - 1) + 1,
      at(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1),
      swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
    );
  };
  const known = new Map<string, number>();
  const at = (i: number, j: number) => known.getOrInsertComputed(`${i},${j}`, () => distance(i, j));
  return at(one.length, other.length);
}

/** Returns the end of a sentence: `; did you mean serve?` with the nearest name, or a full stop if no name is near. */
export function suggestion(text: string, names: readonly string[]): string {
  const best = nearest(text, names);
  return best === undefined ? '.' : `; did you mean ${best}?`;
}

/**
 * Returns the name that is most similar to a text, ignoring case; `undefined` if none is near. In a near name, at most
 * a third of the letters are wrong, missing, extra or swapped.
 */
export function nearest(text: string, names: readonly string[]): string | undefined {
  return nearestOf(text, names).best;
}

/**
 * Returns the value that is most similar to a text, as `nearest` does, unless that could reverse the meaning. Excludes
 * codes of one or two letters, which are near to any text; values of which two are equally near; and opposites, such as
 * `available` for `unavailable`.
 */
export function nearestValue(text: string, values: readonly string[]): string | undefined {
  const { best, isTied } = nearestOf(
    text,
    values.filter(value => value.length > CODE_LENGTH_MAX),
  );
  if (best === undefined || isTied) return undefined;
  const [one, other] = [text.toLowerCase(), best.toLowerCase()];
  return one !== other && one.replace(NEGATION, '') === other.replace(NEGATION, '') ? undefined : best;
}

const CODE_LENGTH_MAX = 2;
const NEGATION = /^(un|in|not?|non)[ _-]*/;

function nearestOf(text: string, names: readonly string[]) {
  const wanted = text.toLowerCase();
  let best: string | undefined;
  let isTied = false;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const tolerance = Math.max(1, Math.floor(name.length / 3));
    if (Math.abs(name.length - text.length) > tolerance) continue;
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance === least) isTied = true;
    if (distance > tolerance || distance >= least) continue;
    [best, least, isTied] = [name, distance, false];
  }
  return { best, isTied };
}

/** Returns the optimal string alignment distance: letters changed, missing, extra, or two neighbors swapped. */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let above: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, length) => length);
  for (let i = 1; i <= one.length; i++) {
    [before, above, row] = [above, row, [i]];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      let distance = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) distance = Math.min(distance, before[j - 2]! + 1);
      row[j] = distance;
    }
  }
  return row[other.length]!;
}

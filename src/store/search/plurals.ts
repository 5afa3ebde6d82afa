/**
 * Returns the possible singulars of a word: `puppy` and `puppie` of `puppies`; an empty list if it does not look like a
 * plural.
 */
export function singularsOf(word: string): string[] {
  const irregular = irregularSingulars.get(word);
  if (irregular !== undefined) return [irregular];
  if (word.length < 4 || !word.endsWith('s') || word.endsWith('ss')) return [];
  const stem = word.slice(0, -1);
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`, stem];
  return /(s|x|z|ch|sh)es$/.test(word) ? [word.slice(0, -2), stem] : [stem];
}

/** Returns a word and its plurals. */
export function formsOf(word: string): string[] {
  const irregular = irregularPlurals.get(word);
  if (irregular !== undefined) return [word, irregular];
  if (/[^aeiou]y$/.test(word)) return [word, `${word.slice(0, -1)}ies`, `${word}s`];
  return [word, /(s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`];
}

/** Nouns for pets with irregular plurals. */
const irregularPlurals: ReadonlyMap<string, string> = new Map([
  ['mouse', 'mice'],
  ['goose', 'geese'],
  ['wolf', 'wolves'],
  ['calf', 'calves'],
  ['child', 'children'],
  ['ox', 'oxen'],
]);
const irregularSingulars: ReadonlyMap<string, string> = new Map(
  Array.from(irregularPlurals, ([singular, plural]) => [plural, singular]),
);

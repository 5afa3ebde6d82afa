/** The longest excerpt of a text in a list, in characters. */
const EXCERPT_LENGTH = 80;

/** Returns the beginning of a message in one line; of a blank text, `(blank)`. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = Array.from(line.slice(0, 4 * EXCERPT_LENGTH));
  if (characters.length <= EXCERPT_LENGTH) return line === '' ? '(blank)' : line;
  return `${characters.slice(0, EXCERPT_LENGTH).join('')}…`;
}

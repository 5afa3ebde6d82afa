/** The most code points that a note has. */
export const NOTE_LENGTH_MAX = 1000;

/**
 * What is wrong with a text as a note to something, as the end of a sentence that begins with what is named;
 * `undefined` for a good note.
 *
 * A note has 1–1,000 code points, at least one of them not white space, line breaks but no other control characters,
 * and is well-formed Unicode. It is stored as it was sent.
 */
export function noteFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.trim() === '') return 'must have at least one character that is not white space';
  if (controls.test(text)) return 'must not have control characters other than line breaks';
  if (text.length > NOTE_LENGTH_MAX && [...text].length > NOTE_LENGTH_MAX) {
    return `must have at most ${NOTE_LENGTH_MAX} characters`;
  }
  return undefined;
}

const controls = /(?![\r\n])\p{Cc}/u;

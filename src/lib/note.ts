/** The maximum length of a note, in code points. */
export const NOTE_LENGTH_MAX = 1000;

/**
 * Returns what is wrong with a note, as the end of a sentence whose subject is the field; `undefined` if it is valid.
 *
 * A note has 1–1,000 code points, at least one of them not white space, no control characters other than line breaks, and
 * is well-formed Unicode. Notes are stored as sent.
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

/** The maximum length of a name, in code points. */
export const NAME_LENGTH_MAX = 255;

/**
 * Returns what is wrong with a name, as the end of a sentence whose subject is the field (`must not have …`);
 * `undefined` if it is valid.
 *
 * A name has 1–255 code points, at least one of them not white space, no control characters (U+0000–1F, U+007F–9F), and
 * is well-formed Unicode. Names are stored as sent.
 */
export function nameFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.trim() === '') return 'must have at least one character that is not white space';
  if (controls.test(text)) return 'must not have control characters';
  if (text.length > NAME_LENGTH_MAX && [...text].length > NAME_LENGTH_MAX) {
    return `must have at most ${NAME_LENGTH_MAX} characters`;
  }
  return undefined;
}

const controls = /\p{Cc}/u;

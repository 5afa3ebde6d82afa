/** The most code points that a name has. */
export const NAME_LENGTH_MAX = 255;

/**
 * What is wrong with a text as the name of something, as the end of a sentence that begins with what is named
 * (`must not be empty`); `undefined` for a good name.
 *
 * A name has 1–255 code points, at least one of them not white space, no control characters (U+0000–1F, U+007F–9F),
 * and is well-formed Unicode. It is stored as it was sent.
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

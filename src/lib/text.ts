/** The maximum length of a name and of a note, in code points. */
export const NAME_LENGTH_MAX = 255;
export const NOTE_LENGTH_MAX = 1000;

/**
 * Returns what is wrong with a name, as the end of a sentence whose subject is the field (`must not have …`); `undefined`
 * if it is valid: 1–255 code points of well-formed Unicode, not all white space, and no control characters (U+0000–1F,
 * U+007F–9F). Names are stored as sent.
 */
export function nameError(text: string): string | undefined {
  return textError(text, NAME_LENGTH_MAX, /\p{Cc}/u.test(text) ? 'must not have control characters' : undefined);
}

/** Returns the same for a note, which has 1–1,000 code points and may have line breaks. */
export function noteError(text: string): string | undefined {
  const hasControls = /(?![\r\n])\p{Cc}/u.test(text);
  const error = hasControls ? 'must not have control characters other than line breaks' : undefined;
  return textError(text, NOTE_LENGTH_MAX, error);
}

function textError(text: string, lengthMax: number, controlsError: string | undefined): string | undefined {
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.trim() === '') return 'must have at least one character that is not white space';
  if (controlsError !== undefined) return controlsError;
  return text.length > lengthMax && [...text].length > lengthMax
    ? `must have at most ${lengthMax} characters`
    : undefined;
}

/**
 * Returns a text without direction controls and spaces of no width: they would change or hide text around it (UAX #9), and
 * programs that read it would compare them.
 */
export function withoutMarks(text: string): string {
  return text.replaceAll(/[\p{Bidi_Control}\u200B\u2060\uFEFF\u00AD]/gu, '');
}

/** The rules of a kind of text, as code and for schemas. */
export interface TextRules {
  /** In code points. */
  readonly maxLength: number;
  /** The regular expression that valid texts match, without the length. It needs no look-ahead, so that every language has it. */
  readonly pattern: string;
  /** Returns what is wrong with a text, as the end of a sentence whose subject is the field; `undefined` if it is valid. */
  errorOf(text: string): string | undefined;
}

/** The maximum length of a name and of a note, in code points. */
export const NAME_LENGTH_MAX = 255;
export const NOTE_LENGTH_MAX = 1000;

export const nameRules = lineRules(NAME_LENGTH_MAX);

/** Returns the rules of a text of one line with at most `maxLength` code points. */
export function lineRules(maxLength: number): TextRules {
  return {
    maxLength,
    pattern: visiblePattern('\\x00-\\x1F\\x7F-\\x9F'),
    errorOf: text => lineError(text, maxLength),
  };
}

export const noteRules: TextRules = {
  maxLength: NOTE_LENGTH_MAX,
  pattern: visiblePattern('\\x00-\\x09\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F'),
  errorOf: noteError,
};

/** Returns the rules of a text of several lines with at most `maxLength` code points; it may have tabs. */
export function textRules(maxLength: number): TextRules {
  return {
    maxLength,
    pattern: visiblePattern('\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F'),
    errorOf(text) {
      const hasControls = /(?![\r\n\t])\p{Cc}/u.test(text);
      const error = hasControls ? 'must not have control characters other than tabs and line breaks' : undefined;
      return textError(text, maxLength, error);
    },
  };
}

/** Returns the pattern of texts without these characters that are not all white space. */
function visiblePattern(controls: string): string {
  return `^[^\\S${controls}]*[^\\s${controls}][^${controls}]*$`;
}

/**
 * Returns what is wrong with a name, as the end of a sentence whose subject is the field (`must not have …`); `undefined`
 * if it is valid: 1–255 code points of well-formed Unicode, not all white space, and no control characters (U+0000–1F,
 * U+007F–9F). Names are stored as sent.
 */
export function nameError(text: string): string | undefined {
  return lineError(text, NAME_LENGTH_MAX);
}

function lineError(text: string, lengthMax: number): string | undefined {
  return textError(text, lengthMax, /\p{Cc}/u.test(text) ? 'must not have control characters' : undefined);
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
    ? `must have at most ${countText(lengthMax)} characters`
    : undefined;
}

/** Returns a text for comparisons without case, accents and the width of letters: `bruno` for `Brünø`. */
export function foldedText(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[ßςıøłđðþæœ]/g, letter => foldedLetters[letter]!);
}

/** Most texts; a regular expression for their letters takes a fraction of the time. */
const isAscii = /^[\0-\x7F]*$/;

/** Letters that NFKD does not take apart, and those that differ from their other lower case. */
const foldedLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  ς: 'σ',
  ı: 'i',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  æ: 'ae',
  œ: 'oe',
};

/** Returns the words of a text, in order: folded, split at all but letters and digits, and cut after 40 code points. */
export function wordsIn(text: string): string[] {
  const folded = foldedText(text);
  const words = folded.split(isAscii.test(folded) ? notInAsciiWords : notInWords);
  return words
    .filter(word => word !== '')
    .map(word => (word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join('') : word));
}

const notInWords = /[^\p{L}\p{N}]+/u;
const notInAsciiWords = /[^a-z0-9]+/;
const WORD_LENGTH_MAX = 40;

/** Returns a whole number as people read it: `10,000`. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** No character follows it: a beginning and it come after every text that begins so, by code point. */
export const LAST_CHARACTER = '\u{10FFFF}';

/**
 * Returns a text without direction controls and zero-width spaces. They would change or hide the text around it (UAX
 * #9), and programs would compare them.
 */
export function withoutMarks(text: string): string {
  return text.replaceAll(/[\p{Bidi_Control}\u200B\u2060\uFEFF\u00AD]/gu, '');
}

/** The rules of a kind of text, as code and for schemas. */
export interface TextRules {
  /** In code points. */
  readonly maxLength: number;
  /**
   * The regular expression that valid texts match, without the length. It has no look-ahead, so that every language
   * supports it.
   */
  readonly pattern: string;
  /** Returns the error as the end of a sentence whose subject is the field; `undefined` if the text is valid. */
  errorOf(text: string): string | undefined;
}

/** The maximum length of a name and of a note, in code points. */
export const NAME_LENGTH_MAX = 255;
export const NOTE_LENGTH_MAX = 1000;

export const nameRules = lineRules(NAME_LENGTH_MAX);

/** Returns the rules of a text of one line with at most `maxLength` code points. */
export function lineRules(maxLength: number): TextRules {
  return rulesOf(maxLength, '\\x00-\\x1F\\x7F-\\x9F', 'must not have control characters');
}

/** The rules of a note, which may have line breaks. */
export const noteRules = rulesOf(
  NOTE_LENGTH_MAX,
  '\\x00-\\x09\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F',
  'must not have control characters other than line breaks',
);

/** Returns the rules of a text of several lines with at most `maxLength` code points; it may have tabs. */
export function textRules(maxLength: number): TextRules {
  const controls = '\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F';
  return rulesOf(maxLength, controls, 'must not have control characters other than tabs and line breaks');
}

/** Returns the rules of texts of well-formed Unicode, not all white space, and without these characters. */
function rulesOf(maxLength: number, controls: string, controlsError: string): TextRules {
  const control = new RegExp(`[${controls}]`);
  return {
    maxLength,
    pattern: `^[^\\S${controls}]*[^\\s${controls}][^${controls}]*$`,
    errorOf(text) {
      if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
      if (text.trim() === '') return 'must have at least one character that is not white space';
      if (control.test(text)) return controlsError;
      return text.length > maxLength && [...text].length > maxLength
        ? `must have at most ${countText(maxLength)} characters`
        : undefined;
    },
  };
}

/**
 * Returns the error of a name as the end of a sentence whose subject is the field (`must not have …`); `undefined` if
 * it is valid: 1–255 code points of well-formed Unicode, not all white space, and no control characters (U+0000–1F,
 * U+007F–9F). Names are stored as sent.
 */
export function nameError(text: string): string | undefined {
  return nameRules.errorOf(text);
}

/** Returns a text for comparisons without case, accents and the width of letters: `bruno` for `Brünø`. */
export function foldedText(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[ßςıøłđðþæœ]/g, letter => foldedLetters[letter]!);
}

/** Most texts are ASCII; `toLowerCase` takes a fraction of the time of the regular expression. */
const isAscii = /^[\0-\x7F]*$/;

/** Letters that NFKD does not decompose, and letters that have another lower-case form. */
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

/**
 * Returns the words of a text, in order: folded, split at all characters except letters and digits, and truncated to 40
 * code points.
 */
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

/** Returns a number that was counted up to `max`, of which it may be more: `42`, or `99+` for a `max` of 100. */
export function boundedText(count: number, max: number): string {
  return count >= max ? `${max - 1}+` : String(count);
}

/** Returns a number as people read it: `10,000`. The first `toLocaleString` of a process would load its languages. */
export function countText(count: number): string {
  return String(count).replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ',');
}

/** Returns a text with its first letter in upper case. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a whole number as sentences spell it, up to ten and whole tens: `seven`, `twenty`; others in digits. */
export function spelled(count: number): string {
  return units[count] ?? tens[count / 10 - 1] ?? countText(count);
}

const units = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const tens = ['ten', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];

/** The last code point: a prefix followed by it sorts after every text with that prefix. */
export const LAST_CHARACTER = '\u{10FFFF}';

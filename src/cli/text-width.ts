/**
 * How many columns of a terminal a text takes: two for the characters of East Asia and for emoji, none for marks that
 * stand on a character, one for the rest. Marks of a terminal have to be taken out before.
 */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment);
  return width;
}

/** By what people take for one character: a family of four is one emoji. */
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

function widthOfCharacter(character: string): number {
  if (emoji.test(character)) return 2;
  let width = 0;
  for (const point of character) width += weightless.test(point) ? 0 : wide.test(point) ? 2 : 1;
  return width;
}

/** What is drawn as an emoji by itself, or because a variation selector, a keycap or a second letter of a flag says so. */
const emoji = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\d#*]\ufe0f?\u20e3|\p{Regional_Indicator}{2})/u;

/** Marks on other characters, joiners and the like, and the vowels and finals of Korean syllables that are spelt out. */
const weightless = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]/u;

/** Unicode's East Asian Width, W and F (UAX 11), but for what is an emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;

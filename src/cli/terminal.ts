import { styleText } from 'node:util';
import type { Style, Terminal } from './command.ts';

/** Opens the terminal of a process. Formats text if standard output supports it. Ignores a closed output stream. */
export function openTerminal({ stdin, stdout, stderr }: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>): Terminal {
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  return {
    print: text => void stdout.write(`${text}\n`),
    printError: text => void stderr.write(`${text}\n`),
    write: text => {
      stdout.write(text);
      return flushed(stdout);
    },
    ...(stderr.isTTY && {
      showProgress: (step, share) => void stderr.write(`\r\u001b[K${step} ${Math.floor(share * 100)} %\r`),
    }),
    ...(stdin.isTTY &&
      stderr.isTTY && {
        readHidden: async question => (await import('./hidden-input.ts')).readHidden(question, stdin, stderr),
      }),
    style: {
      bold: text => styleText('bold', text, { stream: stdout }),
      dim: text => styleText('dim', text, { stream: stdout }),
    },
  };
}

/**
 * Waits until the reader of a stream has accepted all output or closed the stream. Returns the reason if output was
 * lost, such as a full disk.
 */
export async function flushed(stream: NodeJS.WriteStream): Promise<Error | undefined> {
  const failure = await new Promise<NodeJS.ErrnoException | null | undefined>(resolve => stream.write('', resolve));
  const error = (stream.errored ?? failure) as NodeJS.ErrnoException | null | undefined;
  return error == null || error.code === 'EPIPE' ? undefined : error;
}

/** Returns text without formatting. */
export const plain: Style = { bold: text => text, dim: text => text };

/**
 * Returns text that is safe to print on a terminal. Characters that would move the cursor, change the terminal's state
 * or reorder text become escapes (`\u001b`). Line breaks and the sequences of a `Style` are kept.
 */
export function escapeText(text: string): string {
  return text.replaceAll(unsafeInText, (found, keep) => keep ?? escaped(found));
}

/** Returns text that is safe to print on one line: a name in a sentence, or a cell of a table. */
export function escapeLine(text: string): string {
  return text.replaceAll(unsafe, escaped);
}

/** Returns a value as JSON that is safe to print on a terminal and parses to the same value. */
export function escapeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(unsafe, escaped);
}

/** Returns rows under a heading, each column as wide as its widest cell; `empty` when there are no rows. */
export function table(
  style: Style,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return empty;
  const lines = [heading, ...rows].map(row => row.map(escapeLine));
  const widths = heading.map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, widthOf(cells[column] ?? '')), 0),
  );
  const [first, ...others] = lines.map(cells =>
    cells
      .map((cell, column) => cell + ' '.repeat(column === cells.length - 1 ? 0 : widths[column]! - widthOf(cell)))
      .join('  '),
  );
  return [style.bold(first!), ...others].join('\n');
}

/** Returns names and values in two aligned columns. The lines of a value are below each other. */
export function list(rows: readonly (readonly [name: string, value: string])[]): string {
  const longest = Math.max(...rows.map(([name]) => widthOf(name)));
  return rows
    .map(([name, value]) => {
      const lines = value.split(/\r\n|\r|\n/).join(`\n${' '.repeat(longest + 2)}`);
      return `${name}${' '.repeat(longest - widthOf(name))}  ${lines}`;
    })
    .join('\n');
}

/** Returns how many columns a text without terminal sequences occupies: two per East Asian character and emoji. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  // Splits text into user-perceived characters: a family of four is one emoji. Created for the first such text.
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment);
  return width;
}

let graphemes: Intl.Segmenter | undefined;

function widthOfGrapheme(grapheme: string): number {
  if (emoji.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) width += zeroWidth.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** Matches an emoji: by itself, or because of a variation selector, a keycap or the second letter of a flag. */
const emoji = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\d#*]\ufe0f?\u20e3|\p{Regional_Indicator}{2})/u;

/** Matches combining marks, joiners, and the vowels and finals of decomposed Korean syllables. */
const zeroWidth = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]/u;

/** Matches Unicode's East Asian Width W and F (UAX 11), without emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;

/** Matches control characters, line and paragraph separators, direction marks and lone surrogates. */
const unsafe = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;

/** Matches unsafe characters and, as the first group, allowed ones: line breaks and the sequences of a `Style`. */
const unsafeInText = new RegExp(`(\\u001b\\[(?:1|2|22)m|\\n)|${unsafe.source}`, 'gu');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

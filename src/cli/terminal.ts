import { styleText } from 'node:util';
import type { Style, Terminal } from './command.ts';
import { widthOf } from './text-width.ts';

/**
 * The terminal of a process. Marks text only where standard output is a terminal that shows it, and never with
 * NO_COLOR. Goes on in silence when whoever read has gone.
 */
export function openTerminal(process: {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}): Terminal {
  const { stdout, stderr } = process;
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  return {
    print: text => void stdout.write(`${text}\n`),
    tell: text => void stderr.write(`${text}\n`),
    style: {
      bold: text => styleText('bold', text, { stream: stdout }),
      dim: text => styleText('dim', text, { stream: stdout }),
    },
  };
}

/**
 * Waits until all that was written to a stream was taken by who reads it, or they have gone.
 * @returns why some of it is lost, such as a full disk; `undefined` where nothing is, or nobody reads any more
 */
export async function taken(stream: NodeJS.WriteStream): Promise<Error | undefined> {
  const refused = await new Promise<NodeJS.ErrnoException | null | undefined>(resolve => stream.write('', resolve));
  const error = (stream.errored ?? refused) as NodeJS.ErrnoException | null | undefined;
  return error == null || error.code === 'EPIPE' ? undefined : error;
}

/** Text without marks. */
export const plain: Style = { bold: text => text, dim: text => text };

/**
 * Text that may go to a terminal: what would move its cursor, change its state or turn the order of characters round
 * stands there as an escape (`\u001b`), whoever stored it. Line breaks and the marks of a style stay.
 */
export function harmless(text: string): string {
  return text.replaceAll(orderOrMark, (found, mark) => mark ?? escaped(found));
}

/** The same for what has to stay on one line: a name in a sentence, a cell of a table. Nothing is a mark in there. */
export function shown(text: string): string {
  return text.replaceAll(order, escaped);
}

/** JSON that may go to a terminal: the same value, the same things escaped. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(order, escaped);
}

/**
 * Rows under a heading, each column as wide as its widest cell; `empty` where there are no rows.
 */
export function table(
  style: Style,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return empty;
  const lines = [heading, ...rows].map(row => row.map(shown));
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

/** Names and values under each other, the values aligned, also where one has several lines. */
export function list(rows: readonly (readonly [name: string, value: string])[]): string {
  const longest = Math.max(...rows.map(([name]) => widthOf(name)));
  return rows
    .map(([name, value]) => {
      const lines = value.split(/\r\n|\r|\n/).join(`\n${' '.repeat(longest + 2)}`);
      return `${name}${' '.repeat(longest - widthOf(name))}  ${lines}`;
    })
    .join('\n');
}

/** Control characters, line and paragraph separators, what turns the direction of text, and halves of characters. */
const order = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;

/** The same but for line breaks; the marks of `Style` are found as such. */
const orderOrMark = new RegExp(`(\\u001b\\[(?:1|2|22)m|\\n)|${order.source}`, 'gu');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Style, Terminal } from './command.ts';

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

/** Text without marks. */
export const plain: Style = { bold: text => text, dim: text => text };

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
  const widths = heading.map((_, column) => Math.max(...[heading, ...rows].map(row => width(row[column] ?? ''))));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat(column === row.length - 1 ? 0 : widths[column]! - width(cell)))
      .join('  ');
  return [style.bold(line(heading)), ...rows.map(line)].join('\n');
}

/** Names and values under each other, the values aligned. */
export function list(rows: readonly (readonly [name: string, value: string])[]): string {
  const longest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(longest)}  ${value}`).join('\n');
}

function width(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

import { createReadStream } from 'node:fs';
import { isCountry } from '../../lib/countries.ts';
import type { Point } from '../../lib/distance.ts';
import { normalizePostalCode, POSTAL_CODE_LENGTH_MAX } from './code.ts';

/** A place with a postal code. */
export interface PostalPlace extends Point {
  readonly country: string;
  readonly code: string;
}

/** A line of a file: its place or its error. */
interface PostalLine {
  /** Its number, from 1. */
  readonly line: number;
  readonly place: PostalPlace | string;
}

/**
 * Reads a postal code file of GeoNames: UTF-8, 12 columns separated by tabs. Yields the lines of one part of the file
 * at a time, and the number of bytes read, so that memory does not limit the size. Skips empty lines.
 */
export async function* readPostalFile(
  path: string,
): AsyncGenerator<{ readonly lines: readonly PostalLine[]; readonly bytes: number }> {
  let rest = '';
  let line = 0;
  let bytes = 0;
  const parse = (texts: readonly string[]) =>
    texts.flatMap(text => {
      line++;
      const trimmed = text.replace(/\r$/, '');
      return trimmed === '' ? [] : [{ line, place: placeOf(trimmed) }];
    });
  const decoder = new TextDecoder();
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) {
    bytes += part.length;
    const texts = (rest + decoder.decode(part, { stream: true })).split('\n');
    // A line that is too long is wrong regardless of its end.
    rest = texts.pop()!.slice(0, LINE_MAX + 1);
    yield { lines: parse(texts), bytes };
  }
  yield { lines: parse([rest]), bytes };
}

/** The maximum length of a line; those of GeoNames have up to about 300 characters. */
const LINE_MAX = 2000;
const COLUMNS = 12;

/** Returns the place of a line, or its error. */
function placeOf(line: string): PostalPlace | string {
  if (line.length > LINE_MAX) return `has more than ${LINE_MAX} characters`;
  const columns = line.split('\t');
  if (columns.length !== COLUMNS) return `has ${columns.length} of ${COLUMNS} columns separated by tabs`;
  const [country = '', text = ''] = columns;
  if (!isCountry(country)) return 'does not begin with a country as two capital letters';
  const code = normalizePostalCode(country, text);
  if (code === undefined)
    return `has a postal code that is not 1 to ${POSTAL_CODE_LENGTH_MAX} letters (A–Z) and digits`;
  const latitude = degreesOf(columns[9]!, 90);
  const longitude = degreesOf(columns[10]!, 180);
  if (latitude === undefined) return 'has no latitude from -90 to 90 in column 10';
  if (longitude === undefined) return 'has no longitude from -180 to 180 in column 11';
  return { country, code, latitude, longitude };
}

function degreesOf(text: string, most: number): number | undefined {
  const degrees = /^-?\d{1,3}(\.\d{1,15})?$/.test(text) ? Number(text) : Number.NaN;
  return Math.abs(degrees) <= most ? degrees : undefined;
}

import { readFile } from 'node:fs/promises';
import type { Point } from '../../lib/distance.ts';
import { memoize } from '../../lib/one-per.ts';
import type { Reader } from '../../model/schema.ts';
import { normalizePostalCode } from './code.ts';
import { locationOfImportedCode } from './imported-codes.ts';

/** The countries with built-in postal codes, by ISO 3166-1 alpha-2 codes: the pattern of their codes. */
const builtIn: Readonly<Record<string, RegExp>> = {
  CA: /^([A-Z]\d[A-Z])(\d[A-Z]\d)?$/,
  US: /^(\d{5})(\d{4})?$/,
};

/** The countries with built-in postal codes. */
export const builtInCountries: readonly string[] = Object.keys(builtIn);

/**
 * Returns the approximate location of a postal code, or `undefined` if it is unknown. Knows the ZIP codes of the United
 * States, the first three characters (forward sortation areas) of Canada, and imported codes of other countries.
 * Ignores the end of a longer code (`90210-1234`, `K1A 0B1`). Works offline.
 * @source `postal-codes.txt`, from the package zipcodes 8.0.0
 */
export async function locationOfPostalCode(reader: Reader, country: string, text: string): Promise<Point | undefined> {
  const code = normalizePostalCode(country, text);
  if (code === undefined) return undefined;
  const pattern = builtIn[country];
  if (pattern === undefined) return locationOfImportedCode(reader, country, code);
  const known = pattern.exec(code)?.[1];
  if (known === undefined) return undefined;
  const start = `\n${country} ${known} `;
  const all = await allCodes();
  const found = all.indexOf(start);
  if (found < 0) return undefined;
  const end = all.indexOf('\n', found + start.length);
  const [latitude, longitude] = all
    .slice(found + start.length, end)
    .split(' ')
    .map(Number);
  return { latitude: latitude!, longitude: longitude! };
}

/** One line per code, each after a line break. A string of 1 MB takes well under a millisecond to search. */
const allCodes = memoize(async () => `\n${await readFile(new URL('postal-codes.txt', import.meta.url), 'latin1')}`);

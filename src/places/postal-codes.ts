import { readFile } from 'node:fs/promises';
import type { Point } from '../lib/distance.ts';

/** The countries whose postal codes are known, by ISO 3166-1 alpha-2 codes. */
export const postalCountries = ['US', 'CA'] as const;

/**
 * Returns about where a postal code is, or `undefined` for an unknown one: of the United States their ZIP codes, of Canada
 * the first three characters (the forward sortation area). The rest of a longer code (`90210-1234`, `K1A 0B1`) is ignored.
 * Works offline.
 * @source `postal-codes.txt`, from the package zipcodes 8.0.0
 */
export async function locationOfPostalCode(country: string, code: string): Promise<Point | undefined> {
  const known = code.slice(0, country === 'CA' ? 3 : 5);
  const start = `\n${country} ${known} `;
  const text = await allCodes();
  const found = text.indexOf(start);
  if (found < 0) return undefined;
  const end = text.indexOf('\n', found + start.length);
  const [latitude, longitude] = text
    .slice(found + start.length, end)
    .split(' ')
    .map(Number);
  return { latitude: latitude!, longitude: longitude! };
}

let codes: Promise<string> | undefined;

/** One line per code, each after a line break. One string of 1 MB, searched in well under a millisecond. */
function allCodes(): Promise<string> {
  codes ??= readFile(new URL('postal-codes.txt', import.meta.url), 'latin1').then(text => `\n${text}`);
  return codes;
}

import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../schema.ts';
import { type PostalPlace, readPostalFile } from './geonames.ts';
import { startPostalImport } from './imported-codes.ts';
import { builtInCountries } from './postal-codes.ts';

/** What is in a postal code file. */
export interface PostalFile {
  readonly lines: number;
  /** The number of wrong lines, and the first ten. */
  readonly wrong: number;
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  /** The countries to import, in alphabetical order. */
  readonly countries: readonly string[];
  /** The countries that are part of the product, and are not imported. */
  readonly ignored: readonly string[];
}

/** Reads a whole file before anything is stored. @param onBytes called with the bytes that are read */
export async function checkPostalFile(path: string, onBytes: (bytes: number) => void): Promise<PostalFile> {
  const found = new Set<string>();
  const errors: { line: number; message: string }[] = [];
  let [total, wrong] = [0, 0];
  for await (const { lines, bytes } of readPostalFile(path)) {
    for (const { line, place } of lines) {
      total++;
      if (typeof place !== 'string') found.add(place.country);
      else if (++wrong <= ERRORS_MAX) errors.push({ line, message: place });
    }
    onBytes(bytes);
  }
  const all = [...found].sort();
  return {
    lines: total,
    ...{ wrong, errors },
    countries: all.filter(country => !builtInCountries.includes(country)),
    ignored: all.filter(country => builtInCountries.includes(country)),
  };
}

/**
 * Stores the postal codes of a checked file, without its wrong lines, in place of those of its countries.
 * @returns the number of codes of each country
 */
export async function importPostalFile(
  database: Database,
  path: string,
  { countries }: PostalFile,
  onBytes: (bytes: number) => void,
): Promise<Map<string, number>> {
  const wanted = new Set(countries);
  const run = await startPostalImport(database);
  for await (const { lines, bytes } of readPostalFile(path)) {
    const places = lines.map(({ place }) => place).filter((place): place is PostalPlace => typeof place !== 'string');
    const chosen = places.filter(({ country }) => wanted.has(country));
    if (chosen.length > 0) await run.add(chosen);
    onBytes(bytes);
    await pause(PAUSE_MS);
  }
  return run.finish(countries);
}

const ERRORS_MAX = 10;
/** Lets other processes write between two transactions. */
const PAUSE_MS = 5;

import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../model/schema.ts';
import { type PostalPlace, readPostalFile } from './geonames.ts';
import { startPostalImport } from './imported-codes.ts';
import { builtInCountries } from './postal-codes.ts';

/** The content of a postal code file. */
interface PostalFile {
  readonly lines: number;
  /** The number of wrong lines, and the first ten of them. */
  readonly wrong: number;
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  /** The countries to import, in alphabetical order. */
  readonly countries: readonly string[];
  /** The countries with built-in postal codes, which are not imported. */
  readonly ignored: readonly string[];
}

/**
 * Reads a whole file before storing any of it.
 * @param onBytes called with the number of bytes read
 */
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
 * Stores the postal codes of a checked file, except its wrong lines. They replace the codes of its countries.
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
/** A pause that lets other processes write between two transactions. */
const PAUSE_MS = 5;

import { readFile } from 'node:fs/promises';
import type { Point } from '../lib/distance.ts';
import { wordsIn } from '../lib/text.ts';
import { stateNames } from './states.ts';

/** A city of the United States or Canada. */
export interface City extends Point {
  readonly name: string;
  /** The postal abbreviation of its state or province. */
  readonly state: string;
  /** How many postal codes it has. */
  readonly codes: number;
}

/** The most cities of one name that count. */
export const CITIES_MAX = 10;

/**
 * Returns the cities that people mean by a text: `Portland, OR`, `portland oregon`, or those named `Portland` in any state, up
 * to ten, the one with the most postal codes first. Works offline.
 * @source `cities.txt`, from the package zipcodes 8.0.0: the median of the postal codes of each city
 */
export async function citiesIn(text: string): Promise<City[]> {
  const words = wordsIn(text).flatMap(word => fullWords[word] ?? [word]);
  const isCountry = words.length > 1 && ['us', 'usa', 'canada'].includes(words.at(-1)!);
  const named = isCountry ? words.slice(0, -1) : words;
  const all = await allCities();
  for (let length = 1; length < named.length; length++) {
    const state = states.get(named.slice(length).join(' '));
    const found = state === undefined ? [] : all.named(named.slice(0, length)).filter(city => city.state === state);
    if (found.length > 0) return found.slice(0, 1);
  }
  return all.named(named).slice(0, CITIES_MAX);
}

/** Reports whether words name a state, or are its abbreviation. */
export function isState(words: readonly string[]): boolean {
  return states.has(words.join(' '));
}

/** What people abbreviate in names of cities. */
const fullWords: Readonly<Record<string, readonly string[]>> = {
  st: ['saint'],
  mt: ['mount'],
  ft: ['fort'],
  nyc: ['new', 'york'],
};

/** Abbreviations of states by themselves and by names of states. */
const states: ReadonlyMap<string, string> = new Map(
  Object.entries(stateNames).flatMap(([state, name]) => [
    [state.toLowerCase(), state],
    [wordsIn(name).join(' '), state],
  ]),
);

/** The cities as lines `name;state;country;latitude;longitude;postal codes`, sorted by name. Kept as one text of 1 MB. */
class Cities {
  readonly #text: string;
  readonly #lineByName = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
    for (let line = 0; line < text.length; line = text.indexOf('\n', line) + 1) {
      const name = keyOf(text.slice(line, text.indexOf(';', line)));
      if (!this.#lineByName.has(name)) this.#lineByName.set(name, line);
    }
  }

  /** Returns the cities of this name, the one with the most postal codes first. */
  named(words: readonly string[]): City[] {
    const key = words.join(' ');
    const found: City[] = [];
    for (let line = this.#lineByName.get(key); line !== undefined && line < this.#text.length; ) {
      const end = this.#text.indexOf('\n', line);
      const [name = '', state = '', , latitude, longitude, codes] = this.#text.slice(line, end).split(';');
      if (keyOf(name) !== key) break;
      found.push({ name, state, latitude: Number(latitude), longitude: Number(longitude), codes: Number(codes) });
      line = end + 1;
    }
    return found.sort((one, other) => other.codes - one.codes);
  }
}

function keyOf(name: string): string {
  return wordsIn(name).join(' ');
}

let cities: Promise<Cities> | undefined;

function allCities(): Promise<Cities> {
  cities ??= readFile(new URL('cities.txt', import.meta.url), 'latin1').then(text => new Cities(text));
  return cities;
}

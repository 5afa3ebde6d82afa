import { readFile } from 'node:fs/promises';
import type { Point } from '../../lib/distance.ts';
import { memoize } from '../../lib/one-per.ts';
import { wordsIn } from '../../lib/text.ts';

/** A city of the United States or Canada. */
export interface City extends Point {
  readonly name: string;
  /** The postal abbreviation of its state or province. */
  readonly state: string;
  /** The number of its postal codes. */
  readonly codes: number;
}

/** The maximum number of cities with one name that count. */
export const CITIES_MAX = 10;

/**
 * Returns the cities that a text names: `Portland, OR`, `portland oregon`, or those named `Portland` in any state; at
 * most ten, with the most postal codes first. Works offline.
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

/** Reports whether words are the name or abbreviation of a state. */
export function isState(words: readonly string[]): boolean {
  return states.has(words.join(' '));
}

/** Common abbreviations in names of cities. */
const fullWords: Readonly<Record<string, readonly string[]>> = {
  st: ['saint'],
  mt: ['mount'],
  ft: ['fort'],
  nyc: ['new', 'york'],
};

/** The states of the United States and the provinces of Canada, by their postal abbreviations. */
const stateNames: Readonly<Record<string, string>> = {
  ...named(
    'AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware, ' +
      'DC District of Columbia, FL Florida, GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas, ' +
      'KY Kentucky, LA Louisiana, ME Maine, MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, ' +
      'MO Missouri, MT Montana, NE Nebraska, NV Nevada, NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, ' +
      'NC North Carolina, ND North Dakota, OH Ohio, OK Oklahoma, OR Oregon, PA Pennsylvania, PR Puerto Rico, ' +
      'RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas, UT Utah, VT Vermont, VA Virginia, ' +
      'VI Virgin Islands, WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming, GU Guam, AS American Samoa',
  ),
  ...named(
    'AB Alberta, BC British Columbia, MB Manitoba, NB New Brunswick, NL Newfoundland and Labrador, NS Nova Scotia, ' +
      'NT Northwest Territories, NU Nunavut, ON Ontario, PE Prince Edward Island, QC Quebec, SK Saskatchewan, YT Yukon',
  ),
};

function named(text: string): Record<string, string> {
  return Object.fromEntries(text.split(', ').map(state => [state.slice(0, 2), state.slice(3)]));
}

/** The abbreviations of states, by themselves and by names. */
const states: ReadonlyMap<string, string> = new Map(
  Object.entries(stateNames).flatMap(([state, name]) => [
    [state.toLowerCase(), state],
    [wordsIn(name).join(' '), state],
  ]),
);

/**
 * The cities as lines `name;state;country;latitude;longitude;postal codes`, sorted by name. Stored as one text of 1 MB.
 */
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

  /** Returns the cities with this name, with the most postal codes first. */
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

const allCities = memoize(async () => new Cities(await readFile(new URL('cities.txt', import.meta.url), 'latin1')));

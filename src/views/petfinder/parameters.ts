import { invalidParameter } from '../../lib/http/problem.ts';
import { parseDate, parseTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';

/** The query parameters of a request. Unknown and empty ones are ignored, as Petfinder's API does. */
export class Parameters {
  readonly #values = new Map<string, string[]>();

  /** @param names the known parameters; `breed[]` and `breed[0]` are `breed` */
  constructor(search: string, names: readonly string[]) {
    for (const [sent, value] of new URLSearchParams(search)) {
      const name = sent.replace(/\[\d*\]$/, '');
      const text = value.trim();
      if (names.includes(name) && text !== '') this.#values.getOrInsertComputed(name, () => []).push(text);
    }
  }

  /** Returns the parameters without some, for links to other pages. */
  without(...names: readonly string[]): URLSearchParams {
    const others = Array.from(this.#values).filter(([name]) => !names.includes(name));
    return new URLSearchParams(others.flatMap(([name, values]) => values.map(value => [name, value])));
  }

  /** Returns the value of a parameter, the last one if it is repeated. */
  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1);
  }

  /** Returns the values of a parameter: of each repetition, the parts between commas that are not in parentheses. */
  list(name: string): readonly string[] | undefined {
    const parts = this.#values.get(name)?.flatMap(text => text.match(/(?:\([^()]*\)|[^,])+/g) ?? []);
    return parts?.map(part => part.trim()).filter(part => part !== '');
  }

  /** @throws {Problem} unless the value is an integer from 1 to `max` */
  number(name: string, max: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= 1 && number <= max) return number;
    throw invalidParameter(name, `${name} must be an integer from 1 to ${max}.`);
  }

  /**
   * Returns what the values of a parameter stand for, each once.
   * @param meanings by value in lower case
   * @throws {Problem} for another value
   */
  choices<T>(name: string, meanings: Readonly<Record<string, T>>): readonly T[] | undefined {
    const values = this.list(name);
    return values && [...new Set(values.map(value => this.#meaning(name, value, meanings)))];
  }

  /** Returns what the value of a parameter stands for. @throws {Problem} like `choices` */
  choice<T>(name: string, meanings: Readonly<Record<string, T>>): T | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : this.#meaning(name, value, meanings);
  }

  /** Returns a time in milliseconds since the Unix epoch. @throws {Problem} unless it is an ISO 8601 time */
  time(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    // A plus sign that is not encoded arrives as a space.
    const zoned = text.replace(/[ +](\d\d):?(\d\d)$/, '+$1:$2');
    const at = parseTime(zoned) ?? parseTime(`${zoned}Z`) ?? parseDate(text);
    if (at === undefined) throw invalidParameter(name, `${name} must be an ISO 8601 time.`);
    return at;
  }

  #meaning<T>(name: string, value: string, meanings: Readonly<Record<string, T>>): T {
    const key = value.toLowerCase();
    if (Object.hasOwn(meanings, key)) return meanings[key]!;
    throw invalidParameter(name, `${value} is not a valid ${nouns[name] ?? name}.`, 'unknown_value');
  }
}

/** What messages call the values of parameters, if not by the name of the parameter. */
const nouns: Readonly<Record<string, string>> = { type: 'animal type' };

/** The maximum distance in miles, and the distance without the parameter. */
const DISTANCE_MAX = 500;
const DISTANCE_DEFAULT = 100;

/** Returns the parameters of a list near a place. @throws {Problem} if a distance has no location */
export function placeOf(parameters: Parameters, isRequired: boolean): { near?: string; within?: string } {
  const near = parameters.text('location');
  const miles = parameters.number('distance', DISTANCE_MAX);
  if (near === undefined) {
    if (miles === undefined && !isRequired) return {};
    const message = 'location is required with distance.';
    throw problem('invalid_parameter', message, { errors: [{ path: 'location', code: 'required', message }] });
  }
  return { near, within: `${miles ?? DISTANCE_DEFAULT}mi` };
}

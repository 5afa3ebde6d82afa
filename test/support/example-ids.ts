import type { Example, Route } from '../../src/lib/http/route.ts';
import { routes } from '../../src/views/api.ts';
import type { SentExample } from './examples.ts';

let stores = 0;

/**
 * Translates the ids in examples, which count from an empty store, to those of a store that has other resources already.
 * Learns the ids of new resources from the responses to examples.
 */
export class ExampleIds {
  readonly #number = ++stores;
  /** The ids by the name of their path parameter, `petId` for instance, in the order in which they were assigned. */
  readonly #ids: Map<string, string[]>;

  /** @param petIds the pets that every store of the examples begins with */
  constructor(petIds: readonly string[]) {
    this.#ids = new Map([['petId', [...petIds]]]);
  }

  translate({ path, body, ...example }: Example): Example {
    return {
      ...example,
      ...(path && { path: this.#members(path) as Record<string, string> }),
      ...(body !== undefined && { body: this.#members(body) }),
    };
  }

  learn({ route, headers, body }: Pick<SentExample, 'route' | 'headers' | 'body'>): void {
    const location = headers.get('location');
    const { id } = (body ?? {}) as { id?: number | string };
    const name = location === null ? nameBySchema(route) : nameByLocation(location);
    if (route.method !== 'POST' || id === undefined || name === undefined) return;
    const known = this.#ids.get(name) ?? [];
    if (!known.includes(String(id))) this.#ids.set(name, [...known, String(id)]);
  }

  #members(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.map(item => this.#members(item, name.replace(/s$/, '')));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.#members(member, key)]));
    }
    // Slugs are unique in a store.
    if (name === 'slug') return `${value}-${this.#number}`;
    if (!name.endsWith('Id') || (typeof value !== 'number' && typeof value !== 'string')) return value;
    const actual = this.#idOf(/^(into|parent)/.test(name) ? 'categoryId' : name, value);
    return typeof value === 'number' ? Number(actual) : actual;
  }

  #idOf(name: string, example: number | string): string {
    const number = Number(/\d+$/.exec(String(example))?.[0]);
    if (name === 'categoryId' && number >= UNKNOWN_CATEGORY) return String(number + this.#number);
    const first = name === 'categoryId' ? FIRST_CATEGORY : 1;
    return this.#ids.get(name)?.[number - first] ?? String(example);
  }
}

/** The first id of a category that an account creates, and the ids that only pets name. */
const FIRST_CATEGORY = 1001;
const UNKNOWN_CATEGORY = 9000;

/** Returns the name of the path parameter that stands for the end of a URL. */
function nameByLocation(location: string): string | undefined {
  const found = routes.find(({ method, path }) => {
    const pattern = new RegExp(`/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return method === 'GET' && path.endsWith('}') && pattern.test(location);
  });
  return found?.path.match(/(\w+)\}$/)?.[1];
}

/** Returns the name of the path parameter for the resource in a response: `deliveryId` for a `Delivery`. */
function nameBySchema({ successes }: Route<never>): string | undefined {
  const { title } = (successes[0].schema ?? {}) as { title?: string };
  return title && `${title.charAt(0).toLowerCase()}${title.slice(1)}Id`;
}

import { type Call, callOf, jsonOf, type Pages, pagesFrom } from './calls.ts';
import { type Operations, operations } from './operations.ts';
import { eventStream, iterator, lines } from './stream.ts';
import { type ClientOptions, type RequestBody, type RequestOptions, Transport } from './transport.ts';
import type { FullPet, ListPetsQuery, Pet, RemovedPet } from './types.ts';
import { type FileSource, fileBody } from './upload.ts';

/** The values of query parameters. Arrays are repeated parameters. */
type Query = Readonly<Record<string, unknown>>;

/** A request to an operation that this version does not know. */
export interface RawRequest extends RequestOptions {
  readonly query?: Query;
  /** A JSON value. */
  readonly body?: unknown;
}

/** The changes of the catalog since a token; see `Client.mirror`. */
export interface Mirror<T> extends AsyncIterable<T> {
  /** Where the next run continues. Store it after the loop, together with your copy. */
  readonly token: string | undefined;
}

/** The options of `mirror`: a token or a time, and filters. Without `since` it starts with the whole catalog. */
export interface MirrorQuery extends Omit<ListPetsQuery, 'updatedSince' | 'includeRemoved' | 'cursor' | 'sort' | 'id'> {
  readonly since?: string | undefined;
}

/** The methods by their letters. */
const methods: Readonly<Record<string, string>> = { D: 'DELETE', A: 'PATCH', O: 'POST', U: 'PUT' };

/** Every animal has changed since. */
const START = '1970-01-01T00:00:00Z';

class Client {
  readonly #transport: Transport;

  static {
    let group = '';
    for (const line of operations.split('\n')) {
      const path = group;
      const [, name, ...words] = line.match(/^(\w+)(?: ([A-Z]))?(?: (\/\S*))?(?: (\S+))?(?: (\w+))?$/) ?? [];
      if (name === undefined) group = line;
      else {
        Object.defineProperty(Client.prototype, name, {
          value(this: Client, ...values: unknown[]) {
            return this.#perform(path, words, values);
          },
        });
      }
    }
  }

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Sends a request to a path below the base URL, with the retries of every call. */
  request<T = unknown>(method: string, path: string, { query, body, ...options }: RawRequest = {}): Call<T> {
    return this.#call(method, path, query, bodyOf(body), options) as Call<T>;
  }

  /**
   * Yields each animal that changed since a token, in its current state; deleted ones have `deletedAt`. Fails with
   * `sync_token_expired` when the token is too old: start again without one.
   */
  mirror(query: MirrorQuery & { readonly view: 'full' }, options?: RequestOptions): Mirror<FullPet | RemovedPet>;
  mirror(query?: MirrorQuery, options?: RequestOptions): Mirror<Pet | RemovedPet>;
  mirror({ since, ...filters }: MirrorQuery = {}, options: RequestOptions = {}): Mirror<Pet | RemovedPet> {
    const query = { limit: 100, ...filters, updatedSince: since ?? START, includeRemoved: true };
    const get = (cursor?: string) =>
      this.request<(Pet | RemovedPet)[]>('GET', '/pets', { ...options, query: { ...query, cursor } });
    const mirror = {
      token: since,
      async *[iterator]() {
        for await (const page of pagesFrom(get() as Pages<Pet | RemovedPet>, get as never)) {
          yield* page;
          mirror.token = page.syncToken ?? mirror.token;
        }
      },
    };
    return mirror;
  }

  /**
   * Performs an operation.
   * @param words its method, path, input and output; see `operations`
   * @param values the path parameters, then the query, body or file, then the options
   */
  #perform(group: string, [letter, rest = '', input = '-', output]: (string | undefined)[], values: unknown[]) {
    const method = methods[letter!] ?? 'GET';
    const path = (group + rest).replaceAll(':', () => segmentOf(values.shift()));
    const [kind, names] = input.split('?');
    const given = kind === '-' ? undefined : values.shift();
    const options = (values.shift() ?? {}) as RequestOptions & Query;
    const others = names?.split(',').map(name => [name, options[name]]) ?? [];
    if (kind === '') return this.#call(method, path, given as Query, undefined, options, output);
    const body = kind!.includes('/') ? fileBody(given as FileSource, kind!) : bodyOf(given);
    return this.#call(method, path, Object.fromEntries(others), body, options, output);
  }

  #call(
    method: string,
    path: string,
    query: Query | undefined,
    body: RequestBody | undefined,
    options: RequestOptions,
    output?: string,
  ): unknown {
    const transport = this.#transport;
    const outgoing = { method, path: path + searchOf(query), body, streams: output !== undefined };
    if (output === 'events')
      return eventStream(query ?? {}, options, transport.time, more => transport.send(outgoing, more));
    const sent = transport.send(outgoing, options);
    if (output !== undefined) {
      const call = callOf(sent, ({ response }) => response);
      return Object.assign(call, { [iterator]: () => valuesOf(call) });
    }
    const call = callOf(sent, jsonOf);
    const more = { ...options, total: false, ifNoneMatch: undefined };
    const get = (cursor: string) => this.#call(method, path, { ...query, cursor }, body, more);
    return Object.assign(call, {
      async *[iterator]() {
        for await (const page of pagesFrom(call as Pages<unknown>, get as (cursor: string) => Pages<unknown>))
          yield* page;
      },
    });
  }
}

/** A client of a pet store, with a method for each operation. */
export type PetStore = Client & Operations;
export const PetStore: new (options: ClientOptions) => PetStore = Client as never;

function bodyOf(value: unknown): RequestBody | undefined {
  return value === undefined ? value : { type: 'application/json', open: () => JSON.stringify(value) };
}

/** Returns a path parameter for a URL. */
function segmentOf(value: unknown): string {
  const text = String(value ?? '');
  // An empty segment, `.` and `..` would be other paths.
  if (/^\.{0,2}$/.test(text)) throw new TypeError('An id is missing.');
  return encodeURIComponent(text);
}

function searchOf(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map(one => [name, one]));
  const search = String(new URLSearchParams(pairs.filter(([, one]) => one != null) as [string, string][]));
  return search && `?${search}`;
}

/** Yields the JSON values of a file, one a line. */
async function* valuesOf(file: PromiseLike<Response>): AsyncGenerator<unknown> {
  for await (const line of lines((await file).body!)) if (line !== '') yield JSON.parse(line);
}

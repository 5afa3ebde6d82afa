import { headerOf } from './errors.ts';
import type { Incoming } from './transport.ts';

/** A call that was sent. Await it for its result. */
export interface Call<T> extends Promise<T> {
  /** Returns the result with the facts of its response. */
  withResponse(): Promise<Result<T>>;
}

/** The result of a call, and its response. */
export interface Result<T> {
  readonly data: T;
  readonly status: number;
  /** Identifies the version of the resource: the `ifMatch` of a change. */
  readonly etag: string | undefined;
  /** The id of the request in the logs of the service. */
  readonly requestId: string | undefined;
  readonly headers: Headers;
}

/** A call for a page of a list. Await it for the page, or loop over it with `for await` for the items of all pages. */
export interface Pages<T> extends Call<Page<T>>, AsyncIterable<T> {}

/** A page of a list: an array with more properties. */
export type Page<T> = T[] & PageFacts;

interface PageFacts {
  /** The `cursor` of the next page; absent on the last page. */
  readonly next: string | undefined;
  /** The number of items on all pages, if the call asked for the `total` and the filters allow it. */
  readonly total: number | undefined;
  readonly etag: string | undefined;
  readonly requestId: string | undefined;
  /** On the last page of changes or events: where to continue later. */
  readonly syncToken: string | undefined;
}

/** A file. Await it for the response: its `body` is a stream; `text()` and `blob()` return it as a whole. */
export type Download = Call<Response>;

/** A file with one JSON value a line. Await it like any file, or loop over it with `for await` for its values. */
export interface Lines<T> extends Call<Response>, AsyncIterable<T> {}

/** Returns a call. @param read returns the data of the response */
export function callOf<T>(sent: Promise<Incoming>, read: (incoming: Incoming) => T): Call<T> {
  const result = sent.then(incoming => {
    const { status, headers } = incoming.response;
    return { data: read(incoming), status, headers, ...factsOf(incoming.response) };
  });
  const call = result.then(({ data }) => data);
  return Object.assign(call, {
    withResponse() {
      // The caller handles the error of the result.
      call.catch(() => {});
      return result;
    },
  });
}

/** Returns the JSON body of a response; an array as a page. */
export function jsonOf({ response, text }: Incoming): unknown {
  const data = text ? JSON.parse(text) : undefined;
  const of = (name: string) => headerOf(response, name);
  const [next, total] = [of('x-next'), of('X-Total-Count')];
  if (!Array.isArray(data)) return data;
  return Object.assign(data, {
    next: next && new URL(next).searchParams.get('cursor')!,
    total: total ? Number(total) : undefined,
    syncToken: of('X-Sync-Token'),
    ...factsOf(response),
  });
}

function factsOf(response: Response) {
  return { etag: headerOf(response, 'ETag'), requestId: headerOf(response, 'X-Request-Id') };
}

/** Yields the pages of a list. */
export async function* pagesFrom<T>(
  first: PromiseLike<Page<T>>,
  get: (cursor: string) => PromiseLike<Page<T>>,
): AsyncGenerator<Page<T>> {
  let page = await first;
  yield page;
  while (page.next !== undefined) {
    page = await get(page.next);
    yield page;
  }
}

import type { ErrorEntry } from '../problem.ts';
import type { Example, Route } from '../route.ts';

/** What an OpenAPI document is built from. */
export interface ApiDescription {
  readonly info: Readonly<Record<string, unknown>>;
  /** Base URLs; that of the address that serves the document is first. */
  readonly servers: readonly Server[];
  /** All tags in the order of the document; unused ones are omitted. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Groups of tags (`x-tagGroups`). */
  readonly tagGroups: readonly { readonly name: string; readonly tags: readonly string[] }[];
  /** The description of the bearer token. */
  readonly bearer: string;
  readonly routes: readonly Route<never>[];
  readonly errors: Readonly<Record<string, ErrorEntry>>;
  /** The URL below which the pages on error codes are, without a trailing slash. */
  readonly pagesUrl: string;
  /** Returns every error code of a route, including those that all routes share. */
  codesOf(route: Route<never>): readonly string[];
  /** The headers of every response, whatever its status. */
  readonly headers: Readonly<Record<string, Header>>;
  /** Returns the recorded response to an example, if there is one. */
  responseTo?(route: Route<never>, example: Example): unknown;
}

export interface Server {
  readonly url: string;
  readonly description: string;
}

/** An OpenAPI Header Object. */
export interface Header {
  readonly description: string;
  readonly schema: object;
}

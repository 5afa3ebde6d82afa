import type { ErrorEntry } from '../problem.ts';
import type { Example, Route } from '../route.ts';

/** The input of an OpenAPI document. */
export interface ApiDescription {
  readonly info: Readonly<Record<string, unknown>>;
  /** Base URLs, first that of the address that serves the document. */
  readonly servers: readonly Server[];
  /** All tags in the order of the document; unused ones are omitted. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Groups of tags (`x-tagGroups`). */
  readonly tagGroups: readonly { readonly name: string; readonly tags: readonly string[] }[];
  /** The description of the bearer token. */
  readonly bearer: string;
  readonly routes: readonly Route<never>[];
  readonly errors: Readonly<Record<string, ErrorEntry>>;
  /** The base URL of the pages on error codes, without a trailing slash. */
  readonly pagesUrl: string;
  /** Returns every error code of a route, including those that all routes share. */
  codesOf(route: Route<never>): readonly string[];
  /** The headers of every response with any status. */
  readonly headers: Readonly<Record<string, Header>>;
  /** The requests that the service sends to receivers, by name, and their tag. Omitted if no operation has the tag. */
  readonly webhooks?: { readonly tag: string; readonly requests: Readonly<Record<string, WebhookRequest>> };
  /** The schemas of request headers other than plain strings, by name. */
  readonly headerSchemas?: Readonly<Record<string, object>>;
  /** Returns the recorded response to an example, if it was recorded. */
  responseTo?(route: Route<never>, example: Example): unknown;
}

export interface Server {
  readonly url: string;
  readonly description: string;
}

/** A request that the service sends to a receiver. */
export interface WebhookRequest {
  readonly summary: string;
  readonly description: string;
  readonly headers: Readonly<Record<string, Header>>;
  /** The schema of its JSON body. */
  readonly schema: object;
  /** The meaning of each status of the receiver's response. */
  readonly responses: Readonly<Record<string, string>>;
}

/** An OpenAPI Header Object. */
export interface Header {
  readonly description: string;
  readonly schema: object;
}

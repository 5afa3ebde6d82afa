import type { Static, TObject, TSchema } from 'typebox';
import type { Soon } from '../soon.ts';

/** Who may call a route: the holder of a valid key; with a scope, only of a key that has it. */
export interface Access {
  readonly key: true;
  readonly scope?: string;
}

/** How ready an operation is: what the words promise is said in the documentation. Stable where none is given. */
export type Stability = 'experimental' | 'beta';

/** That an operation goes away, and when. */
export interface Deprecation {
  /** RFC 9745: since when it is deprecated. */
  readonly since: Date;
  /** RFC 8594: from this moment it answers 410 `operation_removed`. */
  readonly sunset: Date;
  /** What to use instead, as a sentence. */
  readonly instead: string;
  /** The documentation of the deprecation: a path below the public address's origin. */
  readonly page: string;
  /** The URL path and query (below the base address) that serves the same purpose for one call. */
  successor(path: Readonly<Record<string, string>>): string;
}

/** A path parameter. A value that does not fit names nothing, so it answers 404 with this code. */
export interface PathParameter {
  readonly schema: TSchema;
  readonly description: string;
  readonly notFound: string;
  /** What is said with it, as a sentence. */
  readonly absent: string;
}

/** One documented success of a route. */
export interface Success {
  readonly status: number;
  readonly description: string;
  readonly schema: TSchema;
  /** Headers beyond those of every answer: name → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that stands in the documentation with its answer; a test sends each for real. */
export interface Example {
  /** Lower-case words; unique within the route. */
  readonly name: string;
  readonly summary: string;
  /** Values for the path's parameters. */
  readonly path?: Readonly<Record<string, string>>;
  /** The query string without its question mark. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value; a string is sent as it is. */
  readonly body?: unknown;
  /** The status of its answer. */
  readonly status: number;
  /** The error code of its answer, where that is none of the successes. */
  readonly code?: string;
}

/** What a handler is given: everything about one admitted, validated request. */
export interface Call<Context, Query, Body, Path> {
  /** The deployment that the request reached. */
  readonly context: Context;
  /** Who calls: the holder of the key. */
  readonly caller: Caller;
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  /** Request header by its lower-case name. */
  header(name: string): string | undefined;
  /** The parsed `Prefer` header (RFC 7240): lower-case names to values, '' where there is none. */
  readonly prefer: ReadonlyMap<string, string>;
  readonly requestId: string;
  /** Public address and prefix, without a slash at the end: what links begin with. */
  readonly baseUrl: string;
  /** The URL as it was sent, without the origin: path and query. */
  readonly url: string;
}

/** Whose key it was. */
export interface Caller {
  readonly keyId: string;
  readonly accountId: number;
  readonly admin: boolean;
}

/** What a handler answers. */
export interface Answer {
  /** The first success of the route where left out. */
  readonly status?: number;
  /** A JSON value, or finished bytes of JSON. */
  readonly body: unknown;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

/**
 * A route is a value: all there is to say about an operation. The router, the validation, the OpenAPI document, the
 * every-route tests and the reference read it; nothing about an operation is written twice.
 */
export interface Route<Context> {
  /** The operation's name (OpenAPI `operationId`), one verb and its noun: `createPet`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the prefix, with parameters in braces: `/pets/{petId}`. */
  readonly path: string;
  /** Stated for every route; a route without it does not start. */
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, PathParameter>>;
  /** One property a query parameter; arrays take several values, by comma or by repetition. */
  readonly query?: TObject;
  /** What a JSON body must be. Members beyond it are ignored, or refused under `Prefer: handling=strict`. */
  readonly body?: TSchema;
  /** Request headers that it reads: name → what it does. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly successes: readonly [Success, ...Success[]];
  /** The codes of its own, beside those that any route may answer. */
  readonly errors: readonly string[];
  readonly deprecation?: Deprecation;
  readonly stability?: Stability;
  /** More members for the OpenAPI operation: `x-…` only. */
  readonly extensions?: Readonly<Record<`x-${string}`, unknown>>;
  readonly examples: readonly Example[];
  handle(call: Call<Context, never, never, never>): Soon<Answer>;
}

/** Defines a route, giving its handler the types of its schemas. */
export function routesIn<Context>() {
  return function route<
    Query extends TObject = TObject,
    Body extends TSchema = TSchema,
    const Parameters extends Readonly<Record<string, PathParameter>> = Record<never, never>,
  >(
    definition: Omit<Route<Context>, 'query' | 'body' | 'parameters' | 'handle'> & {
      readonly query?: Query;
      readonly body?: Body;
      readonly parameters?: Parameters;
      handle(
        call: Call<
          Context,
          Static<Query>,
          Static<Body>,
          { readonly [Name in keyof Parameters]: Static<Parameters[Name]['schema']> }
        >,
      ): Soon<Answer>;
    },
  ): Route<Context> {
    return definition as unknown as Route<Context>;
  };
}

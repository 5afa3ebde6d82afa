import type { Static, TObject, TProperties, TSchema } from 'typebox';
import type { MaybePromise } from '../../maybe-promise.ts';
import { Type } from '../../type.ts';
import type { Operation, PathOf, PathParameters, RouteRequest, RouteResponse } from '../route.ts';
import { type PageLinks, pageHeaders } from './page-links.ts';
import type { PageRequest } from './paginate.ts';
import type { ScanRequest } from './scan-queue.ts';

/** A request for one page, with the filters apart from `limit` and `cursor`. */
export interface ListRequest<Context, Filters, Path> extends RouteRequest<Context, unknown, unknown, Path> {
  /** The query parameters without `limit` and `cursor`. */
  readonly filters: Filters;
  readonly page: PageRequest;
  /** Whether the caller requests the total with `Prefer: count=exact`. */
  readonly wantsTotal: boolean;
}

/** The result of the handler of a list. */
export interface ListResult extends PageLinks {
  /** The response body: the items as callers see them. */
  readonly rows: readonly unknown[];
  /** The number of items on all pages, if the caller requested it and the list can count them. */
  readonly total?: number | undefined;
  /** More response headers, names and values in turn. */
  readonly headers?: readonly string[];
}

/** The definition of a list operation, without the parts that all lists share. */
export interface ListDefinition<Context, Filters, Parameters>
  extends Pick<Operation<Context>, 'summary' | 'description' | 'limits' | 'extensions' | 'examples'> {
  /** The items of the list, in the plural: `holds`. */
  readonly noun: string;
  readonly parameters?: Parameters;
  /** One query parameter per property. */
  readonly filters?: Filters;
  /** The schema of the response body: an array. */
  readonly schema: TSchema;
  /** Describes the response; `A page of holds.` by default. */
  readonly response?: string;
  /** Whether the list has no links to previous pages. */
  readonly forwardOnly?: true;
  /**
   * Documents the filters for which `Prefer: count=exact` returns the total. Without it, the list ignores such
   * requests.
   */
  readonly total?: string;
  /** Additional response headers, with their descriptions. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Additional error codes. */
  readonly errors?: readonly string[];
}

/**
 * Returns the function that defines list operations over `Context`. A list operation adds to an operation the query
 * parameters `limit` and `cursor`, the headers `Link` and `x-next`, the total, and their documentation.
 */
export function listOperationsOver<Context extends ScanRequest['context']>() {
  return function listOperation<
    Filters extends TProperties = Record<never, never>,
    const Parameters extends PathParameters = Record<never, never>,
  >(
    definition: ListDefinition<Context, Filters, Parameters> & {
      handle(request: ListRequest<Context, Static<TObject<Filters>>, PathOf<Parameters>>): MaybePromise<ListResult>;
      /** Responds instead of the handler, for example from a cache; `respond` runs the handler. */
      intercept?(
        request: RouteRequest<Context, Static<TObject<Filters>>, unknown, unknown>,
        respond: () => Promise<RouteResponse>,
      ): MaybePromise<RouteResponse>;
    },
  ): Operation<Context> {
    const { noun, filters, schema, response, forwardOnly, total, responseHeaders, ...rest } = definition;
    const { handle, intercept, errors = [], ...operation } = rest;
    const query = Type.Object({ limit: Limit, ...filters, cursor: Cursor });
    const known = new Set(Object.keys(query.properties));
    const respond = (request: AnyRequest<Context>) => respondWith(handle as Handler<Context>, known, total, request);
    return {
      ...operation,
      errors,
      query,
      ...(total !== undefined && { headers: { Prefer: `${COUNT} ${total} ${STRICT}` } }),
      successes: [
        {
          status: 200,
          description: response ?? `A page of ${noun}.`,
          schema: { ...schema, maxItems: LIMIT_MAX },
          headers: {
            Link: forwardOnly ? LINK_FORWARD : LINK,
            'x-next': 'The URL of the next page; absent on the last page.',
            ...responseHeaders,
            ...(total !== undefined && { 'X-Total-Count': `The number of ${noun} on all pages; ${COUNTED}` }),
          },
        },
      ],
      handle: (request: AnyRequest<Context>) =>
        intercept === undefined ? respond(request) : intercept(request as never, () => respond(request)),
    };
  };
}

type AnyRequest<Context> = RouteRequest<Context, unknown, unknown, Readonly<Record<string, unknown>>>;
type Handler<Context> = (request: ListRequest<Context, unknown, unknown>) => MaybePromise<ListResult>;

async function respondWith<Context extends ScanRequest['context']>(
  handle: Handler<Context>,
  known: ReadonlySet<string>,
  total: string | undefined,
  request: AnyRequest<Context>,
): Promise<RouteResponse> {
  const { limit = LIMIT_DEFAULT, cursor, ...filters } = request.query as Partial<PageRequest>;
  const wantsTotal = total !== undefined && request.prefer.get('count') === 'exact';
  const page = { limit, cursor: cursor || undefined, request };
  const result = await handle({ ...request, filters, page, wantsTotal });
  const headers = pageHeaders(resourceUrl(request) + request.search, known, result);
  if (result.headers !== undefined) headers.push(...result.headers);
  if (result.total !== undefined) {
    headers.push('X-Total-Count', String(result.total), 'Preference-Applied', 'count=exact');
  }
  return { body: result.rows, headers };
}

/** The default number of items on a page. */
export const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;

const Limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_DEFAULT,
    description: 'Maximum number of items returned.',
  }),
);

const Cursor = Type.Optional(
  Type.String({
    maxLength: 4096,
    description:
      'The position to continue from, taken from a `Link` header; empty for the first page. Opaque; valid only with the same filters and sort order.',
    examples: [''],
  }),
);

const LINK = 'Links to the pages `first`, `prev` and `next` (RFC 8288); a link without a page is absent.';
const LINK_FORWARD = 'Links to the pages `first` and `next` (RFC 8288); a link without a page is absent.';
const COUNT = '`count=exact` returns the total in `X-Total-Count`.';
const COUNTED = 'present if `count=exact` was applied.';
const STRICT = '`handling=strict` rejects unknown parameters.';

/** Returns the canonical URL of a resource: the request may have spelled its path differently. */
function resourceUrl({ baseUrl, routePath, path }: AnyRequest<unknown>): string {
  return baseUrl + routePath.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
}

import { routes } from './api.ts';
import type { Deployment } from './deployment.ts';
import { operator } from './events/event.ts';
import type { Caller, Route, RouteRequest } from './lib/http/route.ts';

/** A request to an operation within this process: without a key, and without rate limits. */
export interface LocalRequest {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The account that the request is for; the operator where it is absent. */
  readonly accountId?: number | undefined;
}

/** What operations need of a deployment that are called locally. */
export type LocalContext = Pick<Deployment, 'name' | 'database' | 'clock' | 'categories' | 'bounds'>;

export interface LocalPage {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** The cursor of the next page; `undefined` at the end. */
  readonly next: string | undefined;
}

/** An operation that can be called. */
export type LocalRoute = Route<Deployment>;

export function operationNamed(operationId: string): LocalRoute {
  return routes.find(route => route.operationId === operationId)!;
}

/**
 * Runs an operation on a deployment, and returns the body and the headers of its response.
 * @throws {Problem} as the operation does
 */
export async function callOperation(
  context: LocalContext,
  operationId: string,
  { path = {}, query = {}, body, accountId }: LocalRequest,
): Promise<{ readonly value: unknown; readonly headers: readonly string[] }> {
  const route = operationNamed(operationId);
  // Handlers pass the caller on as an Actor, which the operator is, too: with `null` for the account. The bounds of
  // plans do not apply to the operator.
  const actor = accountId === undefined ? operator : { accountId, admin: false };
  const search = `?${new URLSearchParams(query as Record<string, string>)}`;
  const request: RouteRequest<unknown, unknown, unknown, unknown> = {
    context,
    caller: { ...actor, deployment: context.name, plan: 'enterprise' } as Caller,
    path,
    query,
    body,
    header: () => undefined,
    prefer: new Map(),
    operationId,
    requestId: '',
    origin: undefined,
    checkPreconditions() {},
    isStillAuthorized: () => true,
    connection: { destroyed: false, readableEnded: false },
    baseUrl: '',
    publicUrl: '',
    url: route.path + search,
    search,
    routePath: route.path,
  };
  const { body: json, headers = [] } = await route.handle(request as never);
  return { value: Buffer.isBuffer(json) ? JSON.parse(String(json)) : json, headers };
}

/** Runs a list operation and returns one page. @throws {Problem} as the operation does */
export async function callList(context: LocalContext, operationId: string, request: LocalRequest): Promise<LocalPage> {
  const { value, headers } = await callOperation(context, operationId, request);
  const index = headers.indexOf('x-next');
  const next = index < 0 ? '' : headers[index + 1]!;
  const cursor = new URLSearchParams(next.slice(next.indexOf('?'))).get('cursor');
  return { items: value as LocalPage['items'], next: cursor ?? undefined };
}

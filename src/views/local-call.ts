import type { Deployment } from '../access/deployment.ts';
import type { Caller, Route, RouteRequest } from '../lib/http/route.ts';
import { JsonText } from '../lib/http/server/json.ts';
import { operator } from '../model/log/event.ts';
import { routes } from './api.ts';

/** A request to an operation within this process, without a key and rate limits. */
export interface LocalRequest {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The account that sends the request; by default the operator. */
  readonly accountId?: number | undefined;
}

/** The parts of a deployment that locally called operations use. */
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
 * @throws {Problem} like the operation
 */
export async function callOperation(
  context: LocalContext,
  operationId: string,
  { path = {}, query = {}, body, accountId }: LocalRequest,
): Promise<{ readonly value: unknown; readonly headers: readonly string[] }> {
  const route = operationNamed(operationId);
  // Handlers use the caller as an Actor. The operator is one too, with `null` for the account. The bounds of plans do
  // not apply to the operator.
  const actor = accountId === undefined ? operator : { accountId, admin: false };
  const search = `?${new URLSearchParams(query as Record<string, string>)}`;
  const request: RouteRequest<unknown, unknown, unknown, unknown> = {
    context,
    caller: { ...actor, deployment: context.name, plan: 'enterprise' } as Caller,
    path,
    query,
    body,
    headers: {},
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
  return { value: json instanceof JsonText ? JSON.parse(json.text) : json, headers };
}

/** Runs a list operation and returns one page. @throws {Problem} like the operation */
export async function callList(context: LocalContext, operationId: string, request: LocalRequest): Promise<LocalPage> {
  const { value, headers } = await callOperation(context, operationId, request);
  return { items: value as LocalPage['items'], next: nextCursorIn(headers) };
}

/** Returns the cursor of the next page from the headers of a page; `undefined` at the end. */
export function nextCursorIn(headers: readonly string[]): string | undefined {
  const index = headers.indexOf('x-next');
  const next = index < 0 ? '' : headers[index + 1]!;
  return new URLSearchParams(next.slice(next.indexOf('?'))).get('cursor') ?? undefined;
}

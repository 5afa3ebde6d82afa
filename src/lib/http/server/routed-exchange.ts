import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BoundRoute } from './bound-route.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { requestIdOf } from './request-id.ts';
import { originForm } from './request-target.ts';
import type { Found, Router } from './router.ts';

/** An exchange with the route or page of its method and path. */
export interface RoutedExchange<Context> extends Exchange {
  readonly found: Found<BoundRoute<Context>>;
}

/** The options from which a server derives its exchanges. */
interface Receiver<Context> {
  readonly router: Router<BoundRoute<Context>>;
  readonly errors: ErrorResponses;
  readonly publicUrls: { readonly plain: string; readonly tls: string };
}

/** Parses the URL of a request, and finds its route or page. */
export function routedExchange<Context>(
  request: IncomingMessage,
  response: ServerResponse,
  { router, errors, publicUrls }: Receiver<Context>,
): RoutedExchange<Context> {
  const url = request.url!.startsWith('/') ? request.url! : originForm(request.url!);
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const found = router.find(request.method!, path);
  const tls = request.headers['x-forwarded-proto'] !== undefined && errors.isTls(request);
  return {
    request,
    response,
    requestId: requestIdOf(request.headers['x-request-id']),
    publicUrl: tls ? publicUrls.tls : publicUrls.plain,
    tls,
    path,
    search: mark < 0 ? '' : url.slice(mark),
    receivedMs: performance.now(),
    found,
    parameters: found.parameters,
    headers: [],
    caller: undefined,
    address: '',
    countedAt: 0,
    bodyBytes: 0,
  };
}

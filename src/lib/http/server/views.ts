import type { Problem } from '../problem.ts';
import type { Caller } from '../route.ts';
import type { AuthenticationResult, KeyOwner } from './authenticator.ts';
import type { BoundRoute } from './bound-route.ts';
import { clientAddress } from './client-address.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServerOptions } from './options.ts';
import { isPreflight } from './request-target.ts';
import {
  type EncodedResponse,
  headersOverHttp,
  headersOverTls,
  writeChunked,
  writePreflight,
  writeResponse,
} from './responses.ts';
import { Router } from './router.ts';
import type { HttpView, OperationCall, ViewMount, ViewOperation, ViewRequest, ViewResponse } from './view.ts';
import { WholeBody } from './whole-body.ts';

/** A view that is loaded, with its router. */
interface LoadedView {
  readonly view: HttpView;
  readonly router: Router<{ readonly route: ViewOperation }>;
}

/** A request below the prefix of a view, with the server's findings so far. */
interface ViewExchange extends Exchange, LoadedView {
  readonly prefix: string;
  readonly operation: ViewOperation | undefined;
  readonly incoming: ViewRequest;
  /** The body, once it is read. */
  body?: Buffer | undefined;
  /** The key that was rejected, if it exists. */
  refused?: KeyOwner | undefined;
}

/** The parts of a server that its views use. */
interface ViewServerDeps<Context> {
  readonly options: HttpServerOptions<Context>;
  readonly errors: ErrorResponses;
  readonly routes: readonly BoundRoute<Context>[];
  /** Returns the headers that determine whether the connection stays open. */
  connectionHeaders(): readonly string[];
}

const noBytes = Buffer.alloc(0);

/** Serves the views of an address. */
export class ViewServer<Context> {
  readonly #deps: ViewServerDeps<Context>;
  readonly #loading = new Map<ViewMount, Promise<LoadedView>>();

  constructor(deps: ViewServerDeps<Context>) {
    this.#deps = deps;
  }

  /** Responds to a request below the prefix of a view. Never rejects. */
  async serve(mount: ViewMount, received: Exchange): Promise<void> {
    let exchange: ViewExchange | undefined;
    try {
      exchange = this.#exchangeOf(mount, received, await this.#load(mount));
      await this.#serve(exchange);
    } catch (error) {
      const problem = this.#deps.options.problemOf(error, received);
      if (exchange === undefined) this.#rejectUnloaded(mount, received, problem);
      else await this.#reject(exchange, problem);
    }
  }

  /** Rejects a request before any work for it. */
  async reject(mount: ViewMount, received: Exchange, problem: Problem): Promise<void> {
    const loaded = await this.#loading.get(mount)?.catch(() => undefined);
    if (loaded === undefined) this.#rejectUnloaded(mount, received, problem);
    else await this.#reject(this.#exchangeOf(mount, received, loaded), problem);
  }

  #load(mount: ViewMount): Promise<LoadedView> {
    const loading = this.#loading.getOrInsertComputed(mount, async () => {
      const view = await mount.load();
      return {
        view,
        router: new Router(
          mount.prefix,
          view.operations.map(route => ({ route })),
        ),
      };
    });
    loading.catch(() => this.#loading.delete(mount));
    return loading;
  }

  #exchangeOf({ prefix }: ViewMount, received: Exchange, { view, router }: LoadedView): ViewExchange {
    const { request, path, search, requestId, publicUrl } = received;
    const { route, parameters } = router.find(request.method!, path);
    const incoming: ViewRequest = {
      ...{ path, parameters, search, requestId, publicUrl },
      method: request.method!,
      header(name) {
        const value = request.headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      },
      address: () => clientAddress(request, this.#deps.options.proxies),
    };
    return { ...received, prefix, parameters, view, router, operation: route?.route, incoming };
  }

  async #serve(exchange: ViewExchange): Promise<void> {
    const { request, view, operation, incoming } = exchange;
    const { options, errors } = this.#deps;
    const refused = view.refuse?.(incoming);
    if (refused !== undefined) await this.#reject(exchange, refused);
    else if (request.method === 'OPTIONS' && isPreflight(request)) {
      writePreflight(exchange, errors.addressHeaders(request).concat(this.#deps.connectionHeaders()));
    } else {
      // The address of a connection is unknown once it is closed.
      exchange.address = incoming.address();
      const { authorization } = request.headers;
      const result = await (operation?.authenticate?.(incoming) ??
        view.authenticate?.(incoming) ??
        options.authenticator.authenticate({ authorization, address: incoming.address }));
      exchange.headers = result.headers;
      await this.#handle(exchange, 'visitor' in result ? result.visitor : identify(exchange, result).accountId);
    }
  }

  /** @param owner the account or network whose memory the body uses */
  async #handle(exchange: ViewExchange, owner: number | string): Promise<void> {
    const { operation, incoming, caller, request } = exchange;
    const { options, errors } = this.#deps;
    if (operation === undefined) {
      await this.#reject(exchange, this.#notFound(exchange));
      return;
    }
    const { bytesMax } = operation;
    using whole = new WholeBody(options, owner);
    const body = bytesMax === undefined ? noBytes : await whole.read(exchange, bytesMax, errors);
    exchange.body = body;
    const call = (operationId: string, request: OperationCall) => this.#call(exchange, operationId, request);
    const response = await operation.handle({
      ...{ ...incoming, caller, visitor: typeof owner === 'string' ? owner : undefined },
      ...{ connection: request.socket, body, call },
      identify: result => identify(exchange, result),
    });
    this.#respond(exchange, response);
  }

  async #call(
    { requestId, publicUrl, caller, countedAt, address, request: { headers, socket } }: ViewExchange,
    operationId: string,
    { path = {}, query = {}, headers: own = {}, body }: OperationCall,
  ): Promise<EncodedResponse> {
    const route = this.#deps.routes.find(({ route }) => route.operationId === operationId)!;
    const refusal = route.refusalOf(caller!, countedAt);
    if (refusal !== undefined) throw refusal;
    const text = new URLSearchParams(query).toString();
    const filled = route.route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name]!.toWellFormed()),
    );
    const sent = {
      ...(headers['traceparent'] !== undefined && { traceparent: headers['traceparent'] }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...own,
    };
    const incoming = {
      ...{ requestId, publicUrl, caller, address, parameters: path },
      request: { headers: sent, socket },
      path: this.#deps.options.prefix + filled,
      search: text === '' ? '' : `?${text}`,
    };
    return await route.handle(incoming, body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  }

  #notFound({ router, path }: ViewExchange): Problem {
    const allowed = router.methodsOf(path);
    if (allowed.length === 0) return this.#deps.errors.problem('route_not_found');
    return this.#deps.errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
  }

  /** Rejects a request. Rejected for lack of capacity, it does not count against the plan of its caller. */
  async #reject(exchange: ViewExchange, problem: Problem): Promise<void> {
    const { caller, refused = caller } = exchange;
    const { options, errors } = this.#deps;
    if (problem.code === 'overloaded' && caller !== undefined) {
      exchange.headers = await Promise.try(() => options.authenticator.uncount(caller, exchange.countedAt)).catch(
        // The request stays counted, as the rate limit headers show.
        () => exchange.headers,
      );
    } else if (exchange.headers.length === 0) exchange.headers = errors.addressHeaders(exchange.request);
    errors.report(exchange, problem, refused);
    const response = this.#responseTo(problem, exchange);
    this.#respond(exchange, {
      ...response,
      code: problem.code,
      headers: problem.headers.concat(response.headers ?? []),
    });
  }

  /** Returns the response of the view to a problem; one without a body if the view fails. */
  #responseTo(problem: Problem, exchange: ViewExchange): ViewResponse {
    try {
      return exchange.view.problemResponse(problem, exchange.incoming, exchange.body);
    } catch (error) {
      return { status: this.#deps.options.problemOf(error, exchange).status, bytes: '' };
    }
  }

  #respond(exchange: ViewExchange, viewResponse: ViewResponse): void {
    const { status, code = '', contentType, bytes, headers = [], operation = exchange.operation } = viewResponse;
    const { request, response, requestId, tls, prefix, view, receivedMs } = exchange;
    const own = ['X-Request-Id', requestId].concat(exchange.headers, headers, this.#deps.connectionHeaders());
    const content = contentType === undefined ? { status, bytes } : { status, bytes, contentType };
    const common = (tls ? headersOverTls : headersOverHttp).api;
    const inChunks = view.chunked && bytes.length > 0 && request.method !== 'HEAD' && request.httpVersionMinor > 0;
    if (inChunks) writeChunked(response, content, common.concat(own));
    else writeResponse(response, content, own, common);
    const durationMs = performance.now() - receivedMs;
    this.#deps.options.onResponse?.(exchange, { route: operation, prefix, status, code, durationMs });
  }

  #rejectUnloaded({ prefix }: ViewMount, exchange: Exchange, problem: Problem): void {
    const { errors, options } = this.#deps;
    const headers = errors.addressHeaders(exchange.request).concat(this.#deps.connectionHeaders());
    errors.write(exchange, problem, headers);
    const durationMs = performance.now() - exchange.receivedMs;
    const { status, code } = problem;
    options.onResponse?.(exchange, { route: undefined, prefix, status, code, durationMs });
  }
}

/**
 * Returns the authenticated caller of a request.
 * @throws {Problem} if there is none
 */
function identify(exchange: ViewExchange, result: AuthenticationResult): Caller {
  exchange.headers = result.headers;
  exchange.caller = result.caller;
  if (!result.authenticated) {
    exchange.refused = result.refused;
    throw result.problem;
  }
  exchange.countedAt = result.countedAt;
  return result.caller;
}

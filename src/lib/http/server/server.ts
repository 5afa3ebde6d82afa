import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Problem } from '../problem.ts';
import type { ResponseWriter } from '../route.ts';
import { prefersHtml } from './accept.ts';
import type { AuthenticationResult } from './authenticator.ts';
import { BoundRoute, type EncodedResponse } from './bound-route.ts';
import { ClientErrors } from './client-errors.ts';
import { Connections } from './connections.ts';
import { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { type Listener, listen } from './listen.ts';
import { BODY_BYTES_MAX, defaultLimits, HEADER_BYTES_MAX, type HttpServerOptions } from './options.ts';
import { readBody } from './read-body.ts';
import { requestIdOf } from './request-id.ts';
import { isMediaType, isPreflight, isWellFormed, originForm } from './request-target.ts';
import { closeConnection, writePage, writePreflight, writeResponse, writeStream } from './responses.ts';
import { type Found, type Page, type RenderPage, Router } from './router.ts';

const noHeaders: readonly string[] = [];

interface RoutedExchange<Context> extends Exchange {
  /** What the method and path lead to. */
  readonly found: Found<BoundRoute<Context>>;
}

/**
 * Serves routes, and a few pages beside them, on one address.
 *
 * The methods stand in the order in which a request passes them: receive, authenticate, authorize, read the body, handle,
 * respond; each can reject it. Every response under the prefix carries the rate limit headers and a request id, and an
 * Error body unless it is a success. Responses to requests that the HTTP parser rejects are in `client-errors.ts`.
 */
export class HttpServer<Context> {
  readonly #options: HttpServerOptions<Context>;
  readonly #server: Server;
  readonly #router: Router<BoundRoute<Context>>;
  readonly #connections: Connections;
  readonly #errors: ErrorResponses;
  readonly #streams = new Set<ResponseWriter>();
  #listener: Listener | undefined;
  #publicUrls = { plain: '', tls: '' };
  #isClosing = false;
  /** Headers of every response: they end the connection while the server is closing. */
  #connectionHeaders = noHeaders;

  /** @throws {Error} when a route does not state who may call it */
  constructor(options: HttpServerOptions<Context>) {
    this.#options = options;
    this.#errors = new ErrorResponses(options);
    const routes = options.routes.map(route => new BoundRoute(route, options));
    this.#router = new Router(options.prefix, routes, options.pages);
    const { headersMs, requestMs, idleMs, stalledMs, checkMs, connectionsMax } = {
      ...defaultLimits,
      ...options.limits,
    };
    this.#server = createServer({
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: checkMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      requireHostHeader: false,
    });
    this.#server.setTimeout(stalledMs);
    // More than 2,000 headers fit into HEADER_BYTES_MAX; Node would drop the rest silently.
    this.#server.maxHeadersCount = 0;
    // Undocumented in Node: clients that end their side of the connection after a request still get the response.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#connections = new Connections(this.#server, connectionsMax, (request, response) =>
      this.#receive(request, response),
    );
    const clientErrors = new ClientErrors(this.#connections, this.#errors);
    this.#server.on('clientError', (error, socket) => clientErrors.respond(error, socket));
    this.#server.on('checkExpectation', (request, response) => clientErrors.rejectExpectation(request, response));
  }

  /**
   * Starts listening and returns the port.
   * @throws {Error} when the address is in use or does not belong to this machine
   */
  async listen(host: string, port: number): Promise<number> {
    this.#listener = await listen(this.#server, host, port);
    const { publicUrl } = this.#options;
    this.#publicUrls = { plain: publicUrl(this.#listener.port, false), tls: publicUrl(this.#listener.port, true) };
    return this.#listener.port;
  }

  /** Accepts no more requests, waits at most `timeoutMs` for those in flight, and closes every connection. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosing = true;
    this.#connectionHeaders = closeConnection;
    this.#connections.closeIdle();
    for (const stream of this.#streams) stream.end();
    const timeout = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
    await this.#listener?.close();
    clearTimeout(timeout);
  }

  /** Finds the route, and rejects requests that are malformed or do not belong to the API. */
  #receive(request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchangeOf(request, response);
    const { route, page, isMalformed } = exchange.found;
    if (isMalformed || !isWellFormed(request)) this.#rejectMalformed(exchange);
    else if (page !== undefined) this.#servePage(exchange, page);
    else if (route === undefined && !this.#router.isInApi(exchange.path)) {
      this.#rejectOutside(exchange, this.#errors.problem('route_not_found'));
    } else if (this.#isClosing) this.#rejectClosing(exchange);
    else if (request.method === 'OPTIONS' && isPreflight(request)) {
      writePreflight(exchange, this.#errors.addressHeaders(request));
    } else this.#authenticate(exchange);
  }

  /** Parses the URL once, and finds what it leads to. */
  #exchangeOf(request: IncomingMessage, response: ServerResponse): RoutedExchange<Context> {
    const url = request.url!.startsWith('/') ? request.url! : originForm(request.url!);
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const found = this.#router.find(request.method!, path);
    return {
      request,
      response,
      requestId: requestIdOf(request),
      publicUrl:
        request.headers['x-forwarded-proto'] !== undefined && this.#errors.isTls(request)
          ? this.#publicUrls.tls
          : this.#publicUrls.plain,
      path,
      search: mark < 0 ? '' : url.slice(mark),
      receivedMs: this.#options.onResponse === undefined ? 0 : performance.now(),
      found,
      parameters: found.parameters,
      headers: noHeaders,
      caller: undefined,
    };
  }

  /** Counts the request and checks the caller's key. */
  #authenticate(exchange: RoutedExchange<Context>): void {
    const { authorization } = exchange.request.headers;
    try {
      const result = this.#options.authenticator.authenticate({
        authorization,
        address: () => this.#errors.addressOf(exchange.request),
      });
      if (!(result instanceof Promise)) this.#authorize(exchange, result);
      else {
        result
          .then(decided => this.#authorize(exchange, decided))
          .catch(error => this.#failToAuthenticate(exchange, error));
      }
    } catch (error) {
      this.#failToAuthenticate(exchange, error);
    }
  }

  #failToAuthenticate(exchange: RoutedExchange<Context>, error: unknown): void {
    exchange.headers = this.#errors.addressHeaders(exchange.request);
    this.#reject(exchange, this.#options.problemOf(error, exchange.requestId));
  }

  /** Rejects callers without the route's scope, and requests that no route serves. */
  #authorize(exchange: RoutedExchange<Context>, result: AuthenticationResult): void {
    const { route } = exchange.found;
    exchange.headers = result.headers;
    if (!result.authenticated) this.#reject(exchange, result.problem);
    else if (route === undefined) this.#reject(exchange, this.#notFound(exchange.path));
    else {
      exchange.caller = result.caller;
      const problem = route.authorize(result, this.#options.now);
      if (problem !== undefined) this.#reject(exchange, problem);
      else if (route.takesBody) this.#readBody(exchange, route);
      else this.#handle(exchange, route, undefined);
    }
  }

  #readBody(exchange: RoutedExchange<Context>, route: BoundRoute<Context>): void {
    const { request } = exchange;
    const { 'content-length': declared, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
    if (type !== undefined && !isMediaType(type)) {
      this.#reject(exchange, this.#errors.problem('invalid_content_type'));
    } else if (encoding === undefined && (declared === undefined || declared === '0')) {
      this.#handle(exchange, route, undefined);
    } else {
      readBody(request, { declared, bytesMax: BODY_BYTES_MAX }, read => {
        if ('bytes' in read) this.#handle(exchange, route, read.bytes);
        else this.#reject(exchange, this.#errors.problem(read.error));
      });
    }
  }

  /** Validates the request and runs the route's handler. */
  #handle(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, body: Buffer | undefined): void {
    try {
      const response = route.handle(exchange, body);
      if (!(response instanceof Promise)) this.#respond(exchange, route, response);
      else {
        response.then(
          encoded => this.#respond(exchange, route, encoded),
          error => this.#reject(exchange, this.#options.problemOf(error, exchange.requestId)),
        );
      }
    } catch (error) {
      this.#reject(exchange, this.#options.problemOf(error, exchange.requestId));
    }
  }

  #respond(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, encoded: EncodedResponse): void {
    if (encoded.stream === undefined) {
      writeResponse(exchange, encoded, route.headers(exchange), this.#connectionHeaders);
    } else {
      const writer = writeStream(exchange, encoded, route.contentTypeOf(encoded.status), encoded.stream);
      if (writer !== undefined) this.#track(exchange.response, writer);
    }
    if (this.#options.onResponse !== undefined) this.#report(exchange, encoded.status);
  }

  #track(response: ServerResponse, writer: ResponseWriter): void {
    this.#streams.add(writer);
    response.once('close', () => this.#streams.delete(writer));
    if (this.#isClosing) writer.end();
  }

  #reject(exchange: RoutedExchange<Context>, problem: Problem): void {
    const { request, response, requestId, found } = exchange;
    const headers = exchange.headers.concat(found.route?.headers(exchange) ?? [], this.#connectionHeaders);
    this.#errors.write(request, response, problem, requestId, headers);
    this.#report(exchange, problem.status);
  }

  #rejectClosing(exchange: RoutedExchange<Context>): void {
    exchange.headers = [...this.#errors.addressHeaders(exchange.request), 'Retry-After', '1'];
    this.#reject(exchange, this.#errors.problem('shutting_down'));
  }

  /** Rejects a request that a proxy might read differently, and serves nothing more on its connection. */
  #rejectMalformed({ request, response, requestId }: Exchange): void {
    this.#connections.abandon(request.socket, { queued: true });
    this.#errors.writeLast(request, response, 'malformed_request', requestId);
  }

  /** Rejects a request for a path outside the API: with a page for browsers, otherwise with an Error body. */
  #rejectOutside(exchange: Exchange, problem: Problem): void {
    const { request, response, requestId } = exchange;
    if (problem.status === 404 && prefersHtml(request.headers.accept)) {
      const bytes = this.#options.notFoundPage();
      this.#writePage(exchange, { status: 404, contentType: 'text/html; charset=utf-8', bytes });
    } else {
      const headers = this.#errors.addressHeaders(request).concat(this.#connectionHeaders);
      this.#errors.write(request, response, problem, requestId, headers);
    }
  }

  async #servePage(exchange: Exchange, render: RenderPage): Promise<void> {
    try {
      const page = await render(exchange.parameters['*'] ?? '');
      if (page === undefined) this.#rejectOutside(exchange, this.#errors.problem('route_not_found'));
      else this.#writePage(exchange, page);
    } catch (error) {
      this.#rejectOutside(exchange, this.#options.problemOf(error, exchange.requestId));
    }
  }

  #writePage(exchange: Exchange, page: Page): void {
    writePage(exchange.response, page, this.#connectionHeaders);
  }

  #notFound(path: string): Problem {
    const allowed = this.#router.methodsOf(path);
    if (allowed.length === 0) return this.#errors.problem('route_not_found');
    return this.#errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
  }

  #report(exchange: RoutedExchange<Context>, status: number): void {
    const seconds = (performance.now() - exchange.receivedMs) / 1000;
    this.#options.onResponse?.(exchange.found.route?.route.operationId ?? '', status, seconds);
  }
}

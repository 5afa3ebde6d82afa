import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../problem.ts';
import type { ResponseWriter } from '../route.ts';
import type { AuthenticationResult, KeyOwner } from './authenticator.ts';
import { BodyReceiver, type ReceivedBody } from './body-receiver.ts';
import { BoundRoute } from './bound-route.ts';
import { clientAddress } from './client-address.ts';
import { ClientErrors } from './client-errors.ts';
import { Connections, createLimitedServer } from './connections.ts';
import { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { type Listener, listen } from './listen.ts';
import { LoadShedder } from './load-shedder.ts';
import { defaultLimits, type HttpServerOptions, type ServerLoad } from './options.ts';
import { PageServer } from './pages.ts';
import { isPreflight, isWellFormed } from './request-target.ts';
import {
  closeConnection,
  type EncodedResponse,
  headersOverHttp,
  headersOverTls,
  LINGER_MS,
  writeFile,
  writePreflight,
  writeResponse,
  writeStream,
} from './responses.ts';
import { type RoutedExchange, routedExchange } from './routed-exchange.ts';
import { Router } from './router.ts';
import { ViewServer } from './views.ts';

const noHeaders: readonly string[] = [];

/**
 * Serves routes and pages on one address.
 *
 * The methods are in the order of a request: receive, authenticate, authorize, handle, respond; each can reject it.
 * `BodyReceiver` reads bodies. Every response under the prefix carries the rate limit headers and a request id, and an
 * Error body unless it is a success. Responses to requests that the HTTP parser rejects are in `client-errors.ts`.
 */
export class HttpServer<Context> {
  readonly #options: HttpServerOptions<Context>;
  readonly #server: Server;
  readonly #router: Router<BoundRoute<Context>>;
  readonly #connections: Connections;
  readonly #errors: ErrorResponses;
  readonly #pages: PageServer;
  readonly #views: ViewServer<Context>;
  readonly #bodies: BodyReceiver<Context>;
  readonly #streams = new Set<ResponseWriter>();
  readonly #shedder: LoadShedder;
  #listener: Listener | undefined;
  #publicUrls = { plain: '', tls: '' };
  #isClosing = false;
  #lastRequestMs = Number.NEGATIVE_INFINITY;
  /** Headers of every response: they end the connection while the server is draining or closing. */
  #connectionHeaders = noHeaders;

  /** @throws {Error} when a route lacks `access` */
  constructor(options: HttpServerOptions<Context>) {
    this.#options = options;
    this.#errors = new ErrorResponses(options);
    const routes = options.routes.map(route => new BoundRoute(route, options));
    this.#router = new Router(options.prefix, routes, options.pages, options.views);
    this.#pages = new PageServer(options, this.#errors, this.#router);
    const connectionHeaders = () => this.#connectionHeaders;
    this.#views = new ViewServer({ options, errors: this.#errors, routes, connectionHeaders });
    this.#shedder = new LoadShedder({ expectedWaitMs: options.expectedWaitMs });
    const limits = { ...defaultLimits, ...options.limits };
    this.#server = createLimitedServer(limits);
    const { requestContext } = options;
    this.#connections = new Connections(this.#server, limits.connectionsMax, (request, response) => {
      if (requestContext === undefined) this.#receive(request, response);
      else requestContext.begin(request, () => this.#receive(request, response));
    });
    this.#bodies = new BodyReceiver(options, this.#errors, this.#connections);
    this.#server.on('connection', () => this.#shedder.noteConnection());
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

  /** When the last request arrived, on the scale of `performance.now()`; `-Infinity` before the first one. */
  get lastRequestMs(): number {
    return this.#lastRequestMs;
  }

  /** Returns the current connections and streams, and the number of rejected requests. */
  load(): ServerLoad {
    return {
      connections: this.#connections.size,
      inFlight: this.#connections.countInFlight(),
      streams: this.#streams.size,
      shed: this.#shedder.shed,
    };
  }

  /**
   * Serves requests until `delay` has resolved, each as the last one on its connection. Then stops listening, and
   * serves the most recently accepted connections for another second.
   */
  async drain(delay: Promise<unknown>): Promise<void> {
    this.#connectionHeaders = closeConnection;
    await delay;
    await this.#listener?.stop();
    await sleep(LINGER_MS);
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
    const exchange = routedExchange(request, response, {
      router: this.#router,
      errors: this.#errors,
      publicUrls: this.#publicUrls,
    });
    this.#lastRequestMs = exchange.receivedMs;
    const { route, page, view, isMalformed } = exchange.found;
    if (isMalformed || !isWellFormed(request)) this.#rejectMalformed(exchange);
    else if (page !== undefined) this.#pages.serve(exchange, page, this.#connectionHeaders);
    else if (route === undefined && view === undefined && !this.#router.isInApi(exchange.path))
      this.#receiveOutside(exchange);
    else if (this.#isClosing) this.#rejectClosing(exchange);
    else {
      const decision = this.#shedder.admit(exchange.receivedMs, () => this.#connections.lastPause(request.socket));
      if (decision === 'start') this.#start(exchange);
      else if (decision === 'wait') this.#startLater(exchange);
      else this.#rejectOverloaded(exchange);
    }
  }

  /** Starts a request after those that wait already, unless its client disconnects. Then pauses its connection. */
  #startLater(exchange: RoutedExchange<Context>): void {
    const { request, response } = exchange;
    const { requestContext } = this.#options;
    this.#connections.pauseAfter(response, pause => this.#shedder.enqueuePaused(pause));
    this.#shedder.enqueue(() => {
      // A request whose body is malformed already has its response.
      if (request.socket.destroyed || response.headersSent) return;
      if (requestContext === undefined) this.#start(exchange);
      else requestContext.resume(request, () => this.#start(exchange));
    });
  }

  /**
   * Loads the pages that are not served yet, and receives the request again. If all are loaded, rejects the request.
   */
  #receiveOutside(exchange: RoutedExchange<Context>): void {
    const { request, response } = exchange;
    const loading = this.#pages.loadOthers();
    if (loading === undefined) this.#pages.rejectUnknown(exchange, this.#connectionHeaders);
    else {
      loading.then(
        () => this.#receive(request, response),
        error => this.#pages.reject(exchange, this.#options.problemOf(error, exchange), this.#connectionHeaders),
      );
    }
  }

  /** Responds to a preflight, or checks the caller's key and counts the request. */
  #start(exchange: RoutedExchange<Context>): void {
    const { request, found } = exchange;
    if (found.view !== undefined) {
      void this.#views.serve(found.view, exchange);
      return;
    }
    if (request.method === 'OPTIONS' && isPreflight(request)) {
      writePreflight(exchange, this.#errors.addressHeaders(request).concat(this.#connectionHeaders));
      return;
    }
    const { authorization } = request.headers;
    try {
      const result = this.#options.authenticator.authenticate({
        authorization,
        address: () => clientAddress(request, this.#options.proxies),
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
    this.#reject(exchange, this.#options.problemOf(error, exchange));
  }

  /**
   * Rejects requests for unknown or removed routes, accounts of the sandbox for routes that exclude them, and callers
   * without the route's scope.
   */
  #authorize(exchange: RoutedExchange<Context>, result: AuthenticationResult): void {
    const { route } = exchange.found;
    exchange.headers = result.headers;
    exchange.caller = result.caller;
    if (!result.authenticated) {
      this.#reject(exchange, result.problem, result.refused);
      return;
    }
    if (route === undefined) {
      this.#reject(exchange, this.#notFound(exchange.path));
      return;
    }
    const { caller, countedAt } = result;
    exchange.countedAt = countedAt;
    const isOpen = countedAt < route.sunset && caller.scopes.has(route.scopeAlone!);
    const refusal = isOpen ? undefined : route.refusalOf(caller, countedAt);
    if (refusal !== undefined) this.#reject(exchange, refusal);
    else if (route.takesBody) {
      this.#bodies.receive(exchange, route, received => this.#handle(exchange, route, received));
    } else this.#handle(exchange, route, {});
  }

  /** Validates the request and runs the route's handler. */
  #handle(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, received: ReceivedBody): void {
    if ('problem' in received) {
      this.#rejectFor(exchange, received.problem);
      return;
    }
    try {
      const response = route.handle(exchange, received.bytes, received.upload);
      if (!(response instanceof Promise)) this.#respond(exchange, route, response);
      else {
        response.then(
          encoded => this.#respond(exchange, route, encoded),
          error => this.#fail(exchange, error),
        );
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: RoutedExchange<Context>, error: unknown): void {
    this.#rejectFor(exchange, this.#options.problemOf(error, exchange));
  }

  /** Rejects a request whose handling has begun. */
  #rejectFor(exchange: RoutedExchange<Context>, problem: Problem): void {
    if (problem.code === 'overloaded') this.#rejectUncounted(exchange, problem);
    else this.#reject(exchange, problem);
  }

  #respond(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, encoded: EncodedResponse): void {
    if (encoded.stream === undefined) {
      const { response, requestId, tls, headers } = exchange;
      const common = (tls ? headersOverTls : headersOverHttp)[route.takesBody ? 'api' : 'read'];
      const ofRoute = route.route.deprecation === undefined ? noHeaders : route.deprecationHeaders(exchange);
      const connection = this.#connectionHeaders;
      const own = ['X-Request-Id', requestId].concat(headers, encoded.headers, ofRoute, connection);
      if (encoded.parts !== undefined) {
        const content = { ...encoded, contentType: route.contentTypeOf(encoded.status) };
        writeFile(exchange, content, encoded.parts, common.concat(own)).then(
          () => this.#finish(exchange, encoded.status),
          error => this.#fail(exchange, error),
        );
        return;
      }
      writeResponse(response, encoded, own, common);
    } else {
      const writer = writeStream(exchange, encoded, route.contentTypeOf(encoded.status), encoded.stream);
      if (writer !== undefined) {
        this.#streams.add(writer);
        exchange.response.once('close', () => this.#streams.delete(writer));
        if (this.#isClosing) writer.end();
      }
    }
    this.#finish(exchange, encoded.status);
  }

  #reject(exchange: RoutedExchange<Context>, problem: Problem, key: KeyOwner | undefined = exchange.caller): void {
    const { route, view } = exchange.found;
    if (view !== undefined) {
      void this.#views.reject(view, exchange, problem);
      return;
    }
    const ofRoute = route?.route.deprecation === undefined ? noHeaders : route.deprecationHeaders(exchange);
    this.#errors.write(exchange, problem, exchange.headers.concat(ofRoute, this.#connectionHeaders), key);
    this.#finish(exchange, problem.status, problem.code);
  }

  /** Rejects a request for lack of capacity: it does not count against the caller's plan. */
  async #rejectUncounted(exchange: RoutedExchange<Context>, problem: Problem): Promise<void> {
    if (exchange.bodyBytes > 0) this.#bodies.release(exchange);
    try {
      exchange.headers = await this.#options.authenticator.uncount(exchange.caller!, exchange.countedAt);
    } catch {
      // The request stays counted, as the rate limit headers show.
    }
    this.#reject(exchange, problem);
  }

  /** Rejects a request before any work for it, even before its key is checked. */
  #rejectOverloaded(exchange: RoutedExchange<Context>): void {
    exchange.headers = this.#errors.addressHeaders(exchange.request);
    this.#reject(exchange, this.#errors.overloaded());
  }

  #rejectClosing(exchange: RoutedExchange<Context>): void {
    exchange.headers = this.#errors.addressHeaders(exchange.request);
    this.#reject(exchange, this.#errors.problem('shutting_down', ['Retry-After', '1']));
  }

  /** Rejects a request that a proxy might read differently, and serves no further request on its connection. */
  #rejectMalformed(exchange: Exchange): void {
    this.#connections.abandon(exchange.request.socket, { queued: true });
    this.#errors.writeLast(exchange, 'malformed_request');
  }

  #notFound(path: string): Problem {
    const allowed = this.#router.methodsOf(path);
    if (allowed.length === 0) return this.#errors.problem('route_not_found');
    return this.#errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
  }

  /** Releases the body of a request that has its response, and reports the response. */
  #finish(exchange: RoutedExchange<Context>, status: number, code = ''): void {
    if (exchange.bodyBytes > 0) this.#bodies.release(exchange);
    const route = exchange.found.route?.route;
    const durationMs = performance.now() - exchange.receivedMs;
    this.#options.onResponse?.(exchange, { route, prefix: this.#options.prefix, status, code, durationMs });
  }
}

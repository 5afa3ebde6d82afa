import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';
import type { ResponseWriter, Upload } from '../route.ts';
import type { AuthenticationResult, KeyOwner } from './authenticator.ts';
import { BoundRoute } from './bound-route.ts';
import { ClientErrors } from './client-errors.ts';
import { Connections } from './connections.ts';
import { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { type Listener, listen } from './listen.ts';
import { LoadShedder } from './load-shedder.ts';
import { defaultLimits, HEADER_BYTES_MAX, type HttpServerOptions, type ServerLoad } from './options.ts';
import { PageServer } from './pages.ts';
import { type Read, readBody } from './read-body.ts';
import { requestIdOf } from './request-id.ts';
import { isCompressed, isMediaType, isPreflight, isWellFormed, originForm } from './request-target.ts';
import {
  closeConnection,
  commonHeaders,
  type EncodedResponse,
  LINGER_MS,
  startParts,
  writeParts,
  writePreflight,
  writeResponse,
  writeStream,
} from './responses.ts';
import { type Found, Router } from './router.ts';
import { readUpload } from './upload.ts';

const noHeaders: readonly string[] = [];
const retrySoon: readonly string[] = ['Retry-After', '1'];
/** Clients that come back at different times make no new peak. */
const RETRY_SECONDS = ['1', '2', '3'];

interface RoutedExchange<Context> extends Exchange {
  /** What the method and path lead to. */
  readonly found: Found<BoundRoute<Context>>;
  /** The bytes that are reserved for the body in the budget of bodies. */
  bodyBytes: number;
}

/**
 * Serves routes, and pages beside them, on one address.
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
  readonly #pages: PageServer;
  /** Settled once the other pages are served too; absent before the first request for one. */
  #morePages: Promise<void> | undefined;
  #hasAllPages: boolean;
  readonly #streams = new Set<ResponseWriter>();
  readonly #shedder: LoadShedder;
  /** The errors of requests that are shed. Creating one for each would take a twelfth of the time of its response. */
  readonly #overloads: readonly Problem[];
  #listener: Listener | undefined;
  #publicUrls = { plain: '', tls: '' };
  #isClosing = false;
  #lastRequestMs = Number.NEGATIVE_INFINITY;
  /** Headers of every response: they end the connection while the server is draining or closing. */
  #connectionHeaders = noHeaders;

  /** @throws {Error} when a route does not state who may call it */
  constructor(options: HttpServerOptions<Context>) {
    this.#options = options;
    this.#errors = new ErrorResponses(options);
    this.#pages = new PageServer(options, this.#errors);
    const routes = options.routes.map(route => new BoundRoute(route, options));
    this.#router = new Router(options.prefix, routes, options.pages);
    this.#hasAllPages = options.loadPages === undefined;
    this.#shedder = new LoadShedder({ expectedWaitMs: options.expectedWaitMs?.bind(options) });
    this.#overloads = RETRY_SECONDS.map(seconds => this.#errors.problem('overloaded', ['Retry-After', seconds]));
    const limits = { ...defaultLimits, ...options.limits };
    this.#server = createServer({
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      requireHostHeader: false,
    });
    this.#server.setTimeout(limits.stalledMs);
    // More than 2,000 headers fit into HEADER_BYTES_MAX; Node would drop the rest silently.
    this.#server.maxHeadersCount = 0;
    // Undocumented in Node: clients that end their side of the connection after a request still get the response.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    const { requestContext } = options;
    this.#connections = new Connections(this.#server, limits.connectionsMax, (request, response) => {
      if (requestContext === undefined) this.#receive(request, response);
      else requestContext.begin(request, () => this.#receive(request, response));
    });
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

  /** Returns what is open at present, and what was rejected. */
  load(): ServerLoad {
    return {
      connections: this.#connections.size,
      inFlight: this.#connections.countInFlight(),
      streams: this.#streams.size,
      shed: this.#shedder.shed,
    };
  }

  /**
   * Serves every request until `delay` has resolved, each as the last one on its connection. Then stops listening, and
   * serves the connections that were accepted last for another second.
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
    const exchange = this.#exchangeOf(request, response);
    this.#lastRequestMs = exchange.receivedMs;
    const { route, page, isMalformed } = exchange.found;
    if (isMalformed || !isWellFormed(request)) this.#rejectMalformed(exchange);
    else if (page !== undefined) this.#pages.serve(exchange, page, this.#connectionHeaders);
    else if (route === undefined && !this.#router.isInApi(exchange.path)) {
      if (this.#hasAllPages) this.#rejectOutside(exchange);
      else this.#receiveWithPages(exchange);
    } else if (this.#isClosing) this.#rejectClosing(exchange);
    else if (this.#shedder.rejects(exchange.receivedMs)) this.#rejectOverloaded(exchange);
    else if (request.method === 'OPTIONS' && isPreflight(request)) {
      writePreflight(exchange, this.#errors.addressHeaders(request).concat(this.#connectionHeaders));
    } else this.#authenticate(exchange);
  }

  /** Loads the other pages, and receives the request again. */
  #receiveWithPages(exchange: RoutedExchange<Context>): void {
    const { request, response } = exchange;
    this.#morePages ??= this.#loadPages();
    this.#morePages.then(
      () => this.#receive(request, response),
      error => this.#pages.reject(exchange, this.#options.problemOf(error, exchange), this.#connectionHeaders),
    );
  }

  async #loadPages(): Promise<void> {
    try {
      this.#router.addPages(await this.#options.loadPages!());
      this.#hasAllPages = true;
    } catch (error) {
      this.#morePages = undefined;
      throw error;
    }
  }

  /** Parses the URL once, and finds what it leads to. */
  #exchangeOf(request: IncomingMessage, response: ServerResponse): RoutedExchange<Context> {
    const url = request.url!.startsWith('/') ? request.url! : originForm(request.url!);
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const found = this.#router.find(request.method!, path);
    const tls = request.headers['x-forwarded-proto'] !== undefined && this.#errors.isTls(request);
    return {
      request,
      response,
      requestId: requestIdOf(request.headers['x-request-id']),
      publicUrl: tls ? this.#publicUrls.tls : this.#publicUrls.plain,
      tls,
      path,
      search: mark < 0 ? '' : url.slice(mark),
      receivedMs: performance.now(),
      found,
      parameters: found.parameters,
      headers: noHeaders,
      caller: undefined,
      address: '',
      countedAt: 0,
      bodyBytes: 0,
    };
  }

  /** Checks the caller's key and counts the request. */
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
    this.#reject(exchange, this.#options.problemOf(error, exchange));
  }

  /** Rejects requests that no route serves or serves any more, accounts of the sandbox where it is barred, and callers without the route's scope. */
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
    exchange.countedAt = result.countedAt;
    const { access, deprecation, operationId, notInSandbox } = route.route;
    if (deprecation !== undefined && this.#options.now() >= deprecation.sunset.getTime()) {
      const message = `${operationId} was removed. ${deprecation.instead}`;
      this.#reject(exchange, new Problem('operation_removed', 410, message));
    } else if (notInSandbox !== undefined && result.caller.sandbox) {
      const message = `A trial key cannot ${notInSandbox}. Create an account (the Free plan is enough) and use one of its keys.`;
      this.#reject(exchange, new Problem('not_in_sandbox', 403, message));
    } else if (access.scope !== undefined && !result.caller.scopes.has(access.scope)) {
      const message = `The API key lacks the scope ${access.scope}.`;
      this.#reject(exchange, new Problem('insufficient_scope', 403, message));
    } else if (route.takesBody) this.#readBody(exchange, route);
    else this.#handle(exchange, route, undefined);
  }

  #readBody(exchange: RoutedExchange<Context>, route: BoundRoute<Context>): void {
    const { request, response } = exchange;
    // The address of a connection is unknown once it is closed.
    exchange.address = this.#errors.addressOf(request);
    const { 'content-length': declared, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
    if (isCompressed(request)) {
      const message = 'The body must not be compressed: send it without Content-Encoding.';
      this.#reject(exchange, new Problem('invalid_content_type', 400, message));
    } else if (route.route.upload !== undefined) this.#receiveUpload(exchange, route, route.route.upload);
    else if (type !== undefined && !isMediaType(type)) {
      this.#reject(exchange, this.#errors.problem('invalid_content_type'));
    } else if (encoding === undefined && (declared === undefined || declared === '0')) {
      this.#handle(exchange, route, undefined);
    } else {
      const stop = readBody(
        request,
        declared,
        bytes => this.#reserve(exchange, bytes),
        read => {
          const { requestContext } = this.#options;
          if (requestContext === undefined) this.#handleBody(exchange, route, read);
          else requestContext.resume(request, () => this.#handleBody(exchange, route, read));
        },
      );
      // Node reports neither the end nor an error of a body whose request it has answered itself, with 408 for example.
      response.once('close', stop);
    }
  }

  /** Lets the handler read the body: it is not kept in memory. */
  #receiveUpload(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, upload: Upload): void {
    const { request, response } = exchange;
    const { kind, contentTypes, advice = {}, bytesMax, timeoutMs } = upload;
    const { 'content-length': declared = '0', 'content-type': type = '' } = request.headers;
    const errorOf = (code: 'body_too_large' | 'malformed_request' | 'request_timeout') => {
      if (code !== 'body_too_large') return this.#errors.problem(code);
      return new Problem(code, 413, `The file is larger than ${bytesMax / 1024 / 1024} MiB.`);
    };
    const mediaType = type.split(';')[0]!.trim().toLowerCase();
    if (!contentTypes.includes(mediaType)) {
      const message = `The Content-Type must be one of ${contentTypes.join(', ')}.`;
      const advised = Object.hasOwn(advice, mediaType) ? `${message} ${advice[mediaType]}` : message;
      this.#reject(exchange, new Problem('invalid_content_type', 400, advised));
    } else if (Number(declared) > bytesMax) this.#reject(exchange, errorOf('body_too_large'));
    else {
      if (timeoutMs !== undefined) this.#connections.allowSlowBody(request.socket, response);
      const client = { address: exchange.address, account: exchange.caller };
      const requestSlot = () => this.#options.uploads.request(kind, client);
      const body = readUpload(request, response, { ...upload, requestSlot }, errorOf);
      // What the handler has not read is discarded, so that the connection stays open.
      response.once('finish', () => body.return(undefined));
      this.#handle(exchange, route, undefined, body);
    }
  }

  #handleBody(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, read: Read): void {
    if ('bytes' in read) this.#handle(exchange, route, read.bytes);
    else if (read.error !== 'overloaded') this.#reject(exchange, this.#errors.problem(read.error));
    else this.#rejectUncounted(exchange, this.#errors.problem('overloaded', retrySoon));
  }

  #reserve(exchange: RoutedExchange<Context>, bytes: number): boolean {
    const isReserved = this.#options.bodies.reserve(exchange.caller!.accountId, bytes);
    if (isReserved) exchange.bodyBytes += bytes;
    return isReserved;
  }

  #releaseBody(exchange: RoutedExchange<Context>): void {
    if (exchange.bodyBytes === 0) return;
    this.#options.bodies.release(exchange.caller!.accountId, exchange.bodyBytes);
    exchange.bodyBytes = 0;
  }

  /** Validates the request and runs the route's handler. */
  #handle(
    exchange: RoutedExchange<Context>,
    route: BoundRoute<Context>,
    body: Buffer | undefined,
    upload?: AsyncIterable<Buffer>,
  ): void {
    try {
      const response = route.handle(exchange, body, upload);
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
    const problem = this.#options.problemOf(error, exchange);
    if (problem.code === 'overloaded') this.#rejectUncounted(exchange, problem);
    else this.#reject(exchange, problem);
  }

  #respond(exchange: RoutedExchange<Context>, route: BoundRoute<Context>, encoded: EncodedResponse): void {
    this.#releaseBody(exchange);
    if (encoded.stream === undefined) {
      const { response, requestId, tls, headers } = exchange;
      const common = commonHeaders(tls)[route.takesBody ? 'api' : 'read'];
      const ofRoute = route.headers(exchange);
      const connection = this.#connectionHeaders;
      const all = common.concat('X-Request-Id', requestId, headers, encoded.headers, ofRoute, connection);
      if (encoded.parts !== undefined) {
        this.#respondWithFile(exchange, route, encoded, encoded.parts, all);
        return;
      }
      writeResponse(response, encoded, all);
    } else {
      const { contentType = '' } = route.route.successes.find(({ status }) => status === encoded.status) ?? {};
      const writer = writeStream(exchange, encoded, contentType, encoded.stream);
      if (writer !== undefined) {
        this.#streams.add(writer);
        exchange.response.once('close', () => this.#streams.delete(writer));
        if (this.#isClosing) writer.end();
      }
    }
    this.#report(exchange, encoded.status);
  }

  async #respondWithFile(
    exchange: RoutedExchange<Context>,
    { route }: BoundRoute<Context>,
    encoded: EncodedResponse,
    parts: AsyncIterable<Buffer>,
    headers: readonly string[],
  ): Promise<void> {
    const { request, response } = exchange;
    const { contentType = '' } = route.successes.find(({ status }) => status === encoded.status) ?? {};
    const content = { ...encoded, contentType };
    const isHead = request.method === 'HEAD';
    try {
      if (isHead && encoded.length !== undefined) writeResponse(response, content, headers);
      else writeParts(response, content, isHead ? noParts() : await startParts(parts), headers);
    } catch (error) {
      this.#fail(exchange, error);
      return;
    }
    this.#report(exchange, encoded.status);
  }

  #reject(exchange: RoutedExchange<Context>, problem: Problem, key: KeyOwner | undefined = exchange.caller): void {
    this.#releaseBody(exchange);
    const headers = exchange.headers.concat(exchange.found.route?.headers(exchange) ?? [], this.#connectionHeaders);
    this.#errors.write(exchange, problem, headers, key);
    this.#report(exchange, problem.status, problem.code);
  }

  /** Rejects a request for lack of capacity: it does not count against the caller's plan. */
  async #rejectUncounted(exchange: RoutedExchange<Context>, problem: Problem): Promise<void> {
    this.#releaseBody(exchange);
    try {
      exchange.headers = await this.#options.authenticator.uncount(exchange.caller!, exchange.countedAt);
    } catch {
      // The request stays counted, as its headers say.
    }
    this.#reject(exchange, problem);
  }

  /** Rejects a request before any work for it, also that of looking at its key. */
  #rejectOverloaded(exchange: RoutedExchange<Context>): void {
    const connection = this.#shedder.hasTooManyConnections ? closeConnection : noHeaders;
    exchange.headers = this.#errors.addressHeaders(exchange.request).concat(connection);
    this.#reject(exchange, this.#overloads[Math.floor(Math.random() * RETRY_SECONDS.length)]!);
  }

  #rejectClosing(exchange: RoutedExchange<Context>): void {
    exchange.headers = this.#errors.addressHeaders(exchange.request);
    this.#reject(exchange, this.#errors.problem('shutting_down', retrySoon));
  }

  /** Rejects a request that a proxy might read differently, and serves nothing more on its connection. */
  #rejectMalformed(exchange: Exchange): void {
    this.#connections.abandon(exchange.request.socket, { queued: true });
    this.#errors.writeLast(exchange, 'malformed_request');
  }

  /** Returns the error for a path outside the API, which names the path of an operation if only the prefix is missing. */
  /** Responds where no page has the method of a request. */
  #rejectOutside(exchange: RoutedExchange<Context>): void {
    const { path, request } = exchange;
    const allowed = this.#router.pageMethodsOf(path);
    if (request.method === 'OPTIONS' && allowed.length > 0) {
      this.#pages.allow(exchange, allowed, this.#connectionHeaders);
    } else this.#pages.reject(exchange, this.#notFoundOutside(path, allowed), this.#connectionHeaders);
  }

  #notFoundOutside(path: string, allowed: readonly string[]): Problem {
    if (allowed.length > 0) return this.#errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
    const { code, status, message } = this.#errors.problem('route_not_found');
    const intended = this.#router.pathInApi(path);
    return new Problem(
      code,
      status,
      intended === undefined ? message : `There is nothing at this path. Use ${intended}.`,
    );
  }

  #notFound(path: string): Problem {
    const allowed = this.#router.methodsOf(path);
    if (allowed.length === 0) return this.#errors.problem('route_not_found');
    return this.#errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
  }

  #report(exchange: RoutedExchange<Context>, status: number, code = ''): void {
    const route = exchange.found.route?.route;
    this.#options.onResponse?.(exchange, { route, status, code, durationMs: performance.now() - exchange.receivedMs });
  }
}

async function* noParts(): AsyncGenerator<Buffer> {}

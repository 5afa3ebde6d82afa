import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { MaybePromise } from '../../maybe-promise.ts';
import { type Catalogue, Problem } from '../problem.ts';
import type { Caller, ResponseWriter, Route } from '../route.ts';
import { prefersHtml } from './accept.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';
import { type BindingOptions, type BoundRoute, bindRoute, type EncodedResponse } from './bound-route.ts';
import { callerAddress, cameByTls, type TrustedProxies } from './client-address.ts';
import { Connections } from './connections.ts';
import { readBody } from './read-body.ts';
import { newRequestId, requestIdOf } from './request-id.ts';
import { decodedPath, isPreflight, isWellFormed, originForm, pathForm } from './request-target.ts';
import { answer, answerJson, answerOnSocket, answerProblem, answerStream } from './responses.ts';

/** One address that serves an interface of routes, and a few pages beside it. */
export interface HttpServer {
  /**
   * Starts listening; the port that it got.
   * @throws when the address is taken or is not ours
   */
  listen(host: string, port: number): Promise<number>;
  /** Takes nothing new, finishes what is in flight (for `boundMs` at most), and lets go of every connection. */
  close(boundMs: number): Promise<void>;
}

/** What a server is made of. */
export interface HttpServerOptions<Context> extends BindingOptions<Context> {
  readonly routes: readonly Route<Context>[];
  /** Where the interface begins: `/v1`; '' where every path belongs to it. */
  readonly prefix: string;
  /** What a caller's request is for; the same each time where the address serves one deployment. */
  contextOf(caller: Caller): Context;
  readonly gate: Authenticator;
  readonly errors: Catalogue;
  /** What an error that was thrown below a route is told as; it notes what is not the caller's to know. */
  problemOf(error: unknown, requestId: string): Problem;
  /** Told of every answer to a request, where somebody watches: the operation ('' for none), its status, the time. */
  readonly answered?: ((operation: string, status: number, seconds: number) => void) | undefined;
  readonly proxies: TrustedProxies;
  /**
   * The public address, without the prefix and without a slash at the end.
   * @param tls whether the request came to a trusted proxy over TLS
   */
  publicUrl(tls: boolean): string;
  /** Where the pages are that explain the error codes: the public address of this server or of another. */
  pagesUrl(tls: boolean): string;
  /** The time in milliseconds since the Unix epoch. */
  now(): number;
  /** GET by path, outside of the interface: no key, no limits; `undefined` where nothing is there after all. */
  readonly pages: Readonly<Record<string, (request: PageRequest) => MaybePromise<Page | undefined>>>;
  /** Where tests cannot wait as long as clients may. */
  readonly bounds?: Partial<Bounds>;
  /** The page for a path outside of the interface that leads nowhere. */
  lost(path: string): string;
}

/** What a page may look at. */
export interface PageRequest {
  /** What stands in the path's last part, where the page's path ends with `*`. */
  readonly rest: string;
}

/** A page's answer. */
export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: string | Buffer;
}

/** The largest body, in bytes. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** The largest request line and headers, in bytes. */
export const HEADER_BYTES_MAX = 16 * 1024;

/** How long a connection may take, in milliseconds, and how many there may be. */
export interface Bounds {
  /** From the first byte of a request (or from connecting) to the end of its headers; then 408. */
  readonly headersMs: number;
  /** From there to the end of its body; then 408. */
  readonly requestMs: number;
  /** From an answer to the next request. */
  readonly idleMs: number;
  /** Without a byte in either direction while a request or an answer is under way. */
  readonly stalledMs: number;
  /** How often the first two are looked at. */
  readonly lookMs: number;
  readonly connectionsMax: number;
}

const bounds: Bounds = {
  headersMs: 15_000,
  requestMs: 30_000,
  idleMs: 20_000,
  stalledMs: 60_000,
  lookMs: 1000,
  connectionsMax: 10_000,
};

/** What is known of a request from its first moment on. */
interface Exchange {
  readonly requestId: string;
  /** The public address as this caller sees it. */
  readonly publicUrl: string;
  /** When its headers had been read, in milliseconds of `performance.now()`; 0 where nobody watches. */
  readonly sinceMs: number;
  /** Headers that its answer carries whatever it will be. */
  headers: readonly string[];
  admission: (AuthenticationResult & { admitted: true }) | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
  interface FastifyContextConfig {
    bound?: BoundRoute;
  }
}

/**
 * Makes a server of routes.
 *
 * Every answer of the interface comes out of here, whatever its status: it carries the gate's headers, a request id and
 * an Error body where it is no success; also what is answered before there is a request.
 * @throws when a route does not state who may call it
 */
export function createServer<Context>(options: HttpServerOptions<Context>): HttpServer {
  const { gate, errors, prefix, proxies } = options;
  const bound = options.routes.map(route => bindRoute(route, options.contextOf, prefix, options));
  const methodsByPath = Map.groupBy(bound, ({ route }) => route.path);
  const { headersMs, requestMs, idleMs, stalledMs, lookMs, connectionsMax } = { ...bounds, ...options.bounds };
  let closing = false;
  /** The answers that go on. */
  const streaming = new Set<ResponseWriter>();

  const fastify = Fastify({
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionTimeout: stalledMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: HEADER_BYTES_MAX,
      querystringParser: text => text as never,
    },
    http: {
      headersTimeout: headersMs,
      connectionsCheckingInterval: lookMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      requireHostHeader: false,
    },
    frameworkErrors: (_error, request, reply) => answerMalformed(request.raw, reply),
    clientErrorHandler: answerClientError,
  });
  const { server } = fastify;
  // More than 2,000 headers fit into the bound, and Node would drop the rest in silence.
  server.maxHeadersCount = 0;
  // Who has ended its side of the connection after a request is still answered (not in Node's documentation).
  Object.assign(server, { httpAllowHalfOpen: true });
  const connections = new Connections(server, connectionsMax);
  server.prependListener('request', request => {
    request.url = originForm(request.url!);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (!connections.giveUp(request.socket)) return;
    connections.note(request.socket, response);
    const shown = gate.show(addressOf(request));
    answerRefusal(request, response, problem('expectation_failed'), requestIdOf(request), shown, lastAnswer);
  });

  fastify.decorateRequest('exchange', null as never);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request, body, done) => {
    const declared = request.headers['content-length'];
    readBody(body, { declared, bytesMax: BODY_BYTES_MAX }, read =>
      'bytes' in read ? done(null, read.bytes) : done(problem(read.fault)),
    );
  });
  fastify.addHook('onRequest', receive);
  fastify.setErrorHandler((error, request, reply) =>
    refuse(request, reply, bodyProblem(error, request.exchange.requestId)),
  );
  for (const { route, ...rest } of bound) {
    fastify.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url: prefix + route.path.replace(/\{(\w+)\}/g, ':$1'),
      config: { bound: { route, ...rest } },
      handler: serve,
    });
  }
  for (const [path, show] of Object.entries(options.pages)) {
    fastify.route({
      method: ['GET', 'HEAD'],
      url: path,
      handler: async (request, reply) => {
        const page = await show({ rest: (request.params as { '*'?: string })['*'] ?? '' });
        if (page === undefined) answerOutside(request, reply, problem('route_not_found'));
        else answerPage(reply, page);
      },
    });
  }

  /** The first hook: an id, the gate, and what is wrong with the request as a whole. */
  function receive(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    const raw = request.raw;
    const sinceMs = options.answered === undefined ? 0 : performance.now();
    const exchange: Exchange = {
      requestId: requestIdOf(raw),
      publicUrl: options.publicUrl(isByTls(raw)),
      sinceMs,
      headers: [],
      admission: undefined,
    };
    request.exchange = exchange;
    const route = request.routeOptions.config.bound;
    if (!isWellFormed(raw)) {
      answerMalformed(raw, reply);
      return;
    }
    if (route === undefined && !isInterface(request)) {
      if (request.is404) refuse(request, reply, problem('route_not_found'));
      else next();
      return;
    }
    if (closing) {
      exchange.headers = [...gate.show(addressOf(raw)), 'Retry-After', '1'];
      refuse(request, reply, problem('shutting_down'));
      return;
    }
    if (isPreflight(raw)) {
      answerPreflight(request, reply);
      return;
    }

    const entered = (admission: AuthenticationResult): void => {
      exchange.headers = admission.headers;
      if (!admission.admitted) {
        refuse(request, reply, admission.problem);
        return;
      }
      exchange.admission = admission;
      if (route === undefined) {
        refuse(request, reply, notFound(request));
        return;
      }
      const refusal = route.refusal(admission, options.now());
      if (refusal !== undefined) {
        refuse(request, reply, refusal);
        return;
      }
      next();
    };
    const failed = (error: unknown): void => {
      exchange.headers = gate.show(addressOf(raw));
      refuse(request, reply, options.problemOf(error, exchange.requestId));
    };
    try {
      const admission = gate.authenticate({ authorization: raw.headers.authorization, address: () => addressOf(raw) });
      if (admission instanceof Promise) admission.then(entered).catch(failed);
      else entered(admission);
    } catch (error) {
      failed(error);
    }
  }

  /** The handler of every route. */
  function serve(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.routeOptions.config.bound!;
    const { admission, requestId, publicUrl, headers } = request.exchange;
    try {
      const answered = route.answer(request.raw, request.params as Record<string, string>, request.body as Buffer, {
        caller: admission!.caller,
        requestId,
        baseUrl: publicUrl + prefix,
        stillAdmitted: () => gate.stillAdmits(admission!.caller, route.route.access.scope),
      });
      if (answered instanceof Promise) {
        answered.then(send, (error: unknown) => refuse(request, reply, options.problemOf(error, requestId)));
      } else send(answered);
    } catch (error) {
      refuse(request, reply, options.problemOf(error, requestId));
    }

    function send({ status, bytes, headers: own, stream }: EncodedResponse) {
      reply.hijack();
      if (stream !== undefined) {
        const contentType = route.route.successes.find(success => success.status === status)?.contentType ?? '';
        const outlet = answerStream(request.raw, reply.raw, status, contentType, stream, requestId, headers, own);
        if (outlet !== undefined) {
          streaming.add(outlet);
          reply.raw.once('close', () => streaming.delete(outlet));
          if (closing) outlet.end();
        }
        note(request, status);
        return;
      }
      const last = closing ? lastAnswer : [];
      answerJson(
        reply.raw,
        status,
        bytes,
        requestId,
        headers,
        own,
        route.headers(request.params as never, publicUrl),
        last,
      );
      note(request, status);
    }
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Problem): void {
    const { requestId, publicUrl, headers } = request.exchange;
    if (!isInterface(request) && request.routeOptions.config.bound === undefined) {
      answerOutside(request, reply, refusal);
      return;
    }
    reply.hijack();
    const route = request.routeOptions.config.bound;
    const own = route === undefined ? [] : route.headers(request.params as Record<string, string>, publicUrl);
    const last = closing ? lastAnswer : [];
    answerRefusal(request.raw, reply.raw, refusal, requestId, headers, own, last);
    note(request, refusal.status);
  }

  function answerRefusal(
    raw: IncomingMessage,
    response: ServerResponse,
    refusal: Problem,
    requestId: string,
    ...headers: readonly (readonly string[])[]
  ): void {
    answerProblem(raw, response, refusal, options.pagesUrl(isByTls(raw)), requestId, ...headers);
  }

  function note(request: FastifyRequest, status: number): void {
    const { answered } = options;
    if (answered === undefined) return;
    const operation = request.routeOptions.config.bound?.route.operationId ?? '';
    answered(operation, status, (performance.now() - request.exchange.sinceMs) / 1000);
  }

  /** What is outside of the interface: a page for people; else an Error like all others, which counts nothing. */
  function answerOutside(request: FastifyRequest, reply: FastifyReply, refusal: Problem): void {
    if (prefersHtml(request.raw.headers.accept) && refusal.status === 404) {
      const bytes = options.lost(request.raw.url ?? '');
      answerPage(reply, { status: 404, contentType: 'text/html; charset=utf-8', bytes });
      return;
    }
    reply.hijack();
    const { requestId } = request.exchange;
    const shown = gate.show(addressOf(request.raw));
    answerRefusal(request.raw, reply.raw, refusal, requestId, shown);
  }

  function answerMalformed(raw: IncomingMessage, reply: FastifyReply): void {
    reply.hijack();
    connections.giveUp(raw.socket, { behind: true });
    const shown = gate.show(addressOf(raw));
    answerRefusal(raw, reply.raw, problem('malformed_request'), requestIdOf(raw), shown, lastAnswer);
  }

  function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
    reply.hijack();
    const allowed = request.raw.headers['access-control-request-headers'] ?? requestHeaders;
    answer(
      reply.raw,
      204,
      undefined,
      '',
      ['Access-Control-Allow-Origin', '*', 'Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
      ['Access-Control-Allow-Headers', allowed, 'Access-Control-Max-Age', '86400'],
      ['Vary', 'Access-Control-Request-Headers', 'X-Request-Id', request.exchange.requestId],
      gate.show(addressOf(request.raw)),
    );
  }

  /** What the HTTP parser gave up on: one answer for the message that broke, after those of the messages before it. */
  function answerClientError(error: NodeJS.ErrnoException, connection: Duplex): void {
    const socket = connection as Socket;
    // The parser tells it again for every further piece.
    if (!connections.giveUp(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // Behind a request that asked for the end: the connection ends with its answer.
    if (error.code === 'HPE_CLOSED_CONNECTION') return;
    const code = clientErrors[error.code ?? ''] ?? 'malformed_request';
    const response = connections.latest(socket);
    if (response !== undefined && !response.req.complete) {
      // The body of a request that we know. It may have its answer already, and never gets two.
      if (!response.headersSent) {
        const shown = gate.show(addressOf(response.req));
        answerRefusal(response.req, response, problem(code), requestIdOf(response.req), shown, lastAnswer);
      } else if (response.writableFinished) socket.destroy();
      else response.once('close', () => socket.destroy());
      return;
    }
    const answerBroken = () => {
      const address = callerAddress(socket.remoteAddress, undefined, proxies);
      if (socket.writable) answerOnSocket(socket, problem(code), newRequestId(), gate.show(address));
    };
    if (response === undefined || response.writableFinished) answerBroken();
    // Before Node, which may end the connection with that answer.
    else response.prependOnceListener('finish', answerBroken);
  }

  function notFound(request: FastifyRequest): Problem {
    const path = decodedPath(request.raw);
    for (const [pattern, routes] of methodsByPath) {
      if (!pathForm(prefix + pattern).test(path)) continue;
      const methods = routes.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
      return problem('method_not_allowed', ['Allow', methods.join(', ')]);
    }
    return problem('route_not_found');
  }

  /** What Fastify itself finds wrong with a body. */
  function bodyProblem(error: unknown, requestId: string): Problem {
    const code = (error as { code?: unknown }).code;
    if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return problem('invalid_content_type');
    return options.problemOf(error, requestId);
  }

  function problem(code: keyof Catalogue & string, headers: readonly string[] = []): Problem {
    const entry = errors[code]!;
    return new Problem(code, entry.status, entry.message, { headers });
  }

  function isInterface(request: FastifyRequest): boolean {
    const path = decodedPath(request.raw);
    return prefix === '' ? !isPage(path) : path === prefix || path.startsWith(`${prefix}/`);
  }

  /** Where the interface begins at the root, the pages are all that is not of it. */
  function isPage(path: string): boolean {
    return Object.keys(options.pages).some(page =>
      page.endsWith('*') ? path.startsWith(page.slice(0, -1)) : path === page || path === `${page}/`,
    );
  }

  function isByTls(raw: IncomingMessage): boolean {
    return cameByTls(raw.socket.remoteAddress, raw.headers['x-forwarded-proto'], proxies);
  }

  function addressOf(raw: IncomingMessage): string {
    const forwarded = raw.headers['x-forwarded-for'];
    return callerAddress(raw.socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, proxies);
  }

  return {
    async listen(host, port) {
      await fastify.listen({ host, port, backlog: 4096 });
      return (server.address() as AddressInfo).port;
    },
    async close(boundMs) {
      closing = true;
      connections.end();
      for (const outlet of streaming) outlet.end();
      const bound = setTimeout(() => server.closeAllConnections(), boundMs);
      await fastify.close();
      clearTimeout(bound);
    },
  };
}

/** What browsers may send where they do not say what they want to: every header that an operation reads. */
const requestHeaders =
  'Authorization, Content-Type, Prefer, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, ' + 'X-Request-Id';

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

function answerPage(reply: FastifyReply, { status, contentType, bytes }: Page): void {
  reply.hijack();
  const headers = ['Access-Control-Allow-Origin', '*', 'X-Content-Type-Options', 'nosniff'];
  answer(reply.raw, status, contentType, bytes, headers);
}

/** The answer after which the connection ends. */
const lastAnswer = ['Connection', 'close'];

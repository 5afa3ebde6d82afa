import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, type Problem, problemBody } from '../problem.ts';
import type { ResponseStream, ResponseWriter } from '../route.ts';
import { wantsProblemJson } from './accept.ts';
import type { EncodedResponse } from './bound-route.ts';
import type { Exchange } from './exchange.ts';
import type { Page } from './router.ts';

// Everywhere in this file headers are names and values in turn, as `ServerResponse.writeHead` takes them.

/** Headers that let scripts of other sites read every response of the API, and the headers that clients need. */
const corsHeaders: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, Link, x-next, ' +
    'X-Total-Count, X-Sync-Token, Preference-Applied, ETag, Location, X-Request-Id, Deprecation, Sunset, Idempotency-Replayed, ' +
    'WWW-Authenticate, Allow',
];

/** The request headers that browsers may send when a preflight request names none: all that an operation reads. */
const requestHeaders =
  'Authorization, Content-Type, Prefer, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id';

/** The header of the last response on a connection. */
export const closeConnection: readonly string[] = ['Connection', 'close'];

const JSON_TYPE = 'application/json; charset=utf-8';

/** Writes a complete response of the API. */
export function writeResponse(
  { response, requestId, headers: rateLimits }: Exchange,
  { status, bytes, headers }: EncodedResponse,
  routeHeaders: readonly string[],
  connection: readonly string[],
): void {
  const contentType = status === 204 || status === 304 ? undefined : JSON_TYPE;
  const own = corsHeaders.concat('X-Request-Id', requestId, rateLimits, headers, routeHeaders, connection);
  write(response, status, contentType, own, bytes);
}

/** Writes a page outside the API. */
export function writePage(
  response: ServerResponse,
  { status, contentType, bytes }: Page,
  connection: readonly string[],
): void {
  const headers = ['Access-Control-Allow-Origin', '*', 'X-Content-Type-Options', 'nosniff', ...connection];
  write(response, status, contentType, headers, bytes);
}

/** Writes the response to a CORS preflight request. */
export function writePreflight({ request, response, requestId }: Exchange, rateLimits: readonly string[]): void {
  const allowed = request.headers['access-control-request-headers'] ?? requestHeaders;
  const headers = [
    ...['Access-Control-Allow-Origin', '*', 'Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    ...['Access-Control-Allow-Headers', allowed, 'Access-Control-Max-Age', '86400'],
    ...['Vary', 'Access-Control-Request-Headers', 'X-Request-Id', requestId, ...rateLimits],
  ];
  write(response, 204, undefined, headers, '');
}

/**
 * Writes the head of a streamed response and starts its stream. The connection ends with the response.
 * @returns the writer, or `undefined` when there is nothing to stream: for HEAD, or when the client has gone
 */
export function writeStream(
  { request, response, requestId, headers: rateLimits }: Exchange,
  { status, headers }: EncodedResponse,
  contentType: string,
  stream: ResponseStream,
): ResponseWriter | undefined {
  if (response.headersSent || response.destroyed) {
    stream.closed();
    return undefined;
  }
  const own = ['Cache-Control', 'no-store', 'X-Accel-Buffering', 'no', ...closeConnection, 'X-Request-Id', requestId];
  response.writeHead(status, ['Content-Type', contentType, ...corsHeaders, ...own, ...rateLimits, ...headers]);
  if (request.method === 'HEAD') {
    response.end();
    stream.closed();
    return undefined;
  }
  const writer: ResponseWriter = {
    write: bytes => response.writableEnded || response.destroyed || response.write(bytes),
    end() {
      response.end();
      // A client that does not read does not take the end of the response either.
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
    destroy: () => response.destroy(),
  };
  response.on('error', () => {});
  // A client that ends its side has gone; otherwise only the next write would show that.
  request.socket.once('end', () => response.destroy());
  response.on('drain', () => stream.drained());
  response.once('close', () => stream.closed());
  response.flushHeaders();
  stream.begin(writer);
  return writer;
}

/** The path of the pages on error codes. */
export const errorPages = '/errors/';

/**
 * Writes an error response, as `application/problem+json` when the request asks for that.
 * @param pagesUrl the address below which the pages on error codes are
 */
export function writeProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
  pagesUrl: string,
  requestId: string,
  headers: readonly string[],
): void {
  const asProblem = wantsProblemJson(request.headers.accept);
  const bytes = JSON.stringify(asProblem ? problemOf(problem, pagesUrl, requestId) : errorBody(problem));
  const own = corsHeaders.concat('X-Request-Id', requestId, problem.headers, headers);
  write(response, problem.status, asProblem ? 'application/problem+json' : JSON_TYPE, own, bytes);
}

/** Writes an error response to a connection whose input never became a request, and ends the connection. */
export function writeProblemToSocket(
  socket: Duplex,
  problem: Problem,
  requestId: string,
  rateLimits: readonly string[],
): void {
  const bytes = JSON.stringify(errorBody(problem));
  const all = [
    ...['Content-Type', JSON_TYPE, 'Content-Length', `${Buffer.byteLength(bytes)}`, ...closeConnection],
    ...['Date', new Date().toUTCString(), 'X-Request-Id', requestId],
    ...[...corsHeaders, ...problem.headers, ...rateLimits],
  ];
  let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  socket.on('error', () => socket.destroy());
  socket.end(`${head}\r\n${bytes}`);
  // Discards further input for a while, because a reset would make the client lose the response.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const LINGER_MS = 1000;

/** Writes a response with its length, unless the client has gone or has a response already. */
function write(
  response: ServerResponse,
  status: number,
  contentType: string | undefined,
  headers: readonly string[],
  bytes: string | Buffer,
): void {
  if (response.headersSent || response.destroyed) return;
  const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
  const own = contentType === undefined ? [] : ['Content-Type', contentType, 'Content-Length', `${length}`];
  response.writeHead(status, own.concat(headers));
  response.end(bytes);
}

function problemOf(problem: Problem, pagesUrl: string, requestId: string): Record<string, unknown> {
  const title = STATUS_CODES[problem.status] ?? 'Error';
  return problemBody(problem, `${pagesUrl}${errorPages}${problem.code}`, title, requestId);
}

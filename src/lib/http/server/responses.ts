import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, type Problem, problemBody } from '../problem.ts';
import type { ResponseStream, ResponseWriter } from '../route.ts';
import { wantsProblemJson } from './accept.ts';

/** The headers of every answer of the interface, beside those of the limits: browsers may read what clients need. */
const everyAnswer = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, Link, x-next, ' +
    'X-Total-Count, X-Sync-Token, Preference-Applied, ETag, Location, X-Request-Id, Deprecation, Sunset, Idempotency-Replayed, ' +
    'WWW-Authenticate, Allow',
] as const;

/** Writes one whole answer of the interface. Headers are names and values in turn. */
export function answerJson(
  response: ServerResponse,
  status: number,
  bytes: string | Buffer,
  requestId: string,
  ...headers: readonly (readonly string[])[]
): void {
  answer(
    response,
    status,
    status === 204 || status === 304 ? undefined : 'application/json; charset=utf-8',
    bytes,
    everyAnswer,
    ['X-Request-Id', requestId],
    ...headers,
  );
}

/**
 * Writes the head of an answer that goes on, and lets its stream begin; what it writes to, where there is anything to
 * write. The connection ends with the answer.
 */
export function answerStream(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  contentType: string,
  stream: ResponseStream,
  requestId: string,
  ...headers: readonly (readonly string[])[]
): ResponseWriter | undefined {
  if (response.headersSent || response.destroyed) {
    stream.closed();
    return undefined;
  }
  const own = [
    'Cache-Control',
    'no-store',
    'X-Accel-Buffering',
    'no',
    'Connection',
    'close',
    'X-Request-Id',
    requestId,
  ];
  response.writeHead(status, ['Content-Type', contentType, ...everyAnswer, ...own, ...headers.flat()]);
  if (request.method === 'HEAD') {
    response.end();
    stream.closed();
    return undefined;
  }
  const outlet: ResponseWriter = {
    write: bytes => response.writableEnded || response.destroyed || response.write(bytes),
    end() {
      response.end();
      // Who does not read does not take the end either.
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
    destroy: () => response.destroy(),
  };
  response.on('error', () => {});
  // Who ends its side now has gone: it would be noticed only when something is written.
  request.socket.once('end', () => response.destroy());
  response.on('drain', () => stream.drained());
  response.once('close', () => stream.closed());
  response.flushHeaders();
  stream.begin(outlet);
  return outlet;
}

/** Writes one whole answer of any type, with a length and with nothing but the headers given. */
export function answer(
  response: ServerResponse,
  status: number,
  contentType: string | undefined,
  bytes: string | Buffer,
  ...headers: readonly (readonly string[])[]
): void {
  if (response.headersSent || response.destroyed) return;
  const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
  const all: string[] = [];
  if (contentType !== undefined) all.push('Content-Type', contentType);
  if (status !== 204 && status !== 304) all.push('Content-Length', String(length));
  for (const some of headers) for (const text of some) all.push(text);
  response.writeHead(status, all);
  response.end(bytes);
}

/** Where the pages on error codes are, below the address that has them. */
export const errorPages = '/errors/';

/**
 * Writes a problem as an answer, in the form that the request asks for.
 * @param pagesUrl the address below which the error codes are documented
 */
export function answerProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
  pagesUrl: string,
  requestId: string,
  ...headers: readonly (readonly string[])[]
): void {
  const { type, bytes } = wantsProblemJson(request.headers.accept)
    ? problemJson(problem, pagesUrl, requestId)
    : errorJson(problem);
  answer(response, problem.status, type, bytes, everyAnswer, ['X-Request-Id', requestId], problem.headers, ...headers);
}

/**
 * Writes a problem to a connection whose request never became one, and ends the connection.
 *
 * What still comes in is thrown away for a second, so that the answer is not lost to a reset.
 */
export function answerOnSocket(socket: Duplex, problem: Problem, requestId: string, headers: readonly string[]): void {
  const { type, bytes } = errorJson(problem);
  const all = [
    ...['Content-Type', type, 'Content-Length', String(Buffer.byteLength(bytes)), 'Connection', 'close'],
    ...['Date', new Date().toUTCString(), 'X-Request-Id', requestId],
    ...everyAnswer,
    ...problem.headers,
    ...headers,
  ];
  let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  socket.on('error', () => socket.destroy());
  socket.end(`${head}\r\n${bytes}`);
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const LINGER_MS = 1000;

function errorJson(problem: Problem) {
  return { type: 'application/json; charset=utf-8', bytes: JSON.stringify(errorBody(problem)) };
}

function problemJson(problem: Problem, pagesUrl: string, requestId: string) {
  const title = STATUS_CODES[problem.status] ?? 'Error';
  const body = problemBody(problem, `${pagesUrl}${errorPages}${problem.code}`, title, requestId);
  return { type: 'application/problem+json', bytes: JSON.stringify(body) };
}

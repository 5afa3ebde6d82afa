import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { ResponseStream, ResponseWriter } from '../route.ts';
import { compressNow } from './compress-now.ts';
import { isKnown } from './conditional.ts';
import type { Exchange } from './exchange.ts';
import { bytesAcknowledged } from './send-queue.ts';

// Everywhere in this file headers are names and values in turn, as `ServerResponse.writeHead` takes them.

/** The response headers that scripts of other sites can read. */
export const exposeHeaders = [
  'Access-Control-Expose-Headers',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, Link, x-next, ' +
    'X-Total-Count, X-Sync-Token, Preference-Applied, ETag, Location, X-Request-Id, Deprecation, Sunset, Idempotency-Replayed, ' +
    'WWW-Authenticate, Allow, Content-Disposition',
];

/**
 * The request headers that browsers may send when a preflight request names none: all that an operation reads, and that
 * of the Petfinder SDK.
 */
const requestHeaders =
  'Authorization, Content-Type, Prefer, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, ' +
  'traceparent, x-api-sdk';

/** Lets scripts of other sites read a response. */
export const anyOrigin: readonly string[] = ['Access-Control-Allow-Origin', '*'];

/** Returns the headers of every response of a kind. */
function headersOf(...transport: string[]) {
  const page = ['X-Content-Type-Options', 'nosniff', ...transport];
  const all = [...anyOrigin, ...page];
  return {
    /**
     * Changes, errors and streams of the API. Scripts of other sites can read them with the headers that clients need.
     */
    api: [...all, ...exposeHeaders, 'Cache-Control', 'no-store'] as readonly string[],
    /**
     * Reads of the API have an entity tag: browsers may store them, revalidate each use, and use them only for the same
     * key.
     */
    read: [
      ...all,
      ...exposeHeaders,
      'Cache-Control',
      'private, no-cache',
      'Vary',
      'Authorization',
    ] as readonly string[],
    /** Pages outside the API, and preflights. */
    page: page as readonly string[],
  };
}

export const headersOverHttp = headersOf();
/** The headers for a request that came over TLS: browsers should use nothing else for a year. */
export const headersOverTls = headersOf('Strict-Transport-Security', 'max-age=31536000');

/** The header of the last response on a connection. */
export const closeConnection: readonly string[] = ['Connection', 'close'];

const noHeaders: readonly string[] = [];

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How long a connection stays open so that a client can receive the end of the response. */
export const LINGER_MS = 1000;
/** TCP keep-alive on streams, in milliseconds: detects between two heartbeats that a client has disappeared. */
const PROBES = { enable: true, initialDelay: 5000, interval: 3000, count: 3 };

export interface ResponseContent {
  readonly status: number;
  /** JSON by default. */
  readonly contentType?: string;
  readonly bytes: string | Buffer;
  /** The length of a body in parts, if it is known. */
  readonly length?: number | undefined;
}

/** The response of a page outside the API. */
export interface PageContent extends ResponseContent {
  /** Enables 304 responses to `If-None-Match`. */
  readonly etag?: string;
  /** By default, browsers revalidate pages with an entity tag, and do not store others. */
  readonly cacheControl?: string;
  /** More headers: names and values in turn. */
  readonly headers?: readonly string[];
  /** The bytes in the encodings that most browsers accept. */
  readonly compressed?: Compressed;
  /** Whether to compress the bytes for clients that accept it. They must not contain a secret that repeats (BREACH). */
  readonly compressible?: boolean;
  /** The body in parts, instead of the bytes. The client must receive it within `STREAM_MS`. */
  readonly parts?: AsyncIterable<string | Buffer>;
}

/** The maximum time to send a page in parts. */
const STREAM_MS = 10 * 60_000;

/** The same bytes in two encodings. */
export interface Compressed {
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/** A response of a route that is ready to be written. */
export interface EncodedResponse extends ResponseContent {
  readonly headers: readonly string[];
  /** Writes the body instead of the bytes. */
  readonly stream?: ResponseStream;
  /** The body in parts, instead of the bytes; see `PageContent`. */
  readonly parts?: AsyncIterable<Buffer>;
}

/** A value that needs no encoding, and that cannot end its line. */
const printable = /^[\x20-\x7e]*$/;

/** The texts of the headers that many responses have in common, which were validated when they were written here. */
const commonTexts = new Map<readonly string[], string>(
  [{ none: noHeaders }, headersOverHttp, headersOverTls]
    .flatMap(Object.values<readonly string[]>)
    .map(headers => [headers, linesOf(headers)]),
);

function linesOf(headers: readonly string[]): string {
  let lines = '';
  for (let index = 0; index < headers.length; index += 2) lines += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return lines;
}

/**
 * Writes a response with its length, unless the client has disconnected or already has a response.
 *
 * Node checks each header and joins head and body in UTF-8, which takes most of the time of a response. So Node writes only
 * the headers that decide about the body and the connection, and the others are put between them.
 * @param headers `Connection`, if there is one, is the last of them
 * @param common headers that come before the others: a list of `headersOverHttp` or `headersOverTls`
 */
export function writeResponse(
  response: ServerResponse,
  { status, contentType = JSON_TYPE, bytes, length: known }: ResponseContent,
  headers: readonly string[],
  common: readonly string[] = noHeaders,
): void {
  if (response.headersSent || response.destroyed) return;
  const length = known ?? Buffer.byteLength(bytes);
  const hasBody = status !== 204 && status !== 304;
  const own = hasBody ? ['Content-Type', contentType, 'Content-Length', `${length}`] : noHeaders;
  let lines = commonTexts.get(common)!;
  let connection = noHeaders;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    if (name === 'Connection') connection = [name, value];
    else if (printable.test(value)) lines += `${name}: ${value}\r\n`;
    else {
      response.writeHead(status, own.concat(common, headers));
      response.end(bytes);
      return;
    }
  }
  response.writeHead(status, own.concat(connection));
  const head = (response as WrittenResponse)._header;
  const ownLength = hasBody ? OWN_LENGTH + contentType.length + own[3]!.length : 0;
  const end = head.indexOf('\r\n') + 2 + ownLength;
  (response as WrittenResponse)._header = head.slice(0, end) + lines + head.slice(end);
  // As text, head and body are one write; `latin1` keeps every byte.
  const body = Buffer.isBuffer(bytes) && bytes.length <= SHORT_BYTES ? bytes.toString('latin1') : bytes;
  response.end(body, length === body.length ? 'latin1' : 'utf8');
}

/** Writes a response in chunks, without its length. Clients of HTTP/1.0 cannot read it. */
export function writeChunked(
  response: ServerResponse,
  { status, contentType = JSON_TYPE, bytes }: ResponseContent,
  headers: readonly string[],
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, ['Content-Type', contentType, 'Transfer-Encoding', 'chunked', ...headers]);
  response.end(bytes);
}

/** Longer bodies are not copied. */
const SHORT_BYTES = 16 * 1024;

/** The head that Node sends with the body. Undocumented: a test compares the bytes. */
type WrittenResponse = ServerResponse & { _header: string };

/** The length of the lines `Content-Type` and `Content-Length` without their values. */
const OWN_LENGTH = 'Content-Type: \r\nContent-Length: \r\n'.length;

/**
 * Writes a page outside the API. If it is in parts, the promise resolves once the response has started.
 * @throws any error of reading the first part; then nothing is written
 */
export function writePage(
  { request, response, requestId, tls }: Pick<Exchange, 'request' | 'response' | 'requestId' | 'tls'>,
  page: PageContent,
  connection: readonly string[],
): MaybePromise<void> {
  const { etag, cacheControl = etag === undefined ? 'no-store' : 'no-cache', headers = [] } = page;
  const { compressed, compressible = false } = page;
  const { 'if-none-match': ifNoneMatch, 'accept-encoding': accepted = '' } = request.headers;
  const isCurrent = etag !== undefined && ifNoneMatch !== undefined && isKnown(ifNoneMatch, etag);
  const varies = compressed !== undefined || compressible;
  const accepts = varies ? encodings.find(name => acceptsEncoding(String(accepted), name)) : undefined;
  const bytes = accepts && (compressed === undefined ? compressNow(page.bytes, accepts) : compressed[accepts]);
  const content = bytes === undefined ? page : { ...page, bytes };
  const all = (tls ? headersOverTls : headersOverHttp).page.concat(
    'X-Request-Id',
    requestId,
    'Cache-Control',
    cacheControl,
    headers,
  );
  if (etag !== undefined) all.push('ETag', etag);
  if (varies) all.push('Vary', 'Accept-Encoding');
  if (bytes !== undefined && !isCurrent) all.push('Content-Encoding', accepts!);
  if (page.parts !== undefined && !isCurrent && request.method !== 'HEAD') {
    return startParts(page.parts).then(parts => writeParts(response, page, parts, all.concat(connection)));
  }
  writeResponse(response, isCurrent ? { status: 304, bytes: '' } : content, all.concat(connection));
}

/** Reads the first part, so that a storage error can still become the response. Returns all parts. */
export async function startParts<Part>(parts: AsyncIterable<Part>): Promise<AsyncIterable<Part>> {
  const iterator = parts[Symbol.asyncIterator]();
  let first: IteratorResult<Part> | undefined = await iterator.next();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const read = first ?? (await iterator.next());
        first = undefined;
        return read;
      },
      return: async value => (await iterator.return?.(value)) ?? { done: true, value },
    }),
  };
}

/** Writes a response in parts, reading each as the client receives the one before. */
function writeParts(
  response: ServerResponse,
  { status, contentType = JSON_TYPE, length }: Omit<ResponseContent, 'bytes'>,
  parts: AsyncIterable<string | Buffer>,
  headers: readonly string[],
): void {
  if (response.headersSent || response.destroyed) {
    void parts[Symbol.asyncIterator]().return?.();
    return;
  }
  const own = ['Content-Type', contentType, ...(length === undefined ? [] : ['Content-Length', `${length}`])];
  response.writeHead(status, own.concat(headers));
  // If reading fails, destroy the connection, so that the client notices that the response is incomplete.
  pipeline(parts, response, { signal: AbortSignal.timeout(STREAM_MS) }).catch(() => {});
}

/**
 * Writes a response whose body is a file. The promise resolves once the response has started.
 * @throws any error of reading the first part; then nothing is written
 */
export async function writeFile(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  content: ResponseContent,
  parts: AsyncIterable<Buffer>,
  headers: readonly string[],
): Promise<void> {
  const isHead = request.method === 'HEAD';
  if (isHead && content.length !== undefined) writeResponse(response, content, headers);
  else writeParts(response, content, isHead ? noParts() : await startParts(parts), headers);
}

async function* noParts(): AsyncGenerator<Buffer> {}

/** The encodings of a compressed page, best first. */
const encodings = ['br', 'gzip'] as const;

/** Reports whether an `Accept-Encoding` header names an encoding without refusing it (RFC 9110, 12.5.3). */
function acceptsEncoding(header: string, encoding: string): boolean {
  return header
    .toLowerCase()
    .split(',')
    .some(part => {
      const [name, ...parameters] = part.split(';').map(text => text.trim());
      return name === encoding && !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter));
    });
}

export function writePreflight({ request, response, requestId, tls }: Exchange, headers: readonly string[]): void {
  const allowed = request.headers['access-control-request-headers'] ?? requestHeaders;
  writeResponse(response, { status: 204, bytes: '' }, [
    ...[...anyOrigin, ...(tls ? headersOverTls : headersOverHttp).page, 'Cache-Control', 'no-store'],
    ...['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    ...['Access-Control-Allow-Headers', allowed, 'Access-Control-Max-Age', '86400'],
    ...['Vary', 'Access-Control-Request-Headers', 'X-Request-Id', requestId, ...headers],
  ]);
}

/**
 * Writes the head of a streamed response and starts its stream. The connection ends with the response.
 * @returns the writer, or `undefined` for HEAD, or if the client has disconnected
 */
export function writeStream(
  { request, response, requestId, tls, headers: rateLimits }: Exchange,
  { status, headers }: EncodedResponse,
  contentType: string,
  stream: ResponseStream,
): ResponseWriter | undefined {
  if (response.headersSent || response.destroyed) {
    stream.closed();
    return undefined;
  }
  const own = ['X-Accel-Buffering', 'no', ...closeConnection, 'X-Request-Id', requestId];
  response.writeHead(status, [
    'Content-Type',
    contentType,
    ...(tls ? headersOverTls : headersOverHttp).api,
    ...own,
    ...rateLimits,
    ...headers,
  ]);
  if (request.method === 'HEAD') {
    response.end();
    stream.closed();
    return undefined;
  }
  const writer: ResponseWriter = {
    write: bytes => response.writableEnded || response.destroyed || response.write(bytes),
    end() {
      response.end();
      // A client that does not read would not receive the end of the response either.
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
    destroy: () => response.destroy(),
    get bytesWritten() {
      return request.socket.bytesWritten;
    },
    bytesAcknowledged: () => bytesAcknowledged(request.socket),
  };
  response.on('error', () => {});
  // A client that ends its side has disconnected; otherwise only the next write would reveal that.
  request.socket.once('end', () => response.destroy());
  response.on('drain', () => stream.drained());
  response.once('close', () => stream.closed());
  request.socket.setKeepAlive(PROBES);
  response.flushHeaders();
  stream.begin(writer);
  return writer;
}

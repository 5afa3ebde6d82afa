import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseTraceparent } from '../../trace-context.ts';
import { STATUS_CODES } from '../node-http.ts';
import { type ErrorEntry, errorBody, Problem, problemBody, type ServerErrorCode } from '../problem.ts';
import { wantsProblemJson } from './accept.ts';
import type { Authenticator, KeyOwner } from './authenticator.ts';
import { clientAddress, isForwardedTls, type TrustedProxies } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import { requestIdOf } from './request-id.ts';
import { closeConnection, headersOverHttp, headersOverTls, JSON_TYPE, LINGER_MS, writeResponse } from './responses.ts';

/** The options of error responses. */
export interface ErrorOptions {
  readonly errors: Readonly<Record<ServerErrorCode, ErrorEntry>>;
  readonly authenticator: Authenticator;
  readonly proxies: TrustedProxies;
  /** Returns the base URL of the pages on error codes: of this server or of another. */
  pagesUrl(tls: boolean): string;
  /** Called for each 401 or 403 response to a request with an existing key. */
  onRefused?(key: KeyOwner, refused: RefusedRequest): void;
  /** Called for each error response with its code; also for requests that never reach a route. */
  onError?(code: string): void;
}

/** A request that got 401 or 403. */
export interface RefusedRequest {
  /** The error code of the response. */
  readonly code: string;
  /** The client's address. */
  readonly address: string;
  readonly requestId: string;
  readonly traceId?: string | undefined;
}

/** Clients that retry at different times cause no new peak. */
const RETRY_SECONDS = ['1', '2', '3'];

/** Writes the error responses of a server, also those to requests that never reach a route. */
export class ErrorResponses {
  readonly #options: ErrorOptions;
  readonly #overloads: readonly Problem[];

  constructor(options: ErrorOptions) {
    this.#options = options;
    this.#overloads = RETRY_SECONDS.map(seconds => this.problem('overloaded', ['Retry-After', seconds]));
  }

  /**
   * Returns one of a few problems for requests that are rejected because of overload. Creating one per request would add
   * a twelfth to the time of the response.
   */
  overloaded(): Problem {
    return this.#overloads[Math.floor(Math.random() * RETRY_SECONDS.length)]!;
  }

  /** Returns the problem with the status and message of the catalogue. */
  problem(code: ServerErrorCode, headers: readonly string[] = []): Problem {
    const { status, message } = this.#options.errors[code];
    return new Problem(code, status, message, { headers });
  }

  /** Returns a function that creates the problems of an upload of at most `bytesMax` bytes. */
  ofUpload(bytesMax: number) {
    return (code: 'body_too_large' | 'malformed_request' | 'request_timeout'): Problem =>
      code === 'body_too_large'
        ? new Problem(code, 413, `The file is larger than ${bytesMax / 1024 / 1024} MiB.`)
        : this.problem(code);
  }

  /**
   * Writes an error response, as `application/problem+json` if the request accepts it.
   * @param headers additional response headers
   * @param key the key of the request, if it exists: then a 401 or 403 is reported
   */
  write(
    { request, response, requestId }: Pick<Exchange, 'request' | 'response' | 'requestId'>,
    problem: Problem,
    headers: readonly string[],
    key?: KeyOwner,
  ): void {
    const tls = this.isTls(request);
    const common = (tls ? headersOverTls : headersOverHttp).api;
    const own = ['X-Request-Id', requestId].concat(problem.headers, headers);
    const { status } = problem;
    this.report({ request, requestId }, problem, key);
    if (wantsProblemJson(request.headers.accept)) {
      const bytes = JSON.stringify(problemBody(problem, this.#options.pagesUrl(tls), requestId));
      writeResponse(response, { status, contentType: 'application/problem+json', bytes }, own, common);
    } else {
      writeResponse(response, { status, bytes: JSON.stringify(errorBody(problem)) }, own, common);
    }
  }

  /** Reports an error response, also as a refused request if it is a 401 or 403 for an existing key. */
  report({ request, requestId }: Pick<Exchange, 'request' | 'requestId'>, problem: Problem, key?: KeyOwner): void {
    const { status, code } = problem;
    this.#options.onError?.(code);
    if (key !== undefined && (status === 401 || status === 403)) {
      const { traceId } = parseTraceparent(request.headers['traceparent']) ?? {};
      const { onRefused, proxies } = this.#options;
      onRefused?.(key, { code, address: clientAddress(request, proxies), requestId, traceId });
    }
  }

  /** Writes an error as the last response on its connection, with the rate limit headers of the client's address. */
  writeLast(exchange: Pick<Exchange, 'request' | 'response' | 'requestId'>, code: ServerErrorCode): void {
    this.write(exchange, this.problem(code), this.addressHeaders(exchange.request).concat(closeConnection));
  }

  /** Writes an error to a connection whose input is not a request, and ends the connection. */
  writeToSocket(socket: Duplex & { readonly remoteAddress?: string | undefined }, code: ServerErrorCode): void {
    this.#options.onError?.(code);
    const problem = this.problem(code);
    const address = clientAddress({ socket, headers: {} }, this.#options.proxies);
    const bytes = JSON.stringify(errorBody(problem));
    const headers = [
      ...['Content-Type', JSON_TYPE, 'Content-Length', `${Buffer.byteLength(bytes)}`, ...closeConnection],
      ...['Date', new Date().toUTCString(), 'X-Request-Id', requestIdOf()],
      ...[...headersOverHttp.api, ...this.#options.authenticator.addressHeaders(address)],
    ];
    let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
    for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
    socket.on('error', () => socket.destroy());
    socket.end(`${head}\r\n${bytes}`);
    // Discards further input for a while, because a reset would make the client lose the response.
    socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  /** Returns the rate limit headers of the client's address, without counting the request. */
  addressHeaders(request: IncomingMessage): readonly string[] {
    return this.#options.authenticator.addressHeaders(clientAddress(request, this.#options.proxies));
  }

  /** Reports whether the request came to a trusted proxy over TLS. */
  isTls({ headers, socket }: IncomingMessage): boolean {
    return isForwardedTls(socket.remoteAddress, headers['x-forwarded-proto'], this.#options.proxies);
  }
}

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseTraceparent } from '../../trace-context.ts';
import { type ErrorEntry, errorBody, Problem, problemBody, type ServerErrorCode } from '../problem.ts';
import { wantsProblemJson } from './accept.ts';
import type { Authenticator, KeyOwner } from './authenticator.ts';
import { clientAddress, isForwardedTls, type TrustedProxies } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import { requestIdOf } from './request-id.ts';
import { closeConnection, commonHeaders, JSON_TYPE, LINGER_MS, writeResponse } from './responses.ts';

/** What error responses are made from. */
export interface ErrorOptions {
  readonly errors: Readonly<Record<ServerErrorCode, ErrorEntry>>;
  readonly authenticator: Authenticator;
  readonly proxies: TrustedProxies;
  /** Returns the address below which the pages on error codes are: that of this server or of another. */
  pagesUrl(tls: boolean): string;
  /** Reports each request that is refused with 401 or 403 although its key exists. */
  onRefused?(key: KeyOwner, refused: RefusedRequest): void;
  /** Reports each error response, by its code; also those to requests that never reach a route. */
  onError?(code: string): void;
}

/** A request that was refused. */
export interface RefusedRequest {
  /** The error code of the response. */
  readonly code: string;
  /** The client's address. */
  readonly address: string;
  readonly requestId: string;
  readonly traceId?: string | undefined;
}

/** Writes the error responses of a server, also those to requests that never reach a route. */
export class ErrorResponses {
  readonly #options: ErrorOptions;

  constructor(options: ErrorOptions) {
    this.#options = options;
  }

  /** Returns the problem with the status and message of the catalogue. */
  problem(code: ServerErrorCode, headers: readonly string[] = []): Problem {
    const { status, message } = this.#options.errors[code];
    return new Problem(code, status, message, { headers });
  }

  /**
   * Writes an error response, as `application/problem+json` if the request asks for that.
   * @param headers of the response besides those of every response and of the problem
   * @param key that the request was sent with, if it exists: a 401 or 403 is reported
   */
  write(
    { request, response, requestId }: Pick<Exchange, 'request' | 'response' | 'requestId'>,
    problem: Problem,
    headers: readonly string[],
    key?: KeyOwner,
  ): void {
    const tls = this.isTls(request);
    const all = commonHeaders(tls).api.concat('X-Request-Id', requestId, problem.headers, headers);
    const { status, code } = problem;
    this.#options.onError?.(code);
    if (key !== undefined && (status === 401 || status === 403)) {
      const { traceId } = parseTraceparent(request.headers['traceparent']) ?? {};
      this.#options.onRefused?.(key, { code, address: this.addressOf(request), requestId, traceId });
    }
    if (wantsProblemJson(request.headers.accept)) {
      const bytes = JSON.stringify(problemBody(problem, this.#options.pagesUrl(tls), requestId));
      writeResponse(response, { status, contentType: 'application/problem+json', bytes }, all);
    } else {
      writeResponse(response, { status, bytes: JSON.stringify(errorBody(problem)) }, all);
    }
  }

  /** Writes an error as the last response on its connection, with the rate limit headers of the client's address. */
  writeLast(exchange: Pick<Exchange, 'request' | 'response' | 'requestId'>, code: ServerErrorCode): void {
    this.write(exchange, this.problem(code), this.addressHeaders(exchange.request).concat(closeConnection));
  }

  /** Writes an error to a connection whose input never became a request, and ends the connection. */
  writeToSocket(socket: Duplex & { readonly remoteAddress?: string | undefined }, code: ServerErrorCode): void {
    this.#options.onError?.(code);
    const problem = this.problem(code);
    const address = clientAddress(socket.remoteAddress, undefined, this.#options.proxies);
    const bytes = JSON.stringify(errorBody(problem));
    const headers = [
      ...['Content-Type', JSON_TYPE, 'Content-Length', `${Buffer.byteLength(bytes)}`, ...closeConnection],
      ...['Date', new Date().toUTCString(), 'X-Request-Id', requestIdOf()],
      ...[...commonHeaders(false).api, ...this.#options.authenticator.addressHeaders(address)],
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
    return this.#options.authenticator.addressHeaders(this.addressOf(request));
  }

  addressOf({ headers, socket }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress, headers['x-forwarded-for'] as string | undefined, this.#options.proxies);
  }

  /** Reports whether the request came to a trusted proxy over TLS. */
  isTls({ headers, socket }: IncomingMessage): boolean {
    return isForwardedTls(socket.remoteAddress, headers['x-forwarded-proto'], this.#options.proxies);
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Catalogue, Problem } from '../problem.ts';
import type { Authenticator } from './authenticator.ts';
import { clientAddress, isForwardedTls, type TrustedProxies } from './client-address.ts';
import { newRequestId, requestIdOf } from './request-id.ts';
import { closeConnection, writeProblem, writeProblemToSocket } from './responses.ts';

/** What error responses are made from. */
export interface ErrorOptions {
  readonly errors: Catalogue;
  readonly authenticator: Authenticator;
  readonly proxies: TrustedProxies;
  /** Returns the address below which the pages on error codes are: that of this server or of another. */
  pagesUrl(tls: boolean): string;
}

/** Writes the error responses of a server, also those to requests that never reach a route. */
export class ErrorResponses {
  readonly #options: ErrorOptions;

  constructor(options: ErrorOptions) {
    this.#options = options;
  }

  /** Returns the problem with the status and message of the catalogue. */
  problem(code: keyof Catalogue & string, headers: readonly string[] = []): Problem {
    const entry = this.#options.errors[code]!;
    return new Problem(code, entry.status, entry.message, { headers });
  }

  /** @param headers of the response besides those of every response and of the problem */
  write(
    request: IncomingMessage,
    response: ServerResponse,
    problem: Problem,
    requestId: string,
    headers: readonly string[],
  ): void {
    const pagesUrl = this.#options.pagesUrl(this.isTls(request));
    writeProblem(request, response, problem, pagesUrl, requestId, headers);
  }

  /** Writes a problem as the last response on its connection, with the rate limit headers of the client's address. */
  writeLast(
    request: IncomingMessage,
    response: ServerResponse,
    code: keyof Catalogue & string,
    requestId = requestIdOf(request),
  ): void {
    const headers = this.addressHeaders(request).concat(closeConnection);
    this.write(request, response, this.problem(code), requestId, headers);
  }

  /** Writes a problem to a connection whose input never became a request, and ends the connection. */
  writeToSocket(
    socket: Duplex & { readonly remoteAddress?: string | undefined },
    code: keyof Catalogue & string,
  ): void {
    const address = clientAddress(socket.remoteAddress, undefined, this.#options.proxies);
    const headers = this.#options.authenticator.addressHeaders(address);
    writeProblemToSocket(socket, this.problem(code), newRequestId(), headers);
  }

  /** Returns the rate limit headers of the client's address, without counting the request. */
  addressHeaders(request: IncomingMessage): readonly string[] {
    return this.#options.authenticator.addressHeaders(this.addressOf(request));
  }

  /** Returns the client's address. */
  addressOf({ headers, socket }: IncomingMessage): string {
    const forwarded = headers['x-forwarded-for'];
    const hops = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
    return clientAddress(socket.remoteAddress, hops, this.#options.proxies);
  }

  /** Reports whether the request came to a trusted proxy over TLS. */
  isTls({ headers, socket }: IncomingMessage): boolean {
    const protocol = headers['x-forwarded-proto'];
    return protocol !== undefined && isForwardedTls(socket.remoteAddress, protocol, this.#options.proxies);
  }
}

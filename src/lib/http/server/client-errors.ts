import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ServerErrorCode } from '../problem.ts';
import type { Connections } from './connections.ts';
import type { ErrorResponses } from './error-responses.ts';
import { requestIdOf } from './request-id.ts';

/** Responds to input that the HTTP parser rejects, and to unsupported `Expect` headers. */
export class ClientErrors {
  readonly #connections: Connections;
  readonly #errors: ErrorResponses;

  constructor(connections: Connections, errors: ErrorResponses) {
    this.#connections = connections;
    this.#errors = errors;
  }

  /** Rejects an `Expect` header other than `100-continue`. */
  rejectExpectation(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#connections.abandon(request.socket)) return;
    this.#connections.note(request.socket, response);
    this.#writeLast(response, 'expectation_failed');
  }

  /** Sends one error response for the malformed message, after the responses to the messages before it. */
  respond(error: NodeJS.ErrnoException, connection: Duplex): void {
    const socket = connection as Socket;
    // Node reports it once; a slow upload has its own limit.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#connections.hasSlowBody(socket)) return;
    // The parser reports the same error again for every further chunk.
    if (!this.#connections.abandon(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // The client sent input after a request with `Connection: close`. The connection ends with that request's response.
    if (error.code === 'HPE_CLOSED_CONNECTION') return;
    const code = codes[error.code ?? ''] ?? 'malformed_request';
    const response = this.#connections.latest(socket);
    if (response !== undefined && !response.req.complete) this.#respondToBody(socket, response, code);
    else if (response === undefined || response.writableFinished) this.#respondToHead(socket, code);
    // Prepended, because Node may end the connection when that response has finished.
    else response.prependOnceListener('finish', () => this.#respondToHead(socket, code));
  }

  /** Responds to a malformed body, unless its request already has a response. */
  #respondToBody(socket: Socket, response: ServerResponse, code: ServerErrorCode): void {
    if (!response.headersSent) this.#writeLast(response, code);
    else if (response.writableFinished) socket.destroy();
    else response.once('close', () => socket.destroy());
  }

  #writeLast(response: ServerResponse, code: ServerErrorCode): void {
    const { req: request } = response;
    this.#errors.writeLast({ request, response, requestId: requestIdOf(request.headers['x-request-id']) }, code);
  }

  #respondToHead(socket: Socket, code: ServerErrorCode): void {
    if (socket.writable) this.#errors.writeToSocket(socket, code);
  }
}

const codes: Readonly<Record<string, ServerErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The open connections of a server, and what each is at.
 *
 * There are never more than a bound: a newcomer beyond it takes the place of the one that has gone longest without a
 * request. So whoever holds connections open without using them loses them first, and nobody is turned away.
 */
export class Connections {
  readonly #max: number;
  /** The latest request's answer of each, in the order of those requests (or of connecting). */
  readonly #latest = new Map<Socket, ServerResponse | undefined>();
  #ending = false;

  /** @param max how many may be open at once */
  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: Socket) => {
      if (this.#ending) {
        socket.destroy();
        return;
      }
      this.#latest.set(socket, undefined);
      socket.once('close', () => this.#latest.delete(socket));
      if (this.#latest.size > this.#max) this.#dropOne();
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.note(request.socket, response),
    );
  }

  /** Takes note of a request that the server does not tell as one. */
  note(socket: Socket, response: ServerResponse): void {
    if (!this.#latest.delete(socket)) return;
    this.#latest.set(socket, response);
  }

  /** The answer to the latest request on a connection, begun or not; `undefined` where none has come. */
  latest(socket: Socket): ServerResponse | undefined {
    return this.#latest.get(socket);
  }

  /** Closes those on which nothing is being received or answered, and every one that comes from now on. */
  end(): void {
    this.#ending = true;
    for (const [socket, response] of this.#latest) {
      if (response === undefined ? socket.bytesRead === 0 : !isInFlight(response)) socket.destroy();
    }
  }

  #dropOne(): void {
    let looked = 0;
    for (const [socket, response] of this.#latest) {
      if (response === undefined || !response.req.complete || !isInFlight(response)) {
        socket.destroy();
        return;
      }
      if (++looked === LOOKED_AT_MAX) return;
    }
  }
}

/** A newcomer costs little also where many connections are being answered. */
const LOOKED_AT_MAX = 100;

function isInFlight(response: ServerResponse): boolean {
  return !response.req.complete || !response.writableFinished;
}

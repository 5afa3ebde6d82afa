import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The open connections of a server, and what each is at.
 *
 * There are never more than a bound: a newcomer beyond it takes the place of the one that has gone longest without a
 * request. So whoever holds connections open without using them loses them first, and nobody is turned away. On a
 * connection with many unanswered requests nothing more is read until they are answered.
 */
export class Connections {
  readonly #max: number;
  /** In the order of their latest requests, or of connecting. */
  readonly #open = new Map<Socket, Connection>();
  #ending = false;

  /** @param max how many may be open at once */
  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: Socket) => {
      if (this.#ending) {
        socket.destroy();
        return;
      }
      this.#open.set(socket, { latest: undefined, unanswered: 0, held: false });
      socket.once('close', () => this.#open.delete(socket));
      if (this.#open.size > this.#max) this.#dropOne();
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.note(request.socket, response),
    );
  }

  /** Takes note of a request that the server does not tell as one. */
  note(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#open.delete(socket);
    this.#open.set(socket, connection);
    const { latest } = connection;
    connection.unanswered = latest === undefined || latest.writableFinished ? 1 : connection.unanswered + 1;
    connection.latest = response;
    if (connection.unanswered >= UNANSWERED_MAX) hold(socket, connection);
  }

  /** The answer to the latest request on a connection, begun or not; `undefined` where none has come. */
  latest(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.latest;
  }

  /** Closes those on which nothing is being received or answered, and every one that comes from now on. */
  end(): void {
    this.#ending = true;
    for (const [socket, { latest }] of this.#open) {
      if (latest === undefined ? socket.bytesRead === 0 : !isInFlight(latest)) socket.destroy();
    }
  }

  #dropOne(): void {
    let looked = 0;
    for (const [socket, { latest }] of this.#open) {
      if (latest === undefined || !latest.req.complete || !isInFlight(latest)) {
        socket.destroy();
        return;
      }
      if (++looked === LOOKED_AT_MAX) return;
    }
  }
}

interface Connection {
  /** The answer to the latest request. */
  latest: ServerResponse | undefined;
  /** How many requests have come since one found all before it answered. */
  unanswered: number;
  /** Whether nothing is read until they are answered. */
  held: boolean;
}

/** A newcomer costs little also where many connections are being answered. */
const LOOKED_AT_MAX = 100;

/** More than any client sends ahead. */
const UNANSWERED_MAX = 64;

function isInFlight(response: ServerResponse): boolean {
  return !response.req.complete || !response.writableFinished;
}

/**
 * Reads nothing more from a connection until its latest request is answered, as Node does by itself, and by the same
 * means (`_paused`, the parser), where answers are not read. What is read already is still served.
 */
function hold(socket: HeldSocket, connection: Connection): void {
  socket._paused = true;
  socket.pause();
  if (connection.held) return;
  connection.held = true;
  release();

  function release(): void {
    if (socket.destroyed) return;
    if (!connection.latest!.writableFinished) {
      connection.latest!.once('close', release);
      return;
    }
    connection.held = false;
    socket._paused = false;
    socket.parser?.resume();
    socket.resume();
  }
}

/** What Node keeps on the socket of a connection. */
interface HeldSocket extends Socket {
  _paused?: boolean;
  parser?: { resume(): void } | null;
}

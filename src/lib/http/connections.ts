import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The open connections of a server, and what each is at.
 *
 * There are hardly more than a bound: a newcomer beyond it takes the place of one that has gone long without a
 * request. So whoever holds connections open without using them loses them first, and nobody is turned away. On a
 * connection with many unanswered requests nothing more is read until they are answered.
 */
export class Connections {
  readonly #max: number;
  /** Those looked at longest ago, when there were too many, come first. */
  readonly #open = new Set<TrackedSocket>();
  #ending = false;

  /** @param max how many may be open at once */
  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: TrackedSocket) => {
      if (this.#ending) {
        socket.destroy();
        return;
      }
      socket[tracked] = { latest: undefined, unanswered: 0, held: false, used: false };
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      if (this.#open.size > this.#max) this.#dropOne();
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.note(request.socket, response),
    );
  }

  /** Takes note of a request that the server does not tell as one. */
  note(socket: TrackedSocket, response: ServerResponse): void {
    const connection = socket[tracked];
    if (connection === undefined) return;
    const { latest } = connection;
    connection.used = true;
    connection.unanswered = latest === undefined || latest.writableFinished ? 1 : connection.unanswered + 1;
    connection.latest = response;
    if (connection.unanswered >= UNANSWERED_MAX) hold(socket, connection);
  }

  /** The answer to the latest request on a connection, begun or not; `undefined` where none has come. */
  latest(socket: TrackedSocket): ServerResponse | undefined {
    return socket[tracked]?.latest;
  }

  /** Closes those on which nothing is being received or answered, and every one that comes from now on. */
  end(): void {
    this.#ending = true;
    for (const socket of this.#open) {
      const { latest } = socket[tracked]!;
      if (latest === undefined ? socket.bytesRead === 0 : !isInFlight(latest)) socket.destroy();
    }
  }

  /** Drops the first that has had no request since it was last looked at, and is not being answered. */
  #dropOne(): void {
    let looked = 0;
    for (const socket of this.#open) {
      const connection = socket[tracked]!;
      const { latest, used } = connection;
      if (!used && !(latest?.req.complete && isInFlight(latest))) {
        socket.destroy();
        return;
      }
      if (++looked === LOOKED_AT_MAX) return;
      connection.used = false;
      this.#open.delete(socket);
      this.#open.add(socket);
    }
  }
}

const tracked = Symbol('connection');

interface TrackedSocket extends Socket {
  [tracked]?: Connection;
}

interface Connection {
  /** The answer to the latest request. */
  latest: ServerResponse | undefined;
  /** How many requests have come since one found all before it answered. */
  unanswered: number;
  /** Whether nothing is read until they are answered. */
  held: boolean;
  /** Whether a request has come since it was last looked at. */
  used: boolean;
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

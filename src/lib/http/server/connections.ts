import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The open connections of a server, and what each is at.
 *
 * There are hardly more than a bound: a newcomer beyond it takes the place of one that has gone long without a
 * request. So whoever holds connections open without using them loses them first, and nobody is turned away.
 *
 * Requests that were sent ahead are begun one by one, each in a turn of its own, so that others are served in between.
 * Where many are unanswered nothing more is read until they are answered.
 */
export class Connections {
  readonly #max: number;
  /** Those looked at longest ago, when there were too many, come first. */
  readonly #open = new Set<TrackedSocket>();
  #ending = false;

  /**
   * @param server with what serves its requests
   * @param max how many may be open at once
   */
  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: TrackedSocket) => {
      if (this.#ending) {
        socket.destroy();
        return;
      }
      socket[tracked] = { latest: undefined, unanswered: 0, ahead: [], held: false, used: false, givenUp: false };
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      if (this.#open.size > this.#max) this.#dropOne();
    });
    const listeners = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = (request.socket as TrackedSocket)[tracked];
      if (connection === undefined || connection.givenUp) return;
      const before = connection.latest;
      this.note(request.socket, response);
      const serve = () => {
        // A request whose body broke while it waited has its answer already.
        if (request.socket.destroyed || response.headersSent) return;
        for (const listener of listeners) listener.call(server, request, response);
      };
      if (connection.ahead.length === 0 && (before === undefined || before.writableFinished)) serve();
      else serveInTurn(connection, serve);
    });
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

  /**
   * Serves nothing more that comes on a connection; whether that was not so before.
   * @param behind whether what has come already and waits for its turn is not served either
   */
  giveUp(socket: TrackedSocket, { behind = false } = {}): boolean {
    const connection = socket[tracked];
    if (connection === undefined) return false;
    if (behind) connection.ahead.length = 0;
    const first = !connection.givenUp;
    connection.givenUp = true;
    return first;
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
  /** Those that wait for their turn to be served. */
  readonly ahead: (() => void)[];
  /** Whether nothing is read until they are answered. */
  held: boolean;
  /** Whether a request has come since it was last looked at. */
  used: boolean;
  /** Whether nothing that comes is read as HTTP any more. */
  givenUp: boolean;
}

/** A newcomer costs little also where many connections are being answered. */
const LOOKED_AT_MAX = 100;

/** More than any client sends ahead. */
const UNANSWERED_MAX = 64;

function isInFlight(response: ServerResponse): boolean {
  return !response.req.complete || !response.writableFinished;
}

/** Serves a request behind those that wait, one in each turn of the event loop: others are served in between. */
function serveInTurn({ ahead }: Connection, serve: () => void): void {
  ahead.push(serve);
  if (ahead.length === 1) setImmediate(next);

  function next(): void {
    ahead[0]?.();
    ahead.shift();
    if (ahead.length > 0) setImmediate(next);
  }
}

/**
 * Reads nothing more from a connection until its latest request is answered, as Node does by itself, and by the same
 * means (`_paused`, the parser), where answers are not read. What is read already is still served, in its turn.
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

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { limitRest } from './rest-of-body.ts';

/**
 * Tracks the open connections of a server and schedules their requests.
 *
 * Beyond the limit, a new connection replaces one that has been idle for long, so no client is rejected.
 *
 * Starts pipelined requests one per turn of the event loop, so that they do not delay other connections. Stops reading
 * from a connection that has many unanswered requests.
 */
export class Connections {
  readonly #max: number;
  /** Least recently examined first. */
  readonly #open = new Set<TrackedSocket>();
  #isClosing = false;

  /** @param max how many connections may be open */
  constructor(server: Server, max: number, serve: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#max = max;
    server.on('connection', (socket: TrackedSocket) => this.#track(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = (request.socket as TrackedSocket)[tracked];
      if (connection === undefined || connection.isAbandoned) return;
      const previous = connection.latest;
      this.note(request.socket, response);
      if (connection.queue.length === 0 && (previous === undefined || previous.writableFinished)) {
        serve(request, response);
      } else {
        serveInTurn(connection, () => {
          // A request whose body broke while it was queued has its response already.
          if (!request.socket.destroyed && !response.headersSent) serve(request, response);
        });
      }
    });
  }

  /** Records a request; call it for requests that come without a `request` event. */
  note(socket: TrackedSocket, response: ServerResponse): void {
    const connection = socket[tracked];
    if (connection === undefined) return;
    const { latest } = connection;
    connection.isUsed = true;
    connection.unanswered = latest === undefined || latest.writableFinished ? 1 : connection.unanswered + 1;
    connection.latest = response;
    if (connection.unanswered >= UNANSWERED_MAX) pauseReading(socket, connection);
  }

  /** The number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Counts the connections with a request in flight. */
  countInFlight(): number {
    let inFlight = 0;
    for (const socket of this.#open) {
      const { latest } = socket[tracked]!;
      if (latest !== undefined && isInFlight(latest)) inFlight++;
    }
    return inFlight;
  }

  /** Returns the response to the latest request on a connection, whether started or not. */
  latest(socket: TrackedSocket): ServerResponse | undefined {
    return socket[tracked]?.latest;
  }

  /** Lets the body of the latest request of a connection take longer than others, until it has its response. */
  allowSlowBody(socket: TrackedSocket, response: ServerResponse): void {
    const connection = socket[tracked];
    if (connection !== undefined) connection.slow = response;
  }

  /** Reports whether the body of the latest request of a connection may take longer than others. */
  hasSlowBody(socket: TrackedSocket): boolean {
    const { slow, latest } = socket[tracked] ?? {};
    return slow !== undefined && slow === latest && !slow.headersSent;
  }

  /**
   * Ignores all further requests of a connection. Returns false when it did so already.
   * @param queued whether to drop the requests that are queued, too
   */
  abandon(socket: TrackedSocket, { queued = false } = {}): boolean {
    const connection = socket[tracked];
    if (connection === undefined) return false;
    if (queued) connection.queue.length = 0;
    const isFirst = !connection.isAbandoned;
    connection.isAbandoned = true;
    return isFirst;
  }

  /** Closes the idle connections, the others after their response, and every new one from now on. */
  closeIdle(): void {
    this.#isClosing = true;
    for (const socket of this.#open) {
      const { latest } = socket[tracked]!;
      if (latest === undefined ? socket.bytesRead === 0 : !isInFlight(latest)) socket.destroy();
      // Its head may have been sent without `Connection: close`.
      else latest?.once('finish', () => socket.destroySoon());
    }
  }

  #track(socket: TrackedSocket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    const flags = { isPaused: false, isUsed: false, isAbandoned: false };
    socket[tracked] = { latest: undefined, slow: undefined, unanswered: 0, queue: [], ...flags };
    socket.destroySoon = () => endConnection(socket);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size > this.#max) this.#dropIdle();
  }

  /** Closes the first connection without a request in flight or since it was last examined. */
  #dropIdle(): void {
    let examined = 0;
    for (const socket of this.#open) {
      const connection = socket[tracked]!;
      const { latest, isUsed } = connection;
      if (!isUsed && !(latest?.req.complete && isInFlight(latest))) {
        socket.destroy();
        return;
      }
      if (++examined === EXAMINED_MAX) return;
      connection.isUsed = false;
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
  latest: ServerResponse | undefined;
  /** The response to the last request whose body may take long. */
  slow: ServerResponse | undefined;
  /** The number of requests since one arrived when all before it were answered. */
  unanswered: number;
  /** Pipelined requests that wait for their turn. */
  readonly queue: (() => void)[];
  /** Whether reading is paused until the requests are answered. */
  isPaused: boolean;
  /** Whether a request has arrived since the connection was last examined. */
  isUsed: boolean;
  /** Whether further input is ignored. */
  isAbandoned: boolean;
}

/** Keeps accepting a connection cheap when many are busy. */
const EXAMINED_MAX = 100;

/** More requests than any client pipelines. */
const UNANSWERED_MAX = 64;

function isInFlight(response: ServerResponse): boolean {
  return !response.req.complete || !response.writableFinished;
}

/**
 * Ends a connection after its last response, as Node does; but while the body of the request goes on arriving, reads on for a
 * while. Unread bytes would make the kernel reset the connection, and the client could lose the response.
 */
function endConnection(socket: TrackedSocket): void {
  const request = socket[tracked]!.latest?.req;
  const end = () => Socket.prototype.destroySoon.call(socket);
  if (request === undefined || request.complete || request.destroyed) {
    end();
    return;
  }
  socket.end();
  request.once('end', end);
  limitRest(request, () => socket.destroy());
}

/** Queues a request; one of a connection starts in each turn of the event loop. */
function serveInTurn({ queue }: Connection, serve: () => void): void {
  queue.push(serve);
  if (queue.length === 1) setImmediate(next);

  function next(): void {
    queue[0]?.();
    queue.shift();
    if (queue.length > 0) setImmediate(next);
  }
}

/**
 * Pauses reading until the latest request is answered, as Node does when responses pile up, and with the same internals
 * (`_paused`, the parser). Requests that have been read are still served.
 */
function pauseReading(socket: PausableSocket, connection: Connection): void {
  socket._paused = true;
  socket.pause();
  if (connection.isPaused) return;
  connection.isPaused = true;
  resume();

  function resume(): void {
    if (socket.destroyed) return;
    if (!connection.latest!.writableFinished) {
      connection.latest!.once('close', resume);
      return;
    }
    connection.isPaused = false;
    socket._paused = false;
    socket.parser?.resume();
    socket.resume();
  }
}

/** What Node stores on the socket of an HTTP connection. */
interface PausableSocket extends Socket {
  _paused?: boolean;
  parser?: { resume(): void } | null;
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createServer } from '../node-http.ts';
import type { ReadPause } from './load-shedder.ts';
import { type ConnectionLimits, HEADER_BYTES_MAX } from './options.ts';
import { limitRest } from './rest-of-body.ts';

/** Creates a server that enforces these limits, except the number of connections; see {@link Connections}. */
export function createLimitedServer(limits: ConnectionLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    requireHostHeader: false,
  });
  server.setTimeout(limits.stalledMs);
  // HEADER_BYTES_MAX allows more than 2,000 headers; by default Node would silently drop those beyond.
  server.maxHeadersCount = 0;
  // Undocumented in Node: clients that end their side of the connection after a request still get the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}

/**
 * Tracks the open connections of a server and schedules their requests.
 *
 * Beyond the limit, a new connection replaces one that is idle, so no client is rejected.
 *
 * Starts pipelined requests one per turn of the event loop, so that they do not delay other connections. Stops reading
 * from a connection that has many requests without a response.
 */
export class Connections {
  readonly #max: number;
  /** Open connections; the least recently examined first. */
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
          // A queued request whose body is malformed already has its response.
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

  /** Returns the last pause of a connection, see {@link pauseAfter}. */
  lastPause(socket: TrackedSocket): ReadPause | undefined {
    return socket[tracked]?.pause;
  }

  /**
   * After a response, reads nothing from its connection until the pause that `onPause` gets is resumed. A connection
   * that has further requests or ends is not paused.
   */
  pauseAfter(response: ServerResponse, onPause: (pause: ReadPause) => void): void {
    const { socket } = response.req as { readonly socket: TrackedSocket };
    const connection = socket[tracked];
    response.once('finish', () => {
      if (connection?.latest !== response || connection.isPaused || socket.destroyed || socket.writableEnded) return;
      connection.isPaused = true;
      stopReading(socket);
      connection.pause = {
        fromMs: performance.now(),
        resume() {
          connection.isPaused = false;
          startReading(socket);
        },
      };
      onPause(connection.pause);
    });
  }

  /**
   * Allows the body of a connection's latest request to take longer than others, until the request has its response.
   */
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
   * Ignores all further requests of a connection. Returns false if it ignores them already.
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

  /** Closes idle connections now, the others after their response, and every new connection. */
  closeIdle(): void {
    this.#isClosing = true;
    for (const socket of this.#open) {
      const { latest } = socket[tracked]!;
      if (latest === undefined ? socket.bytesRead === 0 : !isInFlight(latest)) socket.destroy();
      // The response's head may have been sent without `Connection: close`.
      else latest?.once('finish', () => socket.destroySoon());
    }
  }

  #track(socket: TrackedSocket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    const flags = { isPaused: false, isUsed: false, isAbandoned: false };
    socket[tracked] = { latest: undefined, slow: undefined, pause: undefined, unanswered: 0, queue: [], ...flags };
    socket.destroySoon = () => endConnection(socket);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size > this.#max) this.#dropIdle();
  }

  /** Closes the first connection that has no request in flight and has received none since it was last examined. */
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
  pause: ReadPause | undefined;
  /** The number of requests since one arrived with no response pending. */
  unanswered: number;
  /** Pipelined requests that wait for their turn. */
  readonly queue: (() => void)[];
  /** Whether reading is paused until the requests have responses. */
  isPaused: boolean;
  /** Whether a request has arrived since the connection was last examined. */
  isUsed: boolean;
  /** Whether further input is ignored. */
  isAbandoned: boolean;
}

/** Limits the cost of accepting a connection when many are busy. */
const EXAMINED_MAX = 100;

/** More requests than any client pipelines. */
const UNANSWERED_MAX = 64;

function isInFlight(response: ServerResponse): boolean {
  return !response.req.complete || !response.writableFinished;
}

/**
 * Ends a connection after its last response, as Node does; but while the request body still arrives, keeps reading for
 * a while. Unread bytes would make the kernel reset the connection, and the client could lose the response.
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

/** Queues a request. In each turn of the event loop, one request of a connection starts. */
function serveInTurn({ queue }: Connection, serve: () => void): void {
  queue.push(serve);
  if (queue.length === 1) setImmediate(next);

  function next(): void {
    queue[0]?.();
    queue.shift();
    if (queue.length > 0) setImmediate(next);
  }
}

/** Pauses reading until the latest request has its response. Requests that have been read are still served. */
function pauseReading(socket: PausableSocket, connection: Connection): void {
  stopReading(socket);
  if (connection.isPaused) return;
  connection.isPaused = true;
  resume();

  function resume(): void {
    if (!connection.latest!.writableFinished) {
      connection.latest!.once('close', resume);
      return;
    }
    connection.isPaused = false;
    startReading(socket);
  }
}

/** Stops reading with Node's own mechanism and internals (`_paused`, the parser). */
function stopReading(socket: PausableSocket): void {
  socket._paused = true;
  socket.pause();
}

function startReading(socket: PausableSocket): void {
  if (socket.destroyed) return;
  socket._paused = false;
  socket.parser?.resume();
  socket.resume();
}

/** The properties that Node stores on the socket of an HTTP connection. */
interface PausableSocket extends Socket {
  _paused?: boolean;
  parser?: { resume(): void } | null;
}

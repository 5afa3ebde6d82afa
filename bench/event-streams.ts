import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Product } from './product.ts';

/** Event streams that this process reads. It checks that each stream sends every event once and in order. */
export interface Streams extends AsyncDisposable {
  readonly count: number;
  /** The events of all streams since the last `takeArrivals`. Throws if a stream failed. */
  readonly arrivals: readonly Arrival[];
  takeArrivals(): Arrival[];
}

/** An event received from a stream. */
export interface Arrival {
  /** Id of the event's pet. */
  readonly pet: number;
  /** On the scale of `performance.now()`. */
  readonly receivedMs: number;
}

/** Opens streams of new events; resolves when each has its status line. */
export async function openStreams(product: Product, count: number): Promise<Streams> {
  const sockets = new Set<Socket>();
  const pets = new Map<number, number>();
  let arrivals: Arrival[] = [];
  let failure: Error | undefined;
  let closed = false;
  const assertHealthy = () => {
    if (failure !== undefined) throw failure;
  };

  async function open(): Promise<void> {
    const { hostname, port, pathname } = new URL(product.baseUrl);
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    let text = '';
    let last = 0;
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
      begin();
      let read = 0;
      for (const [message, position, data] of text.matchAll(MESSAGE)) {
        read = text.indexOf(message, read) + message.length;
        const sequence = Number(position);
        if (sequence <= last) failure ??= new Error(`A stream sent event ${sequence} after event ${last}.`);
        last = sequence;
        if (!pets.has(sequence)) pets.set(sequence, JSON.parse(data!).data.id);
        arrivals.push({ pet: pets.get(sequence)!, receivedMs: performance.now() });
      }
      text = text.slice(read);
    });
    socket.on('error', error => {
      failure ??= error;
    });
    socket.on('close', () => {
      if (!closed) failure ??= new Error(`A stream ended: ${text.slice(-300)}`);
      begin();
    });
    socket.write(
      `GET ${pathname}/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${product.token}\r\n\r\n`,
    );
    await began;
    assertHealthy();
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`A stream got the response: ${text}`);
  }

  async function close(): Promise<void> {
    closed = true;
    const ends = Array.from(sockets, socket => (socket.closed ? undefined : once(socket, 'close')));
    for (const socket of sockets) socket.destroy();
    await Promise.all(ends);
  }

  try {
    for (let left = count; left > 0; left -= OPENED_AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(left, OPENED_AT_ONCE) }, open));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    count,
    get arrivals() {
      assertHealthy();
      return arrivals;
    },
    takeArrivals() {
      const taken = arrivals;
      arrivals = [];
      return taken;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Returns how many files, connections included, a process may have open. */
export async function openFilesLimit(): Promise<number> {
  return Number(
    /Max open files\s+\d+\s+(\d+)/.exec(await readFile('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY,
  );
}

const OPENED_AT_ONCE = 100;

/** A message of the stream: its event's position in the log, and its data. */
const MESSAGE = /id: evt_(\d+)\nevent: [^\n]+\ndata: ([^\n]+)\n\n/g;

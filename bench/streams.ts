import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Product } from './product.ts';

/** Event streams that this process reads, each checked: no event twice, none out of order. */
export interface Streams extends AsyncDisposable {
  readonly count: number;
  /** What came since it was taken last, by whichever stream. */
  readonly arrivals: readonly Arrival[];
  take(): Arrival[];
}

/** An event that came by a stream. */
export interface Arrival {
  /** The animal that it is about. */
  readonly animal: number;
  /** On the scale of `performance.now()`. */
  readonly cameMs: number;
}

/** Opens streams of what happens from now on; resolves once each has its first line. */
export async function openStreams(product: Product, count: number): Promise<Streams> {
  const sockets = new Set<Socket>();
  const animals = new Map<number, number>();
  let arrivals: Arrival[] = [];
  let failure: Error | undefined;
  let closed = false;
  const demandWhole = () => {
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
      for (const [message, place, data] of text.matchAll(MESSAGE)) {
        read = text.indexOf(message, read) + message.length;
        const sequence = Number(place);
        if (sequence <= last) failure ??= new Error(`A stream told event ${sequence} behind event ${last}.`);
        last = sequence;
        if (!animals.has(sequence)) animals.set(sequence, JSON.parse(data!).data.id);
        arrivals.push({ animal: animals.get(sequence)!, cameMs: performance.now() });
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
    demandWhole();
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`A stream was answered: ${text}`);
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
      demandWhole();
      return arrivals;
    },
    take() {
      const taken = arrivals;
      arrivals = [];
      return taken;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** How many files a process may have open here, connections included. */
export async function filesMax(): Promise<number> {
  return Number(
    /Max open files\s+\d+\s+(\d+)/.exec(await readFile('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY,
  );
}

const OPENED_AT_ONCE = 100;

/** A message of the stream: the number of its event and its data. The product never parts one in two chunks. */
const MESSAGE = /id: evt_(\d+)\nevent: [^\n]+\ndata: ([^\n]+)\n\n/g;

import { ConnectionError } from './errors.ts';
import type { Incoming, RequestOptions, Time } from './transport.ts';
import type { PetstoreEvent } from './types.ts';

/** The events of the store as they happen. It reconnects and continues until the loop over it ends. */
export interface EventStream extends AsyncIterable<PetstoreEvent> {
  /** The position to continue from: store it, and pass it as `after`. */
  readonly lastEventId: string | undefined;
}

/** A name that the minifier can shorten. */
export const iterator: typeof Symbol.asyncIterator = Symbol.asyncIterator;

/** The longest silence of a stream: three heartbeats of the service. */
const SILENCE_MS = 45_000;
/** The wait before reconnecting, unless the service names another one. */
const RECONNECT_MS = 2000;
/** Streams reconnect until the caller ends them. */
const FOREVER = 1e9;

/** Returns the events of one stream after another. @param send opens a stream */
export function eventStream(
  { after }: { readonly after?: string },
  options: RequestOptions,
  time: Time,
  send: (options: RequestOptions) => Promise<Incoming>,
): EventStream {
  const stream = {
    lastEventId: after,
    async *[iterator]() {
      for (let wait = RECONNECT_MS; ; ) {
        const headers = { ...options.headers, 'Last-Event-ID': stream.lastEventId };
        const { response } = await send({ ...options, maxRetries: options.maxRetries ?? FOREVER, headers });
        for await (const { id, data, retry } of messages(response.body!, time)) {
          // Heartbeats have only an id.
          stream.lastEventId = id ?? stream.lastEventId;
          wait = Number(retry ?? wait);
          if (data) yield JSON.parse(data) as PetstoreEvent;
        }
        await time.sleep(wait + time.random() * wait, options.signal);
      }
    },
  };
  return stream;
}

/** Yields the fields of each server-sent event until the connection ends. The service writes each value on one line. */
async function* messages(body: ReadableStream<Uint8Array>, time: Time) {
  let fields: Readonly<Record<string, string>> = {};
  try {
    for await (const line of lines(body, time)) {
      const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
      if (name !== undefined) fields = { ...fields, [name]: value! };
      if (line !== '') continue;
      yield fields;
      fields = {};
    }
  } catch {
    // The connection broke; the next one continues after the last event.
  }
}

/**
 * Yields the lines of a body as they arrive. Leaving the loop closes the connection.
 * @param time limits the silence between two parts
 * @throws {ConnectionError} when the connection breaks
 */
export async function* lines(body: ReadableStream<Uint8Array>, time?: Time): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const arrived = new AbortController();
      time?.sleep(SILENCE_MS, arrived.signal).then(
        () => reader.cancel(),
        () => {},
      );
      const { done, value } = await reader.read().finally(() => arrived.abort());
      if (done) break;
      const parts = (rest + value).split(/\r?\n/);
      rest = parts.pop()!;
      yield* parts;
    }
    if (rest) yield rest;
  } catch (cause) {
    throw new ConnectionError('The connection broke.', { cause });
  } finally {
    reader.cancel().catch(() => {});
  }
}

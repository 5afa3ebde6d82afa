import type { Incoming, RequestOptions, Time } from './transport.js';
import type { PetstoreEvent } from './types.js';
/** The events of the store as they happen. It reconnects and continues until the loop over it ends. */
export interface EventStream extends AsyncIterable<PetstoreEvent> {
    /** The position to continue from: store it, and pass it as `after`. */
    readonly lastEventId: string | undefined;
}
/** A name that the minifier can shorten. */
export declare const iterator: typeof Symbol.asyncIterator;
/** Returns the events of one stream after another. @param send opens a stream */
export declare function eventStream({ after }: {
    readonly after?: string;
}, options: RequestOptions, time: Time, send: (options: RequestOptions) => Promise<Incoming>): EventStream;
/**
 * Yields the lines of a body as they arrive. Leaving the loop closes the connection.
 * @param time limits the silence between two parts
 * @throws {ConnectionError} when the connection breaks
 */
export declare function lines(body: ReadableStream<Uint8Array>, time?: Time): AsyncGenerator<string>;

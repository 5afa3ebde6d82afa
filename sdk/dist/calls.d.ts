import type { Incoming } from './transport.js';
/** A call that was sent. Await it for its result. */
export interface Call<T> extends Promise<T> {
    /** Returns the result with the facts of its response. */
    withResponse(): Promise<Result<T>>;
}
/** The result of a call, and its response. */
export interface Result<T> {
    readonly data: T;
    readonly status: number;
    /** Identifies the version of the resource: the `ifMatch` of a change. */
    readonly etag: string | undefined;
    /** The id of the request in the logs of the service. */
    readonly requestId: string | undefined;
    readonly headers: Headers;
}
/** A call for a page of a list. Await it for the page, or loop over it with `for await` for the items of all pages. */
export interface Pages<T> extends Call<Page<T>>, AsyncIterable<T> {
}
/** A page of a list: an array with more properties. */
export type Page<T> = T[] & PageFacts;
interface PageFacts {
    /** The `cursor` of the next page; absent on the last page. */
    readonly next: string | undefined;
    /** The number of items on all pages, if the call asked for the `total` and the filters allow it. */
    readonly total: number | undefined;
    readonly etag: string | undefined;
    readonly requestId: string | undefined;
    /** On the last page of changes or events: where to continue later. */
    readonly syncToken: string | undefined;
}
/** A file. Await it for the response: its `body` is a stream; `text()` and `blob()` return it as a whole. */
export type Download = Call<Response>;
/** A file with one JSON value a line. Await it like any file, or loop over it with `for await` for its values. */
export interface Lines<T> extends Call<Response>, AsyncIterable<T> {
}
/** Returns a call. @param read returns the data of the response */
export declare function callOf<T>(sent: Promise<Incoming>, read: (incoming: Incoming) => T): Call<T>;
/** Returns the JSON body of a response; an array as a page. */
export declare function jsonOf({ response, text }: Incoming): unknown;
/** Yields the pages of a list. */
export declare function pagesFrom<T>(first: PromiseLike<Page<T>>, get: (cursor: string) => PromiseLike<Page<T>>): AsyncGenerator<Page<T>>;
export {};

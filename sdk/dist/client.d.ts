import { type Call } from './calls.js';
import { type Operations } from './operations.js';
import { type ClientOptions, type RequestOptions } from './transport.js';
import type { FullPet, ListPetsQuery, Pet, RemovedPet } from './types.js';
/** The values of query parameters. Arrays are repeated parameters. */
type Query = Readonly<Record<string, unknown>>;
/** A request to an operation that this version does not know. */
export interface RawRequest extends RequestOptions {
    readonly query?: Query;
    /** A JSON value. */
    readonly body?: unknown;
}
/** The changes of the catalog since a token; see `Client.mirror`. */
export interface Mirror<T> extends AsyncIterable<T> {
    /** Where the next run continues. Store it after the loop, together with your copy. */
    readonly token: string | undefined;
}
/** The options of `mirror`: a token or a time, and filters. Without `since` it starts with the whole catalog. */
export interface MirrorQuery extends Omit<ListPetsQuery, 'updatedSince' | 'includeRemoved' | 'cursor' | 'sort' | 'id'> {
    readonly since?: string | undefined;
}
declare class Client {
    #private;
    constructor(options: ClientOptions);
    /** Sends a request to a path below the base URL, with the retries of every call. */
    request<T = unknown>(method: string, path: string, { query, body, ...options }?: RawRequest): Call<T>;
    /**
     * Yields each animal that changed since a token, in its current state; deleted ones have `deletedAt`. Fails with
     * `sync_token_expired` when the token is too old: start again without one.
     */
    mirror(query: MirrorQuery & {
        readonly view: 'full';
    }, options?: RequestOptions): Mirror<FullPet | RemovedPet>;
    mirror(query?: MirrorQuery, options?: RequestOptions): Mirror<Pet | RemovedPet>;
}
/** A client of a pet store, with a method for each operation. */
export type PetStore = Client & Operations;
export declare const PetStore: new (options: ClientOptions) => PetStore;
export {};

/** The options of a client. Times are in seconds. */
export interface ClientOptions {
    /** Where the API is, such as `https://staging.example.org/v1`. */
    readonly baseUrl: string;
    /** The API key. Never put a secret key into a web page. */
    readonly apiKey: string;
    /** The time limit of one try; 30 by default. For exports and streams it ends with the head of the response. */
    readonly timeout?: number | undefined;
    /** How often a call is repeated; 5 by default. */
    readonly maxRetries?: number | undefined;
    /** The longest wait that the client accepts from `Retry-After`; 60 by default. */
    readonly maxWait?: number | undefined;
    /** Replaces the `fetch` of the platform. */
    readonly fetch?: typeof fetch | undefined;
    /** Replaces the clock of the platform, for tests. */
    readonly time?: Time | undefined;
}
/** The options of a call. */
export interface RequestOptions extends Pick<ClientOptions, 'timeout' | 'maxRetries' | 'maxWait'> {
    /** Ends the call, with all its tries. */
    readonly signal?: AbortSignal | undefined;
    /**
     * The `Idempotency-Key` of a POST or PATCH; by default a new one for each call. `null` sends none: then the call is not
     * repeated.
     */
    readonly idempotencyKey?: string | null | undefined;
    /** Changes the resource only if this is its `etag`; otherwise the call fails with `precondition_failed`. */
    readonly ifMatch?: string | undefined;
    /** Fails with status 304 if this is the `etag` of the resource. */
    readonly ifNoneMatch?: string | undefined;
    /** Requests the `total` of a page. */
    readonly total?: boolean | undefined;
    /** More request headers. */
    readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}
/** A clock, with times in milliseconds. */
export interface Time {
    now(): number;
    /** Resolves after a time; rejects once the signal is aborted. */
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
    /** Returns a number from 0 to less than 1. */
    random(): number;
}
/** What `fetch` takes as a body. */
export type FetchBody = NonNullable<RequestInit['body']>;
/** The body of a request. */
export interface RequestBody {
    readonly type: string;
    /** Returns the body, for each try. */
    open(): FetchBody | Promise<FetchBody>;
    /** Whether the body can be read only once. */
    readonly once?: boolean;
}
/** A request, without what every request has. */
export interface Outgoing {
    readonly method: string;
    /** The path below the base URL, with its query. */
    readonly path: string;
    readonly body?: RequestBody | undefined;
    /** Whether the caller reads the body of the response. */
    readonly streams?: boolean;
}
/** A successful response. */
export interface Incoming {
    readonly response: Response;
    /** The body; absent if the caller reads it. */
    readonly text?: string;
}
/** Sends requests, with time limits and retries. A 429 holds all requests of the instance back. */
export declare class Transport {
    #private;
    readonly time: Time;
    constructor(options: ClientOptions);
    /** Returns the first successful response. @throws {PetstoreError} */
    send(outgoing: Outgoing, options: RequestOptions): Promise<Incoming>;
}

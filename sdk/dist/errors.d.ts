import type { ErrorCode } from './types.js';
/** An invalid field of a request. */
export interface FieldError {
    /** A JSON Pointer into the body, or the name of a parameter. */
    readonly path: string;
    readonly code: string;
    readonly message: string;
}
/** The facts about a failed call. */
export interface ErrorDetails {
    readonly status?: number | undefined;
    readonly code?: ErrorCode | undefined;
    readonly errors?: readonly FieldError[] | undefined;
    readonly requestId?: string | undefined;
    readonly retryAfter?: number | undefined;
    readonly cause?: unknown;
}
/** A call that failed: an error response, or no response at all. */
export declare class PetstoreError extends Error {
    readonly name: string;
    /** The HTTP status; absent without a response. */
    readonly status: number | undefined;
    /** The code of the service; absent if a proxy responded, and for 304. */
    readonly code: ErrorCode | undefined;
    /** The invalid fields, if individual fields are invalid. */
    readonly errors: readonly FieldError[];
    /** The id of the request in the logs of the service. */
    readonly requestId: string | undefined;
    /** The seconds to wait before the next request, if the service names them. */
    readonly retryAfter: number | undefined;
    constructor(message: string, details: ErrorDetails);
}
/** 429, and every wait that is longer than `maxWait`. */
export declare class RateLimitError extends PetstoreError {
    readonly name = "RateLimitError";
    /** 0 if a proxy did not name the seconds. */
    readonly retryAfter: number;
}
/** No response: the connection failed, or the time ran out. `cause` has the reason. */
export declare class ConnectionError extends PetstoreError {
    readonly name = "ConnectionError";
}
/**
 * Returns the error of a response. Reads its body to the end, so that the connection can be used again; if the body breaks
 * off, the status and the headers still count.
 */
export declare function errorOf(response: Response): Promise<PetstoreError>;
export declare function headerOf({ headers }: Response, name: string): string | undefined;

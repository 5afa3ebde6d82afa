import type { ErrorCode } from './types.ts';

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
export class PetstoreError extends Error {
  override readonly name: string = 'PetstoreError';
  /** The HTTP status; absent without a response. */
  declare readonly status: number | undefined;
  /** The code of the service; absent if a proxy responded, and for 304. */
  declare readonly code: ErrorCode | undefined;
  /** The invalid fields, if individual fields are invalid. */
  declare readonly errors: readonly FieldError[];
  /** The id of the request in the logs of the service. */
  declare readonly requestId: string | undefined;
  /** The seconds to wait before the next request, if the service names them. */
  declare readonly retryAfter: number | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    Object.assign(this, { errors: [], ...details });
  }
}

/** 429, and every wait that is longer than `maxWait`. */
export class RateLimitError extends PetstoreError {
  override readonly name = 'RateLimitError';
  /** 0 if a proxy did not name the seconds. */
  declare readonly retryAfter: number;
}

/** No response: the connection failed, or the time ran out. `cause` has the reason. */
export class ConnectionError extends PetstoreError {
  override readonly name = 'ConnectionError';
}

/**
 * Returns the error of a response. Reads its body to the end, so that the connection can be used again; if the body breaks
 * off, the status and the headers still count.
 */
export async function errorOf(response: Response): Promise<PetstoreError> {
  const { status } = response;
  const { message = `Status ${status}`, code, errors = [] } = bodyOf(await response.text().catch(() => ''));
  const [requestId, after] = [headerOf(response, 'X-Request-Id'), headerOf(response, 'Retry-After')];
  const details = {
    status,
    code,
    errors,
    requestId,
    retryAfter: after ? secondsOf(after) : status === 429 ? 0 : undefined,
  };
  return status === 429 ? new RateLimitError(message, details) : new PetstoreError(message, details);
}

export function headerOf({ headers }: Response, name: string): string | undefined {
  return headers.get(name) ?? undefined;
}

function bodyOf(text: string): { code?: ErrorCode; message?: string; errors?: FieldError[] } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Returns the seconds of a `Retry-After` header, which proxies also write as a date; 0 if it is something else. */
function secondsOf(text: string): number {
  const seconds = Number(text);
  return seconds >= 0 ? seconds : Math.max(0, (Date.parse(text) - Date.now()) / 1000) || 0;
}

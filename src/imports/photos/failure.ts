import { BodyTooLarge } from '../../lib/http/client/get-once.ts';
import { type Fault, RequestError } from '../../lib/http/client/outcome.ts';
import { Problem } from '../../lib/http/problem.ts';

/** Why a photo was not fetched. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Whether it is tried again: never, this URL, or all of its host; `always` does not count as an attempt. */
  readonly retry: 'never' | 'url' | 'host' | 'always';
  readonly retryAfterMs?: number | undefined;
}

/** After how long a photo is fetched again that could not be stored. */
const STORAGE_RETRY_MS = 10 * 60_000;

/** A response without a photo. */
export class StatusError extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status = 0, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Returns why a photo was not fetched. @throws an error that is a fault of this process */
export function failureOf(error: unknown): Failure {
  if (error instanceof RequestError) return { code: 'photo_unreachable', ...faults[error.fault] };
  if (error instanceof BodyTooLarge) {
    return { code: 'photo_too_large', message: 'The file has more than 10 MiB.', retry: 'never' };
  }
  if (error instanceof StatusError) {
    const { status, message, retryAfterMs } = error;
    const isTemporary = status === 408 || status === 425 || status === 429 || status >= 500;
    return { code: 'photo_not_fetched', message, retry: isTemporary ? 'url' : 'never', retryAfterMs };
  }
  if (!(error instanceof Problem)) throw error;
  const { code, message, status } = error;
  if (status < 500) return { code, message, retry: 'never' };
  // A queue is short soon; a full disk stays full for a while, and each attempt fetches the file again.
  return { code, message, retry: 'always', ...(code !== 'overloaded' && { retryAfterMs: STORAGE_RETRY_MS }) };
}

const faults: Readonly<Record<Fault, Omit<Failure, 'code'>>> = {
  forbidden_url: { message: 'Its URL, or that of a redirect, is not allowed: it must be https.', retry: 'never' },
  forbidden_address: { message: 'Its address, or that of a redirect, is not public.', retry: 'never' },
  unresolved: { message: 'The name of the host has no public address.', retry: 'host' },
  refused: { message: 'The host refuses connections.', retry: 'host' },
  unreachable: { message: 'The host cannot be reached.', retry: 'host' },
  tls: { message: 'The TLS handshake failed: the certificate may be invalid.', retry: 'host' },
  timeout: { message: 'The file did not arrive within 30 seconds.', retry: 'host' },
  reset: { message: 'The connection was closed before the end of the file.', retry: 'url' },
  malformed_answer: { message: 'The response is not valid HTTP.', retry: 'url' },
  busy: { message: 'The service sends too many requests.', retry: 'always' },
  withdrawn: { message: 'The request was withdrawn.', retry: 'always' },
  aborted: { message: 'The service is stopping.', retry: 'always' },
  failed: { message: 'The request could not be sent.', retry: 'url' },
};

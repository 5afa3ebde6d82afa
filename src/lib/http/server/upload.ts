import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problem.ts';

/** The limits of a body. */
interface UploadLimits {
  readonly bytesMax: number;
  /** How long it may take; then the response is 408. Without it, only the server limits it. */
  readonly timeoutMs?: number;
}

/** How long a client that has its response may go on sending. */
const LINGER_MS = 5000;

/**
 * Returns the chunks of a body as they are read; the client waits while nothing reads. What is not read is discarded.
 * @param errorOf returns the problem that reading throws
 */
export async function* readUpload(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, timeoutMs = Number.POSITIVE_INFINITY }: UploadLimits,
  errorOf: (code: 'body_too_large' | 'malformed_request' | 'request_timeout') => Problem,
): AsyncGenerator<Buffer> {
  // The client may have gone while the handler prepared to read. Then no event follows.
  if (request.socket.destroyed || response.closed) throw errorOf('malformed_request');
  // Node reports neither the end nor an error of a body whose request it has answered itself, with 408 for example.
  const stop = () => request.destroy();
  response.once('close', stop);
  const endMs = performance.now() + timeoutMs;
  let bytes = 0;
  let isLate = false;
  try {
    // The connection stays open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      isLate = performance.now() > endMs;
      if (bytes > bytesMax || isLate) break;
      yield chunk as Buffer;
    }
  } catch {
    throw errorOf('malformed_request');
  } finally {
    response.off('close', stop);
    request.resume();
    if (timeoutMs !== Number.POSITIVE_INFINITY && !request.complete) endLater(request);
  }
  if (bytes > bytesMax) throw errorOf('body_too_large');
  if (isLate) throw errorOf('request_timeout');
}

/** Closes the connection of a request that goes on arriving: the server may limit its time no more. */
function endLater(request: IncomingMessage): void {
  const timer = setTimeout(() => request.complete || request.destroy(), LINGER_MS);
  request.socket.once('close', () => clearTimeout(timer));
}

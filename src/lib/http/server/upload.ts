import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problem.ts';
import { limitRest } from './rest-of-body.ts';
import type { UploadSlot } from './upload-slots.ts';

/** The limits of a body. */
interface UploadLimits {
  readonly bytesMax: number;
  /** How long it may take; then the response is 408. Without it, only the server limits it. */
  readonly timeoutMs?: number;
  /** Requests the slot that the upload has from its first byte to its response. */
  requestSlot(): UploadSlot;
}

/**
 * Returns the chunks of a body as they are read; the client waits while nothing reads. What is not read is discarded.
 * @param errorOf returns the problem that reading throws
 * @throws {Problem} also `overloaded` or `request_timeout`, as `UploadSlots` decides
 */
export async function* readUpload(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, timeoutMs = Number.POSITIVE_INFINITY, requestSlot }: UploadLimits,
  errorOf: (code: 'body_too_large' | 'malformed_request' | 'request_timeout') => Problem,
): AsyncGenerator<Buffer> {
  // The client may have gone while the handler prepared to read. Then no event follows.
  const requireClient = () => {
    if (request.socket.destroyed || response.closed) throw errorOf('malformed_request');
  };
  requireClient();
  const slot = requestSlot();
  response.once('close', slot.release);
  await slot.ready;
  requireClient();
  const endMs = performance.now() + timeoutMs;
  let bytes = 0;
  let wake = () => {};
  const onEvent = () => wake();
  for (const event of EVENTS) request.on(event, onEvent);
  // Node reports neither the end nor an error of a body whose request it has answered itself, with 408 for example.
  response.once('close', onEvent);
  try {
    while (!request.readableEnded) {
      const chunk: Buffer | null = request.read();
      if (chunk === null) {
        if (request.destroyed || response.closed) throw errorOf('malformed_request');
        await slot.waitForBytes(done => {
          wake = done;
        });
        continue;
      }
      slot.receive(chunk.length);
      bytes += chunk.length;
      if (bytes > bytesMax) throw errorOf('body_too_large');
      if (performance.now() > endMs) throw errorOf('request_timeout');
      yield chunk;
    }
  } finally {
    for (const event of EVENTS) request.off(event, onEvent);
    response.off('close', onEvent);
    request.resume();
    if (!request.complete) limitRest(request, () => request.destroy());
  }
}

/** Whatever can happen to a body that is being read. */
const EVENTS = ['readable', 'end', 'error', 'close'] as const;

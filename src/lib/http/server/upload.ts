import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problem.ts';
import { limitRest } from './rest-of-body.ts';
import type { UploadSlot } from './upload-slots.ts';

/** The limits of a body. */
interface UploadLimits {
  readonly bytesMax: number;
  /** The time limit; an upload that exceeds it gets 408. By default that of the server. */
  readonly timeoutMs?: number;
  /** Requests the slot that the upload keeps from its first byte to its response. */
  requestSlot(): UploadSlot;
}

/**
 * Returns the chunks of a body as they are read; the client waits between reads. Unread chunks are discarded.
 * @param errorOf returns the problem that reading throws
 * @throws {Problem} also `overloaded` or `request_timeout`, from `UploadSlots`
 */
export async function* readUpload(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, timeoutMs = Number.POSITIVE_INFINITY, requestSlot }: UploadLimits,
  errorOf: (code: 'body_too_large' | 'malformed_request' | 'request_timeout') => Problem,
): AsyncGenerator<Buffer> {
  // If the client disconnected while the handler prepared to read, no event follows.
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
  // Node emits no event for a body after it has responded itself, for example with 408.
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

/** The events of a body that is being read. */
const EVENTS = ['readable', 'end', 'error', 'close'] as const;

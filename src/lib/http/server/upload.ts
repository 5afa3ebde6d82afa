import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problem.ts';

/**
 * Returns the chunks of a body as they are read; the client waits while nothing reads. What is not read is discarded.
 * @param errorOf returns the problem that reading throws
 */
export async function* readUpload(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
  errorOf: (code: 'body_too_large' | 'malformed_request') => Problem,
): AsyncGenerator<Buffer> {
  // The client may have gone while the handler prepared to read. Then no event follows.
  if (request.socket.destroyed || response.closed) throw errorOf('malformed_request');
  // Node reports neither the end nor an error of a body whose request it has answered itself, with 408 for example.
  const stop = () => request.destroy();
  response.once('close', stop);
  let bytes = 0;
  try {
    // The connection stays open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > bytesMax) break;
      yield chunk as Buffer;
    }
  } catch {
    throw errorOf('malformed_request');
  } finally {
    response.off('close', stop);
    request.resume();
  }
  if (bytes > bytesMax) throw errorOf('body_too_large');
}

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { MaybePromise } from '../../maybe-promise.ts';
import { request as httpRequest } from '../node-http.ts';
import { BODY_KEPT_BYTES, type Fault, faultOf } from './outcome.ts';

/** The result of one request on one connection. */
type PostResult =
  | { readonly head: IncomingMessage; readonly body: Buffer }
  /**
   * `stale`: a kept-alive connection was closed before the first byte of a response, so the request may be repeated.
   */
  | { readonly fault: Fault; readonly stale: boolean };

/** See `OutgoingRequest`. */
type IsAllowed = () => MaybePromise<boolean>;

/** How many bytes of a response body are read. */
const BODY_BYTES_MAX = 65_536;
export const HEAD_BYTES_MAX = 16_384;
/** How many interim responses (1xx) may precede the final one. */
export const INTERIM_MAX = 16;
/** How many bytes of a response are read in total: this is the only limit on chunk extensions and padding. */
const RESPONSE_BYTES_MAX = (INTERIM_MAX + 1) * HEAD_BYTES_MAX + BODY_BYTES_MAX;

/**
 * Sends one POST request and reads the beginning of the response. Never rejects.
 *
 * A response counts once its headers are complete, even if the body is incomplete. The connection is kept alive only if
 * the request and the response are complete.
 * @param timeoutMs limits DNS, connection, TLS, sending and the response together
 */
export function postOnce(
  tls: boolean,
  options: RequestOptions,
  body: string | Buffer,
  timeoutMs: number,
  { signal, isAllowed }: { readonly signal: AbortSignal; readonly isAllowed: IsAllowed | undefined },
): Promise<PostResult> {
  return new Promise(resolve => {
    let request: ClientRequest | undefined;
    const response = new ResponseReader();
    let ended = false;

    const end = (fault: Fault) => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      const { head } = response;
      const stale = fault === 'reset' && request?.reusedSocket === true && response.bytes === 0;
      resolve(head === undefined ? { fault, stale } : { head, body: Buffer.concat(response.body) });
      if (head?.complete !== true || request?.writableFinished !== true) request?.destroy();
    };
    const timer = setTimeout(end, Math.max(1, timeoutMs), 'timeout');
    const abort = () => end('aborted');
    signal.addEventListener('abort', abort);

    try {
      request = (tls ? httpsRequest : httpRequest)({ ...options, method: 'POST', maxHeaderSize: HEAD_BYTES_MAX });
    } catch {
      // Node throws for header names and values that HTTP cannot carry.
      end('failed');
      return;
    }
    request.on('error', error => end(faultOf(error, tls)));
    request.on('close', () => end('reset'));
    response.readFrom(request, end);
    if (isAllowed === undefined) request.end(body);
    else onceConnected(request, tls, () => sendIfAllowed(request!, body, isAllowed, () => end('withdrawn')));
  });
}

/** Sends a request in the same turn of the event loop in which `isAllowed` allows it. */
async function sendIfAllowed(
  request: ClientRequest,
  body: string | Buffer,
  isAllowed: IsAllowed,
  withdraw: () => void,
): Promise<void> {
  try {
    const allowed = isAllowed();
    if (typeof allowed === 'boolean' ? allowed : await allowed) {
      if (!request.destroyed) request.end(body);
      return;
    }
  } catch {
    // If the check fails, the request is not sent.
  }
  withdraw();
}

/** Calls `listener` once the request has an open connection. */
function onceConnected(request: ClientRequest, tls: boolean, listener: () => void): void {
  request.once('socket', socket => {
    if (request.reusedSocket || !(tls || socket.connecting)) listener();
    else socket.once(tls ? 'secureConnect' : 'connect', listener);
  });
}

/** Reads the response to one request within the limits above. */
class ResponseReader {
  /** The final response, once its headers are complete. */
  head: IncomingMessage | undefined;
  readonly body: Buffer[] = [];
  /** The number of bytes received on the connection. */
  bytes = 0;
  #bodyBytes = 0;
  #interim = 0;

  /** @param end called when the response is complete, truncated or malformed */
  readFrom(request: ClientRequest, end: (fault: Fault) => void): void {
    const count = (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.bytes > RESPONSE_BYTES_MAX) end('malformed_answer');
    };
    request.once('socket', socket => {
      socket.on('data', count);
      request.once('close', () => socket.off('data', count));
    });
    request.on('information', () => {
      if (++this.#interim > INTERIM_MAX) end('malformed_answer');
    });
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      end('malformed_answer');
    });
    request.on('response', head => {
      if (head.statusCode! < 100) {
        end('malformed_answer');
        return;
      }
      this.head = head;
      head.on('data', (chunk: Buffer) => {
        if (this.#bodyBytes < BODY_KEPT_BYTES) this.body.push(chunk.subarray(0, BODY_KEPT_BYTES - this.#bodyBytes));
        this.#bodyBytes += chunk.length;
        if (this.#bodyBytes > BODY_BYTES_MAX) end('reset');
      });
      for (const event of ['end', 'error', 'close']) head.on(event, () => end('reset'));
    });
  }
}

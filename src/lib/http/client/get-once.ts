import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { request as httpRequest } from '../node-http.ts';
import { faultOf, RequestError } from './outcome.ts';
import { HEAD_BYTES_MAX, INTERIM_MAX } from './post-once.ts';

/** A response whose body has not been read. */
export interface OpenResponse {
  readonly head: IncomingMessage;
  /** Reading it throws a {@link RequestError} or {@link BodyTooLarge}. */
  readonly body: AsyncIterable<Buffer>;
  /** Closes the connection unless the body was read to its end. */
  close(): void;
}

/**
 * Sends one GET request, and returns the response once its headers are complete.
 * @param signal ends the request and the body with its reason, a {@link RequestError}
 * @throws {StaleConnection} if a kept-alive connection was closed, so the request may be repeated
 * @throws {RequestError} if there is no response
 */
export async function getOnce(
  tls: boolean,
  options: RequestOptions,
  bytesMax: number,
  signal: AbortSignal,
): Promise<OpenResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = open(tls, { ...options, method: 'GET', maxHeaderSize: HEAD_BYTES_MAX, signal });
  const fail = (error: Error) => {
    const { fault } = signal.aborted ? (signal.reason as RequestError) : new RequestError(faultOf(error, tls));
    reject(fault === 'reset' && request.reusedSocket ? new StaleConnection(fault) : new RequestError(fault));
  };
  let interim = 0;
  request
    .on('error', fail)
    .on('close', () => fail(new RequestError('reset')))
    .on('response', resolve)
    .on('upgrade', (_, socket) => {
      socket.destroy();
      fail(new RequestError('malformed_answer'));
    })
    .on('information', () => {
      if (++interim > INTERIM_MAX) request.destroy(new RequestError('malformed_answer'));
    })
    .end();
  const head = await promise;
  // Reading the body throws this error.
  head.on('error', () => {});
  const close = () => {
    if (!head.readableEnded) request.destroy();
  };
  if (head.statusCode! >= 100) {
    return { head, body: bodyOf(head, bytesMax, signal), close };
  }
  close();
  throw new RequestError('malformed_answer');
}

/** A kept-alive connection that was closed before the first byte of a response. */
export class StaleConnection extends RequestError {}

/** A body that is longer than the limit of its request. */
export class BodyTooLarge extends Error {}

function open(tls: boolean, options: RequestOptions) {
  try {
    return (tls ? httpsRequest : httpRequest)(options);
  } catch {
    // Node throws for header names and values that HTTP cannot carry.
    throw new RequestError('failed');
  }
}

async function* bodyOf(head: IncomingMessage, bytesMax: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  let bytes = Number(head.headers['content-length'] ?? 0);
  if (bytes > bytesMax) throw new BodyTooLarge();
  bytes = 0;
  try {
    for await (const chunk of head as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new BodyTooLarge();
      yield chunk;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof BodyTooLarge ? error : new RequestError('reset');
  }
  if (!head.complete) throw signal.aborted ? signal.reason : new RequestError('reset');
}

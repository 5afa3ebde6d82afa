import { Problem } from '../problem.ts';
import type { Upload } from '../route.ts';
import type { BoundRoute } from './bound-route.ts';
import { clientAddress } from './client-address.ts';
import type { Connections } from './connections.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServerOptions } from './options.ts';
import { readBody } from './read-body.ts';
import { readUpload } from './upload.ts';

/** The body of a request, the file that its handler reads, or nothing; or the error of the body. */
export type ReceivedBody =
  | { readonly bytes?: Buffer; readonly upload?: AsyncIterable<Buffer> }
  | { readonly problem: Problem };

/** Receives the bodies of requests to operations, within the memory and slots of their accounts. */
export class BodyReceiver<Context> {
  readonly #options: HttpServerOptions<Context>;
  readonly #errors: ErrorResponses;
  readonly #connections: Connections;

  constructor(options: HttpServerOptions<Context>, errors: ErrorResponses, connections: Connections) {
    this.#options = options;
    this.#errors = errors;
    this.#connections = connections;
  }

  /** Receives the body of an authenticated request. @param done called once, unless the client has disconnected */
  receive(exchange: Exchange, { route }: BoundRoute<Context>, done: (received: ReceivedBody) => void): void {
    const { request, response } = exchange;
    // The address of a connection is unknown once it is closed.
    exchange.address = clientAddress(request, this.#options.proxies);
    const { 'content-length': declared, 'content-type': type, 'transfer-encoding': encoding } = request.headers;
    if (compressed.test(request.headers['content-encoding'] ?? '')) {
      const message = 'The body must not be compressed: send it without Content-Encoding.';
      done({ problem: new Problem('invalid_content_type', 400, message) });
    } else if (route.upload !== undefined) done(this.#receiveUpload(exchange, route.upload));
    else if (type !== undefined && !mediaType.test(type))
      done({ problem: this.#errors.problem('invalid_content_type') });
    else if (encoding === undefined && (declared === undefined || declared === '0')) done({});
    else {
      const { requestContext } = this.#options;
      readBody(
        request,
        response,
        declared,
        bytes => {
          const isReserved = this.#options.bodies.reserve(exchange.caller!.accountId, bytes);
          if (isReserved) exchange.bodyBytes += bytes;
          return isReserved;
        },
        read => {
          const received = 'bytes' in read ? read : { problem: this.#problemOf(read.error) };
          if (requestContext === undefined) done(received);
          else requestContext.resume(request, () => done(received));
        },
      );
    }
  }

  /** Releases the memory that is reserved for a body. */
  release(exchange: Exchange): void {
    this.#options.bodies.release(exchange.caller!.accountId, exchange.bodyBytes);
    exchange.bodyBytes = 0;
  }

  /** Passes the body to the handler without keeping it in memory. */
  #receiveUpload(exchange: Exchange, upload: Upload): ReceivedBody {
    const { request, response } = exchange;
    const { kind, contentTypes, advice = {}, bytesMax, timeoutMs } = upload;
    const { 'content-length': declared = '0', 'content-type': type = '' } = request.headers;
    const mediaType = type.split(';')[0]!.trim().toLowerCase();
    if (!contentTypes.includes(mediaType)) {
      const message = `The Content-Type must be one of ${contentTypes.join(', ')}.`;
      const advised = Object.hasOwn(advice, mediaType) ? `${message} ${advice[mediaType]}` : message;
      return { problem: new Problem('invalid_content_type', 400, advised) };
    }
    const errorOf = this.#errors.ofUpload(bytesMax);
    if (Number(declared) > bytesMax) return { problem: errorOf('body_too_large') };
    if (timeoutMs !== undefined) this.#connections.allowSlowBody(request.socket, response);
    const client = { address: exchange.address, account: exchange.caller };
    const requestSlot = () => this.#options.uploads.request(kind, client);
    const body = readUpload(request, response, { ...upload, requestSlot }, errorOf);
    // Discard the rest of the body, so that the connection stays open.
    response.once('finish', () => body.return(undefined));
    return { upload: body };
  }

  #problemOf(code: 'body_too_large' | 'malformed_request' | 'overloaded'): Problem {
    return this.#errors.problem(code, code === 'overloaded' ? ['Retry-After', '1'] : []);
  }
}

/** The values of Content-Encoding of a compressed body. Others, such as `utf-8`, are mistakes, and ignored. */
const compressed = /gzip|deflate|compress|\bbr\b|zstd/i;

/** A Content-Type that starts with a well-formed media type (RFC 9110, 8.3.1). */
const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

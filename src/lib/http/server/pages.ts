import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { SharedBudget } from '../../shared-budget.ts';
import { Problem } from '../problem.ts';
import { prefersHtml } from './accept.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { ENVELOPE_BYTES_MAX, type FileForm, readFileForm } from './multipart.ts';
import { type Read, readBody } from './read-body.ts';
import { type PageContent, writePage } from './responses.ts';
import { readUpload } from './upload.ts';
import type { UploadClient, UploadSlots } from './upload-slots.ts';

/** A page outside the API, or what one of its forms is sent to. It needs no key. */
export interface PageRoute {
  /** `GET` serves `HEAD` too. */
  readonly method: 'GET' | 'POST';
  /** The path with parameters in braces; it may end with `*`, which is a parameter of that name. */
  readonly path: string;
  /** Whether its responses show the rate limit of the client's address. They are not counted. */
  readonly showsLimits?: true;
  /** Returns the page, or `undefined` when there is none after all. */
  handle(request: PageRequest): MaybePromise<PageContent | undefined>;
}

/** The request of a page. */
export interface PageRequest {
  readonly requestId: string;
  /** The public address as this client reaches it, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether the request came to a trusted proxy over TLS. */
  readonly tls: boolean;
  /** The client's address, as the trusted proxies forward it. */
  readonly address: string;
  /** The path as it was sent. */
  readonly path: string;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /**
   * Reads the fields of the form that was sent.
   * @param client what the memory counts for: an account or a network
   * @param bytesMax the largest form; 64 KiB by default
   * @throws {Problem} when the body is no form, is too large, or there is no memory for it
   */
  readForm(client: string, bytesMax?: number): Promise<URLSearchParams>;
  /**
   * Reads the fields of a form with a file, of which nothing is kept in memory.
   * @throws {Problem} when the body is no such form, or there is no slot for it; reading the file throws `body_too_large` too
   */
  readFileForm(file: FileLimits, account: UploadClient['account']): Promise<FileForm>;
}

/** The file of a form. */
export interface FileLimits {
  /** The kind, whose slots it takes; see `UploadSlots`. */
  readonly kind: string;
  readonly bytesMax: number;
}

/** What pages need from the server. */
export interface PageOptions {
  /** The slots of uploads, which several servers can share. */
  readonly uploads: UploadSlots;
  /** Limits the memory for bodies, by account; several servers can share it. */
  readonly bodies: SharedBudget<number>;
  /** Shares the part for forms between visitors. */
  readonly forms: SharedBudget<string>;
  /** Converts an error that a route or a page has thrown, and logs what callers must not see. */
  problemOf(error: unknown, exchange: Exchange): Problem;
  /** Returns the HTML page on a problem of a request for a page. */
  errorPage(problem: Problem, requestId: string): PageContent;
  /** Called after each response outside the API. `path` is that of the page, if there is one; `code` is '' for a success. */
  onPage?(exchange: Exchange, path: string | undefined, code: string): void;
}

/** The largest form, in bytes, of pages that set no other limit. */
const FORM_BYTES_MAX = 64 * 1024;
/** All visitors share one account of the budget of bodies. */
const VISITORS = 0;
const noForm = new URLSearchParams();

/** Serves the pages of an address, and its responses to requests for paths that do not exist. */
export class PageServer {
  readonly #options: PageOptions;
  readonly #errors: ErrorResponses;

  constructor(options: PageOptions, errors: ErrorResponses) {
    this.#options = options;
    this.#errors = errors;
  }

  /** Never rejects. @param connection the headers that end the connection, if it is to end */
  async serve(exchange: Exchange, page: PageRoute, connection: readonly string[]): Promise<void> {
    try {
      const content = await this.#contentOf(exchange, page);
      if (content === undefined) this.reject(exchange, this.#errors.problem('route_not_found'), connection, page);
      else {
        const limits = page.showsLimits ? this.#errors.addressHeaders(exchange.request) : [];
        await writePage(exchange, content, limits.concat(connection));
        this.#options.onPage?.(exchange, page.path, '');
      }
    } catch (error) {
      this.reject(exchange, this.#options.problemOf(error, exchange), connection, page);
    }
  }

  /** Rejects a request for a path outside the API: with a page for browsers, otherwise with an Error body. */
  reject(exchange: Exchange, problem: Problem, connection: readonly string[], page?: PageRoute): void {
    const { request, requestId } = exchange;
    if (prefersHtml(request.headers.accept)) {
      const page = this.#options.errorPage(problem, requestId);
      writePage(exchange, page, problem.headers.concat(connection));
    } else {
      this.#errors.write(exchange, problem, this.#errors.addressHeaders(request).concat(connection));
    }
    this.#options.onPage?.(exchange, page?.path, problem.code);
  }

  /** Responds to OPTIONS with the methods of a page. A preflight is granted nothing, because pages are for their own site. */
  allow(exchange: Exchange, methods: readonly string[], connection: readonly string[]): void {
    const headers = ['Allow', [...methods, 'OPTIONS'].join(', '), ...this.#errors.addressHeaders(exchange.request)];
    writePage(exchange, { status: 204, bytes: '', headers }, connection);
    this.#options.onPage?.(exchange, undefined, '');
  }

  async #contentOf(exchange: Exchange, page: PageRoute): Promise<PageContent | undefined> {
    // What the page has not read of a file is discarded before the response, so that the connection stays open.
    await using files = new AsyncDisposableStack();
    return await page.handle(this.#requestOf(exchange, files));
  }

  #requestOf(exchange: Exchange, files: AsyncDisposableStack): PageRequest {
    const { request, requestId, publicUrl, tls, path, search, parameters } = exchange;
    return {
      ...{ requestId, publicUrl, tls, path, search, parameters },
      // The address of a connection is unknown once it is closed.
      address: this.#errors.addressOf(request),
      header: name => headerOf(request, name),
      readForm: (client, bytesMax) => this.#readForm(exchange, client, bytesMax),
      readFileForm: (file, account) => this.#readFileForm(exchange, file, account, files),
    };
  }

  async #readFileForm(
    { request, response }: Exchange,
    { kind, bytesMax: fileBytesMax }: FileLimits,
    account: UploadClient['account'],
    files: AsyncDisposableStack,
  ): Promise<FileForm> {
    const { 'content-length': declared = '0', 'content-type': type = '' } = request.headers;
    const address = this.#errors.addressOf(request);
    const bytesMax = fileBytesMax + ENVELOPE_BYTES_MAX;
    const errorOf = (code: 'body_too_large' | 'malformed_request' | 'request_timeout') => {
      if (code !== 'body_too_large') return this.#errors.problem(code);
      return new Problem(code, 413, `The file is larger than ${fileBytesMax / 1024 / 1024} MiB.`);
    };
    if (Number(declared) > bytesMax) throw errorOf('body_too_large');
    const requestSlot = () => this.#options.uploads.request(kind, { address, account });
    const upload = files.use(readUpload(request, response, { bytesMax, requestSlot }, errorOf));
    const { fields, file } = await readFileForm(upload, type);
    return { fields, file: file && upTo(fileBytesMax, file, () => errorOf('body_too_large')) };
  }

  async #readForm(
    { request, response }: Exchange,
    client: string,
    bytesMax = FORM_BYTES_MAX,
  ): Promise<URLSearchParams> {
    const { 'content-length': declared, 'content-type': type = '', 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && (declared === undefined || declared === '0')) return noForm;
    if (!/^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
      throw new Problem('invalid_content_type', 400, 'Send the form as application/x-www-form-urlencoded.');
    }
    const { bodies, forms } = this.#options;
    let reserved = 0;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const reserve = (bytes: number) => {
      if (!forms.reserve(client, bytes)) return false;
      const isReserved = bodies.reserve(VISITORS, bytes);
      if (isReserved) reserved += bytes;
      else forms.release(client, bytes);
      return isReserved;
    };
    const done = (read: Read) => {
      if ('bytes' in read) resolve(read.bytes.toString('utf8'));
      else if (read.error === 'body_too_large')
        reject(new Problem(read.error, 413, `The form is larger than ${bytesMax / 1024} KiB.`));
      else reject(this.#errors.problem(read.error, read.error === 'overloaded' ? ['Retry-After', '1'] : []));
    };
    // Node reports neither the end nor an error of a body whose request it has answered itself, with 408 for example.
    response.once('close', readBody(request, declared, reserve, done, bytesMax));
    try {
      return new URLSearchParams(await promise);
    } finally {
      if (reserved > 0) {
        forms.release(client, reserved);
        bodies.release(VISITORS, reserved);
      }
    }
  }
}

/** Yields the chunks of a file; throws once they are more than `bytesMax`. */
async function* upTo(bytesMax: number, file: AsyncIterable<Buffer>, error: () => Problem): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of file) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw error();
    yield chunk;
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

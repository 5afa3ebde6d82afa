import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from '../../maybe-promise.ts';
import { Problem } from '../problem.ts';
import { prefersHtml } from './accept.ts';
import { clientAddress, type TrustedProxies } from './client-address.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { ENVELOPE_BYTES_MAX, type FileForm, readFileForm } from './multipart.ts';
import { type PageContent, writePage } from './responses.ts';
import { readUpload } from './upload.ts';
import type { UploadClient, UploadSlots } from './upload-slots.ts';
import { type BodyBudgets, WholeBody } from './whole-body.ts';

/** A page outside the API, or the target of one of its forms. It needs no key. */
export interface PageRoute {
  /** `GET` serves `HEAD` too. */
  readonly method: 'GET' | 'POST';
  /** The path with parameters in braces; it may end with `*`, which is a parameter of that name. */
  readonly path: string;
  /** Whether its responses show the rate limit of the client's address. They are not counted. */
  readonly showsLimits?: true;
  /** Returns the page, or `undefined` if it does not exist. */
  handle(request: WebPageRequest): MaybePromise<PageContent | undefined>;
}

/** The `cacheControl` of a page whose path changes with its bytes: any cache may keep it forever. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The request of a page. */
export interface WebPageRequest {
  readonly requestId: string;
  /** The public address as this client reaches it, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether the request came to a trusted proxy over TLS. */
  readonly tls: boolean;
  /** The client's address, as reported by trusted proxies. */
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
   * Reads the fields of the submitted form.
   * @param client the owner of the used memory: an account or a network
   * @param bytesMax the largest form; 64 KiB by default
   * @throws {Problem} when the body is not a form, is too large, or memory is short
   */
  readForm(client: string, bytesMax?: number): Promise<URLSearchParams>;
  /**
   * Reads the fields of a form with a file, without keeping the file in memory.
   * @throws {Problem} when the body is not such a form, or no slot is free; reading the file also throws
   *   `body_too_large`
   */
  readFileForm(file: FileLimits, account: UploadClient['account']): Promise<FileForm>;
}

/** The file of a form. */
export interface FileLimits {
  /** The kind of upload, whose slots it uses; see `UploadSlots`. */
  readonly kind: string;
  readonly bytesMax: number;
}

/** The options of pages. */
export interface PageOptions extends BodyBudgets {
  /** The pages outside the API that are served from the start. */
  readonly pages: readonly PageRoute[];
  /** Returns the other pages. Called at the first request for such a page; repeated if it failed. */
  loadPages?(): Promise<readonly PageRoute[]>;
  /** The slots of uploads, which several servers can share. */
  readonly uploads: UploadSlots;
  readonly proxies: TrustedProxies;
  /** Converts an error of a route or a page, and logs details that callers must not see. */
  problemOf(error: unknown, exchange: Exchange): Problem;
  /** Returns the HTML page that shows a problem to a browser. */
  errorPage(problem: Problem, requestId: string): PageContent;
  /**
   * Called after each response outside the API. `path` is that of the page, if it exists; `code` is '' for a success.
   */
  onPage?(exchange: Exchange, path: string | undefined, code: string): void;
}

/** The methods of the router that pages use. */
interface PageRouter {
  addPages(pages: readonly PageRoute[]): void;
  /** Returns the methods of the pages at a path. */
  pageMethodsOf(path: string): string[];
  /** Returns the path of the operation that a path outside the API probably means. */
  pathInApi(path: string): string | undefined;
}

/** The largest form, in bytes, of pages that set no other limit. */
const FORM_BYTES_MAX = 64 * 1024;
const noForm = new URLSearchParams();

/** Serves the pages of an address, and its responses to requests for paths that do not exist. */
export class PageServer {
  readonly #options: PageOptions;
  readonly #errors: ErrorResponses;
  readonly #router: PageRouter;
  /** Resolves once the other pages are served too; absent before the first request for one. */
  #loading: Promise<void> | undefined;
  #hasAllPages: boolean;

  constructor(options: PageOptions, errors: ErrorResponses, router: PageRouter) {
    this.#options = options;
    this.#errors = errors;
    this.#router = router;
    this.#hasAllPages = options.loadPages === undefined;
  }

  /** Loads the pages that are not served from the start. Returns `undefined` once all are served. */
  loadOthers(): Promise<void> | undefined {
    if (this.#hasAllPages) return undefined;
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      this.#router.addPages(await this.#options.loadPages!());
      this.#hasAllPages = true;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
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

  /** Rejects a request if no page has its path or method. */
  rejectUnknown(exchange: Exchange, connection: readonly string[]): void {
    const { path, request } = exchange;
    const allowed = this.#router.pageMethodsOf(path);
    if (request.method === 'OPTIONS' && allowed.length > 0) this.#allow(exchange, allowed, connection);
    else this.reject(exchange, this.#notFound(path, allowed), connection);
  }

  /** Returns the error for a path outside the API, which suggests the path with the prefix if only that is missing. */
  #notFound(path: string, allowed: readonly string[]): Problem {
    if (allowed.length > 0) return this.#errors.problem('method_not_allowed', ['Allow', allowed.join(', ')]);
    const { code, status, message } = this.#errors.problem('route_not_found');
    const intended = this.#router.pathInApi(path);
    return new Problem(
      code,
      status,
      intended === undefined ? message : `There is nothing at this path. Use ${intended}.`,
    );
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

  /**
   * Responds to OPTIONS with the methods of a page. Grants a preflight nothing, because pages are for their own site.
   */
  #allow(exchange: Exchange, methods: readonly string[], connection: readonly string[]): void {
    const headers = ['Allow', [...methods, 'OPTIONS'].join(', '), ...this.#errors.addressHeaders(exchange.request)];
    writePage(exchange, { status: 204, bytes: '', headers }, connection);
    this.#options.onPage?.(exchange, undefined, '');
  }

  async #contentOf(exchange: Exchange, page: PageRoute): Promise<PageContent | undefined> {
    // Discard the rest of a file before the response, so that the connection stays open.
    await using files = new AsyncDisposableStack();
    return await page.handle(this.#requestOf(exchange, files));
  }

  #requestOf(exchange: Exchange, files: AsyncDisposableStack): WebPageRequest {
    const { request, requestId, publicUrl, tls, path, search, parameters } = exchange;
    return {
      ...{ requestId, publicUrl, tls, path, search, parameters },
      // The address of a connection is unknown once it is closed.
      address: clientAddress(request, this.#options.proxies),
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
    const address = clientAddress(request, this.#options.proxies);
    const bytesMax = fileBytesMax + ENVELOPE_BYTES_MAX;
    const errorOf = this.#errors.ofUpload(fileBytesMax);
    if (Number(declared) > bytesMax) throw errorOf('body_too_large');
    const requestSlot = () => this.#options.uploads.request(kind, { address, account });
    const upload = files.use(readUpload(request, response, { bytesMax, requestSlot }, errorOf));
    const { fields, file } = await readFileForm(upload, type);
    return { fields, file: file && upTo(fileBytesMax, file, () => errorOf('body_too_large')) };
  }

  async #readForm(exchange: Exchange, client: string, bytesMax = FORM_BYTES_MAX): Promise<URLSearchParams> {
    const {
      'content-length': declared,
      'content-type': type = '',
      'transfer-encoding': encoding,
    } = exchange.request.headers;
    if (encoding === undefined && (declared === undefined || declared === '0')) return noForm;
    if (!/^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
      throw new Problem('invalid_content_type', 400, 'Send the form as application/x-www-form-urlencoded.');
    }
    using body = new WholeBody(this.#options, client);
    return new URLSearchParams((await body.read(exchange, bytesMax, this.#errors)).toString('utf8'));
  }
}

/** Yields the chunks of a file; throws if the file is larger than `bytesMax`. */
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

import type { RefusalCounter } from '../access/audit/refusal-counter.ts';
import type { Deployment } from '../access/deployment.ts';
import { rejectReusedKey } from '../access/idempotency/idempotency.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import type { Clock } from '../lib/clock.ts';
import type { Problem } from '../lib/http/problem.ts';
import type { Caller, Route } from '../lib/http/route.ts';
import type { Authenticator } from '../lib/http/server/authenticator.ts';
import type { TrustedProxies } from '../lib/http/server/client-address.ts';
import { contentEtag } from '../lib/http/server/conditional.ts';
import type { Exchange } from '../lib/http/server/exchange.ts';
import type { PageRoute } from '../lib/http/server/pages.ts';
import { anyOrigin, exposeHeaders, type PageContent } from '../lib/http/server/responses.ts';
import { HttpServer } from '../lib/http/server/server.ts';
import type { UploadSlots } from '../lib/http/server/upload-slots.ts';
import type { ViewMount } from '../lib/http/server/view.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import type { SharedBudget } from '../lib/shared-budget.ts';
import { StorageError } from '../lib/storage/database.ts';
import { parseTraceparent } from '../lib/trace-context.ts';
import type { AddressName, Config } from '../model/config.ts';
import { errors, problemOf } from '../model/errors.ts';
import type { Database } from '../model/schema.ts';
import type { Monitor } from '../operate/metrics/monitor.ts';
import type { RequestSpans } from '../operate/tracing/request-spans.ts';
import type { AccessLog } from '../operate/usage/access-log.ts';
import type { UsageRecorder } from '../operate/usage/recorder.ts';
import { PREFIX, publicUrlOf, urlOf } from '../views/urls.ts';
import { compress } from '../web/compress.ts';
import type { PageHandler } from '../web/serve.ts';

/** The API and the pages of an address. */
export interface Service {
  readonly name: AddressName;
  readonly routes: readonly Route<Deployment>[];
  /** Other interfaces to the deployment; absent on the message address. */
  readonly views?: readonly ViewMount[];
  readonly database: Database;
  readonly authenticator: Authenticator;
  /** Returns the deployment for a caller's request to an operation. */
  deploymentOf(caller: Caller, route: Route<Deployment>): Deployment;
  /** The pages outside the API that need no session and no rendering. */
  readonly documents?: readonly PageRoute[];
  /** Returns the pages for people; absent on the message address, where all paths belong to the API. */
  loadPages?(): Promise<PageHandler>;
}

/** The dependencies that all addresses of a process share. */
export interface AddressDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly bodies: SharedBudget<number>;
  readonly forms: SharedBudget<string>;
  readonly uploads: UploadSlots;
  /** Absent without metrics. */
  readonly monitor: Monitor | undefined;
  readonly accessLog: AccessLog | undefined;
  /** Absent without traces. */
  readonly requestSpans: RequestSpans | undefined;
  readonly refusals: RefusalCounter;
  readonly usage: UsageRecorder;
  /** Returns the public URL of the address with the pages, if one is served; the message address has no pages. */
  pagesUrl(tls: boolean): string | undefined;
  /** Returns the public URL of an address that this process serves, or whose URL is set. */
  knownUrlOf(name: AddressName, tls: boolean): string | undefined;
}

const SERVING_MS = 10;

/** An address that the process listens on: the API, `/openapi.json`, `/livez`, `/readyz`, `/sdk`, and the pages. */
export class Address {
  /** The path of the API. */
  readonly prefix: string;
  readonly #service: Service;
  readonly #deps: AddressDeps;
  readonly #throttle = new LogThrottle();
  readonly #server: HttpServer<Deployment>;
  #port: number | undefined;
  #isStopping = false;
  #document: Promise<PageContent> | undefined;
  #pages: PageHandler | undefined;

  constructor(service: Service, deps: AddressDeps) {
    const { name, routes, views = [], authenticator, deploymentOf, loadPages } = service;
    const { config, proxies, bodies, forms, uploads, refusals, usage, accessLog, requestSpans } = deps;
    const requests = deps.monitor?.addAddress(name, () => this.#server.load());
    const prefix = name === 'messages' ? '' : PREFIX;
    this.prefix = prefix;
    this.#service = service;
    this.#deps = deps;
    this.#server = new HttpServer<Deployment>({
      routes,
      views,
      prefix,
      contextOf: deploymentOf,
      requireIfMatch: config.requireIfMatch,
      beforeInvalidBody: rejectReusedKey,
      authenticator,
      errors,
      problemOf: (error, exchange) => this.#problemOf(error, exchange),
      onResponse(exchange, outcome) {
        requests?.record(outcome);
        usage.record(exchange, outcome);
        accessLog?.logRequest(name, exchange, outcome);
        requestSpans?.endRequest(name, exchange, outcome);
      },
      onPage(...page) {
        accessLog?.logPage(name, ...page);
        requestSpans?.endPage(name, ...page);
      },
      requestContext: requestSpans,
      onError: code => requests?.recordError(code),
      onRefused: (...refused) => refusals.count(...refused),
      proxies,
      bodies,
      forms,
      uploads,
      publicUrl: (port, tls) => publicUrlOf(config, name, port, tls),
      pagesUrl: tls => this.#pagesUrl(tls),
      expectedWaitMs: service.database.expectedWaitMs?.bind(service.database),
      pages: this.#documents(),
      ...(loadPages && {
        loadPages: async () => {
          this.#pages = await loadPages();
          return this.#pages.routes();
        },
      }),
      errorPage: (problem, requestId) => this.#errorPage(problem, requestId),
    });
  }

  /** Returns the URL for links and documents, without the prefix and without a trailing slash. */
  publicUrl(tls = false): string {
    const { config } = this.#deps;
    const { name } = this.#service;
    return publicUrlOf(config, name, this.#port ?? config.ports[name], tls);
  }

  /** The URL for clients on this machine. */
  get localUrl(): string {
    const { host, ports } = this.#deps.config;
    return urlOf(host, this.#port ?? ports[this.#service.name]);
  }

  /** Reports whether a request arrived in the last 10 ms. */
  get isServing(): boolean {
    return performance.now() - this.#server.lastRequestMs <= SERVING_MS;
  }

  async listen(): Promise<void> {
    const { host, ports } = this.#deps.config;
    this.#port = await this.#server.listen(host, ports[this.#service.name]!);
  }

  /** Continues to serve until `delay` has resolved, while `/readyz` returns 503. Then stops listening. */
  async drain(delay: Promise<unknown>): Promise<void> {
    this.#isStopping = true;
    await this.#server.drain(delay);
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#server.close(timeoutMs);
  }

  #pagesUrl(tls = false): string {
    return (this.prefix === '' ? this.#deps.pagesUrl(tls) : undefined) ?? this.publicUrl(tls);
  }

  /** Returns the pages of every address. */
  #documents(): PageRoute[] {
    return [
      { method: 'GET', path: '/openapi.json', showsLimits: true, handle: () => this.#openApi() },
      { method: 'GET', path: '/livez', handle: () => json({ status: 'ok' }) },
      { method: 'GET', path: '/readyz', handle: () => this.#readiness() },
      {
        method: 'GET',
        path: '/sdk/{name}',
        handle: async ({ parameters }) => (await import('../web/sdk.ts')).sdkFile(parameters['name']!),
      },
      ...(this.#service.documents ?? []),
    ];
  }

  #errorPage(problem: Problem, requestId: string): PageContent {
    const { code, message, status } = problem;
    return this.#pages?.errorPage(problem, requestId, this.publicUrl()) ?? json({ code, message, status }, status);
  }

  #problemOf(error: unknown, exchange: Exchange): Problem {
    const problem = problemOf(error);
    if (problem.status >= 500) this.#logProblem(problem, exchange);
    return problem;
  }

  /**
   * Logs every internal error, but only the first of a series of storage errors, or of rejections for lack of capacity.
   * An index that is being filled is not an error.
   */
  #logProblem({ code, status, message, cause }: Problem, { request, requestId }: Exchange): void {
    const isStorage = cause instanceof StorageError;
    const isThrottled = isStorage || status === 503;
    // One series for each kind of overload: an account at its bound must not hide the overload of a node.
    if (isThrottled && !this.#throttle.shouldLog(isStorage ? code : `${code} ${message}`)) return;
    const more = isThrottled ? ' Further requests that fail for this reason are not logged.' : '';
    const { traceId } = parseTraceparent(request.headers['traceparent']) ?? {};
    const level = code === 'search_not_ready' ? 'info' : 'error';
    this.#deps.log[level]({ requestId, traceId, code, err: cause }, message + more);
  }

  /** Builds and compresses the OpenAPI document on the first request, and again if that failed. */
  #openApi(): Promise<PageContent> {
    this.#document ??= this.#newDocument().catch(error => {
      this.#document = undefined;
      throw error;
    });
    return this.#document;
  }

  async #newDocument(): Promise<PageContent> {
    const { documentOf } = await import('../views/openapi.ts');
    const urlOf = (name: AddressName) => this.#deps.knownUrlOf(name, false);
    const document = json(documentOf(this.#service.name, urlOf, this.#pagesUrl()));
    const bytes = document.bytes as Buffer;
    return {
      ...document,
      // Private, because it contains the limit of the client's address.
      ...{ etag: contentEtag(bytes, []), cacheControl: 'private, no-cache', compressed: await compress(bytes) },
      headers: [...anyOrigin, ...exposeHeaders],
    };
  }

  async #readiness(): Promise<PageContent> {
    const { ok, writes, detail } = await this.#service.database.health();
    const { counts, day } = this.#deps.limiter.health();
    const isServed = ok && writes !== 'unavailable';
    const status = this.#isStopping ? 'stopping' : isServed ? 'ready' : 'unavailable';
    return json({ status, storage: { ok: isServed, writes, detail }, counts, day }, status === 'ready' ? 200 : 503);
  }
}

/** Returns a document that scripts of every site can read. */
function json(value: unknown, status = 200): PageContent {
  const bytes = Buffer.from(JSON.stringify(value));
  return { status, contentType: 'application/json; charset=utf-8', bytes, headers: anyOrigin };
}

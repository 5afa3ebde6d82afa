import type { IncomingMessage } from 'node:http';
import type { Exchange } from '../../lib/http/server/exchange.ts';
import type { RequestContext, RequestOutcome } from '../../lib/http/server/options.ts';
import { redact } from '../../lib/log.ts';
import type { Attributes, Span } from '../../lib/tracing/span.ts';
import type { Tracer } from '../../lib/tracing/tracer.ts';
import { shownPath } from '../usage/shown-path.ts';
import { serverAttributes } from './client-spans.ts';

/** The parts of a span that differ between requests of the API and pages. */
interface Ended {
  /** The path of the operation or page, with its parameters in braces. */
  readonly route?: string | undefined;
  /** The path and query as in the access log. */
  readonly path?: string | undefined;
  readonly operation?: string | undefined;
  readonly status: number;
  /** The error code; '' for a success. */
  readonly code: string;
}

/**
 * Records a span for each request, with the attributes of OpenTelemetry's conventions for HTTP. It contains the same
 * data as the access log: no address, header, body or unknown parameter.
 */
export class RequestSpans implements RequestContext {
  readonly #tracer: Tracer;
  readonly #spans = new WeakMap<IncomingMessage, Span>();
  /** The attributes of each public URL; the configuration determines the URLs. */
  readonly #servers = new Map<string, Attributes>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /**
   * Replaces the `traceparent` of a recorded request by that of its span, which becomes the parent of all work for the
   * request.
   */
  begin(request: IncomingMessage, work: () => void): void {
    const { headers } = request;
    const span = this.#tracer.start({ name: 'HTTP', kind: 'server' }, headers['traceparent']);
    if (span !== undefined) {
      this.#spans.set(request, span);
      headers['traceparent'] = span.traceparent;
    }
    this.#tracer.within(span, work);
  }

  resume(request: IncomingMessage, work: () => void): void {
    this.#tracer.within(this.#spans.get(request), work);
  }

  /** Ends the span of a request of the API or of a view. */
  endRequest(deployment: string, exchange: Exchange, { route, prefix, status, code }: RequestOutcome): void {
    const path = route && shownPath({ ...exchange, prefix, route });
    this.#end(deployment, exchange, {
      ...{ path, status, code },
      route: route && prefix + route.path,
      operation: route?.operationId,
    });
  }

  /**
   * Ends the span of a page. @param path the page's path with its parameters in braces, because values may be secrets
   */
  endPage(deployment: string, exchange: Exchange, path: string | undefined, code: string): void {
    this.#end(deployment, exchange, { route: path, path, status: exchange.response.statusCode, code });
  }

  #end(deployment: string, exchange: Exchange, { route, path, operation, status, code }: Ended): void {
    const { request, requestId, caller, publicUrl } = exchange;
    const span = this.#spans.get(request);
    if (span === undefined) return;
    const method = methods.has(request.method!) ? request.method! : '_OTHER';
    const verb = method === '_OTHER' ? 'HTTP' : method;
    const [shown, query] = path === undefined ? [] : redact(path).split('?', 2);
    span.name = route === undefined ? verb : `${verb} ${route}`;
    span.set({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'url.scheme': exchange.tls ? 'https' : 'http',
      'url.path': shown,
      'url.query': query,
      ...this.#serverOf(publicUrl),
      'petstore.deployment': deployment,
      'petstore.operation': operation,
      'petstore.request.id': redact(requestId),
      'petstore.key.id': caller?.keyId,
      'petstore.error.code': code === '' ? undefined : code,
    });
    if (status >= 500) span.fail(code === '' ? String(status) : code);
    span.end();
  }

  #serverOf(publicUrl: string): Attributes {
    return this.#servers.getOrInsertComputed(publicUrl, () => serverAttributes(publicUrl));
  }
}

/** The methods that OpenTelemetry's conventions name. */
const methods: ReadonlySet<string> = new Set([
  ...['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'],
]);

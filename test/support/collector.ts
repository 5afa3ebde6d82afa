import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from './wait-until.ts';

/** A span as the collector received it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** An export request as the collector received it. */
export interface CollectedExport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly spans: readonly CollectedSpan[];
}

/** An OpenTelemetry collector on this machine, which reads OTLP/HTTP with JSON. */
export interface Collector {
  readonly url: string;
  readonly exports: readonly CollectedExport[];
  /** Responds to the next exports; with 200 by default. */
  respond: (response: ServerResponse, request: IncomingMessage) => void;
  /** All spans of all exports. */
  spans(): readonly CollectedSpan[];
  /** Waits for a span, and returns it. */
  span(matches: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  close(): Promise<void>;
}

/** Starts a collector. @param port a free one by default */
export async function startCollector(port = 0): Promise<Collector> {
  const exports: CollectedExport[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    exports.push(exportOf(request, Buffer.concat(chunks).toString()));
    collector.respond(response, request);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const spans = () => exports.flatMap(one => one.spans);
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    respond: response => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    spans,
    async span(matches) {
      await waitUntil(() => spans().some(matches));
      return spans().find(matches)!;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return collector;
}

function exportOf({ url = '', headers }: IncomingMessage, text: string): CollectedExport {
  const { resourceSpans } = JSON.parse(text);
  const [{ resource, scopeSpans }] = resourceSpans;
  return {
    path: url,
    headers,
    text,
    resource: attributesOf(resource.attributes),
    // biome-ignore lint/suspicious/noExplicitAny: the format of OTLP
    spans: scopeSpans[0].spans.map(({ attributes, status, ...span }: any) => ({
      ...span,
      attributes: attributesOf(attributes),
      isError: status.code === 2,
    })),
  };
}

function attributesOf(attributes: { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value['stringValue'] ?? (value['intValue'] === undefined ? value['doubleValue'] : Number(value['intValue'])),
    ]),
  );
}

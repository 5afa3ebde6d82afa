import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { type CollectedSpan, type Collector, startCollector } from './collector.ts';
import { type Reply, type SendOptions, send, serve } from './serving.ts';

let requests = 0;

/** Serves with traces to a collector, and returns functions for requests and their spans. */
export async function serveTraced(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock(),
) {
  const collector = await startCollector();
  const service = await serve({ clock, environment: { PETSTORE_OTLP_URL: collector.url, ...environment } });
  t.after(() => collector.close());
  t.after(() => service.stop());
  const key = await service.newKey();
  const url = service.urls.production;
  /** Sends a request, and returns the response with the span of the request. */
  const exchange = async (to: string, options: SendOptions = {}): Promise<{ reply: Reply; span: CollectedSpan }> => {
    const id = `traced-${++requests}`;
    const reply = await send(to, { ...options, headers: { 'x-request-id': id, ...options.headers } });
    return { reply, span: await collector.span(({ attributes }) => attributes['petstore.request.id'] === id) };
  };
  const ask = async (to: string, options?: SendOptions) => (await exchange(to, options)).span;
  return { collector, service, key, url, origin: new URL(url).origin, exchange, ask };
}

/** Returns the names of a span and of everything below it, in the order of their starts, indented by two spaces a level. */
export function treeOf(collector: Collector, { name, spanId }: CollectedSpan): string[] {
  const children = collector
    .spans()
    .filter(({ parentSpanId }) => parentSpanId === spanId)
    .sort((one, other) => Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano)));
  return [name, ...children.flatMap(child => treeOf(collector, child).map(line => `  ${line}`))];
}

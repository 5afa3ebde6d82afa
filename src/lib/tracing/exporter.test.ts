import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type Collector, startCollector } from '../../../test/support/collector.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { openLog } from '../log.ts';
import { type ExportLimits, SpanExporter } from './exporter.ts';
import type { EndedSpan } from './span.ts';

const scope = { name: 'petstore', version: '1.0.0' };

/** Opens an exporter that does not wait, and collects its log lines. */
function open(t: TestContext, url: string, limits: Partial<ExportLimits> = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = openLog({ destination: { write: line => lines.push(JSON.parse(line)) } });
  const fast = { delayMs: 1, retryMs: 1, retryMaxMs: 2, ...limits };
  const exporter = new SpanExporter({ url, resource: { 'service.name': 'test' }, scope, log, limits: fast });
  t.after(() => exporter.close());
  return { exporter, lines, messages: () => lines.map(({ level, msg }) => `${level} ${msg}`) };
}

async function openCollector(t: TestContext): Promise<Collector> {
  const collector = await startCollector();
  t.after(() => collector.close());
  return collector;
}

/** Starts a server that passes its connections to `serve`, and returns its URL. */
async function openServer(t: TestContext, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const spans = (count: number, name = 'work'): EndedSpan[] =>
  Array.from({ length: count }, (_, index) => ({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: index.toString(16).padStart(16, '0'),
    parentSpanId: undefined,
    name,
    kind: 'internal',
    startMs: 1_800_000_000_000.25,
    endMs: 1_800_000_000_001,
    attributes: { count: index, share: 0.5, text: 'text', absent: undefined },
    isError: false,
  }));

const FAILED = 'warn Spans cannot be exported. The server keeps serving requests, and drops spans once too many wait.';
const AGAIN = 'info Spans are exported again.';

describe('an exporter', () => {
  it('sends spans in batches, each with the resource', async t => {
    const collector = await openCollector(t);
    const { exporter } = open(t, `${collector.url}/tenant/`, { batch: 2 });
    exporter.add(spans(5));
    await waitUntil(() => exporter.exported === 5);
    assert.deepEqual(
      collector.exports.map(one => [one.path, one.spans.length, one.resource, one.headers['user-agent']]),
      [2, 2, 1].map(count => ['/tenant/v1/traces', count, { 'service.name': 'test' }, 'petstore/1.0.0']),
    );
    const { startTimeUnixNano, endTimeUnixNano, attributes, parentSpanId } = collector.spans()[1]!;
    assert.deepEqual([startTimeUnixNano, endTimeUnixNano], ['1800000000000250000', '1800000000001000000']);
    assert.deepEqual(attributes, { count: 1, share: 0.5, text: 'text' });
    assert.equal(parentSpanId, undefined);
  });

  it('retries a batch after a temporary failure, and logs one line per outage', async t => {
    const collector = await openCollector(t);
    const { exporter, messages, lines } = open(t, collector.url);
    const statuses = [503, 429, 502, 504];
    const { respond } = collector;
    collector.respond = (response, request) => {
      const status = statuses.shift();
      if (status === undefined) respond(response, request);
      else response.writeHead(status).end();
    };
    exporter.add(spans(3));
    await waitUntil(() => exporter.exported === 3);
    assert.equal(collector.exports.length, 5);
    assert.deepEqual(messages(), [FAILED, AGAIN]);
    assert.equal(lines[0]!['status'], 503);
    assert.deepEqual(exporter.dropped, { queue: 0, export: 0, trace: 0 });
  });

  it('drops a batch that fails too often, and keeps at most the bound of the queue while the collector is away', async t => {
    const { exporter, messages, lines } = open(t, 'http://127.0.0.1:1', { queue: 10, batch: 4, attempts: 2 });
    exporter.add(spans(25), 7);
    assert.deepEqual(exporter.dropped, { queue: 15, export: 0, trace: 7 });
    await waitUntil(() => exporter.dropped.export === 10);
    assert.deepEqual(messages(), [FAILED]);
    assert.equal(lines[0]!['fault'], 'refused');
    assert.equal(exporter.exported, 0);
  });

  it('waits as long as a Retry-After header asks', async t => {
    const [patient, impatient] = [await openCollector(t), await openCollector(t)];
    patient.respond = response => response.writeHead(429, { 'retry-after': '60' }).end();
    impatient.respond = response => response.writeHead(429).end();
    const limits = { retryMaxMs: 60_000, attempts: 100, batch: 2 };
    const [waiting, retrying] = [open(t, patient.url, limits), open(t, impatient.url, { ...limits, retryMaxMs: 2 })];
    for (const { exporter } of [waiting, retrying]) exporter.add(spans(1));
    await waitUntil(() => patient.exports.length === 1);
    // Spans that arrive meanwhile do not shorten the wait, not even a full batch.
    waiting.exporter.add(spans(2));
    await waitUntil(() => impatient.exports.length > 10);
    assert.equal(patient.exports.length, 1);
  });

  it('sends the spans of a permanent failure once, and follows no redirect', async t => {
    const collector = await openCollector(t);
    const { exporter, messages } = open(t, collector.url);
    for (const [index, status] of [400, 401, 307, 500].entries()) {
      collector.respond = response => response.writeHead(status, { location: `${collector.url}/elsewhere` }).end();
      exporter.add(spans(2));
      await waitUntil(() => exporter.dropped.export === 2 * (index + 1));
    }
    assert.deepEqual(
      collector.exports.map(({ path }) => path),
      Array(4).fill('/v1/traces'),
    );
    assert.deepEqual(messages(), [FAILED]);
  });

  it('counts the spans that the collector rejects as dropped', async t => {
    const collector = await openCollector(t);
    collector.respond = response => response.end('{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}');
    const { exporter, messages } = open(t, collector.url);
    exporter.add(spans(5));
    await waitUntil(() => exporter.exported === 3);
    assert.equal(exporter.dropped.export, 2);
    assert.deepEqual(messages(), ['warn The collector rejected spans.']);
  });
});

describe('a hostile collector', () => {
  const endless = (response: ServerResponse) => {
    response.writeHead(200);
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384)));
    };
    response.on('drain', write);
    write();
  };

  it('cannot make the exporter read an endless response', async t => {
    const collector = await openCollector(t);
    const closed = Promise.withResolvers<number>();
    collector.respond = (response, { socket }) => {
      endless(response);
      socket.once('close', () => closed.resolve(socket.bytesWritten));
    };
    const { exporter } = open(t, collector.url);
    exporter.add(spans(1));
    await waitUntil(() => exporter.exported === 1);
    // The server reads some bytes, and the buffers of the operating system fill.
    assert.ok((await closed.promise) < 20_000_000);
  });

  it('that never responds costs a deadline', async t => {
    const collector = await openCollector(t);
    collector.respond = () => {};
    const { exporter, lines } = open(t, collector.url, { timeoutMs: 20, attempts: 2 });
    exporter.add(spans(1));
    await waitUntil(() => exporter.dropped.export === 1);
    assert.equal(collector.exports.length, 2);
    assert.deepEqual(
      lines.map(({ fault }) => fault),
      ['timeout'],
    );
  });

  it('that does not speak HTTP, or hangs up, is like one that is down', async t => {
    for (const [reply, fault] of [
      ['SSH-2.0-OpenSSH_9.2\r\n', 'malformed_answer'],
      ['', 'reset'],
    ] as const) {
      const url = await openServer(t, socket => socket.once('data', () => socket.end(reply)));
      const { exporter, lines } = open(t, url, { attempts: 2 });
      exporter.add(spans(1));
      await waitUntil(() => exporter.dropped.export === 1);
      assert.deepEqual(
        lines.map(line => line['fault']),
        [fault],
      );
    }
  });
});

describe('closing an exporter', () => {
  it('sends everything that waits', async t => {
    const collector = await openCollector(t);
    const { exporter } = open(t, collector.url, { batch: 2, delayMs: 60_000 });
    exporter.add(spans(1));
    await exporter.close();
    exporter.add(spans(1));
    assert.equal(collector.spans().length, 1);
    const { exporter: busy } = open(t, collector.url, { batch: 2 });
    busy.add(spans(7));
    await busy.close();
    assert.deepEqual([busy.exported, collector.spans().length], [7, 8]);
  });

  it('does not wait for a collector that never responds, and logs how many spans are lost', async t => {
    const collector = await openCollector(t);
    collector.respond = () => {};
    const { exporter, lines } = open(t, collector.url, { closeMs: 20 });
    exporter.add(spans(3));
    await exporter.close();
    const [line] = lines;
    assert.deepEqual([line!['msg'], line!['spans']], ['The last spans could not be exported.', 3]);
    assert.deepEqual(exporter.dropped, { queue: 0, export: 3, trace: 0 });
  });
});

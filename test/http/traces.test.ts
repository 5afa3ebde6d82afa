import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Collector, startCollector } from '../support/collector.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { send, spawnService } from '../support/serving.ts';
import { serveTraced } from '../support/traced-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const traced = { traceparent: `00-${traceId}-${callerSpan}-01` };
const untraced = { traceparent: `00-${traceId}-${callerSpan}-00` };

const SERVER = 2;
describe('the span of a request', () => {
  it('has the attributes of the conventions for HTTP, and continues the trace of the caller', async t => {
    const { ask, collector, url, key } = await serveTraced(t);
    const before = Date.now();
    const span = await ask(`${url}/pets?status=available&limit=5`, { key, headers: traced });
    const { hostname, port } = new URL(url);
    const { 'petstore.request.id': _, ...attributes } = span.attributes;
    assert.deepEqual(attributes, {
      'http.request.method': 'GET',
      'http.route': '/v1/pets',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'url.path': '/v1/pets',
      'url.query': 'status=available&limit=5',
      'server.address': hostname,
      'server.port': Number(port),
      'petstore.deployment': 'production',
      'petstore.operation': 'listPets',
      'petstore.key.id': key.id,
    });
    const { name, kind, parentSpanId, isError } = span;
    assert.deepEqual([name, kind, isError], ['GET /v1/pets', SERVER, false]);
    assert.deepEqual([span.traceId, parentSpanId], [traceId, callerSpan]);
    assert.match(span.spanId, /^[\da-f]{16}$/);
    const [startMs, endMs] = [span.startTimeUnixNano, span.endTimeUnixNano].map(time => Number(time) / 1e6);
    assert.ok(startMs! >= before - 1 && endMs! >= startMs! && endMs! <= Date.now() + 1);
    const [{ path, resource, headers }] = collector.exports as [Collector['exports'][0]];
    assert.equal(path, '/v1/traces');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(resource['service.name'], 'petstore');
    assert.deepEqual(Object.keys(resource), ['service.name', 'service.version', 'service.instance.id', 'host.name']);
  });

  it('names the error of a failed request, which fails the span only if it is an error of the service', async t => {
    const { ask, service, url, key } = await serveTraced(t);
    const invalid = await ask(`${url}/pets?limit=0`, { key });
    assert.deepEqual([invalid.attributes['petstore.error.code'], invalid.isError], ['invalid_parameter', false]);
    await service.app.databases.production.close();
    const failed = await ask(`${url}/pets`, { key });
    assert.deepEqual([failed.attributes['error.type'], failed.isError], ['shutting_down', true]);
    assert.equal(failed.attributes['http.response.status_code'], 503);
  });

  it('is recorded for pages, with the name of the deployment, and for paths without an operation', async t => {
    const { ask, service, origin, url, key } = await serveTraced(t);
    const page = await ask(`${origin}/livez`);
    assert.deepEqual([page.name, page.attributes['url.path']], ['GET /livez', '/livez']);
    const staging = await ask(`${service.urls.staging}/nothing`, { key });
    assert.deepEqual([staging.name, staging.attributes['petstore.deployment']], ['GET', 'staging']);
    const head = await ask(`${url}/pets/1`, { key, method: 'HEAD' });
    assert.deepEqual([head.name, head.attributes['http.response.status_code']], ['HEAD /v1/pets/{petId}', 404]);
    const odd = await ask(`${url}/pets`, { key, method: 'PURGE' });
    assert.deepEqual([odd.name, odd.attributes['http.request.method']], ['HTTP', '_OTHER']);
  });

  it('has no secret, however it was sent', async t => {
    const { ask, collector, origin, url, key } = await serveTraced(t);
    const secret = 'Tr0ub4dor-and-3-horses';
    const sent = { 'x-api-key': secret, cookie: `session=${secret}`, 'user-agent': secret, host: `${secret}.example` };
    const { token } = key;
    const named = await ask(`${url}/pets?token=${secret}&status=${token}`, { key, headers: sent });
    assert.equal(named.attributes['url.query'], 'status=%5Bredacted%5D');
    await ask(`${url}/pets?unknown=${token}`, { headers: { authorization: `Basic ${secret}` } });
    await ask(`${url}/pets/${token}`, { key });
    await ask(`${url}/${secret}/${token}`, { key });
    await ask(`${origin}/links/${secret}?next=${secret}`, { headers: { accept: 'text/html' } });
    await ask(`${url}/pets`, { method: 'POST', key, body: { name: secret, categoryId: secret } });
    await send(`${url}/pets`, { headers: { 'x-request-id': token, tracestate: `petstore=${secret}` } });
    await collector.span(({ attributes }) => String(attributes['petstore.request.id']).startsWith('petstore_'));
    const text = collector.exports.map(one => one.text).join('');
    assert.ok(!text.includes('Tr0ub4dor'));
    assert.ok(!text.includes(token.slice(-20)));
  });
});

describe('the sampling of traces', () => {
  it('follows the caller', async t => {
    const { ask, collector, url, key } = await serveTraced(t);
    await send(`${url}/pets/7`, { key, headers: untraced });
    await ask(`${url}/pets`, { key, headers: traced });
    assert.deepEqual(collector.spans().filter(({ kind, traceId: of }) => kind === SERVER && of === traceId).length, 1);
  });

  it('leaves out requests without a trace at a ratio of 0, but not those of a sampled trace', async t => {
    const { ask, collector, url, key } = await serveTraced(t, { PETSTORE_TRACE_RATIO: '0' });
    await send(`${url}/pets`, { key });
    await ask(`${url}/pets/7`, { key, headers: traced });
    assert.deepEqual(
      collector
        .spans()
        .filter(({ kind }) => kind === SERVER)
        .map(({ name }) => name),
      ['GET /v1/pets/{petId}'],
    );
  });

  it('gives each request without a trace one of its own, which the log names', async t => {
    const { ask, service, url } = await serveTraced(t, { PETSTORE_ACCESS_LOG: 'true' });
    const spans = [await ask(`${url}/pets`), await ask(`${url}/pets`, { headers: { traceparent: 'no trace' } })];
    assert.deepEqual(
      spans.map(({ parentSpanId }) => parentSpanId),
      [undefined, undefined],
    );
    assert.notEqual(spans[0]!.traceId, spans[1]!.traceId);
    const logged = service.lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    assert.deepEqual(
      logged.map(line => line.traceId),
      spans.map(span => span.traceId),
    );
  });
});

it('sends the headers of the settings to the collector, and the name of the service', async t => {
  const { ask, collector, origin } = await serveTraced(t, {
    PETSTORE_OTLP_HEADERS: 'Api-Key=a%2Cb%20c, x-tenant = 7',
    PETSTORE_OTLP_SERVICE_NAME: 'shop-eu',
  });
  await ask(`${origin}/livez`);
  const [{ headers, resource }] = collector.exports as [Collector['exports'][0]];
  assert.deepEqual([headers['api-key'], headers['x-tenant'], resource['service.name']], ['a,b c', '7', 'shop-eu']);
});

describe('a collector', () => {
  it('gets what waits when the server stops, and nothing twice', async t => {
    const { collector, service, url, key } = await serveTraced(t);
    await Promise.all(Array.from({ length: 20 }, () => send(`${url}/pets`, { key })));
    await service.stop();
    const requests = collector.spans().filter(({ kind }) => kind === SERVER);
    assert.deepEqual([requests.length, new Set(requests.map(({ spanId }) => spanId)).size], [20, 20]);
  });

  it('that never responds delays neither requests nor the stop, and is one line in the log', async t => {
    const { collector, service, url, key } = await serveTraced(t);
    collector.respond = () => {};
    for (let count = 0; count < 10; count++) assert.equal((await send(`${url}/pets`, { key })).status, 200);
    await waitUntil(() => collector.exports.length > 0);
    await service.stop();
    const messages = service.lines.map(line => JSON.parse(line)).filter(({ level }) => level === 'warn');
    assert.deepEqual(
      messages.map(({ msg }) => msg),
      ['The last spans could not be exported.'],
    );
  });

  it('that is away is counted in metrics, with the spans that it did not get', async t => {
    const { collector, service, url, key } = await serveTraced(t, { PETSTORE_METRICS_PORT: '0' });
    const { metrics } = service.urls as unknown as { metrics: string };
    const value = async (name: string, labels?: Record<string, string>) =>
      sampleOf(parseMetrics((await send(metrics)).text), `petstore_trace_spans_${name}_total`, labels);
    await send(`${url}/pets`, { key });
    await waitUntil(async () => (await value('exported'))! > 0);
    assert.equal(await value('exported'), collector.spans().length);
    for (const reason of ['queue', 'export', 'trace']) assert.equal(await value('dropped', { reason }), 0);
    collector.respond = response => response.writeHead(400).end();
    await send(`${url}/pets`, { key });
    await waitUntil(async () => (await value('dropped', { reason: 'export' }))! > 0);
    const failed = service.lines.map(line => JSON.parse(line)).find(({ level }) => level === 'warn');
    assert.deepEqual([failed.status, failed.collector], [400, new URL(collector.url).host]);
  });
});

it('loads the code of traces only if a collector is named', async t => {
  // Prints the modules that were loaded.
  const script = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    process.on('exit', () => process.stderr.write(urls.join('\\n')));`;
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(script)}`;
  const loaded = async (environment: Record<string, string>) => {
    const service = await spawnService({ environment: { NODE_OPTIONS, ...environment } });
    t.after(() => service.remove());
    await service.stop();
    assert.match(service.log(), /src\/lib\/http\/server\/server\.ts/);
    return [...new Set(service.log().match(/src\/(lib|operate)\/tracing\/.*/g))].sort();
  };
  assert.deepEqual(await loaded({}), []);
  const collector = await startCollector();
  t.after(() => collector.close());
  assert.ok((await loaded({ PETSTORE_OTLP_URL: collector.url })).includes('src/operate/tracing/tracing.ts'));
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import type { CollectedSpan } from '../support/collector.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { startReceiver } from '../support/receiver.ts';
import { describeUnless } from '../support/selection.ts';
import { send } from '../support/serving.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { serveTraced, treeOf } from '../support/traced-service.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traced = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
const untraced = { traceparent: `00-${traceId}-00f067aa0ba902b7-00` };

const named = (name: string) => (span: CollectedSpan) => span.name === name;

overEachEngine(engine => {
  describe('the spans below a request', () => {
    it('are its reads, its transactions, their statements with PostgreSQL, and the wait for the disk', async t => {
      const { collector, exchange, url, key } = await serveTraced(t, await engine.settings());
      const body = { name: 'a secret name', categoryId: 2 };
      // The first requests also read the key, the plan and the categories.
      for (let count = 0; count < 2; count++) await exchange(`${url}/pets`, { method: 'POST', key, body });
      const { reply, span: post } = await exchange(`${url}/pets`, { method: 'POST', key, body, headers: traced });
      const tree = treeOf(collector, post);
      if (engine.name === 'sqlite') assert.deepEqual(tree, ['POST /v1/pets', '  transaction', '    commit']);
      else {
        // A node that has not heard from PostgreSQL for a second reads the key again, before the transaction.
        const [transaction, ...statements] = tree.slice(tree.indexOf('  transaction'));
        assert.deepEqual([transaction, statements.at(-1)], ['  transaction', '    commit']);
        assert.ok(statements.includes('    INSERT pets') && statements.includes('    INSERT events'), tree.join());
      }
      const { span: get } = await exchange(`${url}/pets/${reply.body.id}`, { key, headers: traced });
      assert.equal(treeOf(collector, get).at(-1), '  SELECT pets');
      const select = collector.spans().find(span => span.parentSpanId === get.spanId && span.name === 'SELECT pets')!;
      const { 'db.system.name': system, 'db.query.text': sql } = select.attributes;
      assert.equal(system, engine.name === 'sqlite' ? 'sqlite' : 'postgresql');
      assert.match(String(sql), /^select "id", .* … .* from "pets" where .*"id" = (\$|\+\?)/);
      assert.equal(select.traceId, traceId);
      assert.ok(!collector.exports.some(({ text }) => text.includes('a secret name')));
    });

    it('are left out if the caller does not record the trace', async t => {
      const { collector, service, url, key, ask } = await serveTraced(t, {
        ...(await engine.settings()),
        PETSTORE_TRACE_RATIO: '0',
      });
      const body = { name: 'Rex', categoryId: 2 };
      for (const headers of [{}, untraced]) {
        assert.equal((await send(`${url}/pets`, { method: 'POST', key, body, headers })).status, 201);
      }
      await ask(`${url}/pets/1`, { key, headers: traced });
      await service.stop();
      assert.deepEqual(collector.spans().filter(({ parentSpanId }) => parentSpanId === '00f067aa0ba902b7').length, 1);
      assert.ok(collector.spans().every(span => span.traceId === traceId));
    });
  });

  describe('a webhook delivery', () => {
    it('is in the trace of the request that caused its event, and the receiver gets the span of its request', async t => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const { collector, exchange, service, url, key } = await serveTraced(t, {
        ...(await engine.settings()),
        PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
        PETSTORE_WEBHOOK_SCHEDULE: '7d',
      });
      const stranger = await service.newKey();
      const post = (path: string, body?: object, as = key, headers = {}) =>
        exchange(`${url}${path}`, { method: 'POST', key: as, headers, ...(body && { body }) });
      for (const [as, path] of [
        [key, 'own?token=hunter2'],
        [stranger, 'other'],
      ] as const) {
        const target = new URL(path, receiver.url).href;
        const { reply } = await post('/webhooks', { url: target, types: ['pet.*'] }, as);
        await post(`/webhooks/${reply.body.id}/activation`, undefined, as);
      }
      const tests = receiver.received.length;
      receiver.respond = (_, response) => response.writeHead(500).end();
      const { span: request } = await post('/pets', { name: 'Rex', categoryId: 2 }, key, traced);
      await waitUntil(() => receiver.received.length === tests + 2);
      const deliveries = () => collector.spans().filter(named('deliveries run'));
      await waitUntil(() => deliveries().length === 2);
      for (const delivery of deliveries()) {
        assert.deepEqual([delivery.traceId, delivery.parentSpanId], [traceId, request.spanId]);
        assert.equal(delivery.attributes['petstore.event.type'], 'pet.created');
        const sent = collector
          .spans()
          .find(({ name, parentSpanId }) => name === 'POST' && parentSpanId === delivery.spanId)!;
        assert.equal(sent.attributes['http.response.status_code'], 500);
        assert.equal(sent.attributes['server.address'], '127.0.0.1');
        assert.ok(sent.isError);
      }
      // The trace shows which events one request caused, so others do not get it.
      const spanIds = collector
        .spans()
        .filter(named('POST'))
        .map(({ spanId }) => spanId);
      const headers = receiver.received.slice(tests).map(one => one.headers['traceparent']);
      const [own, ...others] = headers.filter(header => header !== undefined);
      assert.ok(
        spanIds.some(spanId => own === `00-${traceId}-${spanId}-01`),
        String(own),
      );
      assert.deepEqual(others, []);
      assert.ok(!collector.exports.some(({ text }) => text.includes('hunter2')));
    });
  });

  describe('a job', () => {
    it('is recorded if it finds work, in a trace of its own', async t => {
      const clock = testClock(Date.now());
      const { collector, exchange, url, key } = await serveTraced(t, await engine.settings(), clock);
      const { reply: pet } = await exchange(`${url}/pets`, {
        method: 'POST',
        key,
        body: { name: 'Rex', categoryId: 2 },
        headers: traced,
      });
      const expiresAt = new Date(clock.now() + 60_000).toISOString();
      const body = { petIds: [pet.body.id], expiresAt };
      const { reply } = await exchange(`${url}/holds`, { method: 'POST', key, body, headers: traced });
      assert.equal(reply.status, 201, reply.text);
      clock.advance(60_000);
      const claim = await collector.span(named('holds claim'));
      assert.notEqual(claim.traceId, traceId);
      assert.equal(claim.attributes['petstore.job.rows'], 1);
      assert.equal(claim.attributes['petstore.deployment'], 'production');
      assert.ok(treeOf(collector, claim).includes('    commit'));
      assert.ok(collector.spans().every(({ attributes }) => attributes['petstore.job.rows'] !== 0));
    });
  });

  it('an e-mail is in the trace of the request that sent the message', async t => {
    const mail = await startSmtpServer();
    t.after(() => mail.close());
    const { collector, exchange, service, url, key } = await serveTraced(t, {
      ...(await engine.settings()),
      PETSTORE_SMTP_URL: mail.url.replace('//', '//user:hunter2@'),
      PETSTORE_MAIL_FROM: 'store@example.org',
    });
    const owner = await service.newKey();
    const { reply: pet } = await exchange(`${url}/pets`, {
      method: 'POST',
      key: owner,
      body: { name: 'Rex', categoryId: 2 },
    });
    mail.behaviour.recipient = '451 later';
    const body = { message: 'a secret message', petId: pet.body.id };
    const { span: request } = await exchange(`${url}/messages`, { method: 'POST', key, body, headers: traced });
    const run = await collector.span(named('mail run'));
    assert.deepEqual([run.traceId, run.parentSpanId], [traceId, request.spanId]);
    const sent = collector
      .spans()
      .find(({ parentSpanId, name }) => parentSpanId === run.spanId && name === 'send e-mail')!;
    assert.deepEqual([sent.isError, sent.attributes['server.port']], [true, Number(new URL(mail.url).port)]);
    const text = collector.exports.map(one => one.text).join('');
    for (const secret of ['a secret message', 'hunter2', '@example.org']) assert.ok(!text.includes(secret), secret);
  });
});

describeUnless(withoutValkey, 'with Valkey', () => {
  it('the count of a request is below its span', async t => {
    const { collector, ask, url, key } = await serveTraced(t, { PETSTORE_VALKEY_URL: valkeyUrl });
    await ask(`${url}/pets/1`, { key });
    const span = await ask(`${url}/pets/1`, { key });
    assert.deepEqual(treeOf(collector, span), ['GET /v1/pets/{petId}', '  count request', '  SELECT pets']);
    const count = collector.spans().find(named('count request'))!;
    assert.equal(count.attributes['db.system.name'], 'valkey');
  });
});

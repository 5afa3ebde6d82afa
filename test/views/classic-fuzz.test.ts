import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { classicOperations } from '../../src/views/classic/operations.ts';
import { overEachEngine, overPostgres } from '../support/engines-over-http.ts';
import { describeUnless, long } from '../support/selection.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';

const environment = { PETSTORE_CLASSIC_PER_MINUTE: '1000000', PETSTORE_CLASSIC_PER_DAY: '1000000' };

/** JSON with the members of the interface, and any others. */
const values = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(
      null,
      true,
      '',
      '7',
      'abc',
      0,
      -1,
      7,
      1.5,
      2 ** 31,
      2 ** 53,
      1e300,
      '2026-11-24',
      '\u0000\ud800',
    ),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom('id', 'name', 'category', 'tags', 'photoUrls', 'status', 'username', 'shipDate', '__proto__'),
      tie('value'),
      { maxKeys: 6 },
    ),
  ),
})).value;

overEachEngine(engine =>
  describe('the classic Petstore', () => {
    let service: TestService;
    let origin: string;
    before(async () => {
      service = await serve({ environment: { ...(await engine.settings()), ...environment } });
      origin = new URL(service.urls.staging).origin;
    });
    after(() => service.stop());

    /** Asserts that a response is complete, in the format that it names, and no internal error. */
    async function assertHandled(method: string, path: string, body?: string, type = 'application/json') {
      const headers = { 'Content-Type': type, Accept: type, 'X-Sandbox': 'fuzz' };
      const reply = await send(origin + path, { method, headers, ...(body !== undefined && { body }) });
      const note = `${method} ${path} ${body?.slice(0, 200)}: ${reply.status} ${reply.text.slice(0, 200)}`;
      assert.ok([200, 400, 404, 405, 409, 415, 500].includes(reply.status), note);
      assert.match(String(reply.headers['x-ratelimit-remaining']), /^\d+$/, note);
      if (reply.status === 500) assert.match(reply.text, /something bad happened|There was an error|^$/, note);
      return reply;
    }

    const writing = Object.values(classicOperations).filter(({ method }) => method === 'POST' || method === 'PUT');

    it('handles every JSON in the body of every operation', async () => {
      await fc.assert(
        fc.asyncProperty(
          values,
          fc.constantFrom(...writing),
          fc.constantFrom('/v2', '/api/v3'),
          async (value, operation, prefix) => {
            const path = prefix + operation.path.replace(/\{\w+\}/, '7');
            const { status, body } = await assertHandled(operation.method, path, JSON.stringify(value));
            if (status !== 200 || operation.path !== '/pet') return;
            const read = await assertHandled('GET', `${prefix}/pet/${body.id}`);
            if (Number.isSafeInteger(body.id)) assert.deepEqual(read.body, body);
            const inXml = await assertHandled('GET', `${prefix}/pet/${body.id}`, undefined, 'application/xml');
            if (!Number.isSafeInteger(body.id)) return;
            // XML is read as it is written.
            const stored = await assertHandled('PUT', `${prefix}/pet`, inXml.text, 'application/xml');
            assert.deepEqual([stored.status, stored.text.length], [200, inXml.text.length]);
          },
        ),
        { numRuns: long ? 2000 : 60, endOnFailure: true },
      );
      assert.ok(!service.lines.some(line => line.includes('internal_error')), 'no internal error was logged');
    });

    it('handles every text in a path, a query, a form and XML', async () => {
      const prefixes = fc.constantFrom('/v2', '/api/v3');
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), prefixes, async (text, prefix) => {
          const encoded = encodeURIComponent(text.toWellFormed());
          for (const path of [`/pet/${encoded}`, `/user/${encoded}`, `/pet/findByStatus?status=${encoded}`]) {
            await assertHandled('GET', prefix + path);
          }
          await assertHandled('DELETE', `${prefix}/store/order/${encoded}`);
          await assertHandled(
            'POST',
            `${prefix}/pet/7?name=${encoded}`,
            `name=${encoded}`,
            'application/x-www-form-urlencoded',
          );
          await assertHandled('POST', `${prefix}/pet`, `<Pet><id>7</id><name>${text}</name></Pet>`, 'application/xml');
          await assertHandled(
            'POST',
            `${prefix}/pet/7/uploadImage`,
            `--x\r\n${text}\r\n\r\n${text}\r\n--x--`,
            'multipart/form-data; boundary=x',
          );
        }),
        { numRuns: long ? 2000 : 40, endOnFailure: true },
      );
      assert.ok(!service.lines.some(line => line.includes('internal_error')), 'no internal error was logged');
    });
  }),
);

overPostgres(engine =>
  describeUnless(withoutValkey, 'two nodes of the classic Petstore', () => {
    it('share sandboxes and their bounds', async t => {
      const settings = { ...(await engine.settings()), ...environment, PETSTORE_VALKEY_URL: valkeyUrl };
      const nodes: TestService[] = [];
      for (const _ of [1, 2]) {
        const node = await serve({ environment: settings });
        t.after(() => node.stop());
        nodes.push(node);
      }
      const store = (sandbox: string, i: number) =>
        send(`${new URL(nodes[i % 2]!.urls.staging).origin}/v2/pet`, {
          method: 'POST',
          headers: { 'X-Sandbox': sandbox },
          body: { id: i + 1, status: 'sold' },
        });
      const created = await Promise.all(Array.from({ length: 30 }, (_, i) => store(`${i}`, i)));
      assert.equal(created.filter(({ status }) => status === 200).length, 20);
      assert.equal(created.filter(({ status }) => status === 503).length, 10);
      const shared = created.findIndex(({ status }) => status === 200);
      const stored = await Promise.all(Array.from({ length: 20 }, (_, i) => store(`${shared}`, i)));
      assert.ok(stored.every(({ status }) => status === 200));
      for (const { urls } of nodes) {
        const headers = { 'X-Sandbox': `${shared}` };
        const { body } = await send(`${new URL(urls.staging).origin}/v2/store/inventory`, { headers });
        assert.deepEqual(body, { sold: 20 });
      }
    });
  }),
);

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { UserError } from '../../src/lib/user-error.ts';
import { query } from '../../src/model/schema.ts';
import { newCaller } from '../support/caller.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { serve } from '../support/serving.ts';
import { assertRejected, clock, START, setUpWebhooks } from '../support/webhooks-over-http.ts';

overEachEngine(engine => {
  describe('Webhooks over HTTP', () => {
    const suite = setUpWebhooks(engine);

    it('shows the secret of a new webhook only once', async () => {
      const { serving, receiver, owner, admin } = suite;
      const key = { 'Idempotency-Key': randomUUID() };
      const members = { url: receiver.url, types: ['pet.*'], categoryIds: [2], description: 'Mine' };
      const made = await owner.post('/webhooks', members, key);
      assert.equal(made.status, 201);
      const { secret, ...webhook } = made.body;
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      assert.equal(made.headers.location, `${serving.urls.production}/webhooks/${webhook.id}`);
      assert.equal(made.headers.etag, `"${webhook.id}.1"`);
      const at = new Date(clock.now()).toISOString();
      assert.deepEqual(webhook, {
        id: webhook.id,
        ...members,
        status: 'inactive',
        createdAt: at,
        updatedAt: at,
        accountId: owner.accountId,
        keyId: webhook.keyId,
        scopes: ['*'],
      });
      const retry = await owner.post('/webhooks', members, key);
      assert.deepEqual([retry.status, retry.body], [201, { ...webhook, secret: null }]);
      assert.equal(retry.headers['idempotency-replayed'], 'true');
      for (const by of [owner, admin]) {
        const read = await by.get(`/webhooks/${webhook.id}`);
        assert.deepEqual([read.status, read.body, read.headers.etag], [200, webhook, made.headers.etag]);
        const { body } = await by.get('/webhooks?limit=100');
        assert.deepEqual(
          body.find(({ id }: { id: number }) => id === webhook.id),
          webhook,
        );
      }
      const rotated = await owner.post(`/webhooks/${webhook.id}/secrets`, undefined, { 'Idempotency-Key': 'r' });
      assert.equal(rotated.status, 201);
      assert.equal(rotated.body.previousExpiresAt, new Date(clock.now() + 86_400_000).toISOString());
      const again = await owner.post(`/webhooks/${webhook.id}/secrets`, undefined, { 'Idempotency-Key': 'r' });
      assert.deepEqual(again.body, { ...rotated.body, secret: null });
      await owner.post(`/webhooks/${webhook.id}/test`);
      await assertNoSecrets(secret, rotated.body.secret);
    });

    it('rejects invalid members and names each', async () => {
      const { receiver, owner } = suite;
      for (const [body, path] of [
        [{}, '/url'],
        [{ url: 7 }, '/url'],
        [{ url: '' }, '/url'],
        [{ url: `https://receiver.example/${'x'.repeat(2048)}` }, '/url'],
        [{ url: 'https://192.168.1.1/' }, '/url'],
        [{ url: 'https://jo:pw@receiver.example/' }, '/url'],
        [{ url: receiver.url, types: [] }, '/types'],
        [{ url: receiver.url, types: ['pet.sold'] }, '/types/0'],
        [{ url: receiver.url, types: ['pet.*', 'pet.*'] }, '/types'],
        [{ url: receiver.url, categoryIds: [] }, '/categoryIds'],
        [{ url: receiver.url, categoryIds: [0] }, '/categoryIds/0'],
        [{ url: receiver.url, categoryIds: Array.from({ length: 101 }, (_, index) => index + 1) }, '/categoryIds'],
        [{ url: receiver.url, description: '' }, '/description'],
        [{ url: receiver.url, description: 'a\nb' }, '/description'],
        [{ url: receiver.url, description: 'x'.repeat(256) }, '/description'],
        [{ url: receiver.url, description: null }, '/description'],
      ] as [object, string][]) {
        const reply = await owner.post('/webhooks', body);
        assertRejected(reply, 400, 'invalid_body');
        assert.deepEqual(
          reply.body.errors.map((error: { path: string }) => error.path),
          [path],
          JSON.stringify(body).slice(0, 100),
        );
      }
      for (const overlapSeconds of [-1, 604_801, 1.5, '1', null]) {
        const { path } = await suite.newWebhook();
        assertRejected(await owner.post(`${path}/secrets`, { overlapSeconds }), 400, 'invalid_body');
      }
    });

    it('responds with 404 to other accounts, and allows admins everything', async () => {
      const { receiver, owner, stranger, admin } = suite;
      const { path } = await suite.newWebhook();
      const requests: [string, string, unknown?][] = [
        ['GET', path],
        ['PATCH', path, { description: 'x' }],
        ['POST', `${path}/activation`],
        ['POST', `${path}/test`],
        ['GET', `${path}/deliveries`],
        ['GET', `${path}/deliveries/1`],
        ['POST', `${path}/secrets`],
        ['POST', `${path}/redeliveries`, { eventId: 'evt_1' }],
        ['POST', `${path}/redeliveries`, { since: new Date(START).toISOString() }],
        ['POST', `${path}/deactivation`],
        ['DELETE', path],
      ];
      for (const [method, at, body] of requests) {
        assertRejected(await stranger.ask(method, at, body), 404, 'webhook_not_found');
      }
      assert.equal(receiver.received.length, 0);
      assert.ok(!(await stranger.get('/webhooks')).body.some(({ id }: { id: number }) => `/webhooks/${id}` === path));
      for (const [method, at, body] of requests) {
        if (at === `${path}/deliveries/1`) continue;
        const reply = await admin.ask(method, at, body);
        assert.ok(reply.status < 300, `${method} ${at}: ${reply.text}`);
      }
      assertRejected(await owner.get(path), 404, 'webhook_not_found');
    });

    it('limits the webhooks of an account', async () => {
      const few = await serve({
        clock,
        environment: { ...(await engine.settings()), PETSTORE_WEBHOOKS_MAX: '2', PETSTORE_STAGING_PORT: '' },
      });
      try {
        const caller = await newCaller(few);
        const members = { url: 'https://receiver.example/' };
        const made = await Promise.all([1, 2, 3, 4].map(() => caller.post('/webhooks', members)));
        assert.deepEqual(made.map(({ status }) => status).sort(), [201, 201, 409, 409]);
        assertRejected(await caller.post('/webhooks', members), 409, 'webhook_limit_exceeded');
        await caller.ask('DELETE', `/webhooks/${made.find(({ status }) => status === 201)!.body.id}`);
        assert.equal((await caller.post('/webhooks', members)).status, 201);
      } finally {
        await few.stop();
      }
    });

    it('evaluates If-Match', async () => {
      const { receiver, owner } = suite;
      const { path, id } = await suite.newWebhook();
      const old = { 'If-Match': `"${id}.7"` };
      assertRejected(await owner.patch(path, { description: 'x' }, old), 412, 'precondition_failed');
      assertRejected(await owner.post(`${path}/activation`, undefined, old), 412, 'precondition_failed');
      assertRejected(await owner.post(`${path}/deactivation`, undefined, old), 412, 'precondition_failed');
      assertRejected(await owner.ask('DELETE', path, undefined, old), 412, 'precondition_failed');
      assert.equal(receiver.received.length, 0, 'nothing was tested');
      const changed = await owner.patch(path, { description: 'x' }, { 'If-Match': `"${id}.1"` });
      assert.deepEqual([changed.status, changed.headers.etag], [200, `"${id}.2"`]);
      assert.equal((await owner.ask('DELETE', path, undefined, { 'If-Match': `"${id}.2"` })).status, 204);
    });

    it('refuses to start with another secret key', async context => {
      const { serving } = suite;
      const directory = `${dirname(serving.file)}-other`;
      context.after(() => rmSync(directory, { recursive: true, force: true }));
      const own = await engine.settings();
      const key = (byte: number) => ({ PETSTORE_SECRET_KEY: Buffer.alloc(32, byte).toString('base64') });
      const environment = {
        ...own,
        PETSTORE_STAGING_PORT: '',
        ...(engine.name === 'sqlite' && { PETSTORE_DATA_DIR: directory }),
      };
      const first = await serve({ clock, environment: { ...environment, ...key(1) } });
      const caller = await newCaller(first);
      assert.equal((await caller.post('/webhooks', { url: 'https://receiver.example/' })).status, 201);
      await first.app.close();
      await assert.rejects(
        serve({ clock, environment: { ...environment, ...key(2) } }),
        (error: Error) => error instanceof UserError && /PETSTORE_SECRET_KEY/.test(error.message),
      );
      const again = await serve({ clock, environment: { ...environment, ...key(1) } });
      await again.stop();
      await first.stop();
    });

    /** Asserts that secrets occur neither in the log nor in storage, in any encoding. */
    async function assertNoSecrets(...secrets: string[]) {
      const { serving, database } = suite;
      const places = [serving.lines.join('')];
      if (engine.name === 'sqlite') {
        const directory = dirname(serving.file);
        for (const name of readdirSync(directory)) places.push(readFileSync(join(directory, name), 'latin1'));
        assert.ok(
          places.some(text => text.includes('webhook_secrets')),
          'the searched files contain the table',
        );
      } else {
        for (const rows of tables) places.push(JSON.stringify(await database.all(rows, {})));
        assert.ok(places.some(text => text.includes('"secret":"1.')));
      }
      for (const secret of secrets) {
        const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
        for (const text of [secret, ...encodings.map(encoding => bytes.toString(encoding))]) {
          for (const place of places) assert.ok(!place.includes(text));
        }
      }
    }
  });
});

const encodings = ['base64', 'base64url', 'hex', 'latin1'] as const;

/** The tables that could contain a secret. */
const tables = (
  ['webhooks', 'webhook_secrets', 'deliveries', 'delivery_attempts', 'idempotency', 'events', 'facts'] as const
).map(table => query<Record<never, never>, unknown>(db => db.selectFrom(table).selectAll()));

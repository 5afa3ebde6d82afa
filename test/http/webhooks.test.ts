import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { createAccount } from '../../src/accounts/accounts.ts';
import { testClock } from '../../src/lib/clock.ts';
import { UserError } from '../../src/lib/user-error.ts';
import { listMessages } from '../../src/messages/list.ts';
import { type Database, query } from '../../src/schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts';
import { assertApiResponse, type Reply, type Serving, send, serve } from '../support/serving.ts';

// The reference library compares the timestamp of a signature with the wall clock, so the test clock starts there.
const START = Math.floor(Date.now());
const WEBHOOKS_MAX = 1000;

overEachEngine(engine => {
  describe('Webhooks over HTTP', () => {
    let behindMs = 0;
    const clock = Object.assign(testClock(START), { wallTime: () => clock.now() - behindMs });
    let serving: Serving;
    let database: Database;
    let receiver: Receiver;
    let owner: Caller;
    let stranger: Caller;
    let admin: Caller;

    before(async () => {
      const environment = {
        ...(await engine.settings()),
        PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
        PETSTORE_WEBHOOKS_MAX: String(WEBHOOKS_MAX),
        PETSTORE_STAGING_PORT: '',
      };
      serving = await serve({ clock, environment });
      database = serving.app.databases.production;
      [owner, stranger] = [await newCaller(serving), await newCaller(serving)];
      admin = await newCaller(serving, true);
    });
    after(() => serving?.stop());
    beforeEach(async () => {
      receiver = await startReceiver();
    });
    // Receivers stay open until the end, so that no delivery in progress fails late.
    const closing: Receiver[] = [];
    beforeEach(() => void closing.push(receiver));
    after(() => Promise.all(closing.map(one => one.close())));

    /** Creates a webhook for the receiver. */
    async function newWebhook(members: object = {}, by = owner): Promise<{ id: number; secret: string; path: string }> {
      const made = await by.post('/webhooks', { url: receiver.url, ...members });
      assert.equal(made.status, 201, made.text);
      const { id, secret } = made.body;
      return { id, secret, path: `/webhooks/${id}` };
    }

    it('shows the secret of a new webhook only once', async () => {
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

    it('signs with the wall clock, even if the clock of the process is ahead', async () => {
      const { path } = await newWebhook();
      const day = 86_400_000;
      behindMs = day;
      const tested = await owner.post(`${path}/test`).finally(() => {
        behindMs = 0;
      });
      assert.equal(tested.body.status, 'delivered', tested.text);
      assert.equal(receiver.received[0]!.headers['webhook-timestamp'], String(Math.floor((clock.now() - day) / 1000)));
      assert.equal(tested.body.createdAt, new Date(clock.now()).toISOString());
    });

    /** Asserts that secrets occur neither in the log nor in storage, in any encoding. */
    async function assertNoSecrets(...secrets: string[]) {
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

    it('rejects invalid members and names each', async () => {
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
        const { path } = await newWebhook();
        assertRejected(await owner.post(`${path}/secrets`, { overlapSeconds }), 400, 'invalid_body');
      }
    });

    it('responds with 404 to other accounts, and allows admins everything', async () => {
      const { path } = await newWebhook();
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

    it('activates a webhook after a signed test that the reference library verifies', async () => {
      const { path, id, secret } = await newWebhook();
      const active = await owner.post(`${path}/activation`);
      assert.deepEqual([active.status, active.body.status, active.headers.etag], [200, 'active', `"${id}.2"`]);
      const [test, ...more] = receiver.received;
      assert.equal(more.length, 0);
      const event = verified(test!, secret);
      assert.deepEqual(event, {
        type: 'webhook.test',
        timestamp: new Date(clock.now()).toISOString(),
        time: new Date(clock.now()).toISOString(),
        id: test!.headers['webhook-id'],
        data: { id },
      });
      assert.throws(() =>
        new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(test!.body, headersOf(test!)),
      );

      const again = await owner.post(`${path}/activation`);
      assert.deepEqual([again.status, again.body], [200, active.body]);
      assert.equal(receiver.received.length, 1, 'an active webhook is not tested again');
      const { body: deliveries } = await owner.get(`${path}/deliveries`);
      assert.deepEqual(
        deliveries.map(({ type, status }: Record<string, string>) => [type, status]),
        [['webhook.test', 'delivered']],
      );
      await owner.ask('DELETE', path);
    });

    it('does not change a webhook whose test fails, and reports the reason', async () => {
      const { path } = await newWebhook();
      receiver.respond = (_, response) => response.writeHead(500).end('On fire.');
      const failed = await owner.post(`${path}/activation`);
      assertRejected(failed, 409, 'webhook_test_failed');
      assert.match(failed.body.message, /with status 500/);
      assert.doesNotMatch(failed.text, /On fire/, 'the response body is shown only with the delivery');
      receiver.respond = (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      assert.match((await owner.post(`${path}/activation`)).body.message, /with status 302/);
      receiver.respond = (_, response) => void response.destroy();
      assert.match((await owner.post(`${path}/activation`)).body.message, /closed before a response/);
      const away = await owner.patch(path, { url: 'http://127.0.0.1:1/' });
      assert.equal(away.body.status, 'inactive');
      assert.match((await owner.post(`${path}/activation`)).body.message, /connection was refused/);
      assert.equal((await owner.get(path)).text, away.text, 'nothing was changed');
      const { body: deliveries } = await owner.get(`${path}/deliveries?status=failed`);
      assert.deepEqual(
        deliveries.map(({ attempts: [attempt] }: { attempts: [Record<string, unknown>] }) => [
          attempt['status'],
          attempt['fault'],
          attempt['answer'],
        ]),
        [
          [undefined, 'refused', undefined],
          [undefined, 'reset', undefined],
          [302, undefined, undefined],
          [500, undefined, undefined],
        ],
      );
      const { body: first } = await owner.get(`${path}/deliveries/${deliveries.at(-1).id}`);
      assert.equal(first.attempts[0].answer, 'On fire.');
      assertRejected(await owner.get(`${path}/deliveries/999999`), 404, 'delivery_not_found');
    });

    for (const [what, change, code] of [
      [
        'a change of its URL',
        (path: string) => owner.patch(path, { url: `${receiver.url}/elsewhere` }),
        'webhook_test_failed',
      ],
      ['its deactivation', (path: string) => owner.post(`${path}/deactivation`), 'webhook_test_failed'],
      ['its deletion', (path: string) => owner.ask('DELETE', path), 'webhook_not_found'],
    ] as const) {
      it(`does not activate a webhook after ${what} during the test`, async () => {
        const { path } = await newWebhook();
        const asked = Promise.withResolvers<void>();
        const free = Promise.withResolvers<void>();
        receiver.respond = async (_, response) => {
          asked.resolve();
          await free.promise;
          response.writeHead(204).end();
        };
        const activation = owner.post(`${path}/activation`);
        await asked.promise;
        assertRejected(await owner.post(`${path}/test`), 409, 'webhook_test_running');
        assert.ok((await change(path)).status < 300);
        free.resolve();
        assertRejected(await activation, code === 'webhook_not_found' ? 404 : 409, code);
        const now = await owner.get(path);
        if (now.status === 200) assert.equal(now.body.status, 'inactive');
        else assertRejected(now, 404, 'webhook_not_found');
      });
    }

    it('tests a webhook whatever its status; a retry with the same Idempotency-Key does not test again', async () => {
      const { path, secret } = await newWebhook();
      receiver.respond = (_, response) => response.writeHead(418).end('x'.repeat(5000));
      const key = { 'Idempotency-Key': randomUUID() };
      const test = await owner.post(`${path}/test`, undefined, key);
      assert.equal(test.status, 200);
      const { attempts, ...delivery } = test.body;
      assert.deepEqual([delivery.type, delivery.status, 'eventId' in delivery], ['webhook.test', 'failed', false]);
      assert.deepEqual([attempts.length, attempts[0].status, attempts[0].answer], [1, 418, 'x'.repeat(1024)]);
      verified(receiver.received[0]!, secret);
      assert.equal((await owner.post(`${path}/test`, undefined, key)).text, test.text);
      assert.equal(receiver.received.length, 1);
      assert.deepEqual((await owner.get(`${path}/deliveries/${delivery.id}`)).body, test.body);
      assert.equal((await owner.get(path)).body.status, 'inactive');
    });

    it('signs with every valid secret', async () => {
      const { path, secret: first } = await newWebhook();
      const { secret: second } = (await owner.post(`${path}/secrets`, { overlapSeconds: 60 })).body;
      const signatures = async () => {
        await owner.post(`${path}/test`);
        return receiver.received.at(-1)!;
      };
      const both = await signatures();
      assert.equal(String(both.headers['webhook-signature']).split(' ').length, 2);
      verified(both, first);
      verified(both, second);
      clock.advance(60_000);
      const one = await signatures();
      verified(one, second);
      assert.throws(() => verified(one, first), /No matching signature/);
      for (let round = 0; round < 4; round++) await owner.post(`${path}/secrets`, { overlapSeconds: 3600 });
      assertRejected(await owner.post(`${path}/secrets`), 409, 'webhook_secret_limit_exceeded');
      const { secret: last } = (await owner.post(`${path}/secrets`, { overlapSeconds: 0 })).body;
      const now = await signatures();
      assert.equal(String(now.headers['webhook-signature']).split(' ').length, 1);
      verified(now, last);
    });

    it('evaluates If-Match', async () => {
      const { path, id } = await newWebhook();
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

    it('delivers the events that happen while a webhook is active, and delivers events again on request', async () => {
      const { path, secret } = await newWebhook({ types: ['pet.*'] });
      await createPet('Too early');
      assertRejected(await owner.post(`${path}/redeliveries`, { eventId: 'evt_1' }), 409, 'webhook_not_active');
      await owner.post(`${path}/activation`);
      clock.advance(60_000);
      const since = new Date(clock.now()).toISOString();
      // The clocks of processes may differ by ten seconds.
      clock.advance(11_000);
      await createPet('Minka');
      await until(() => receiver.received.length === 2);
      const { type, id: eventId, data } = verified(receiver.received[1]!, secret);
      assert.deepEqual(
        [type, data.name, receiver.received[1]!.headers['webhook-id']],
        ['pet.created', 'Minka', eventId],
      );

      const one = await owner.post(`${path}/redeliveries`, { eventId });
      assert.deepEqual([one.status, one.body], [202, { eventId }]);
      await until(() => receiver.received.length === 3);
      const all = await owner.post(`${path}/redeliveries`, { since });
      assert.deepEqual([all.status, all.body], [202, { id: all.body.id, since }]);
      await until(() => receiver.received.length === 4);
      for (const again of receiver.received.slice(2)) assert.deepEqual(verified(again, secret).id, eventId);
      const listed = async () => (await owner.get(`${path}/deliveries?eventId=${eventId}&status=delivered`)).body;
      await until(async () => (await listed()).length === 3);

      for (const body of [{}, { eventId, since }, { eventId: 'x' }, { since: 'yesterday' }, { eventId: null }]) {
        assertRejected(await owner.post(`${path}/redeliveries`, body), 400, 'invalid_body');
      }
      const future = new Date(clock.now() + 1).toISOString();
      assertRejected(await owner.post(`${path}/redeliveries`, { since: future }), 400, 'invalid_body');
      assertRejected(
        await owner.post(`${path}/redeliveries`, { since: '2020-01-01T00:00:00Z' }),
        410,
        'events_expired',
      );
      assertRejected(await owner.post(`${path}/redeliveries`, { eventId: 'evt_999999999' }), 404, 'event_not_found');

      await owner.post(`${path}/deactivation`);
      await createPet('Too late');
      await owner.post(`${path}/activation`);
      await createPet('Rex');
      await until(() => receiver.received.length === 6);
      assert.equal(verified(receiver.received[5]!, secret).data.name, 'Rex');
      await owner.ask('DELETE', path);
    });

    it('disables a webhook whose receiver responds 410, and sends its owner a message', async () => {
      const { id, path } = await newWebhook({ types: ['pet.*'] });
      await owner.post(`${path}/activation`);
      receiver.respond = (_, response) => response.writeHead(410).end();
      await createPet('Minka');
      await until(async () => (await owner.get(path)).body.status === 'disabled');
      assert.equal((await owner.get(path)).body.disabledReason, 'gone');
      const inboxOf = async ({ accountId }: Caller) =>
        (await listMessages(database, { accountId, admin: false }, 'inbox', { limit: 100 })).rows;
      await until(async () => (await inboxOf(owner)).length === 1);
      const [message] = await inboxOf(owner);
      assert.equal(message!.accountId, null);
      assert.match(
        message!.message,
        new RegExp(`^Your webhook ${id} was disabled, because its receiver responded with status 410`),
      );
      assert.deepEqual(await inboxOf(stranger), []);
    });

    it('refuses to start with another secret key', async context => {
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

    async function createPet(name: string) {
      const { status, text } = await owner.post('/pets', { name, categoryId: 2 });
      assert.equal(status, 201, text);
    }
  });
});

/** The event, or test event, in a delivery. */
interface DeliveredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly name?: string };
}

/** Verifies the signature of a delivery and returns its event. */
function verified(delivery: Received, secret: string): DeliveredEvent {
  return new Webhook(secret).verify(delivery.body, headersOf(delivery)) as DeliveredEvent;
}

function headersOf({ headers }: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

const encodings = ['base64', 'base64url', 'hex', 'latin1'] as const;

/** The tables that could contain a secret. */
const tables = (
  ['webhooks', 'webhook_secrets', 'deliveries', 'delivery_attempts', 'idempotency', 'events', 'facts'] as const
).map(table => query<Record<never, never>, unknown>(db => db.selectFrom(table).selectAll()));

async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await met())) {
    assert.ok(performance.now() < end, 'the condition is not met in time');
    await pause(5);
  }
}

type Ask = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>;

interface Caller {
  readonly accountId: number;
  readonly get: (path: string) => Promise<Reply>;
  readonly post: Ask;
  readonly patch: Ask;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

let callers = 0;

/** Creates an account with a key. */
async function newCaller(serving: Serving, isAdmin = false): Promise<Caller> {
  const { id: accountId } = await serving.app.databases.production.write(tx =>
    createAccount(tx, {
      email: `webhooks-${++callers}@example.org`,
      name: 'A caller',
      plan: 'enterprise',
      perMinute: 1_000_000,
      perDay: 1_000_000,
      admin: isAdmin,
    }),
  );
  const key = await serving.newKey({ accountId });
  const ask: Caller['ask'] = async (method, path, body, headers = {}) => {
    const reply = await send(serving.urls.production + path, {
      method,
      key,
      headers,
      ...(body !== undefined && { body }),
    });
    assertApiResponse(reply, `${method} ${path}`);
    return reply;
  };
  return {
    accountId,
    ask,
    get: path => ask('GET', path),
    post: (path, body, headers) => ask('POST', path, body, headers),
    patch: (path, body, headers) => ask('PATCH', path, body, headers),
  };
}

function assertRejected(reply: Reply, status: number, code: string) {
  assert.deepEqual([reply.status, reply.body.code], [status, code], reply.text);
}

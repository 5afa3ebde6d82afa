import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type Params, query } from '../../src/model/schema.ts';
import { listMessages } from '../../src/store/messages/list.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import type { Caller } from '../support/caller.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { serve } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertRejected, clock, headersOf, setUpWebhooks, verified } from '../support/webhooks-over-http.ts';

overEachEngine(engine => {
  describe('Deliveries to webhooks over HTTP', () => {
    const suite = setUpWebhooks(engine);

    it('signs with the wall clock, even if the clock of the process is ahead', async () => {
      const { receiver, owner } = suite;
      const { path } = await suite.newWebhook();
      const day = 86_400_000;
      clock.behindMs = day;
      const tested = await owner.post(`${path}/test`).finally(() => {
        clock.behindMs = 0;
      });
      assert.equal(tested.body.status, 'delivered', tested.text);
      assert.equal(receiver.received[0]!.headers['webhook-timestamp'], String(Math.floor((clock.now() - day) / 1000)));
      assert.equal(tested.body.createdAt, new Date(clock.now()).toISOString());
    });

    it('activates a webhook after a signed test that the reference library verifies', async () => {
      const { receiver, owner } = suite;
      const { path, id, secret } = await suite.newWebhook();
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

    it('delivers long texts as they were at the time of the event, which stores none that the animal still has', async () => {
      const { receiver, owner, database } = suite;
      const { path } = await suite.newWebhook({ types: ['pet.*'] });
      await owner.post(`${path}/activation`);
      const [first, second] = ['a'.repeat(3000), 'b'.repeat(3000)];
      const { body: pet } = await owner.post('/pets', { name: 'x', categoryId: 2, description: first });
      await owner.patch(`/pets/${pet.id}`, { description: second });
      await owner.ask('DELETE', `/pets/${pet.id}`);
      const events = () =>
        receiver.received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type !== 'webhook.test');
      await waitUntil(() => events().length === 3);
      const sorted = events().toSorted((a, b) => a.sequence - b.sequence);
      assert.deepEqual(
        sorted.map(({ data, changes }) => [data.description, changes.description]),
        [
          [first, { to: first }],
          [second, { from: first, to: second }],
          [second, { from: second }],
        ],
      );
      const { body: listed } = await owner.get('/events?types=pet.*');
      assert.deepEqual(
        sorted.map(({ id }) => id),
        listed.map(({ id }: { id: string }) => id),
      );
      assert.deepEqual(
        sorted.map(({ changes }) => changes),
        listed.map(({ changes }: { changes: object }) => changes),
      );
      const stored = await database.all(lengthsOfPetEvents, {});
      assert.deepEqual(
        stored.map(({ length }) => Math.floor(length / 3000)),
        [0, 1, 1],
      );
      await owner.ask('DELETE', path);
    });

    if (engine.name === 'postgres') {
      it('stores no long text twice on staging either', async t => {
        const serving = await serve({ clock, environment: await engine.settings() });
        t.after(() => serving.stop());
        const { staging } = serving.app.databases;
        const added = await staging!.write(tx =>
          createPet(tx, 1, { name: 'x', categoryId: 2, description: 'a'.repeat(3000) }, 'open'),
        );
        const lengths = await staging!.all(lengthsOfPetEvents, {});
        assert.ok(lengths.at(-1)!.length < 1000, `the event of animal ${added.id}`);
      });
    }

    it('does not change a webhook whose test fails, and reports the reason', async () => {
      const { receiver, owner } = suite;
      const { path } = await suite.newWebhook();
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
        (path: string) => suite.owner.patch(path, { url: `${suite.receiver.url}/elsewhere` }),
        'webhook_test_failed',
      ],
      ['its deactivation', (path: string) => suite.owner.post(`${path}/deactivation`), 'webhook_test_failed'],
      ['its deletion', (path: string) => suite.owner.ask('DELETE', path), 'webhook_not_found'],
    ] as const) {
      it(`does not activate a webhook after ${what} during the test`, async () => {
        const { receiver, owner } = suite;
        const { path } = await suite.newWebhook();
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
      const { receiver, owner } = suite;
      const { path, secret } = await suite.newWebhook();
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
      const { receiver, owner } = suite;
      const { path, secret: first } = await suite.newWebhook();
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

    it('sends the trace of a request with its event, except to webhooks of other accounts', async () => {
      const { receiver, owner, stranger } = suite;
      const { path } = await suite.newWebhook({ types: ['pet.*'] });
      const other = await stranger.post('/webhooks', { url: `${receiver.url}/other`, types: ['pet.*'] });
      await owner.post(`${path}/activation`);
      await stranger.post(`/webhooks/${other.body.id}/activation`);
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      await owner.post('/pets', { name: 'Traced', categoryId: 2 }, { traceparent });
      await owner.post('/pets', { name: 'Untraced', categoryId: 2 }, { traceparent: 'no trace' });
      await waitUntil(() => receiver.received.length === 6);
      const traces = receiver.received.slice(2).map(({ body, headers }) => {
        const { accountId, data } = JSON.parse(body);
        // Only the owner learns the account.
        return `${accountId === owner.accountId ? 'owner' : 'other'} ${data.name} ${headers['traceparent']}`;
      });
      assert.deepEqual(traces.sort(), [
        'other Traced undefined',
        'other Untraced undefined',
        `owner Traced ${traceparent}`,
        'owner Untraced undefined',
      ]);
      await owner.ask('DELETE', path);
      await stranger.ask('DELETE', `/webhooks/${other.body.id}`);
    });

    it('delivers the events that happen while a webhook is active, and delivers events again on request', async () => {
      const { receiver, owner } = suite;
      const { path, secret } = await suite.newWebhook({ types: ['pet.*'] });
      await suite.createPet('Too early');
      assertRejected(await owner.post(`${path}/redeliveries`, { eventId: 'evt_1' }), 409, 'webhook_not_active');
      await owner.post(`${path}/activation`);
      clock.advance(60_000);
      const since = new Date(clock.now()).toISOString();
      // The clocks of processes may differ by ten seconds.
      clock.advance(11_000);
      await suite.createPet('Minka');
      await waitUntil(() => receiver.received.length === 2);
      const { type, id: eventId, data } = verified(receiver.received[1]!, secret);
      assert.deepEqual(
        [type, data.name, receiver.received[1]!.headers['webhook-id']],
        ['pet.created', 'Minka', eventId],
      );

      const one = await owner.post(`${path}/redeliveries`, { eventId });
      assert.deepEqual([one.status, one.body], [202, { eventId }]);
      await waitUntil(() => receiver.received.length === 3);
      const all = await owner.post(`${path}/redeliveries`, { since });
      assert.deepEqual([all.status, all.body], [202, { id: all.body.id, since }]);
      await waitUntil(() => receiver.received.length === 4);
      for (const again of receiver.received.slice(2)) assert.deepEqual(verified(again, secret).id, eventId);
      const listed = async () => (await owner.get(`${path}/deliveries?eventId=${eventId}&status=delivered`)).body;
      await waitUntil(async () => (await listed()).length === 3);

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
      await suite.createPet('Too late');
      await owner.post(`${path}/activation`);
      await suite.createPet('Rex');
      await waitUntil(() => receiver.received.length === 6);
      assert.equal(verified(receiver.received[5]!, secret).data.name, 'Rex');
      await owner.ask('DELETE', path);
    });

    it('disables a webhook whose receiver responds 410, and sends its owner a message', async () => {
      const { database, receiver, owner, stranger } = suite;
      const { id, path } = await suite.newWebhook({ types: ['pet.*'] });
      await owner.post(`${path}/activation`);
      receiver.respond = (_, response) => response.writeHead(410).end();
      await suite.createPet('Minka');
      await waitUntil(async () => (await owner.get(path)).body.status === 'disabled');
      assert.equal((await owner.get(path)).body.disabledReason, 'gone');
      const inboxOf = async ({ accountId }: Caller) =>
        (await listMessages(database, { accountId, admin: false }, 'inbox', { limit: 100 })).rows;
      await waitUntil(async () => (await inboxOf(owner)).length === 1);
      const [message] = await inboxOf(owner);
      assert.equal(message!.accountId, null);
      assert.match(
        message!.message,
        new RegExp(`^Your webhook ${id} was disabled, because its receiver responded with status 410`),
      );
      assert.deepEqual(await inboxOf(stranger), []);
    });
  });
});

const lengthsOfPetEvents = query((db, _: Params<Record<never, never>>) =>
  db
    .selectFrom('events')
    .select(({ fn }) => fn<number>('length', ['data']).as('length'))
    .where('kind', '=', 'pet')
    .orderBy('id'),
);

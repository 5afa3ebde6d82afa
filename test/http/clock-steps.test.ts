import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { rotateKey } from '../../src/access/keys/keys.ts';
import { queueEmail } from '../../src/access/sessions/emails.ts';
import { testClock } from '../../src/lib/clock.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { type Database, type Query, query } from '../../src/model/schema.ts';
import { type Caller, newCaller } from '../support/caller.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signedIn } from '../web/session.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

overEachEngine(engine => {
  describe('when the clock is set ahead by an hour', () => {
    const clock = testClock(Date.UTC(2026, 10, 20, 12));
    let mail: SmtpServer;
    let receiver: Receiver;
    let service: TestService;
    let database: Database;
    let owner: Caller;
    let buyer: Caller;
    before(async () => {
      [mail, receiver] = await Promise.all([startSmtpServer(), startReceiver()]);
      const environment = {
        ...(await engine.settings()),
        PETSTORE_SMTP_URL: mail.url,
        PETSTORE_MAIL_FROM: 'store@example.org',
        PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
        PETSTORE_STAGING_PORT: '',
      };
      service = await serve({ clock, environment });
      database = service.app.databases.production;
      [owner, buyer] = [await newCaller(service), await newCaller(service)];
    });
    after(async () => {
      // Ends the e-mail in progress.
      await mail.close();
      await service?.stop();
      await receiver.close();
    });

    async function newPet(name: string): Promise<number> {
      const created = await owner.post('/pets', { name, categoryId: 2 });
      assert.equal(created.status, 201, created.text);
      return created.body.id;
    }

    it('ends what ends within the hour, once, and nothing else', async () => {
      const [short, long] = [await newPet('Short'), await newPet('Long')];
      const hold = (petId: number, ms: number) =>
        buyer.post('/holds', { petIds: [petId], expiresAt: new Date(clock.now() + ms).toISOString() });
      const [ending, lasting] = [await hold(short, 30 * MINUTE), await hold(long, 2 * HOUR)];
      const order = await buyer.post('/orders', { petId: await newPet('Ordered') });
      clock.step(HOUR);
      await waitUntil(async () => (await eventsOf(database, 'hold', ending.body.id)).length === 2);
      assert.equal((await buyer.get(`/holds/${ending.body.id}`)).body.status, 'expired');
      assert.equal((await buyer.get(`/holds/${lasting.body.id}`)).text, lasting.text);
      assert.equal((await buyer.get(`/orders/${order.body.id}`)).text, order.text);
      assert.equal((await owner.get(`/pets/${short}`)).body.status, 'available');
      const actions = (await eventsOf(database, 'pet', short)).map(({ action }) => action);
      assert.deepEqual(actions, ['created', 'updated', 'updated']);
    });

    it('keeps sessions, stored responses and keys, and the overlap of a rotation until its time', async () => {
      const person = await signedIn(service);
      const body = { name: 'Once', categoryId: 2 };
      const key = { 'Idempotency-Key': randomUUID() };
      const created = await owner.post('/pets', body, key);
      const rotated = await Promise.all(
        [30 * MINUTE, 2 * HOUR].map(async overlapMs => {
          const old = await service.newKey();
          const { issued } = await database.write(tx => rotateKey(tx, old.id, overlapMs));
          return [old, issued] as const;
        }),
      );
      clock.step(HOUR);
      assert.equal((await person.open('/account')).status, 200);
      const again = await owner.post('/pets', body, key);
      assert.deepEqual([again.status, again.text], [201, created.text]);
      const status = async (key: { token: string }) =>
        (await send(`${service.urls.production}/pets?limit=1`, { key })).status;
      const accepted = [];
      for (const [old, issued] of rotated) accepted.push(await status(old), await status(issued));
      assert.deepEqual(accepted, [401, 200, 200, 200]);
    });

    it('sends a delivery in progress once, although its lease is over', async () => {
      const { id } = (await owner.post('/webhooks', { url: receiver.url, types: ['pet.created'] })).body;
      assert.equal((await owner.post(`/webhooks/${id}/activation`)).status, 200);
      const before = receiver.received.length;
      const responses: (() => void)[] = [];
      receiver.respond = (_, response) => void responses.push(() => response.writeHead(204).end());
      await newPet('In progress');
      await waitUntil(() => responses.length === 1);
      clock.step(HOUR);
      await waitUntil(async () => (await nextDue(deliveryDue)) > clock.now());
      responses[0]!();
      receiver.respond = (_, response) => response.writeHead(204).end();
      await waitUntil(async () => (await owner.get(`/webhooks/${id}/deliveries?status=pending`)).body.length === 0);
      await newPet('Later');
      await waitUntil(() => receiver.received.length >= before + 2);
      const names = receiver.received.slice(before).map(({ body }) => JSON.parse(body).data.name);
      assert.deepEqual(names, ['In progress', 'Later']);
    });

    it('sends an e-mail in progress once, although its lease is over', async () => {
      const queue = (kind: 'account_exists' | 'email_changed') =>
        database.write(tx =>
          queueEmail(tx, { kind, accountId: owner.accountId, email: 'ann@example.org', url: 'https://store.example' }),
        );
      const before = mail.connections;
      mail.behaviour = { greeting: 'silence' };
      await queue('account_exists');
      await waitUntil(() => mail.connections === before + 1);
      clock.step(HOUR);
      await waitUntil(async () => (await nextDue(emailDue)) > clock.now());
      mail.behaviour = {};
      await queue('email_changed');
      await waitUntil(() => mail.mails.length === 1);
      assert.equal(mail.connections, before + 2);
    });

    /** Returns when the only row is due: when its lease ends. */
    async function nextDue(due: Query<object, { at: number | null }>): Promise<number> {
      return (await database.first(due, {}))?.at ?? 0;
    }
  });
});

const deliveryDue = query(db => db.selectFrom('deliveries').select('due_at as at').where('leased', '=', 1));
const emailDue = query(db => db.selectFrom('account_emails').select('due_at as at'));

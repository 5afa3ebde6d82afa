import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { testClock } from '../../src/lib/clock.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import {
  assertApiResponse,
  newProcessKey,
  type Reply,
  type SendOptions,
  send,
  serve,
  spawnService,
  type TestService,
} from '../support/serving.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');

/** An admin whose rate limit no test reaches. */
const root = {
  email: 'root@example.org',
  name: 'Root',
  admin: true,
  plan: 'enterprise',
  perMinute: 1_000_000,
  perDay: 1_000_000,
} as const;

describe('sendMessage', () => {
  let serving: TestService;
  let key: IssuedKey;
  before(async () => {
    serving = await serve({ clock: testClock(noon) });
    key = await serving.newKey();
  });
  after(() => serving.stop());

  const post = (body: unknown, sending: SendOptions = {}) =>
    send(`${serving.urls.messages}/messages`, { method: 'POST', key, body, ...sending });
  const get = (path: string, as: SendOptions['key'] = key) => send(`${serving.urls.messages}${path}`, { key: as! });
  const delivered = (id: string, as?: SendOptions['key']) =>
    waitUntil(async () => (await get(`/messages/${id}`, as)).body.status === 'delivered');

  function assertRejected(reply: Reply, code: string) {
    assert.equal(reply.status, 400, reply.text);
    assertApiResponse(reply);
    assert.equal(reply.body.code, code);
  }

  it('returns 202 with exactly its fields, in order', async () => {
    const reply = await post({ message: 'Hello, world!' });
    assertApiResponse(reply);
    assert.equal(reply.status, 202);
    const { id } = reply.body;
    assert.equal(
      reply.text,
      `{"id":"${id}","message":"Hello, world!","status":"queued","createdAt":"2026-11-20T12:00:00.000Z"}`,
    );
    assert.match(id, /^msg_[1-9]\d*$/);
    assert.equal(reply.headers.location, `${serving.urls.messages}/messages/${id}`);
    assert.equal((await send(reply.headers.location!, { key })).body.id, id);
  });

  it('stores every text of 1 to 10,000 characters unchanged', async () => {
    for (const message of ['x', ' ', 'a\nb\r\n\tc', '🐈'.repeat(10_000), 'e\u0301', '\u202e', '"\\', '<b>', '\ufeff']) {
      const reply = await post({ message });
      assert.equal(reply.status, 202, reply.text.slice(0, 200));
      assert.equal(reply.body.message, message);
      assert.equal((await send(reply.headers.location!, { key })).body.message, message);
    }
  });

  it('rejects an invalid message', async () => {
    for (const message of ['', 'x'.repeat(10_001), '🐈'.repeat(10_001), 'a\0b', 1, null, [], {}]) {
      const reply = await post({ message });
      assertRejected(reply, 'invalid_body');
      assert.equal(reply.body.errors[0].path, '/message');
    }
    assertRejected(await post('{"message":"\\ud800"}'), 'invalid_body');
    assertRejected(await post({}), 'invalid_body');
    assertRejected(await post([]), 'invalid_body');
    assertRejected(await post('{"message":'), 'invalid_json');
    assertRejected(await post(''), 'invalid_json');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
      assertRejected(await post('{"message":"x"}', { headers: { 'Content-Type': type } }), 'invalid_content_type');
    }
    assertRejected(await post({ message: 'x', other: 1 }, { headers: { Prefer: 'handling=strict' } }), 'invalid_body');
    assert.equal((await post({ message: 'x', other: 1 })).status, 202);
  });

  it('rejects an invalid reply address and every form of header injection', async () => {
    for (const replyTo of [
      '',
      'jo',
      'jo@',
      '@example.org',
      'jo@example.org\r\nBcc: eve@example.org',
      'jo@example.org\n',
      'Jo <jo@example.org>',
      'jo@example.org, eve@example.org',
      `${'x'.repeat(64)}@${'y'.repeat(63)}.${'y'.repeat(63)}.${'y'.repeat(62)}`,
      'jo@exämple.org',
      1,
      null,
    ]) {
      const reply = await post({ message: 'x', replyTo });
      assertRejected(reply, 'invalid_body');
      assert.equal(reply.body.errors[0].path, '/replyTo');
    }
    assert.equal((await post({ message: 'x', replyTo: "o'neil+pets@example.org" })).status, 202);
  });

  it('delivers a message to the owner of the pet', async () => {
    const owner = await serving.newKey();
    const pet = await send(`${serving.urls.production}/pets`, {
      method: 'POST',
      key: owner,
      body: { name: 'Minka', categoryId: 2 },
    });
    const reply = await post({ message: 'Is she there?', petId: pet.body.id });
    assert.deepEqual(Object.keys(reply.body), ['id', 'message', 'status', 'createdAt']);
    await delivered(reply.body.id);
    const inbox = await get('/messages?box=inbox', owner);
    assert.deepEqual([inbox.body.length, inbox.body[0].id, inbox.body[0].petId], [1, reply.body.id, pet.body.id]);
    assert.equal(inbox.text, `[${(await get(`/messages/${reply.body.id}`, owner)).text}]`);
    assert.deepEqual((await get('/messages?box=inbox')).body, []);
    for (const petId of [999_999, Number.MAX_SAFE_INTEGER]) {
      const unknown = await post({ message: 'x', petId });
      assert.deepEqual([unknown.status, unknown.body.code], [404, 'pet_not_found']);
    }
    for (const petId of [0, -1, 1.5, '1', null]) assertRejected(await post({ message: 'x', petId }), 'invalid_body');
  });

  it('delivers a message without a pet to the store, where admins read it', async () => {
    const { id: accountId } = await serving.app.databases.production.write(tx => createAccount(tx, root));
    const admin = await serving.newKey({ accountId });
    const { body } = await post({ message: 'To whom it may concern' });
    await delivered(body.id, admin);
    const stranger = await get(`/messages/${body.id}`, await serving.newKey());
    assert.deepEqual([stranger.status, stranger.body.code], [404, 'message_not_found']);
    for (const id of ['msg_0', 'msg_01', 'msg_999999', 'msg_9999999999999999', '1', 'msg_', 'MSG_1', 'msg_1x']) {
      const reply = await get(`/messages/${id}`);
      assert.deepEqual([reply.status, reply.body.code], [404, 'message_not_found'], id);
    }
    const all: string[] = [];
    for (let url: string | undefined = `${serving.urls.messages}/messages?box=inbox&limit=3`; url; ) {
      const page: Reply = await send(url, { key: admin });
      all.push(...page.body.map(({ message }: { message: string }) => message));
      url = page.headers['x-next'] as string | undefined;
    }
    assert.ok(all.includes('To whom it may concern') && all.includes('Hello, world!'));
  });

  it('sends one message for all retries with one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await post({ message: 'Once' }, { headers });
    const retry = await post({ message: 'Once' }, { headers });
    assert.deepEqual([retry.status, retry.text, retry.headers['idempotency-replayed']], [202, first.text, 'true']);
    const reused = await post({ message: 'Twice' }, { headers });
    assert.deepEqual([reused.status, reused.body.code], [422, 'idempotency_key_reused']);
  });

  it('requires a scope to send and a scope to read', async () => {
    const [writer, reader] = [
      await serving.newKey({ scopes: ['messages:write'] }),
      await serving.newKey({ scopes: ['messages:read'] }),
    ];
    assert.equal((await post({ message: 'x' }, { key: writer })).status, 202);
    assert.equal((await get('/messages', reader)).status, 200);
    for (const reply of [await post({ message: 'x' }, { key: reader }), await get('/messages', writer)]) {
      assert.deepEqual([reply.status, reply.body.code], [403, 'insufficient_scope']);
    }
  });

  it('keeps messages of staging keys in staging', async () => {
    const staging = await serving.newKey({ deployment: 'staging' });
    const animal = { name: 'Only here', categoryId: 1 };
    const pet = await send(`${serving.urls.staging}/pets`, { method: 'POST', key: staging, body: animal });
    const there = await post({ message: 'In staging', petId: pet.body.id }, { key: staging });
    assert.equal(there.status, 202, there.text);
    await delivered(there.body.id, staging);
    const sent = await get('/messages', staging);
    assert.deepEqual(
      sent.body.map(({ message }: { message: string }) => message),
      ['In staging'],
    );
    const same = await serving.newKey({ accountId: sent.body[0].accountId });
    assert.deepEqual((await get('/messages', same)).body, []);
  });

  it('rejects staging keys if there is no staging deployment', async () => {
    const alone = await serve({ environment: { PETSTORE_STAGING_PORT: '' } });
    try {
      const staging = await alone.newKey({ deployment: 'staging' });
      const reply = await send(`${alone.urls.messages}/messages`, {
        method: 'POST',
        key: staging,
        body: { message: 'x' },
      });
      assert.deepEqual([reply.status, reply.body.code], [401, 'wrong_deployment']);
    } finally {
      await alone.stop();
    }
  });

  it('is in every OpenAPI document, below the servers of the document', async () => {
    const { production, staging, messages } = serving.urls;
    const known = { production: [production, staging], staging: [staging, production], messages: [messages] };
    for (const name of ['production', 'staging', 'messages'] as const) {
      const { servers, paths } = (await send(new URL('/openapi.json', serving.urls[name]).href)).body;
      assert.deepEqual(
        servers.map(({ url }: { url: string }) => url),
        known[name],
      );
      const { operationId, servers: own } = paths['/messages'].post;
      assert.deepEqual([operationId, own], ['sendMessage', undefined]);
      const ofMessages = Object.keys(paths).filter(path => path.startsWith('/messages'));
      assert.deepEqual(ofMessages, ['/messages', '/messages/{messageId}']);
      if (name === 'messages') assert.deepEqual(Object.keys(paths), ofMessages);
    }
  });
});

describe('messages on the addresses of production and staging', () => {
  for (const deployment of ['production', 'staging'] as const) {
    it(`can be sent, listed and read in ${deployment}, with links of the address that was asked`, async () => {
      const serving = await serve({ clock: testClock(noon) });
      try {
        const { urls } = serving;
        const key = await serving.newKey({ deployment });
        const at = (url: string, more: SendOptions = {}) => send(url, { key, ...more });
        for (const message of ['One', 'Two']) {
          const base = message === 'One' ? urls[deployment] : urls.messages;
          const queued = await at(`${base}/messages`, { method: 'POST', body: { message } });
          assertApiResponse(queued);
          assert.equal(queued.status, 202, queued.text);
          assert.equal(queued.headers['location'], `${base}/messages/${queued.body.id}`);
          await waitUntil(async () => (await at(queued.headers['location']!)).body.status === 'delivered');
        }
        for (const base of [urls[deployment], urls.messages]) {
          const page = await at(`${base}/messages?limit=1`);
          assert.deepEqual([page.status, page.body.length, page.body[0].message], [200, 1, 'One']);
          const next = page.headers['x-next'] as string;
          assert.ok(next.startsWith(`${base}/messages?`), next);
          assert.ok(page.headers['link']!.includes(`<${next}>; rel="next"`));
          assert.equal((await at(next)).body[0].message, 'Two');
        }
        const other = deployment === 'production' ? 'staging' : 'production';
        const rejected = await at(`${urls[other]}/messages`);
        assert.deepEqual([rejected.status, rejected.body.code], [401, 'wrong_deployment']);
      } finally {
        await serving.stop();
      }
    });
  }

  it('are sent once if the retry with the same Idempotency-Key comes to the other address', async () => {
    const serving = await serve({ clock: testClock(noon) });
    try {
      const key = await serving.newKey();
      const sending = { method: 'POST', key, body: { message: 'Once' }, headers: { 'Idempotency-Key': 'k' } };
      const first = await send(`${serving.urls.messages}/messages`, sending);
      const retry = await send(`${serving.urls.production}/messages`, sending);
      assert.deepEqual([retry.status, retry.text], [202, first.text]);
      assert.equal(retry.headers['location'], first.headers['location']);
      assert.equal(retry.headers['idempotency-replayed'], 'true');
    } finally {
      await serving.stop();
    }
  });
});

describe('e-mail', () => {
  it('is sent from production, never from staging, and reveals no secret', async () => {
    const smtp = await startSmtpServer({ login: 'store:s3cr3t-word' });
    smtp.behaviour = { recipient: '451 later' };
    const serving = await serve({
      environment: { PETSTORE_SMTP_URL: smtp.url, PETSTORE_MAIL_FROM: 'store@example.org' },
    });
    try {
      const { production } = serving.app.databases;
      const { id: accountId } = await production.write(tx => createAccount(tx, root));
      const admin = await serving.newKey({ accountId });
      const staging = await serving.newKey({ deployment: 'staging', accountId });
      const url = `${serving.urls.messages}/messages`;
      const sent = async (key: IssuedKey) =>
        (await send(url, { method: 'POST', key, body: { message: 'Hello', replyTo: 'jo@example.org' } })).body.id;
      const here = await sent(admin);
      const there = await sent(staging);
      const read = async (key: IssuedKey, id: string) => (await send(`${url}/${id}`, { key })).body;
      await waitUntil(async () => (await read(staging, there)).status === 'delivered');
      await waitUntil(async () => (await read(admin, here)).attempts.length === 2);
      const waiting = await read(admin, here);
      assert.deepEqual(
        [
          waiting.status,
          waiting.attempts.map(({ by, outcome, reason }: Record<string, string>) => [by, outcome, reason]),
        ],
        [
          'queued',
          [
            ['inbox', 'delivered', undefined],
            ['email', 'failed', 'postponed'],
          ],
        ],
      );
      smtp.behaviour = {};
      await waitUntil(async () => (await read(admin, here)).status === 'delivered');
      assert.deepEqual(
        smtp.mails.map(({ to, text, headers }) => [to, text, headers.get('reply-to')]),
        [[['root@example.org'], 'Hello', 'jo@example.org']],
      );
      const output = serving.lines.join('\n') + JSON.stringify(await read(admin, here));
      assert.doesNotMatch(output, /s3cr3t|smtp:/);
      assert.match(output, /could not be sent by e-mail/);
    } finally {
      await serving.stop();
      await smtp.close();
    }
  });

  it('does not delay requests while the mail server hangs', async () => {
    const smtp = await startSmtpServer();
    smtp.behaviour = { greeting: 'silence' };
    const serving = await serve({
      environment: { PETSTORE_SMTP_URL: smtp.url, PETSTORE_MAIL_FROM: 'store@example.org' },
    });
    try {
      await serving.app.databases.production.write(tx => createAccount(tx, root));
      const key = await serving.newKey();
      for (let index = 0; index < 40; index++) {
        const body = { message: `${index}` };
        assert.equal((await send(`${serving.urls.messages}/messages`, { method: 'POST', key, body })).status, 202);
      }
      await waitUntil(async () => smtp.connections === 8);
      const { body } = await send(`${serving.urls.messages}/messages?limit=100`, { key });
      assert.equal(body.length, 40);
    } finally {
      await smtp.close();
      await serving.stop();
    }
  });
});

const ROUNDS = long ? 50 : 5;

overEachEngine(engine => {
  it('deletes messages after PETSTORE_MESSAGES_DAYS, and no event has their text', async () => {
    const clock = testClock(noon);
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_DAYS: '2' };
    const serving = await serve({ clock, environment });
    try {
      const key = await serving.newKey();
      const url = `${serving.urls.production}/messages`;
      const sent = async (message: string) => (await send(url, { method: 'POST', key, body: { message } })).body.id;
      const statusOf = async (id: string) => (await send(`${url}/${id}`, { key })).status;
      const early = await sent('Early');
      clock.advance(DAY_MS);
      const late = await sent('Late');
      clock.advance(DAY_MS + 1);
      await waitUntil(async () => (await statusOf(early)) === 404);
      assert.equal(await statusOf(late), 200);
      const events = await send(`${serving.urls.production}/events`, { key });
      assert.match(events.text, /"messageId":"msg_1"|"id":"msg_1"/);
      assert.doesNotMatch(events.text, /Early|Late/);
    } finally {
      await serving.stop();
    }
  });

  it(`sends each message at least once although ${ROUNDS} processes are killed`, async () => {
    const smtp = await startSmtpServer();
    const directory = await mkdtemp(join(tmpdir(), 'petstore-mail-'));
    const environment = {
      ...(await engine.settings()),
      PETSTORE_SMTP_URL: smtp.url,
      PETSTORE_MAIL_FROM: 'store@example.org',
      PETSTORE_STAGING_PORT: '',
    };
    const queued = new Set<string>();
    try {
      let key: string | undefined;
      let running = await spawnService({ directory, environment });
      await running.petstore('account', 'create', '--email', 'root@example.org', '--name', 'Root', '--admin');
      for (let round = 0; round < ROUNDS; round++) {
        if (round > 0) running = await spawnService({ directory, environment });
        key ??= await newProcessKey(running);
        const url = `${running.urls.messages}/messages`;
        const { child } = running;
        for (let index = 0; ; index++) {
          // A busy machine may need longer for the first message than for all others.
          if (index === 1) setTimeout(() => child.kill('SIGKILL'), Math.random() * 150);
          const message = `${round}/${index}`;
          const reply: Reply | undefined = await send(url, { method: 'POST', key, body: { message } }).catch(
            () => undefined,
          );
          if (reply === undefined) break;
          assert.equal(reply.status, 202, reply.text);
          queued.add(message);
        }
        await running.stop('SIGKILL');
      }
      assert.ok(queued.size > 0);
      running = await spawnService({ directory, environment });
      const received = () => new Set(smtp.mails.map(({ text }) => text));
      for (let tries = 0; [...queued].some(message => !received().has(message)); tries++) {
        assert.ok(tries < 900, `${queued.size} queued, ${received().size} received`);
        await pause(100);
      }
      // Only e-mails in transit when a process was killed are sent twice: eight at a time.
      const twice = smtp.mails.length - received().size;
      assert.ok(twice <= 8 * ROUNDS, `${twice} sent twice`);
      assert.equal((await running.stop()).code, 0);
    } finally {
      await rm(directory, { recursive: true, force: true });
      await smtp.close();
    }
  });
});

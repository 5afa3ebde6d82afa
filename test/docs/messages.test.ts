import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';

const page = await readPage('docs/messages.md');
const commands = commandsOf(page);
const [first, toStore, atStaging, toOwner, one, sent, inbox, ofStore, show, write, ...toMailbox] = commands;

describe('docs/messages.md, executed', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  const run = async (line: string | undefined) => JSON.parse(await server.run(line!));

  test('starts with the key and has a test for every command', () => {
    assert.equal(first, 'KEY=petstore_test_…');
    assert.equal(toMailbox.length, 6);
  });

  test('sends a message to the store and gets the documented response', async () => {
    const response = await run(toStore);
    const shown = JSON.parse(/```json\n(.*?)\n```/s.exec(page)![1]!);
    assert.deepEqual({ ...response, createdAt: shown.createdAt }, shown);
    assert.deepEqual(Object.keys(response), Object.keys(shown));
  });

  test('lists the same messages at the address of staging', async () => {
    assert.deepEqual(
      (await run(atStaging)).map(({ id, message }: Record<string, string>) => [id, message]),
      [['msg_1', 'Hello, world!']],
    );
  });

  test('sends a message to the owner of a pet', async () => {
    assert.equal((await run(toOwner)).id, 'msg_2');
  });

  test('shows and lists the delivered messages', async () => {
    for (let tries = 0; (await run(inbox)).length === 0; tries++) {
      assert.ok(tries < 10);
      await pause(50);
    }
    const { status, attempts } = await run(one);
    assert.equal(status, 'delivered');
    assert.deepEqual(
      attempts.map(({ by, outcome }: Record<string, string>) => [by, outcome]),
      [['inbox', 'delivered']],
    );
    const ids = async (line: string | undefined) => (await run(line)).map(({ id }: { id: string }) => id);
    assert.deepEqual(await ids(sent), ['msg_1', 'msg_2']);
    assert.deepEqual(await ids(inbox), ['msg_2']);
  });

  test('reads the store’s inbox and writes to the account on the command line', async () => {
    assert.match(await server.run(ofStore!), /^ID .*\nmsg_1 .* Hello, world!\n$/);
    assert.match(await server.run(show!), /^message +msg_1\n[\s\S]*\ntext +Hello, world!\n$/);
    assert.match(await server.run(write!), /^message +msg_3\nfrom +the store\nto +account 1\n/);
    for (let tries = 0; (await run(inbox)).length < 2; tries++) {
      assert.ok(tries < 100);
      await pause(50);
    }
    const [, { message, accountId }] = await run(inbox);
    assert.deepEqual([message, accountId], ['Thank you, we have written it down.', undefined]);
  });
});

describe('docs/messages.md, e-mail, executed', { skip }, () => {
  const [start, makeAdmin, makeKey, setKey, send, read] = toMailbox;
  let smtp: SmtpServer;
  let server: FirstServer;
  let key: string;

  before(async () => {
    smtp = await startSmtpServer();
    const settings = [...start!.matchAll(/(PETSTORE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value!]);
    const { PETSTORE_SMTP_URL, ...others } = Object.fromEntries(settings);
    assert.equal(PETSTORE_SMTP_URL, 'smtp://127.0.0.1:1025');
    server = await startFirstServer({ ...others, PETSTORE_SMTP_URL: smtp.url });
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
    await smtp.close();
  });

  const run = async (line: string | undefined) => JSON.parse(await server.run(`KEY=${key}; ${line}`));

  test('creates an admin with a production key', async () => {
    assert.match(start!, / npm start$/);
    assert.equal(setKey, 'KEY=petstore_live_…');
    const [, id] = /^account +(\d+)$/m.exec(await server.run(makeAdmin!))!;
    key = /petstore_live_\w+/.exec(await server.run(makeKey!.replace('ID', id!)))![0];
  });

  test('delivers a message to the inbox and by e-mail', async () => {
    assert.equal(send, toStore);
    const message = await run(send);
    assert.deepEqual([message.message, message.status], ['Hello, world!', 'queued']);
    let inInbox: Awaited<ReturnType<typeof run>> = [];
    for (let tries = 0; inInbox[0]?.status !== 'delivered'; tries++) {
      assert.ok(tries < 20, JSON.stringify(inInbox));
      await pause(250);
      inInbox = await run(read);
    }
    assert.deepEqual([inInbox.length, inInbox[0].id, inInbox[0].message], [1, message.id, 'Hello, world!']);
    const attempts = inInbox[0].attempts.map(({ by, outcome }: Record<string, string>) => [by, outcome]);
    assert.deepEqual(attempts, [
      ['inbox', 'delivered'],
      ['email', 'delivered'],
    ]);
    assert.ok(page.includes('`"by":"email"`'));
    assert.deepEqual(
      smtp.mails.map(({ from, to, text, headers }) => [from, to, headers.get('subject'), text]),
      [['store@example.org', ['you@example.org'], 'A message to the pet store', 'Hello, world!']],
    );
  });
});

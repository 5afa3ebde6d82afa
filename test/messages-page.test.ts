import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from './pages-as-scripts.ts';

const page = await readPage('docs/messages.md');

describe('the page on messages, word for word', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  const [first, toStore, toOwner, one, sent, inbox, ofStore, show, write, ...others] = commandsOf(page);
  const run = async (line: string | undefined) => JSON.parse(await server.run(line!));

  test('begins with the key, and says something of every line', () => {
    assert.equal(first, 'KEY=petstore_test_…');
    assert.deepEqual(others, []);
  });

  test('sends a message to the store, answered as the page shows', async () => {
    const answer = await run(toStore);
    const shown = JSON.parse(/```json\n(.*?)\n```/s.exec(page)![1]!);
    assert.deepEqual({ ...answer, createdAt: shown.createdAt }, shown);
    assert.deepEqual(Object.keys(answer), Object.keys(shown));
  });

  test('sends a message to the owner of an animal', async () => {
    assert.equal((await run(toOwner)).id, 'msg_2');
  });

  test('sees what became of them', async () => {
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

  test('reads what came to the store, and writes to the account', async () => {
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

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

const page = await readPage('docs/tutorial.md');

/** The response to a command of the page. */
interface PageResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the assertions read any member
  readonly body: any;
}

/** A command of the page: its effect, the expected status and assertions on the response. */
type Step = readonly [effect: string, status: number, assertResponse: (response: PageResponse) => void];

/** The members of a history entry that the test reads. */
interface HistoryEntry {
  readonly type: string;
  readonly reason?: string;
  readonly changes?: { readonly status?: { readonly to: string } };
}

/** Every command after the first, which sets the key. Two shells run the command of the race. */
const steps: readonly Step[] = [
  [
    'lists the available cats with their owners',
    200,
    ({ body }) => {
      for (const cat of body) assert.deepEqual([cat.categoryId, cat.status], [2, 'available']);
      assert.deepEqual(named(body, 39), { name: 'Nova', accountId: 1 });
      assert.deepEqual(named(body, 51), { name: 'Callie', accountId: 1 });
    },
  ],
  ['counts the pets', 200, assertShown],
  [
    'holds two cats',
    201,
    ({ body, headers }) => {
      assert.deepEqual([body.id, body.petIds, body.status], [1, [39, 51], 'active']);
      assert.match(headers.get('location')!, /\/v1\/holds\/1$/);
      assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 15 * 60 * 1000);
    },
  ],
  ['shows both as pending', 200, ({ body }) => assert.deepEqual(statuses(body), ['pending', 'pending'])],
  [
    'orders the first cat from the hold',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status, body.holdId], [1, 39, 'placed', 1]);
      assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 7 * 24 * 60 * 60 * 1000);
    },
  ],
  [
    'orders the second cat',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status, body.holdId], [2, 51, 'placed', 1]);
    },
  ],
  [
    'shows the hold as used',
    200,
    response => {
      assert.equal(response.body.status, 'used');
      assert.ok(response.text.includes('"status":"used"'));
    },
  ],
  [
    'approves the first order with a note',
    200,
    ({ body }) => {
      assert.equal(body.status, 'approved');
      assert.deepEqual([body.approval.accountId, body.approval.note], [1, 'Visited them: a good home.']);
    },
  ],
  ['approves the second order without a note', 200, ({ body }) => assert.equal(body.status, 'approved')],
  ['delivers the first order', 200, assertDelivered],
  ['delivers the second order', 200, assertDelivered],
  [
    'shows the steps of the order',
    200,
    response => {
      assertDelivered(response);
      const { approval, delivery } = response.body;
      assert.deepEqual([approval.accountId, approval.note, delivery.accountId], [1, 'Visited them: a good home.', 1]);
      assert.ok(Date.parse(approval.at) <= Date.parse(delivery.at));
    },
  ],
  ['counts two more sold pets', 200, assertShown],
  [
    'shows the history of the cat',
    200,
    ({ body }) => {
      const summary = ({ type, reason = type, changes }: HistoryEntry) => [reason, changes?.status?.to];
      assert.deepEqual(body.map(summary), [
        ['created', 'available'],
        ['held', 'pending'],
        ['order_placed', undefined],
        ['order_delivered', 'sold'],
      ]);
    },
  ],
  [
    'accepts one of two orders and rejects the other one with the expiry',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status], [3, 75, 'placed']);
    },
  ],
  [
    'orders with an idempotency key',
    201,
    ({ body, headers }) => {
      assert.deepEqual([body.id, body.petId, headers.get('idempotency-replayed')], [4, 87, undefined]);
    },
  ],
  [
    'replays the response for the retry',
    201,
    ({ text, headers }) => {
      assert.deepEqual([text, headers.get('idempotency-replayed')], [responses.at(-1)!.text, 'true']);
    },
  ],
  ['rejects the key for another request', 422, ({ body }) => assert.equal(body.code, 'idempotency_key_reused')],
  [
    'shows the version that both editors read',
    200,
    ({ body }) => {
      assert.deepEqual([body[0].name, body[0].etag], ['Ivy', '"99.1"']);
    },
  ],
  ['accepts the first change', 200, ({ headers }) => assert.equal(headers.get('etag'), '"99.2"')],
  [
    'rejects the second change with the old version',
    412,
    ({ body }) => {
      assert.equal(body.code, 'precondition_failed');
    },
  ],
  [
    'shows the current version',
    200,
    ({ body }) => {
      assert.deepEqual([body[0].name, body[0].etag], ['Ivy', '"99.2"']);
      assert.deepEqual(body[0].price, { amount: 12500, currency: 'EUR' });
    },
  ],
  [
    'accepts the change with the new version',
    200,
    ({ body, headers }) => {
      assert.deepEqual([body.name, headers.get('etag')], ['Poison Ivy', '"99.3"']);
    },
  ],
];

const responses: PageResponse[] = [];

describe('docs/tutorial.md, executed', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
    // Every command prints the response headers, as some do by themselves.
    await writeFile(join(server.directory, '.curlrc'), 'include\nsilent\n');
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  async function send(command: string): Promise<PageResponse> {
    return parseResponse(await server.run(command, { CURL_HOME: server.directory }));
  }

  const [first, ...commands] = commandsOf(page);

  test('starts with the key and has a test for every command', () => {
    assert.equal(first, 'KEY=petstore_test_…');
    assert.equal(commands.length, steps.length);
  });

  for (const [index, [effect, status, assertResponse]] of steps.entries()) {
    test(effect, async () => {
      const command = commands[index]!;
      const isRace = command.includes('"petId":75');
      const got = await Promise.all((isRace ? [command, command] : [command]).map(send));
      got.sort((one, other) => one.status - other.status);
      assert.equal(got[0]!.status, status, got[0]!.text);
      assertResponse(got[0]!);
      if (isRace) assertRejected(got[1]!);
      responses.push(got[0]!);
    });
  }

  test('stays within the rate limit of the plan Free', () => {
    assert.ok(responses.every(({ headers }) => headers.get('x-ratelimit-limit') === '60'));
    assert.ok(responses.every(({ headers }) => Number(headers.get('x-ratelimit-remaining')) > 30));
  });
});

/** Asserts that the rejected order got the documented response, except for the time. */
function assertRejected({ status, headers, text, body }: PageResponse): void {
  assert.equal(status, 409, text);
  const [, documented] = /^(\{"code":"pet_reserved".*\})$/m.exec(page)!.map(String) as [string, string];
  const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/;
  assert.equal(text.replace(time, 'then'), documented.replace(time, 'then'));
  const seconds = Number(headers.get('retry-after'));
  const days = Number(/^Retry-After: (\d+)$/m.exec(page)![1]);
  assert.ok(seconds <= days && seconds > days - 60, String(seconds));
  const until = Date.parse(time.exec(body.message)![0]);
  assert.ok(Math.abs(until - Date.parse(headers.get('date')!) - seconds * 1000) < 3000);
}

function assertDelivered({ text }: PageResponse): void {
  assert.ok(text.includes('"status":"delivered"') && text.includes('"complete":true'), text);
}

/** Asserts that the page shows this response. */
function assertShown({ text }: PageResponse): void {
  assert.ok(page.includes(`\`${text}\``), text);
}

function named(pets: { id: number; name: string; accountId: number }[], id: number): object {
  const { name, accountId } = pets.find(pet => pet.id === id)!;
  return { name, accountId };
}

function statuses(pets: { status: string }[]): string[] {
  return pets.map(({ status }) => status);
}

/** Parses what `curl -i` prints. */
function parseResponse(output: string): PageResponse {
  const [head, ...rest] = output.split('\r\n\r\n');
  const [line, ...fields] = head!.split('\r\n');
  const text = rest.join('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(line!)![1]),
    headers: new Map(fields.map(field => [field.split(': ')[0]!.toLowerCase(), field.slice(field.indexOf(': ') + 2)])),
    text,
    body: JSON.parse(text),
  };
}

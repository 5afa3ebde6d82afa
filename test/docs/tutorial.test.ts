import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

const page = await readPage('docs/tutorial.md');

/** What a line of the page got. */
interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the page claims is looked for in it
  readonly body: any;
}

/** A line of the page, as what it does, with what the page claims of its answers. */
type Line = readonly [does: string, status: number, claims: (answer: Answer) => void];

/** What an entry of a history says of an animal's status. */
interface HistoryEntry {
  readonly type: string;
  readonly reason?: string;
  readonly changes?: { readonly status?: { readonly to: string } };
}

/** Every line after the first, which sets the key; the race is one line that two shells send. */
const lines: readonly Line[] = [
  [
    'lists the cats that are available, with their owners',
    200,
    ({ body }) => {
      for (const cat of body) assert.deepEqual([cat.categoryId, cat.status], [2, 'available']);
      assert.deepEqual(named(body, 39), { name: 'Nova', accountId: 1 });
      assert.deepEqual(named(body, 51), { name: 'Callie', accountId: 1 });
    },
  ],
  ['counts the animals', 200, shownInPage],
  [
    'holds two, or neither',
    201,
    ({ body, headers }) => {
      assert.deepEqual([body.id, body.petIds, body.status], [1, [39, 51], 'active']);
      assert.match(headers.get('location')!, /\/v1\/holds\/1$/);
      assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 15 * 60 * 1000);
    },
  ],
  ['shows both as pending', 200, ({ body }) => assert.deepEqual(statuses(body), ['pending', 'pending'])],
  [
    'orders the one from the hold',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status, body.holdId], [1, 39, 'placed', 1]);
      assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 7 * 24 * 60 * 60 * 1000);
    },
  ],
  [
    'orders the other',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status, body.holdId], [2, 51, 'placed', 1]);
    },
  ],
  [
    'shows the hold as used up',
    200,
    answer => {
      assert.equal(answer.body.status, 'used');
      assert.ok(answer.text.includes('"status":"used"'));
    },
  ],
  [
    'approves the first order, with a note',
    200,
    ({ body }) => {
      assert.equal(body.status, 'approved');
      assert.deepEqual([body.approval.accountId, body.approval.note], [1, 'Visited them: a good home.']);
    },
  ],
  ['approves the second one without', 200, ({ body }) => assert.equal(body.status, 'approved')],
  ['delivers the first', 200, isDelivered],
  ['delivers the second', 200, isDelivered],
  [
    'shows the order with each step',
    200,
    answer => {
      isDelivered(answer);
      const { approval, delivery } = answer.body;
      assert.deepEqual([approval.accountId, approval.note, delivery.accountId], [1, 'Visited them: a good home.', 1]);
      assert.ok(Date.parse(approval.at) <= Date.parse(delivery.at));
    },
  ],
  ['counts two more as sold', 200, shownInPage],
  [
    'tells all that happened to the cat',
    200,
    ({ body }) => {
      const told = ({ type, reason = type, changes }: HistoryEntry) => [reason, changes?.status?.to];
      assert.deepEqual(body.map(told), [
        ['created', 'available'],
        ['held', 'pending'],
        ['order_placed', undefined],
        ['order_delivered', 'sold'],
      ]);
    },
  ],
  [
    'gives the cat to one of two shells, and tells the other one until when',
    201,
    ({ body }) => {
      assert.deepEqual([body.id, body.petId, body.status], [3, 75, 'placed']);
    },
  ],
  [
    'orders with a key for retries',
    201,
    ({ body, headers }) => {
      assert.deepEqual([body.id, body.petId, headers.get('idempotency-replayed')], [4, 87, undefined]);
    },
  ],
  [
    'answers the retry with the same bytes',
    201,
    ({ text, headers }) => {
      assert.deepEqual([text, headers.get('idempotency-replayed')], [answers.at(-1)!.text, 'true']);
    },
  ],
  ['refuses the key for another request', 422, ({ body }) => assert.equal(body.code, 'idempotency_key_reused')],
  [
    'shows the version that both editors see',
    200,
    ({ body }) => {
      assert.deepEqual([body[0].name, body[0].etag], ['Ivy', '"99.1"']);
    },
  ],
  ['takes the first change', 200, ({ headers }) => assert.equal(headers.get('etag'), '"99.2"')],
  [
    'refuses the second one, which has not seen the first',
    412,
    ({ body }) => {
      assert.equal(body.code, 'precondition_failed');
    },
  ],
  [
    'shows what is there now',
    200,
    ({ body }) => {
      assert.deepEqual([body[0].name, body[0].etag], ['Ivy', '"99.2"']);
      assert.deepEqual(body[0].price, { amount: 12500, currency: 'EUR' });
    },
  ],
  [
    'takes the change that knows of it',
    200,
    ({ body, headers }) => {
      assert.deepEqual([body.name, headers.get('etag')], ['Poison Ivy', '"99.3"']);
    },
  ],
];

const answers: Answer[] = [];

describe('from the first look to the new home, word for word', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
    // Every line of the page shows the head of its answer, as some of them do by themselves.
    await writeFile(join(server.directory, '.curlrc'), 'include\nsilent\n');
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  async function send(command: string): Promise<Answer> {
    return answerIn(await server.run(command, { CURL_HOME: server.directory }));
  }

  const [first, ...commands] = commandsOf(page);

  test('begins with the key, and says something of every line', () => {
    assert.equal(first, 'KEY=petstore_test_…');
    assert.equal(commands.length, lines.length);
  });

  for (const [index, [does, status, claims]] of lines.entries()) {
    test(does, async () => {
      const command = commands[index]!;
      const isRace = command.includes('"petId":75');
      const got = await Promise.all((isRace ? [command, command] : [command]).map(send));
      got.sort((one, other) => one.status - other.status);
      assert.equal(got[0]!.status, status, got[0]!.text);
      claims(got[0]!);
      if (isRace) isTold(got[1]!);
      answers.push(got[0]!);
    });
  }

  test('does with what the plan Free allows in a minute', () => {
    assert.ok(answers.every(({ headers }) => headers.get('x-ratelimit-limit') === '60'));
    assert.ok(answers.every(({ headers }) => Number(headers.get('x-ratelimit-remaining')) > 30));
  });
});

/** Demands what the page says that the loser of the race is told, but for the time. */
function isTold({ status, headers, text, body }: Answer): void {
  assert.equal(status, 409, text);
  const [, said] = /^(\{"code":"pet_reserved".*\})$/m.exec(page)!.map(String) as [string, string];
  const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/;
  assert.equal(text.replace(time, 'then'), said.replace(time, 'then'));
  const seconds = Number(headers.get('retry-after'));
  const days = Number(/^Retry-After: (\d+)$/m.exec(page)![1]);
  assert.ok(seconds <= days && seconds > days - 60, String(seconds));
  const until = Date.parse(time.exec(body.message)![0]);
  assert.ok(Math.abs(until - Date.parse(headers.get('date')!) - seconds * 1000) < 3000);
}

function isDelivered({ text }: Answer): void {
  assert.ok(text.includes('"status":"delivered"') && text.includes('"complete":true'), text);
}

/** Demands that the page shows just this answer. */
function shownInPage({ text }: Answer): void {
  assert.ok(page.includes(`\`${text}\``), text);
}

function named(pets: { id: number; name: string; accountId: number }[], id: number): object {
  const { name, accountId } = pets.find(pet => pet.id === id)!;
  return { name, accountId };
}

function statuses(pets: { status: string }[]): string[] {
  return pets.map(({ status }) => status);
}

/** The answer in what `curl -i` prints. */
function answerIn(output: string): Answer {
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

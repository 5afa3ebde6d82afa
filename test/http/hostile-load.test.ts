import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { assertApiResponse, send, sendRaw, serve, type TestService } from '../support/serving.ts';

/** Nobody may be held up for longer by what somebody else sends, in processor time of the main thread. */
const HELD_UP_MS = 50;
/** Garbage of earlier requests is collected at some tries; what holds the program up itself does so at every try. */
const TRIES = 6;

const MIB = 1024 * 1024;
const HEADER = 15_800;

describe('the event loop is blocked for at most 50 ms', () => {
  let serving: TestService;
  let base: string;
  let key: string;

  before(async () => {
    serving = await serve();
    base = serving.urls.production;
    key = (await serving.newKey()).token;
    for (let warm = 0; warm < 200; warm++) {
      await send(`${base}/pets`, { method: 'POST', key, body: { name: 'Minka', categoryId: 2 } });
      await send(`${base}/pets?limit=${(warm % 100) + 1}`, { key });
    }
  });
  after(() => serving.stop());

  const bodies: Record<string, string> = {
    'a million brackets': '['.repeat(MIB),
    'arrays within arrays': '['.repeat(MIB / 2) + ']'.repeat(MIB / 2),
    'objects within objects': `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`,
    'as many members as fit': filled('{"name":"x","categoryId":1', index => `,"m${index}":1`, '}'),
    'as many numbered members as fit': filled(
      '{"name":"x","categoryId":1',
      index => `,"${(index * 2_654_435_761) % 4_294_967_291}":0`,
      '}',
    ),
    'one member again and again': filled('{"name":"x","categoryId":1', () => ',"a":1', '}'),
    'as many objects as fit': filled('[0', () => ',{}', ']'),
    'a number of a million digits': `{"name":"x","categoryId":${'9'.repeat(MIB - 100)}}`,
    'a name of a million letters': `{"categoryId":1,"name":"${'a'.repeat(MIB - 100)}"}`,
    'a name of emoji': `{"categoryId":1,"name":"${'🐈'.repeat(MIB / 4 - 100)}"}`,
    'a name of white space': `{"categoryId":1,"name":"${' '.repeat(MIB - 100)}"}`,
    'a name of escapes': `{"categoryId":1,"name":"${'\\u0301'.repeat(MIB / 6 - 100)}"}`,
  };
  for (const [what, text] of Object.entries(bodies)) {
    for (const headers of [{}, { Prefer: 'handling=strict' }]) {
      const strict = 'Prefer' in headers ? ', strictly' : '';
      it(`by a body of ${what}${strict}`, async t => {
        const body = Buffer.from(text);
        t.diagnostic(
          await heldUp(async () => {
            const reply = await send(`${base}/pets`, { method: 'POST', key, body, headers });
            assertApiResponse(reply);
            assert.ok(reply.status === 201 || reply.status === 400);
          }),
        );
      });
    }
  }

  const headers: Record<string, string> = {
    'a preference with a gap': `Prefer: a${' '.repeat(HEADER)}x`,
    'thousands of preferences': `Prefer: ${'a,'.repeat(HEADER / 2)}`,
    'thousands of quotes': `Prefer: a="${'"'.repeat(HEADER)}`,
    'thousands of media ranges': `Accept: ${'a,'.repeat(HEADER / 2)}`,
    'a weight of thousands of digits': `Accept: application/problem+json;q=0.${'0'.repeat(HEADER)}x`,
    'a content type with a gap': `Content-Length: 2\r\nContent-Type: application/json;${' '.repeat(HEADER - 100)}x`,
    'a content type with many parameters': `Content-Length: 2\r\nContent-Type: application/json${'; a=b'.repeat(HEADER / 5 - 20)}!`,
    'a content type of semicolons': `Content-Length: 2\r\nContent-Type: application/json${' ;'.repeat(HEADER / 2 - 100)}!`,
    'thousands of headers': Array.from({ length: 5000 }, () => 'a:b').join('\r\n'),
    'thousands of hops': `X-Forwarded-For: ${'1,'.repeat(HEADER / 2)}`,
    'a key behind thousands of spaces': `Authorization: Bearer${' '.repeat(HEADER)}x`,
    'a key of thousands of words': `Authorization: Bearer ${'x '.repeat(HEADER / 2)}`,
  };
  for (const [what, lines] of Object.entries(headers)) {
    it(`by ${what}`, async t => {
      const authorized = lines.startsWith('Authorization') ? '' : `Authorization: Bearer ${key}\r\n`;
      const bytes = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized}${lines}\r\n\r\n${lines.includes('Content-Length') ? '{}' : ''}`;
      t.diagnostic(await heldUp(async () => assertApiResponse((await sendRaw(base, bytes, { count: 1 })).replies[0]!)));
    });
  }

  const targets: Record<string, string> = {
    'a path of slashes': `/v1${'/'.repeat(HEADER)}`,
    'a path of escapes': `/v1/${'%41'.repeat(HEADER / 3)}`,
    'a deep path': `/v1/pets/${'a/'.repeat(HEADER / 2)}`,
    'a long id': `/v1/pets/${'9'.repeat(HEADER)}`,
    'a long host': `http://${'a'.repeat(HEADER)}/v1/pets`,
    'thousands of parameters': `/v1/pets?${'a&'.repeat(HEADER / 2)}`,
    'thousands of different parameters': `/v1/pets?${Array.from({ length: 2600 }, (_, index) => `${index.toString(36)}=&`).join('')}`,
    'thousands of ids': `/v1/pets?id=${'1,'.repeat(HEADER / 2)}`,
    'thousands of statuses': `/v1/pets?status=${'sold,'.repeat(HEADER / 5)}`,
    'a query of escapes': `/v1/pets?a=${'%41'.repeat(HEADER / 3)}`,
  };
  for (const [what, target] of Object.entries(targets)) {
    it(`by ${what}`, async t => {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nPrefer: handling=strict, count=exact\r\n\r\n`;
      t.diagnostic(await heldUp(async () => assertApiResponse((await sendRaw(base, bytes, { count: 1 })).replies[0]!)));
    });
  }

  it('while another process holds the write lock, reads continue, and writes wait or return 503', async () => {
    const file = serving.file;
    const script = `
      import Database from 'better-sqlite3';
      const database = new Database(process.argv[1]);
      database.exec('begin immediate');
      process.stdout.write('held');
      process.stdin.resume().on('end', () => { database.exec('rollback'); process.exit(0); });`;
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script, file], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(holder, 'exit');
    await once(holder.stdout, 'data');

    const write = () => send(`${base}/pets`, { method: 'POST', key, body: { name: 'Minka', categoryId: 2 } });
    const waiting = Promise.all([write(), write()]);
    let waited = false;
    waiting.finally(() => {
      waited = true;
    });
    for (let read = 0; read < 10; read++) {
      assert.equal((await send(`${base}/pets?limit=5`, { key })).status, 200);
      assert.ok(!waited, 'the reads are answered first');
    }
    for (const reply of await waiting) {
      assert.equal(reply.status, 503);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'storage_unavailable');
      assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/);
    }
    const late = write();
    await pause(200);
    holder.stdin.end();
    await exited;
    assert.equal((await late).status, 201);
  });

  /** Does something until one try held the program up for no longer than allowed; says how long each try did. */
  async function heldUp(work: () => Promise<void>): Promise<string> {
    const tries: number[] = [];
    while (tries.length < TRIES) {
      tries.push(await longestTurn(work));
      if (tries.at(-1)! <= HELD_UP_MS) return `${tries.map(Math.round).join(', ')} ms`;
    }
    assert.fail(`held up for ${tries.map(Math.round).join(', ')} ms`);
  }
});

/** Returns the processor time of the longest turn of the event loop during some work, in milliseconds. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let before = processorMs();
  let ended = false;
  const measure = () => {
    const now = processorMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!ended) setImmediate(measure);
  };
  measure();
  await work();
  ended = true;
  measure();
  return longest;
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** A text of almost 1 MiB. */
function filled(prefix: string, unit: (index: number) => string, suffix: string): string {
  const parts = [prefix];
  let length = prefix.length + suffix.length;
  for (let index = 0; ; index++) {
    const part = unit(index);
    length += part.length;
    if (length > MIB) break;
    parts.push(part);
  }
  return parts.join('') + suffix;
}

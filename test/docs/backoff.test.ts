import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import {
  blocksOf,
  commandsOf,
  type FirstServer,
  readPage,
  skip,
  startFirstServer,
} from '../support/pages-as-scripts.ts';

const page = await readPage('docs/backoff.md');
const blocks = blocksOf(page);

const { error: withoutPython } = spawnSync('python3', ['--version']);
const noPython = withoutPython !== undefined && process.env.CI !== 'true' && 'left out: there is no python3';

/** The programs of the page: where each is saved, how it is run, and how it writes the longest first wait. */
const programs = [
  { language: 'sh', file: 'backoff.sh', base: /base=1\b/, faster: 'base=0', leftOut: false },
  { language: 'js', file: 'backoff.mjs', base: /= \[1,/, faster: '= [0,', leftOut: false },
  { language: 'py', file: 'backoff.py', base: /LONGEST = 1,/, faster: 'LONGEST = 0,', leftOut: noPython },
] as const;

/** How long a busy machine may take to start a program or a request. */
const SLACK_MS = 5000;

/** What the server does with an attempt: a status with headers, or nothing but closing the connection. */
type Step = { readonly status: number; readonly after?: number } | 'close';

interface Attempt {
  readonly at: number;
  readonly method: string | undefined;
  readonly key: unknown;
  readonly authorization: unknown;
  readonly body: string;
}

for (const { language, file, base, faster, leftOut } of programs) {
  const source = blocks.find(block => block.language === language && block.text.includes('Idempotency-Key'))!.text;
  const line = commandsOf(page).find(command => command.endsWith(file))!;

  describe(`${file} of docs/backoff.md`, { skip: skip || leftOut, concurrency: 4 }, () => {
    test('waits for Retry-After and sends the same request until it succeeds', async () => {
      const { attempts, code, output } = await run(source, [
        { status: 429, after: 1 },
        { status: 503 },
        { status: 201 },
      ]);
      assert.equal(code, 0, output);
      assert.match(output, /Mia/);
      assert.equal(attempts.length, 3);
      assert.ok(attempts[1]!.at - attempts[0]!.at >= 1000, 'waits for the second that the server asks for');
      assert.ok(attempts[2]!.at - attempts[1]!.at <= 2000 + SLACK_MS, 'waits for at most twice the base');
      assert.equal(new Set(attempts.map(({ key, body }) => `${key} ${body}`)).size, 1);
      assert.match(String(attempts[0]!.key), /^[\w-]{32,36}$/);
      assert.deepEqual([attempts[0]!.method, attempts[0]!.authorization], ['POST', 'Bearer the-key']);
      assert.deepEqual(JSON.parse(attempts[0]!.body), { name: 'Mia', categoryId: 2 });
    });

    test('retries when the connection breaks, and 409 with Retry-After', async () => {
      const steps: Step[] = ['close', { status: 409, after: 1 }, { status: 201 }];
      const { attempts, code } = await run(source.replace(base, faster), steps);
      assert.deepEqual([attempts.length, code], [3, 0]);
      assert.ok(attempts[2]!.at - attempts[1]!.at >= 1000);
    });

    test('gives up after six attempts', async () => {
      const { attempts, code, output } = await run(source.replace(base, faster), Array(9).fill({ status: 503 }));
      assert.deepEqual([attempts.length, code], [6, 1]);
      assert.match(output, /503/);
    });

    for (const step of [{ status: 400 }, { status: 409 }, { status: 429, after: 3600 }]) {
      test(`does not retry ${JSON.stringify(step)}`, async () => {
        const { attempts, code, output } = await run(source, [step, { status: 201 }]);
        assert.deepEqual([attempts.length, code], [1, 1]);
        assert.match(output, new RegExp(String(step.status)));
      });
    }
  });

  /** Runs the program against a server that does one step per attempt. */
  async function run(program: string, steps: readonly Step[]) {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-backoff-'));
    const { server, attempts } = refusing(steps);
    try {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      await writeFile(join(directory, file), program.replaceAll('localhost:8081', `127.0.0.1:${port}`));
      const child = spawn('sh', ['-c', line], { cwd: directory, env: { ...process.env, KEY: 'the-key' } });
      const [printed, errors, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ]);
      return { attempts, code, output: printed + errors };
    } finally {
      server.closeAllConnections();
      server.close();
      await rm(directory, { recursive: true });
    }
  }
}

/** Returns a server that does one step per attempt. */
function refusing(steps: readonly Step[]): { server: Server; attempts: Attempt[] } {
  const attempts: Attempt[] = [];
  const server = createServer(async (request, response) => {
    const step = steps[attempts.length]!;
    attempts.push({ at: performance.now(), ...seen(request), body: await text(request) });
    if (step === 'close') {
      request.socket.destroy();
      return;
    }
    const { status, after } = step;
    response.writeHead(status, after === undefined ? {} : { 'Retry-After': after });
    response.end(status === 201 ? '{"id":1,"name":"Mia"}' : `{"status":${status}}`);
  });
  return { server, attempts };
}

function seen({ method, headers }: IncomingMessage) {
  return { method, key: headers['idempotency-key'], authorization: headers.authorization };
}

describe('docs/backoff.md, executed', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  for (const { file, language, leftOut } of programs) {
    test(`${file} adds a pet`, { skip: leftOut }, async () => {
      const [program] = blocks
        .filter(({ text }) => text.includes('Idempotency-Key') && text.length > 500)
        .filter(block => block.language === language);
      const documented = /localhost:8081/g;
      const address = /Staging +http:\/\/([^/\s]+)/.exec(server.printed)![1]!;
      await writeFile(join(server.directory, file), program!.text.replace(documented, address));
      assert.match(await server.run(commandsOf(page).find(command => command.endsWith(file))!), /"name":"Mia"/);
    });
  }

  test('the command with curl --retry works', async () => {
    const line = commandsOf(page).find(command => command.startsWith('curl --retry'))!;
    assert.equal(JSON.parse(await server.run(line)).length, 1);
  });
});

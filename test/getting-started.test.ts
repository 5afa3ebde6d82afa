import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const root = new URL('..', import.meta.url).pathname;
const [readme, page] = await Promise.all(
  ['README.md', 'docs/getting-started.md'].map(file => readFile(join(root, file), 'utf8')),
);
const commands = [...page!.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, lines]) => lines!.trim().split('\n'));

const { error: withoutCurl } = spawnSync('curl', ['--version']);
const skip = withoutCurl !== undefined && process.env.CI !== 'true' ? 'left out: there is no curl' : false;

describe('getting started, word for word', { skip }, () => {
  let directory: string;
  let stop: () => Promise<unknown>;
  let printed = '';
  let key: string;
  const env = { ...process.env, PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'petstore-start-'));
    Object.assign(env, { PETSTORE_DATA_DIR: join(directory, 'data') });
    const server = spawn(join(root, 'bin/petstore'), ['serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(server, 'exit');
    stop = () => {
      server.kill();
      return ended;
    };
    for await (const line of createInterface(server.stdout)) {
      printed += `${line}\n`;
      if (line.startsWith('Ctrl-C')) break;
    }
    server.stdout.resume();
    key = /petstore_test_\w+/.exec(printed)![0];
  });
  after(async () => {
    assert.deepEqual(await stop(), [0, null]);
    await rm(directory, { recursive: true, force: true });
  });

  /** Runs a line of the page as it stands, but for the key and the ports that this server has. */
  async function run(line: string): Promise<string> {
    const address = (name: string) => new RegExp(`${name} +http://(\\S+?)(?:/v1)?\\n`).exec(printed)![1]!;
    const script = line
      .replaceAll('localhost:8080', address('Production'))
      .replaceAll('localhost:8081', address('Staging'))
      .replaceAll('bin/petstore', join(root, 'bin/petstore'));
    const shell = promisify(execFile)('sh', ['-euc', `KEY=${key}\n${script}`], { cwd: directory, env });
    return (await shell).stdout;
  }

  test('begins with `npm start`, which serves', async () => {
    assert.equal(commands[0], 'npm start');
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    assert.equal(scripts.start, 'exec bin/petstore serve');
    assert.equal(commands[1], 'KEY=petstore_test_…');
  });

  test('the line that the start prints works as it stands', async () => {
    const line = /^ *(curl .*)$/m.exec(printed)![1]!;
    assert.ok(JSON.parse(await run(line)).length > 0);
  });

  test('the first call of the README gives the answer that stands there', async () => {
    const [, line, answer] = /```sh\n(curl [^\n]*)\n```\n\n```json\n([^\n]*)\n```/.exec(readme!)!;
    assert.deepEqual(JSON.parse(await run(line!)), JSON.parse(answer!));
  });

  const answers = [/^HTTP\/1\.1 200 /, /^\[\{"id"/, /^HTTP\/1\.1 201 /, /"code":"invalid_body"/, /petstore_live_/];
  for (const [index, line] of commands.slice(2).entries()) {
    test(line, async () => {
      const output = await run(line);
      if (answers[index] !== undefined) assert.match(output, answers[index]);
      assert.doesNotMatch(output, /"status":5\d\d/);
    });
  }

  test('the document that was fetched is an OpenAPI document of this address', async () => {
    const document = JSON.parse(await readFile(join(directory, 'openapi.json'), 'utf8'));
    assert.match(document.openapi, /^3\.1\./);
  });
});

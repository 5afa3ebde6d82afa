import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import {
  blocksOf,
  commandsOf,
  type FirstServer,
  readPage,
  root,
  skip,
  startFirstServer,
} from '../support/pages-as-scripts.ts';
import { waitUntil } from '../support/wait-until.ts';
import { launchBrowser, skipBrowser } from '../web/browser.ts';

const page = await readPage('docs/listen.md');
const [download, install, setKey, startListen, setSecret, startReceiver, ...others] = commandsOf(page);

/** A program that runs until a signal, with the lines that it has printed. */
interface Program {
  readonly lines: string[];
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Interrupts it, and returns its exit code and signal. */
  stop(): Promise<readonly unknown[]>;
}

describe('docs/listen.md, executed', { skip: skip || skipBrowser }, () => {
  let server: FirstServer;
  let key: string;
  let urls: Readonly<Record<'production' | 'staging', string>>;
  let port: number;
  let listening: Program | undefined;
  let receiver: Program | undefined;
  const programs: ChildProcess[] = [];

  before(async () => {
    server = await startFirstServer();
    [key] = server.printed.match(/petstore_test_\w+/) as [string];
    // The helper shows the documented addresses in what commands print, and the real ones in files.
    await server.run('printf "http://localhost:8080 http://localhost:8081" > urls.txt');
    const [production, staging] = (await readFile(join(server.directory, 'urls.txt'), 'utf8')).split(' ');
    urls = { production: production!, staging: staging! };
    port = await freePort();
  });
  after(async () => {
    for (const program of programs) program.kill('SIGKILL');
    assert.deepEqual(await server.stop(), [0, null]);
  });

  /** Starts a command of the page. */
  function start(command: string, environment: Readonly<Record<string, string>>): Program {
    const real = command.replace('http://localhost:8081', urls.staging).replace(':3000', `:${port}`);
    const child = spawn('sh', ['-c', `exec ${real}`], {
      cwd: server.directory,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    programs.push(child);
    const ended = once(child, 'close');
    let printed = '';
    const lines: string[] = [];
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const parts = (printed + text).split('\n');
      printed = parts.pop()!;
      lines.push(...parts);
    });
    return {
      lines,
      async prints(pattern) {
        const found = () => lines.map(line => pattern.exec(line)).find(match => match !== null);
        await waitUntil(() => found() !== undefined || child.exitCode !== null);
        return found() ?? assert.fail(`${command} ended. It printed:\n${lines.join('\n')}`);
      },
      stop() {
        child.kill('SIGINT');
        return ended;
      },
    };
  }

  const isSet = (line: string, name: string) => line.startsWith(`export ${name}=`);

  test('installs the command', async () => {
    await server.run(
      `${download}\nprintf '{"private":true}' > package.json\n${install} --offline --no-audit --no-fund`,
    );
    const [source] = blocksOf(page).filter(({ language }) => language === 'js');
    await writeFile(join(server.directory, 'receiver.mjs'), source!.text.replace('3000', String(port)));
  });

  test('listens, and prints a secret for the receiver, as the page shows', async () => {
    assert.ok(isSet(setKey!, 'PETSTORE_API_KEY') && isSet(setSecret!, 'PETSTORE_WEBHOOK_SECRET'));
    assert.deepEqual(others, []);
    const command = startListen!.replace('npx petstore', 'node_modules/.bin/petstore');
    listening = start(command, { PETSTORE_API_KEY: key });
    await listening.prints(/^Posting events of /);
    const shown = listening.lines.join('\n').replace(/whsec_\S+/, 'whsec_…');
    const [expected] = blocksOf(page).filter(({ language }) => language === 'text');
    assert.equal(shown.replace(urls.staging, 'http://localhost:8081').replace(`:${port}`, ':3000'), expected!.text);
    const [, secret] = await listening.prints(/^ {2}export PETSTORE_WEBHOOK_SECRET=(whsec_\S+)$/);
    receiver = start(startReceiver!, { PETSTORE_WEBHOOK_SECRET: secret! });
    await receiver.prints(/^listening$/);
  });

  test('delivers an order of “Try it”, which the receiver verifies', async () => {
    const browser = await launchBrowser();
    try {
      const tab = await browser.newPage();
      await tab.goto(`${urls.production}/reference/placeOrder`);
      await tab.locator('summary', { hasText: 'Use a key of your own' }).click();
      await tab.getByLabel('API key for staging').fill(key);
      await tab.getByRole('button', { name: 'Send request' }).click();
      await tab.locator('.result > .response .status', { hasText: '201' }).waitFor();
    } finally {
      await browser.close();
    }
    const [, id] = await receiver!.prints(/^verified: (evt_\d+) order\.placed$/);
    await listening!.prints(new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}order\\.placed {10}204 +\\d+ ms {2}${id}$`));
    assert.deepEqual(await listening!.stop(), [0, null]);
    assert.equal(listening!.lines.at(-1), `Stopped: 1 delivered, 0 failed. Continue with --since ${id}.`);
  });

  test('continues with the command of the service, and a secret that is set', async () => {
    const [, id] = await receiver!.prints(/^verified: (evt_\d+)/);
    await server.run(
      `curl -sSf -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"petId":39}' http://localhost:8081/v1/store/orders`,
    );
    const [, secret] = await listening!.prints(/(whsec_\S+)$/);
    const command = startListen!.replace('npx petstore', join(root, 'bin/petstore'));
    const environment = { PETSTORE_API_KEY: key, PETSTORE_WEBHOOK_SECRET: secret! };
    const again = start(`${command} --since ${id} --json 2>&1`, environment);
    const [, last] = await again.prints(/ 204 .* (evt_\d+)$/);
    assert.deepEqual(await again.stop(), [0, null]);
    assert.deepEqual(JSON.parse(again.lines.at(-1)!), { delivered: 1, failed: 0, lastEventId: last });
    assert.deepEqual(
      receiver!.lines.filter(line => line.startsWith('verified: ')),
      [`verified: ${id} order.placed`, `verified: ${last} order.placed`],
    );
  });
});

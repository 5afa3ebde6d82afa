import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { signatureHeaders } from '../../src/lib/signature.ts';
import { freePort } from '../support/free-port.ts';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

const page = await readPage('docs/receive-webhooks.md');

const { error: withoutPython } = spawnSync('python3', ['--version']);
const noPython = withoutPython !== undefined && process.env.CI !== 'true' && 'left out: there is no python3';

/** The receivers of the page: the language of the block with the source, and the file to save it in. */
const receivers = [
  { language: 'JavaScript', fence: 'js', file: 'receiver.mjs', leftOut: false },
  { language: 'Python', fence: 'py', file: 'receiver.py', leftOut: noPython },
] as const;

const commands = commandsOf(page);
const [start, setKey, make, download, startJavaScript, startPython, activate, newPet, forge, ...afterwards] = commands;
const [setSince, first, second, pending, pendingLater, list, again, allAgain, ...others] = afterwards;

for (const { language, fence, file, leftOut } of receivers) {
  describe(`docs/receive-webhooks.md in ${language}, executed`, { skip: skip || leftOut }, () => {
    const startReceiver = language === 'Python' ? startPython! : startJavaScript!;
    let server: FirstServer;
    let port: number;
    let secret: string;
    let receiver: RunningReceiver;
    let since: string;
    let minka: string;

    before(async () => {
      const settings = Object.fromEntries([...start!.matchAll(/(PETSTORE_\w+)=(\S+)/g)].map(([, ...one]) => one));
      server = await startFirstServer(settings);
      port = await freePort();
      const [, source] = new RegExp(`\`\`\`${fence}\n(.*?)\`\`\``, 's').exec(page)!;
      await writeFile(join(server.directory, file), source!.replace('9000', String(port)));
      if (language === 'JavaScript') await server.run(download!);
    });
    after(async () => {
      receiver?.end('SIGKILL');
      assert.deepEqual(await server.stop(), [0, null]);
    });

    /** Runs a command and returns its output. */
    const run = (line: string) => server.run(line.replaceAll('127.0.0.1:9000', `127.0.0.1:${port}`), { SINCE: since });
    const request = async (line: string) => JSON.parse(await run(line));
    const openReceiver = async () => {
      const line = startReceiver.replace('whsec_…', secret);
      receiver = await runReceiver(line, server.directory);
    };

    test('starts with the settings and the key and has a test for every command', () => {
      assert.match(start!, /^PETSTORE_WEBHOOK_NETWORKS=127\.0\.0\.1 .* npm start$/);
      assert.equal(setKey, 'KEY=petstore_test_…');
      assert.ok(startReceiver.startsWith('WEBHOOK_SECRET=whsec_… ') && startReceiver.endsWith(` ${file}`));
      assert.deepEqual(others, []);
    });

    test('creates an inactive webhook and shows its secret', async () => {
      const webhook = await request(make!);
      assert.deepEqual([webhook.id, webhook.status], [1, 'inactive']);
      ({ secret } = webhook);
      assert.match(secret, /^whsec_/);
    });

    test('fails to activate the webhook without a receiver', async () => {
      assert.equal((await request(activate!)).code, 'webhook_test_failed');
    });

    test('activates the webhook once the receiver accepts the test', async () => {
      await openReceiver();
      assert.equal((await request(activate!)).status, 'active');
      await receiver.prints(/^verified: test_\S+ webhook\.test/);
    });

    test('verifies the delivery of a new pet', async () => {
      const { name } = await request(newPet!);
      minka = (await receiver.prints(/^verified: (evt_\d+) pet\.created Minka/))[1]!;
      assert.equal(name, 'Minka');
    });

    test('rejects an unsigned delivery', async () => {
      assert.match(await run(forge!), /^HTTP\/1\.1 401 /);
      await receiver.prints(/^rejected: invalid signature$/);
    });

    test('rejects forged, changed and stale deliveries, and accepts several signatures', async () => {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const other = Buffer.alloc(key.length, 1);
      const body = JSON.stringify({ type: 'pet.updated', data: { name: 'Ïda' } });
      const post = async (headers: Readonly<Record<string, string>>, sent = body) => {
        const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: sent });
        return status;
      };
      const headers = (at = Date.now(), keys = [key]) => signatureHeaders('evt_1', at, body, keys);
      const good = headers();
      const minutes = 60_000;
      assert.equal(await post(good), 204);
      assert.equal(await post(headers(Date.now(), [other, key])), 204);
      assert.equal(await post(headers(Date.now() - 4 * minutes)), 204);
      for (const [what, bad, sent] of [
        ['another secret', headers(Date.now(), [other])],
        ['six minutes ago', headers(Date.now() - 6 * minutes)],
        ['in six minutes', headers(Date.now() + 6 * minutes)],
        ['another body', good, body.replace('Ïda', 'Ada')],
        ['another id', { ...good, 'webhook-id': 'evt_2' }],
        ['another time', { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) - 1) }],
        ['no time', { ...good, 'webhook-timestamp': '' }],
        ['no number', { ...good, 'webhook-timestamp': 'NaN' }],
        ['no signature', { ...good, 'webhook-signature': '' }],
        ['half a signature', { ...good, 'webhook-signature': good['webhook-signature'].slice(0, 20) }],
        ['another version', { ...good, 'webhook-signature': good['webhook-signature'].replace('v1,', 'v2,') }],
        ['no version', { ...good, 'webhook-signature': good['webhook-signature'].replace('v1,', '') }],
        ['nothing of it', {}],
      ] as const) {
        assert.equal(await post(bad, sent), 401, what);
      }
    });

    test('survives a caller that closes the connection early', async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
      await pause(50);
      socket.destroy();
      assert.match(await run(forge!), /^HTTP\/1\.1 401 /);
    });

    test('retries the first delivery only while the receiver is down', async () => {
      assert.deepEqual(await receiver.end('SIGINT'), '');
      since = (await server.run(`${setSince}; echo $SINCE`)).trim();
      assert.equal((await request(first!)).name, 'Bella the First');
      assert.equal((await request(second!)).name, 'Bella the Second');
      const [behind, tried] = await until(
        () => request(pending!),
        ([, one]) => one?.attempts.length > 0,
      );
      assert.deepEqual(behind.attempts, []);
      assert.equal(behind.nextAttemptAt, undefined);
      assert.equal(tried.attempts[0].fault, 'refused');
      assert.ok(Date.parse(tried.nextAttemptAt) > Date.parse(tried.attempts[0].at));
    });

    test('shows more attempts later', async () => {
      const [behind, tried] = await until(
        () => request(pendingLater!),
        ([, one]) => one?.attempts.length > 1,
      );
      assert.deepEqual(behind.attempts, []);
      const [one, next] = tried.attempts;
      const waited = Date.parse(next.at) - Date.parse(one.at);
      assert.ok(waited >= 4500 && waited < 8000, String(waited));
    });

    test('delivers both in order once the receiver is back', async () => {
      await openReceiver();
      await receiver.prints(/ Bella the Second$/);
      assert.deepEqual(receiver.lines.map(nameIn), ['Bella the First', 'Bella the Second']);
    });

    test('redelivers an event with the same id', async () => {
      const deliveries = await until(
        () => request(list!),
        all => all.every(({ status }: { status: string }) => status === 'delivered' || status === 'failed'),
      );
      const newest = deliveries.map(({ eventId }: { eventId?: string }) => eventId).filter(Boolean);
      assert.equal(newest.at(-1), minka);
      assert.equal(newest.length, 3);
      receiver.lines.length = 0;
      await request(again!.replace('evt_…', minka));
      await receiver.prints(new RegExp(`^verified: ${minka} pet\\.created Minka$`));
    });

    test('redelivers all events since a time in order', async () => {
      receiver.lines.length = 0;
      assert.equal((await request(allAgain!)).since, since.replace('Z', '.000Z'));
      await receiver.prints(/ Bella the Second$/);
      // The second in which it starts may contain more events, even those of the sample data.
      const names = receiver.lines.map(nameIn).filter(name => name.startsWith('Bella the'));
      assert.deepEqual(names, ['Bella the First', 'Bella the Second']);
    });
  });
}

/** A running receiver of the page. */
interface RunningReceiver {
  /** The lines that it printed after `listening`. */
  readonly lines: string[];
  /** Waits until it prints a line that matches. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Stops it and returns its stderr. */
  end(signal: NodeJS.Signals): Promise<string>;
}

/** Starts a receiver with a command of the page and waits until it listens. */
async function runReceiver(line: string, directory: string): Promise<RunningReceiver> {
  const child: ChildProcess = spawn('sh', ['-c', `exec env ${line}`], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let printed = '';
  let errors = '';
  const lines: string[] = [];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const parts = (printed + text).split('\n');
    printed = parts.pop()!;
    lines.push(...parts.map(part => part.trimEnd()));
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const running: RunningReceiver = {
    lines,
    async prints(pattern) {
      const [found] = await until(
        async () => lines.map(one => pattern.exec(one)).filter(one => one !== null),
        some => some.length > 0,
        () => `${lines.join('\n')}\n${errors}`,
      );
      return found!;
    },
    async end(signal) {
      child.kill(signal);
      await ended;
      return errors;
    },
  };
  await running.prints(/^listening$/);
  lines.length = 0;
  return running;
}

function nameIn(line: string): string {
  return line.split(' ').slice(3).join(' ');
}

/** Polls until the value is right, for at most 20 seconds: attempts are five and ten seconds apart. */
async function until<T>(
  read: () => Promise<T>,
  right: (value: T) => boolean,
  describeFailure?: () => string,
): Promise<T> {
  const end = performance.now() + 20_000;
  for (;;) {
    const value = await read();
    if (right(value)) return value;
    assert.ok(performance.now() < end, describeFailure?.() ?? JSON.stringify(value));
    // The plan allows 60 requests a minute.
    await pause(describeFailure === undefined ? 1000 : 20);
  }
}

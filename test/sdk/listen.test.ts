import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { type ListenSummary, listen } from '../../sdk/listen/listen.ts';
import { openReceiver } from '../../sdk/listen/receiver.ts';
import { PetStore, type PetstoreEvent, unwrapWebhook } from '../../sdk/src/index.ts';
import { readHidden } from '../../src/cli/hidden-input.ts';
import { plain } from '../../src/cli/terminal.ts';
import { freePort } from '../support/free-port.ts';
import { startHttpServer } from '../support/http-server.ts';
import { startProxy } from '../support/proxy.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import { newProcessKey, serve, spawnService, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A clock whose waits are recorded, and a hundred times shorter; time limits are not. */
class FastTime {
  readonly waits: number[] = [];
  #skippedMs = 0;
  now = () => performance.now() + this.#skippedMs;
  random = () => 0.5;
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const isLimit = ms === 30_000 || ms === 45_000;
    if (!isLimit) this.waits.push(ms);
    const realMs = isLimit ? ms : ms / 100;
    await sleep(realMs, undefined, { ref: !isLimit, ...(signal && { signal }) });
    this.#skippedMs += ms - realMs;
  }
}

/** A running command. */
interface Listening {
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  readonly time: FastTime;
  /** Waits until a line, of either output, matches. */
  prints(pattern: RegExp): Promise<string>;
  /** Interrupts it. */
  stop(): Promise<ListenSummary>;
  readonly done: Promise<ListenSummary>;
}

function start(
  t: TestContext,
  options: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): Listening {
  const [lines, errors] = [[] as string[], [] as string[]];
  const interruption = new AbortController();
  const time = new FastTime();
  let onLine = () => {};
  const printTo = (output: string[]) => (line: string) => {
    output.push(line);
    onLine();
  };
  const { signal } = interruption;
  const io = { environment, print: printTo(lines), printError: printTo(errors), style: plain, signal, time };
  const done = listen(options, io);
  // Tests of failures await it; others fail as their lines do not come.
  done.catch(() => onLine());
  t.after(() => interruption.abort());
  return {
    lines,
    errors,
    time,
    async prints(pattern) {
      for (;;) {
        const found = [...lines, ...errors].find(line => pattern.test(line));
        if (found !== undefined) return found;
        const next = Promise.withResolvers<void>();
        onLine = next.resolve;
        await Promise.race([next.promise, done.then(() => assert.fail(`It ended. It printed:\n${lines.join('\n')}`))]);
      }
    },
    stop() {
      interruption.abort();
      return done;
    },
    done,
  };
}

/** Waits until so many events are delivered: a receiver has each before its response is read. */
function posted({ lines }: Listening, count: number): Promise<void> {
  return waitUntil(() => lines.filter(line => / 204 /.test(line)).length === count);
}

describe('petstore listen', () => {
  let service: TestService;
  let owner: { readonly token: string; readonly accountId: number };
  let store: PetStore;
  before(async () => {
    service = await serve({ environment: { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1' } });
    owner = await service.newKey();
    store = new PetStore({ baseUrl: service.urls.production, apiKey: owner.token });
  });
  after(() => service.stop());

  const receiver = async (t: TestContext) => {
    const started = await startReceiver();
    t.after(() => started.close());
    return started;
  };
  const keyOf = (token: string) => ({ PETSTORE_API_KEY: token, PETSTORE_WEBHOOK_SECRET: secret });
  /** Starts the command for the owner, and waits until it follows the stream. */
  const follow = async (t: TestContext, url: string, options: Readonly<Record<string, string>> = {}) => {
    const running = start(t, { url: service.urls.production, 'forward-to': url, ...options }, keyOf(owner.token));
    await running.prints(/^Posting events of /);
    return running;
  };
  const addPet = async (name: string) => (await store.createPet({ name, categoryId: 2 })).id;

  test('posts an order as a webhook does: the same body, headers and signature', async t => {
    const [hook, local] = [await receiver(t), await receiver(t)];
    const webhook = await store.createWebhook({ url: hook.url, types: ['order.placed'] });
    await store.activateWebhook(webhook.id);
    const running = start(
      t,
      { url: service.urls.production, 'forward-to': local.url, types: 'order.*' },
      { PETSTORE_API_KEY: owner.token, PETSTORE_WEBHOOK_SECRET: webhook.secret! },
    );
    await running.prints(/^Posting events of /);
    const order = await store.placeOrder({ petId: await addPet('Minka') });
    const line = await running.prints(/order\.placed/);
    assert.match(line, /^\d\d:\d\d:\d\d {2}order\.placed {10}204 {4} +\d+ ms {2}evt_\d+$/);
    const [delivered] = local.received;
    const isOrder = ({ body }: Received) => JSON.parse(body).type === 'order.placed';
    await waitUntil(() => hook.received.some(isOrder));
    const expected = hook.received.find(isOrder)!;
    assert.equal(delivered!.body, expected.body);
    // The trace is not in the stream, and the connections differ.
    const { traceparent: _, ...headers } = expected.headers;
    const names = (all: object) => Object.keys(all).filter(name => name !== 'connection');
    assert.deepEqual(names(delivered!.headers), names(headers));
    for (const name of ['content-type', 'user-agent', 'webhook-id', 'content-length', 'accept-encoding'])
      assert.equal(delivered!.headers[name], headers[name], name);
    const event = await unwrapWebhook(delivered!.body, delivered!.headers, webhook.secret!);
    assert.equal(event.data.id, order.id);
    const sent = delivered!.headers as Record<string, string>;
    new Webhook(webhook.secret!).verify(delivered!.body, sent);
    const at = new Date(Number(sent['webhook-timestamp']) * 1000);
    assert.equal(
      sent['webhook-signature'],
      new Webhook(webhook.secret!).sign(sent['webhook-id']!, at, delivered!.body),
    );
    assert.deepEqual(await running.stop(), { delivered: 1, failed: 0, lastEventId: sent['webhook-id'] });
  });

  test('keeps the order, and repeats failed posts as webhooks do, with new timestamps', async t => {
    const local = await receiver(t);
    const statuses = [503, 500, 429];
    local.respond = (_, response) => {
      const status = statuses.shift();
      response.writeHead(status ?? 204, status === 429 ? { 'Retry-After': '40' } : {}).end();
    };
    const running = await follow(t, local.url, { types: 'pet.created', retry: 'true' });
    const ids = [await addPet('Ada'), await addPet('Bea')];
    await waitUntil(() => local.received.length === 5);
    const received = local.received.map(({ body }) => JSON.parse(body).data.id);
    assert.deepEqual(received, [ids[0], ids[0], ids[0], ids[0], ids[1]]);
    for (const { body, headers } of local.received) await unwrapWebhook(body, headers, secret);
    assert.equal(new Set(local.received.slice(0, 4).map(({ headers }) => headers['webhook-id'])).size, 1);
    await running.prints(/429 .* again in 40 s$/);
    assert.deepEqual(running.time.waits.slice(0, 3), [1050, 2100, 40_000]);
    await posted(running, 2);
    const { delivered, failed } = await running.stop();
    assert.deepEqual([delivered, failed], [2, 0]);
  });

  test('gives up after seven repetitions, at once for 410, and without --retry', async t => {
    const local = await receiver(t);
    let status = 500;
    local.respond = (_, response) => response.writeHead(status).end();
    const patient = await follow(t, local.url, { types: 'pet.created', retry: 'true' });
    await addPet('Cleo');
    await waitUntil(() => local.received.length === 8);
    status = 410;
    await addPet('Dina');
    await patient.prints(/ 410 /);
    assert.equal(local.received.length, 9);
    assert.deepEqual(
      patient.time.waits.map(ms => Math.round(ms / 1050)),
      [1, 2, 5, 10, 20, 30, 30],
    );
    const { failed } = await patient.stop();
    assert.equal(failed, 2);
    const once = await follow(t, local.url, { types: 'pet.created' });
    status = 500;
    await addPet('Edda');
    await once.prints(/ 500 /);
    const summary = await once.stop();
    assert.deepEqual([summary.delivered, summary.failed, local.received.length], [0, 1, 10]);
  });

  test('starts after --since, and continues after it when it stops', async t => {
    const local = await receiver(t);
    const first = await addPet('Fee');
    const [event] = await store.listEvents({ types: 'pet.created', limit: 1 });
    assert.ok(event);
    const position = (await Array.fromAsync(store.listEvents({ types: 'pet.created' }))).at(-1)!;
    const second = await addPet('Gina');
    const running = await follow(t, local.url, { types: 'pet.created', since: position.id });
    await running.prints(/pet\.created/);
    const { lastEventId } = await running.stop();
    const third = await addPet('Hera');
    const again = await follow(t, local.url, { types: 'pet.created', since: lastEventId! });
    await again.prints(/pet\.created/);
    await again.stop();
    assert.equal(position.data.id, first);
    assert.deepEqual(
      local.received.map(({ body }) => JSON.parse(body).data.id),
      [second, third],
    );
  });

  test('names the events that the scopes of the key hide, as far as they are wanted', async t => {
    const { url } = await receiver(t);
    const { token } = await service.newKey({ scopes: ['events:read', 'messages:read'] });
    const lines = [];
    for (const types of [{}, { types: 'order.placed,pet.*,message.queued' }, { types: 'pet.*' }]) {
      const running = start(t, { url: service.urls.production, 'forward-to': url, ...types }, keyOf(token));
      await running.prints(/^Posting events of /);
      await running.stop();
      lines.push(running.lines.filter(line => /scope/.test(line)));
    }
    const all = 'hold.*, order.* (orders:read); account.*, key.*, ban.* (account:read); webhook.* (webhooks:read)';
    assert.deepEqual(lines, [
      [`The key lacks the scope for these events: ${all}.`],
      ['The key lacks the scope for these events: order.placed (orders:read).'],
      [],
    ]);
  });

  test('prints a new secret once, and none that is set', async t => {
    const local = await receiver(t);
    const options = { url: service.urls.production, 'forward-to': local.url, types: 'pet.created' };
    const secrets = [];
    for (const _ of [1, 2]) {
      const running = start(t, options, { PETSTORE_API_KEY: owner.token });
      await running.prints(/^Posting events of /);
      await addPet('Ida');
      await running.prints(/pet\.created/);
      await running.stop();
      const printed = running.lines.join('\n').match(/whsec_\S+/g)!;
      assert.equal(printed.length, 1);
      const { body, headers } = local.received.at(-1)!;
      await unwrapWebhook(body, headers, printed[0]);
      secrets.push(printed[0]);
    }
    assert.notEqual(secrets[0], secrets[1]);
    const running = await follow(t, local.url);
    await running.stop();
    assert.doesNotMatch(running.lines.join('\n'), /whsec_/);
  });

  test('does not follow redirects, and reads a bounded part of a response', async t => {
    const [local, other] = [await receiver(t), await receiver(t)];
    local.respond = (_, response) => response.writeHead(307, { Location: other.url }).end();
    const running = await follow(t, local.url, { types: 'pet.created' });
    await addPet('Juno');
    await running.prints(/ 307 /);
    let written = 0;
    const closed = Promise.withResolvers<void>();
    local.respond = (_, response) => {
      response.on('close', closed.resolve);
      const part = Buffer.alloc(16_384);
      const more = () => {
        written += part.length;
        if (response.write(part)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    };
    await addPet('Kira');
    await running.prints(/ 200 /);
    await closed.promise;
    assert.ok(written > 65_536, String(written));
    assert.equal(other.received.length, 0);
    await running.stop();
  });

  test('reports why a receiver cannot be reached', async t => {
    const local = await receiver(t);
    const running = await follow(t, local.url.replace(/:\d+/, `:${await freePort()}`), { types: 'pet.created' });
    await addPet('Lea');
    await running.prints(/pet\.created +refused /);
    await running.stop();
    const cut = await follow(t, local.url, { types: 'pet.created' });
    local.respond = (_, response) => response.destroy();
    await addPet('Mona');
    await cut.prints(/pet\.created +reset /);
    await cut.stop();
  });

  test('continues after cut connections, without gaps and repetitions', async t => {
    const local = await receiver(t);
    const { hostname, port, pathname } = new URL(service.urls.production);
    const proxy = await startProxy({ host: hostname.replace('localhost', '127.0.0.1'), port: Number(port) });
    t.after(() => proxy.close());
    const url = `http://127.0.0.1:${proxy.port}${pathname}`;
    const running = start(t, { url, 'forward-to': local.url, types: 'pet.created' }, keyOf(owner.token));
    await running.prints(/^Posting events of /);
    const ids = [await addPet('Nele')];
    await waitUntil(() => local.received.length === 1);
    for (const [count, name] of ['Oda', 'Pia', 'Queen'].entries()) {
      proxy.refuse();
      proxy.cut();
      ids.push(await addPet(name), await addPet(`${name} II`));
      await waitUntil(() => running.errors.length > count);
      proxy.heal();
      await waitUntil(() => running.lines.filter(line => line === 'Connected again.').length > count);
      ids.push(await addPet(`${name} III`));
      await waitUntil(() => local.received.length >= ids.length);
    }
    assert.deepEqual(
      local.received.map(({ body }) => JSON.parse(body).data.id),
      ids,
    );
    assert.match(running.errors[0]!, /: The connection ended\. Trying again …$/);
    await running.stop();
  });

  test('continues after the service was killed and started again', async t => {
    const local = await receiver(t);
    const environment = { PETSTORE_PORT: String(await freePort()) };
    let spawned = await spawnService({ environment });
    t.after(async () => {
      await spawned.stop();
      await spawned.remove();
    });
    const token = await newProcessKey(spawned);
    const client = new PetStore({ baseUrl: spawned.urls.production, apiKey: token });
    const options = { url: spawned.urls.production, 'forward-to': local.url, types: 'pet.created' };
    const running = start(t, options, keyOf(token));
    await running.prints(/^Posting events of /);
    const ids = [(await client.createPet({ name: 'Rosa', categoryId: 2 })).id];
    await waitUntil(() => local.received.length === 1);
    await spawned.stop('SIGKILL');
    await running.prints(/Trying again …$/);
    spawned = await spawnService({ environment, directory: spawned.directory });
    ids.push((await client.createPet({ name: 'Suse', categoryId: 2 })).id);
    await running.prints(/^Connected again\.$/);
    await posted(running, 2);
    assert.deepEqual(
      local.received.map(({ body }) => JSON.parse(body).data.id),
      ids,
    );
    assert.deepEqual((await running.stop()).delivered, 2);
  });

  test('waits as long as the service asks, and repeats errors of proxies', async t => {
    const local = await receiver(t);
    const responses = [[429, 'Retry-After'], [502], [503, 'Retry-After']] as const;
    let count = 0;
    const url = await startHttpServer(t, ({ url }, response) => {
      if (!url!.includes('/stream')) {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('[]');
        return;
      }
      const [status, header] = responses[count++] ?? [200];
      response.writeHead(status, header && { [header]: '7' });
      if (status !== 200) response.end('{"code":"overloaded","message":"Wait."}');
      else response.write('id: evt_1\n\nid: evt_2\ndata: {"id":"evt_2","type":"pet.created","time":"","data":{}}\n\n');
    });
    const running = start(t, { url, 'forward-to': local.url, types: 'pet.*' }, keyOf('petstore_test_1'));
    await running.prints(/ 204 /);
    await running.stop();
    assert.deepEqual(running.errors, [
      `${url}: 429, Retry-After: 7 s.`,
      `${url}: The status is 502. Trying again …`,
      `${url}: 503, Retry-After: 7 s.`,
    ]);
    assert.equal(running.time.waits.filter(ms => ms >= 7000).length, 2);
  });

  test('connects to loopback addresses only, whatever a name resolves to later', async t => {
    const local = await receiver(t);
    const { port } = new URL(local.url);
    const event = { id: 'evt_1', type: 'pet.created', time: '' } as PetstoreEvent;
    const bytes = Buffer.alloc(32);
    const open = (host: string, addresses: string[], allowRemote = false) =>
      openReceiver(new URL(`http://${host}:${port}/`), allowRemote, bytes, async () => addresses);
    const { signal } = new AbortController();
    const addresses = ['192.0.2.1', '127.0.0.1'];
    const mixed = await open('mixed.example', addresses);
    assert.equal((await mixed.post(event, signal)).status, 204);
    addresses.pop();
    assert.equal((await mixed.post(event, signal)).status, 'unresolved');
    for (const address of [
      '192.0.2.1',
      '10.0.0.1',
      '0.0.0.0',
      '::',
      '2001:db8::1',
      '::ffff:192.0.2.1',
      '169.254.169.254',
    ])
      await assert.rejects(open('rebound.example', [address]), {
        name: 'UsageError',
        message: /rebound\.example does not/,
      });
    for (const address of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1'])
      await open('near.example', [address]);
    await open('far.example', ['192.0.2.1'], true);
    await assert.rejects(open('none.example', []), {
      name: 'UserError',
      message: 'The host none.example has no address.',
    });
  });

  for (const [what, environment, message] of [
    ['no key', {}, /^An API key is needed\. Set PETSTORE_API_KEY, or name its file with PETSTORE_API_KEY_FILE\.$/],
    ['two keys', { PETSTORE_API_KEY: 'a', PETSTORE_API_KEY_FILE: 'b' }, /are both set/],
    ['a file that is missing', { PETSTORE_API_KEY_FILE: '/dev/null/key' }, /cannot be read \(ENOTDIR\)/],
    ['an empty file', { PETSTORE_API_KEY_FILE: '/dev/null' }, /^An API key is needed/],
    [
      'another token',
      { PETSTORE_API_KEY: 'sk_live_1' },
      /^The API key must begin with petstore_live_ or petstore_test_/,
    ],
    ['a key that is misspelled', { PETSTORE_API_KEY: 'petstore_live_1' }, /^[^:]*key/],
    [
      'a secret that is not base64',
      { PETSTORE_API_KEY: 'a', PETSTORE_WEBHOOK_SECRET: 'whsec_%' },
      /^PETSTORE_WEBHOOK_SECRET must/,
    ],
    [
      'a short secret',
      { PETSTORE_API_KEY: 'a', PETSTORE_WEBHOOK_SECRET: 'whsec_AAAA' },
      /^PETSTORE_WEBHOOK_SECRET must/,
    ],
    [
      'a secret without its prefix',
      { PETSTORE_API_KEY: 'a', PETSTORE_WEBHOOK_SECRET: secret.slice(6) },
      /must be whsec_/,
    ],
  ] as const) {
    test(`refuses ${what}`, async t => {
      const options = { url: service.urls.production, 'forward-to': 'http://localhost:1/' };
      await assert.rejects(start(t, options, environment).done, { name: 'UserError', message });
    });
  }

  test('ends with the message of the service for keys and positions that it refuses', async t => {
    const options = { url: service.urls.production, 'forward-to': 'http://localhost:1/' };
    const { token } = await service.newKey({ scopes: ['pets:read'] });
    await assert.rejects(start(t, options, keyOf(token)).done, {
      name: 'UserError',
      message: 'The API key lacks the scope events:read.',
    });
    await assert.rejects(start(t, { ...options, since: 'evt_999999' }, keyOf(owner.token)).done, { name: 'UserError' });
    const staging = await service.newKey({ deployment: 'staging' });
    await assert.rejects(start(t, options, keyOf(staging.token)).done, { name: 'UserError', message: /staging/ });
    const { origin } = new URL(service.urls.production);
    await assert.rejects(start(t, { ...options, url: `${origin}/nowhere` }, keyOf(owner.token)).done, {
      name: 'UserError',
    });
  });

  test('takes the key from a file, or asks for it without showing it', async t => {
    const options = { url: service.urls.production, 'forward-to': 'http://localhost:1/' };
    const file = join(temporaryDirectory(), 'key.txt');
    await writeFile(file, `${owner.token}\n`);
    const running = start(t, options, { PETSTORE_API_KEY_FILE: file });
    await running.prints(/^Posting events of /);
    await running.stop();
    const [input, output] = [new PassThrough(), new PassThrough()];
    let shown = '';
    // The terminal echoes what is typed until its raw mode is on.
    Object.assign(input, { setRawMode: (isOn: boolean) => isOn && output.write('(raw)') });
    output.setEncoding('utf8').on('data', text => {
      shown += text;
    });
    const typed = readHidden('API key: ', input, output);
    input.write(owner.token);
    input.write('\r');
    assert.equal(await typed, owner.token);
    const ended = readHidden('API key: ', input, output);
    input.write('abc\u0003');
    assert.equal(await ended, '');
    await waitUntil(() => shown === '(raw)API key: \n(raw)API key: \n');
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startHttpServer } from '../support/http-server.ts';
import { withoutProgram } from '../support/programs.ts';
import { serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const file = new URL('../../sdk/python/petstore.py', import.meta.url);

describe('petstore.py', { skip: withoutProgram('python3') }, () => {
  let service: TestService;
  let key: string;
  const directory = temporaryDirectory();
  before(async () => {
    service = await serve();
    key = (await service.newKey({ deployment: 'staging' })).token;
    await writeFile(
      join(directory, 'petstore.py'),
      await (await fetch(new URL('/sdk/petstore.py', service.urls.staging))).text(),
    );
  });
  after(() => service.stop());

  /** Runs a program, and returns its lines. */
  async function python(program: string, url = service.urls.staging): Promise<string[]> {
    const { stdout } = await run('python3', ['-c', program, url, key], { cwd: directory });
    return stdout.trimEnd().split('\n');
  }

  const connect = `
import sys
from petstore import PetStore, PetstoreError, WebhookError, unwrap_webhook
class Clock:
    waits, now = [], 0
    def time(self): return self.now
    def sleep(self, seconds): self.waits.append(seconds); self.now += seconds
store = PetStore(*sys.argv[1:3], clock=Clock(), random=lambda: 0.5)
`;

  test('has at most 150 lines, and imports only the standard library', async () => {
    const text = await readFile(file, 'utf8');
    assert.ok(text.trimEnd().split('\n').length <= 150);
    const program = `import ast, sys
tree = ast.parse(open('petstore.py').read())
names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
names += [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
print([n for n in names if n.split('.')[0] not in sys.stdlib_module_names])`;
    assert.deepEqual(await python(program), ['[]']);
  });

  test('adds animals, reads all pages, and follows events', async () => {
    const lines = await python(`${connect}
for name in ("Bella", "Mia", "Rex"):
    pet = store.request("POST", "/pets", {"name": name, "categoryId": 2})
print(pet.status, pet.data["name"])
pets = store.items("/pets", limit=1, status=["available", "sold"], categoryId=2, includeDescendants=True)
print(*(pet["name"] for pet in pets))
page = store.request("GET", "/pets", headers={"Prefer": "count=exact"}, limit=1)
print(page.total, page.etag is not None, page.next is not None)
for event in store.events(after="evt_0", types="pet.*"):
    print(event["type"], event["data"]["name"])
    if event["data"]["name"] == "Rex":
        break
store.request("DELETE", "/pets/1")
try:
    store.request("GET", "/pets/1")
except PetstoreError as error:
    print(error.status, error.code, error.request_id is not None)
`);
    assert.deepEqual(lines, [
      '201 Rex',
      'Bella Mia Rex',
      '3 True True',
      ...['pet.created Bella', 'pet.created Mia', 'pet.created Rex'],
      '404 pet_not_found True',
    ]);
  });

  test('repeats requests after Retry-After with one Idempotency-Key, and not if the wait is too long', async t => {
    const keys: unknown[] = [];
    const responses = [
      { status: 503, headers: { 'Retry-After': '7' } },
      { status: 429, headers: { 'Retry-After': '2' } },
      { status: 200, headers: {} },
      { status: 429, headers: { 'Retry-After': '61' } },
    ];
    const url = await startHttpServer(t, ({ headers }, response) => {
      const { status, headers: sent } = responses[keys.length]!;
      keys.push(headers['idempotency-key']);
      response.writeHead(status, sent).end('{"code":"rate_limit_exceeded","message":"Not now."}');
    });
    const lines = await python(
      `${connect}
store.request("POST", "/pets", {"name": "Mia"})
print(Clock.waits)
for attempt in range(2):
    try:
        store.request("GET", "/pets")
    except PetstoreError as error:
        print(error.status, error.retry_after)
`,
      url,
    );
    assert.deepEqual(lines, ['[7.5, 3.0]', '429 61', '429 61']);
    assert.equal(keys.length, 4);
    assert.deepEqual([keys[1], keys[2], keys[3]], [keys[0], keys[0], undefined]);
  });

  test('waits for a date, and for the status of a response whose body breaks off; repeats such a success', async t => {
    let count = 0;
    const url = await startHttpServer(t, (request, response) => {
      count++;
      const cutOff = (status: number, headers = {}) => {
        response.writeHead(status, { 'Content-Length': '100', ...headers });
        response.write('{', () => request.socket.destroy());
      };
      if (count === 1) response.writeHead(503, { 'Retry-After': new Date(Date.now() + 40_000).toUTCString() }).end();
      else if (count === 2) cutOff(503, { 'Retry-After': '7' });
      else if (count === 3) cutOff(200);
      else response.end('{"name":"Mia"}');
    });
    const lines = await python(
      `${connect}
print(store.request("GET", "/pets/1").data["name"], len(Clock.waits), *Clock.waits[1:])
print(35 < Clock.waits[0] <= 40.5)
`,
      url,
    );
    assert.deepEqual(lines, ['Mia 3 8.0 2.0', 'True']);
  });

  test('does not send the key to the target of a redirect', async t => {
    const keys: unknown[] = [];
    const target = await startHttpServer(t, ({ headers }, response) => {
      keys.push(headers.authorization);
      response.end('[]');
    });
    const url = await startHttpServer(t, ({ headers }, response) => {
      keys.push(headers.authorization);
      response.writeHead(302, { Location: target }).end();
    });
    await python(`${connect}\nstore.request("GET", "/pets")`, url);
    assert.deepEqual(keys, [`Bearer ${key}`, undefined]);
  });

  test('checks the signatures of webhooks', async () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', 'secret').update(`evt_1.${timestamp}.{"type":"pet.created"}`).digest('base64');
    const secret = `whsec_${Buffer.from('secret').toString('base64')}`;
    const lines = await python(`${connect}
headers = {"Webhook-Id": "evt_1", "Webhook-Timestamp": "${timestamp}", "Webhook-Signature": "v1,${mac}"}
print(unwrap_webhook(b'{"type":"pet.created"}', headers, "${secret}")["type"])
try:
    unwrap_webhook(b'{"type":"pet.deleted"}', headers, "${secret}")
except WebhookError as error:
    print(error)
`);
    assert.deepEqual(lines, ['pet.created', 'The signature is wrong.']);
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { PetStore } from '../../sdk/src/index.ts';
import { blocksOf, readPage } from '../support/pages-as-scripts.ts';
import { image } from '../support/photos.ts';
import { serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { launchBrowser, skipBrowser } from '../web/browser.ts';

const run = promisify(execFile);
const readme = await readPage('sdk/README.md');
const blocks = blocksOf(readme);
const [connect, ...examples] = blocks.filter(({ language }) => language === 'js').map(({ text }) => text);
const photo = (await image('png')).toString('base64');

const isForNode = (example: string) => /node:|'\.\//.test(example);
const isReceiver = (example: string) => example.includes('export async function receive');

/** Returns what an example prints, by its comments: patterns, one for each line. */
function expectedOf(example: string): RegExp[] {
  const comments = Array.from(example.matchAll(/console\.log.*; \/\/ (.*)$/gm), ([, text]) => text!.split(' | '));
  return comments.flat().map(line => new RegExp(`^${RegExp.escape(line).replaceAll('…', '.*')}$`));
}

function assertOutput(printed: readonly string[], example: string): void {
  const expected = expectedOf(example);
  assert.equal(printed.length, expected.length, `${example}\nprinted: ${printed.join('\n')}`);
  for (const [index, pattern] of expected.entries()) assert.match(printed[index]!, pattern);
}

/** Returns an example as a module that continues the first one. */
function moduleOf(example: string, { staging }: TestService['urls'], replaced: Record<string, string> = {}): string {
  let text = [
    ...connect!.split('\n').filter(line => line.startsWith('import')),
    ...example.split('\n').filter(line => line.startsWith('import')),
  ].join('\n');
  text += `\n${[connect!, example].map(one => one.replaceAll(/^import .*$/gm, '')).join('\n')}`;
  text = text.replace('PHOTO', photo).replaceAll('http://localhost:8081/v1', staging);
  for (const [from, to] of Object.entries(replaced)) text = text.replaceAll(from, to);
  return text;
}

/** Starts a store with an animal and a key. */
async function startStore(): Promise<{ service: TestService; key: string }> {
  const service = await serve();
  const { token } = await service.newKey({ deployment: 'staging' });
  const store = new PetStore({ baseUrl: service.urls.staging, apiKey: token });
  await store.createPet({ name: 'Bella', categoryId: 1 });
  return { service, key: token };
}

/** Returns the arguments of a call of the receiver: a signed and a forged delivery. */
function deliveries() {
  const secret = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`;
  const body = '{"type":"pet.created"}';
  const timestamp = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', 'a secret of 24 characters').update(`evt_1.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
  return { secret, body, headers };
}

test('the README has at least a dozen examples, and warns of keys in pages', () => {
  assert.ok(examples.length >= 12, String(examples.length));
  assert.match(readme, /Secret keys do not belong in pages/);
});

describe('the examples of the README on Node.js', () => {
  let service: TestService;
  let key: string;
  const directory = temporaryDirectory();
  before(async () => {
    ({ service, key } = await startStore());
    const tarball = await (await fetch(new URL('/sdk/petstore-1.0.0.tgz', service.urls.staging))).bytes();
    await writeFile(join(directory, 'petstore-1.0.0.tgz'), tarball);
    await writeFile(join(directory, 'package.json'), '{"private":true,"type":"module"}');
    await writeFile(join(directory, 'mia.png'), await image('png'));
    await run('npm', ['install', './petstore-1.0.0.tgz', '--offline', '--no-audit', '--no-fund'], { cwd: directory });
  });
  after(() => service.stop());

  for (const [index, example] of examples.entries()) {
    test(`run: ${titleOf(example)}`, async () => {
      const name = `example-${index}.mjs`;
      await writeFile(join(directory, name), moduleOf(example, service.urls));
      if (isReceiver(example)) {
        const call = `import { receive } from './${name}';
const { secret, body, headers } = ${JSON.stringify(deliveries())};
for (const content of [body, body + ' ']) {
  const request = new Request('http://localhost/', { method: 'POST', body: content, headers });
  console.log((await receive(request, secret)).status);
}`;
        await writeFile(join(directory, 'receiver.mjs'), call);
        const { stdout } = await run('node', ['receiver.mjs'], { cwd: directory, env: { ...process.env, KEY: key } });
        assert.equal(stdout, 'pet.created\n204\n401\n');
        return;
      }
      const { stdout } = await run('node', [name], { cwd: directory, env: { ...process.env, KEY: key } });
      assertOutput(stdout.split('\n').filter(Boolean), example);
    });
  }

  test('wrote the export to a file', async () => {
    assert.match(await readFile(join(directory, 'pets.csv'), 'utf8'), /^id,name,/);
  });
});

describe('the examples of the README in Chromium', { skip: skipBrowser }, () => {
  let service: TestService;
  let key: string;
  let browser: Browser;
  let modules: ReturnType<typeof createServer>;
  const served = new Map<string, string>([['/', '']]);
  before(async () => {
    [{ service, key }, browser] = await Promise.all([startStore(), launchBrowser()]);
    modules = createServer(({ url }, response) => {
      const text = served.get(url!);
      response.writeHead(text === undefined ? 404 : 200, {
        'Content-Type': url === '/' ? 'text/html' : 'text/javascript',
      });
      response.end(text);
    });
    await new Promise<void>(resolve => modules.listen(0, 'localhost', resolve));
  });
  after(async () => {
    await browser.close();
    modules.close();
    modules.closeAllConnections();
    await service.stop();
  });

  const pageUrl = () => `http://localhost:${(modules.address() as AddressInfo).port}`;
  const browserModule = (example: string) =>
    moduleOf(example, service.urls, {
      '@petstore-service/sdk': new URL('/sdk/petstore-1.0.0.js', service.urls.production).href,
      'process.env.KEY': `'${key}'`,
    });

  for (const [index, example] of examples.entries()) {
    if (isForNode(example)) continue;
    test(`run: ${titleOf(example)}`, async () => {
      const path = `/example-${index}.js`;
      served.set(path, browserModule(example));
      const page = await browser.newPage();
      const printed: string[] = [];
      page.on('console', message => message.type() === 'log' && printed.push(message.text()));
      await page.goto(pageUrl());
      if (isReceiver(example)) {
        const statuses = await page.evaluate(
          async ([path, { secret, body, headers }]) => {
            const { receive } = await import(path);
            const request = (content: string) =>
              new Request('/', { method: 'POST', body: content, headers: headers as Record<string, string> });
            return [(await receive(request(body), secret)).status, (await receive(request(`${body} `), secret)).status];
          },
          [path, deliveries()] as const,
        );
        assert.deepEqual([statuses, printed], [[204, 401], ['pet.created']]);
      } else {
        await page.evaluate(path => import(path), path);
        assertOutput(printed, example);
      }
      await page.close();
    });
  }

  test('can send a stream, which browsers send over HTTP/2 only', async () => {
    const program = `const { body } = await fetch('data:image/png;base64,PHOTO');
const photo = await store.addPhoto(1, body);
console.log(photo.height);`;
    served.set('/stream.js', browserModule(program));
    const page = await browser.newPage();
    const printed: string[] = [];
    page.on('console', message => printed.push(message.text()));
    await page.goto(pageUrl());
    await page.evaluate(path => import(path), '/stream.js');
    assert.deepEqual(printed, ['48']);
    await page.close();
  });

  test('run in a worker, too', async () => {
    served.set('/worker.js', `${browserModule('')}\npostMessage((await store.listPets({ limit: 1 }))[0].name);`);
    const page = await browser.newPage();
    await page.goto(pageUrl());
    const name = await page.evaluate(
      () =>
        new Promise(resolve => {
          const worker = new Worker('/worker.js', { type: 'module' });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message }) => resolve(message);
        }),
    );
    assert.equal(name, 'Bella');
  });
});

/** Returns the heading above an example. */
function titleOf(example: string): string {
  return readme
    .slice(0, readme.indexOf(example))
    .match(/^## (.*)$/gm)!
    .at(-1)!
    .slice(3);
}

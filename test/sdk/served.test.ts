import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import sdk from '../../sdk/package.json' with { type: 'json' };
import { serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;

describe('the SDK that each server serves', () => {
  let service: TestService;
  before(async () => {
    service = await serve();
  });
  after(() => service.stop());

  const get = (path: string, init?: RequestInit) =>
    fetch(new URL(path, service.urls.staging), { redirect: 'manual', ...init });

  test('has one address for each version, to which the address without a version redirects', async () => {
    for (const extension of ['tgz', 'js', 'py']) {
      const redirect = await get(`/sdk/petstore.${extension}`);
      assert.equal(redirect.status, 302);
      assert.equal(redirect.headers.get('location'), `/sdk/petstore-${sdk.version}.${extension}`);
      const file = await get(`/sdk/petstore-${sdk.version}.${extension}`);
      assert.equal(file.status, 200);
      assert.match(file.headers.get('cache-control') ?? '', /immutable/);
      const again = await get(`/sdk/petstore-${sdk.version}.${extension}`, {
        headers: { 'If-None-Match': file.headers.get('etag')! },
      });
      assert.equal(again.status, 304);
    }
    assert.equal((await get('/sdk/petstore-0.9.0.tgz')).status, 404);
    assert.equal((await get('/sdk/package.json')).status, 404);
  });

  test('is served by all three addresses', async () => {
    for (const url of Object.values(service.urls)) {
      assert.equal((await fetch(new URL('/sdk/petstore.js', url))).status, 200, url);
    }
  });

  test('can be imported by pages of every origin', async () => {
    for (const path of ['/sdk/petstore.js', `/sdk/petstore-${sdk.version}.js`]) {
      assert.equal((await get(path)).headers.get('access-control-allow-origin'), '*');
    }
    assert.equal(
      await (await fetch(new URL('/sdk/petstore.js', service.urls.staging))).text(),
      await readFile(join(root, 'sdk/dist/petstore.js'), 'utf8'),
    );
  });

  test('has the files that npm would publish', async () => {
    const directory = temporaryDirectory();
    const tarball = await (await fetch(new URL('/sdk/petstore.tgz', service.urls.staging))).bytes();
    await writeFile(join(directory, 'petstore.tgz'), tarball);
    await run('tar', ['-xzf', 'petstore.tgz'], { cwd: directory });
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--offline'], { cwd: join(root, 'sdk') });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const listed = await run('tar', ['-tzf', 'petstore.tgz'], { cwd: directory });
    assert.deepEqual(listed.stdout.trimEnd().split('\n').sort(), files.map(({ path }) => `package/${path}`).sort());
    for (const { path } of files) {
      assert.deepEqual(await readFile(join(directory, 'package', path)), await readFile(join(root, 'sdk', path)), path);
    }
  });

  test('has the license of the project', async () => {
    assert.equal(await readFile(join(root, 'sdk/LICENSE'), 'utf8'), await readFile(join(root, 'LICENSE'), 'utf8'));
  });
});

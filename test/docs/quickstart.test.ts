import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandsOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

const [readme, page] = await Promise.all(['README.md', 'docs/quickstart.md'].map(readPage));
const commands = commandsOf(page!);

describe('docs/quickstart.md, executed', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  test('starts with `npm start`, which runs the server', async () => {
    assert.equal(commands[0], 'npm start');
    const { scripts } = JSON.parse(await readPage('package.json'));
    assert.match(scripts.start, / && exec bin\/petstore serve$/);
    assert.equal(commands[1], 'KEY=petstore_test_…');
  });

  test('the command that the server prints at its start works', async () => {
    const line = /^ *(curl .*)$/m.exec(server.printed)![1]!;
    assert.ok(JSON.parse(await server.run(line)).length > 0);
  });

  test('the first request of the README gets the documented response', async () => {
    const [, line, response] = /```sh\n(curl [^\n]*)\n```\n\n```json\n([^\n]*)\n```/.exec(readme!)!;
    assert.deepEqual(JSON.parse(await server.run(line!)), JSON.parse(response!));
  });

  test('the README’s example adds a pet', async () => {
    const [, script] = /```sh\n(curl [^`]*\/pets)\n```/.exec(readme!.slice(readme!.indexOf('Add a pet')))!;
    assert.equal(JSON.parse(await server.run(script!)).name, 'Mia');
  });

  const expected = [
    /^HTTP\/1\.1 200 /,
    /^\[\{"id"/,
    /^HTTP\/1\.1 201 /,
    /^\{"id":"msg_1","message":"Hello, world!","status":"queued"/,
    /"code":"invalid_body"/,
    /petstore_live_/,
  ];
  // Another test runs the program.
  for (const [index, line] of commands
    .slice(2)
    .filter(line => !line.includes('node '))
    .entries()) {
    test(line, async () => {
      const output = await server.run(line);
      if (expected[index] !== undefined) assert.match(output, expected[index]);
      assert.doesNotMatch(output, /"status":5\d\d/);
    });
  }

  test('the downloaded document is an OpenAPI 3.1 document', async () => {
    const document = JSON.parse(await readFile(join(server.directory, 'openapi.json'), 'utf8'));
    assert.match(document.openapi, /^3\.1\./);
  });
});

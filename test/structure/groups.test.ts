import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { allPatterns, groupsOf, quickPatterns, slowFiles } from '../support/groups.ts';
import { operationsHere, PARTS } from '../support/selection.ts';

const home = new URL('../../', import.meta.url).pathname;

it('a run of all tests imports every test file once, and those of all operations once for each part', () => {
  const urls = groupsOf(allPatterns, home).flatMap(group => group.urls);
  const imported = urls.filter(url => url.startsWith('file:')).map(url => fileURLToPath(url));
  const times = new Map([...Map.groupBy(imported, file => file)].map(([file, all]) => [file, all.length]));
  const files = globSync(allPatterns, { cwd: home }).map(file => `${home}${file}`);
  assert.deepEqual([...times.keys()].sort(), files.sort());
  for (const [file, count] of times) {
    assert.equal(count, /contract\/(authorization|every-route|fuzzer)\.test/.test(file) ? PARTS : 1, file);
  }
});

it('a quick run leaves out files that exist, and no others of its folders', () => {
  const urls = groupsOf(quickPatterns, home, slowFiles).flatMap(group => group.urls);
  const files = globSync(quickPatterns, { cwd: home });
  assert.deepEqual(
    slowFiles.filter(file => !files.includes(file)),
    [],
  );
  assert.equal(urls.length, files.length - slowFiles.length);
});

it('each operation is in one part', t => {
  const operations = ['Pets', 'Holds', 'Pets', 'Events', 'Messages'].map((tag, id) => ({ tag, id }));
  const before = process.env['PETSTORE_TEST_PART'];
  t.after(() => {
    if (before === undefined) delete process.env['PETSTORE_TEST_PART'];
    else process.env['PETSTORE_TEST_PART'] = before;
  });
  const parts = Array.from({ length: PARTS }, (_, part) => {
    process.env['PETSTORE_TEST_PART'] = String(part);
    return operationsHere(operations);
  });
  assert.deepEqual(
    parts.flat().toSorted((a, b) => a.id - b.id),
    operations,
  );
});

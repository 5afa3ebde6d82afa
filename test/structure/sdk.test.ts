import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const directory = new URL('../../sdk/src', import.meta.url).pathname;
/** What `npm run docs` writes. */
const generated = ['operations.ts', 'types.ts'];
const files = globSync('**/*.ts', { cwd: directory }).map(file => {
  const text = readFileSync(join(directory, file), 'utf8');
  const imports = Array.from(text.matchAll(/\bfrom '([^']+)'/g), ([, target]) => target!);
  return { file, text, imports };
});

describe('the files of the SDK', () => {
  test('import only each other, in one direction', () => {
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]) => {
      assert.ok(!path.includes(file), [...path, file].join(' → '));
      if (done.has(file)) return;
      const found = files.find(one => one.file === file);
      assert.ok(found !== undefined, `${path.at(-1)} imports ${file}`);
      for (const target of found.imports) walk(target.replace(/^\.\//, ''), [...path, file]);
      done.add(file);
    };
    walk('index.ts', []);
    assert.deepEqual(
      files.map(({ file }) => file).filter(file => !done.has(file)),
      [],
      'files that the package does not need',
    );
  });

  test('have at most 350 lines', () => {
    const long = files.filter(({ file, text }) => !generated.includes(file) && text.split('\n').length > 351);
    assert.deepEqual(
      long.map(({ file }) => file),
      [],
    );
  });
});

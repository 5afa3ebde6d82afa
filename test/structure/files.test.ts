import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const root = new URL('../..', import.meta.url).pathname;
const src = join(root, 'src');
const files = globSync('**/*.ts', { cwd: src })
  .filter(file => !file.endsWith('.test.ts'))
  .map(file => ({ file, text: readFileSync(join(src, file), 'utf8') }));

/** Tables of data. They may have 700 lines; other files have at most 350. */
const tables = ['model/error-codes.ts', 'model/schema.ts', 'model/settings.ts'];

describe('the files of src', () => {
  test('export the name of each type once', () => {
    const exported = files.flatMap(({ file, text }) =>
      Array.from(text.matchAll(/^export (?:abstract )?(?:type|interface|class) (\w+)/gm), ([, name]) => ({
        file,
        name,
      })),
    );
    const repeated = Object.entries(Object.groupBy(exported, ({ name }) => name!)).filter(
      ([, found]) => found!.length > 1,
    );
    assert.deepEqual(
      repeated.map(([name, found]) => `${name}: ${found!.map(({ file }) => file).join(', ')}`),
      [],
    );
  });

  test('have at most 350 lines, and tables of data 700', () => {
    const lengths = files.map(({ file, text }) => ({ file, lines: text.split('\n').length - 1 }));
    const long = lengths.filter(({ file, lines }) => lines > (tables.includes(file) ? 700 : 350));
    assert.deepEqual(
      long.map(({ file, lines }) => `${file}: ${lines}`),
      [],
    );
  });

  test('refer in comments to files that exist, as does the page about the architecture', () => {
    const existing = globSync('{src,docs,test,bench,deploy}/**/*', { cwd: root }).map(file => `/${file}`);
    const comments = files.map(({ file, text }) => ({
      file,
      text: (text.match(/^ *(\/\*\*|\*|\/\/).*$/gm) ?? []).join('\n'),
    }));
    const page = { file: 'docs/architecture.md', text: readFileSync(join(root, 'docs/architecture.md'), 'utf8') };
    const missing = [...comments, page].flatMap(({ file, text }) =>
      Array.from(text.matchAll(/`([\w-][\w./-]*\.(?:ts|md|txt))`/g), ([, name]) => name!)
        // The page adds the noun `visit` as an example.
        .filter(name => !name.includes('visit') && !existing.some(one => one.endsWith(`/${name}`)))
        .map(name => `${file}: ${name}`),
    );
    assert.deepEqual(missing, []);
  });
});

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';

/** From the bottom to the top: a stair may use those before it, and itself. */
const stairs = [
  'lib',
  'errors.ts',
  'categories/category.ts',
  'pets/pet.ts',
  'holds/hold.ts',
  'orders/order.ts',
  'messages/message.ts',
  'schema.ts',
  'migrations',
  'events',
  'plans',
  'limits',
  'accounts',
  'keys',
  'deployment.ts',
  'idempotency',
  'categories',
  'pets',
  'categories/merge',
  'inventory',
  'holds',
  'orders',
  'messages',
  'events/public',
  'webhooks',
  'deliveries',
  'retention.ts',
  'jobs.ts',
  'seeds',
  'config.ts',
  'generated',
  'api.ts',
  'urls.ts',
  'openapi.ts',
  'pages.ts',
  'metrics.ts',
  'address.ts',
  'app.ts',
  'cli',
];

/** The package that schemas are written with, wherever they are. */
const SCHEMA_PACKAGE = 'typebox';

/** The files that import each outside package at run time; nothing else in `src` loads it. */
const doors: Record<string, string[]> = {
  '@redis/client': ['limits/valkey.ts'],
  'better-sqlite3': ['lib/storage/sqlite/connection.ts'],
  'find-my-way': ['lib/http/server/router.ts'],
  kysely: ['lib/storage/query.ts'],
  nodemailer: ['messages/email-sender.ts'],
  pg: ['lib/storage/postgres/connection.ts'],
  pino: ['lib/log.ts'],
};

/** Folders of `lib` know one technique each, and nothing of the others but their types. */
const techniques = ['lib/http', 'lib/storage'];

const src = new URL('../../src', import.meta.url).pathname;
const files = globSync('**/*.ts', { cwd: src }).filter(file => !/\.test\.ts$/.test(file));
const imports = files.flatMap(file => importsOf(file).map(one => ({ file, ...one })));

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
  /** Whether it is a package or a module of Node, and no file of ours. */
  readonly outside: boolean;
}

/** The text of a file without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(src, file), 'utf8').replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '');
}

function importsOf(file: string): Import[] {
  const text = codeOf(file);
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[\w\s{},*$]*?\bfrom\s+'([^']+)'/gm),
    ...text.matchAll(/^()import\s+'([^']+)'/gm),
    ...text.matchAll(/()\bimport\(\s*'([^']+)'\s*\)/g),
    ...text.matchAll(/()\brequire\(\s*'([^']+)'\s*\)/g),
    ...text.matchAll(/()new URL\(\s*'(\.[^']+\.ts)'/g),
  ];
  return found.map(([, type, target]) => ({
    typeOnly: Boolean(type?.trim()),
    outside: !target!.startsWith('.'),
    target: target!.startsWith('.') ? relative(src, join(src, dirname(file), target!)) : target!,
  }));
}

/** The stair of a file: the longest of those that name it or a folder it is in. */
const stairOf = (file: string) =>
  stairs.filter(stair => file === stair || file.startsWith(`${stair}/`)).sort((a, b) => b.length - a.length)[0];
const inside = (one: Import) => one.target.endsWith('.ts');
const packageOf = (target: string) => target.match(/^(@[^/]+\/)?[^/]+/)![0];

describe('the layers: imports only go down', () => {
  test('every file of src belongs to a layer', () => {
    assert.deepEqual(
      files.filter(file => stairOf(file) === undefined),
      [],
    );
  });

  for (const [height, stair] of stairs.entries()) {
    const below = stairs.slice(0, height);
    if (!files.some(file => stairOf(file) === stair)) continue;
    test(`${stair} uses ${below.length > 0 ? `nothing above ${below.at(-1)}` : 'nothing of the product'}`, () => {
      const up = imports
        .filter(one => stairOf(one.file) === stair && inside(one))
        .filter(one => ![...below, stair].includes(stairOf(one.target) ?? ''))
        .map(one => `${one.file} imports ${one.target}`);
      assert.deepEqual(up, []);
    });
  }

  for (const technique of techniques) {
    test(`${technique} imports only types from other techniques`, () => {
      const others = techniques.filter(one => one !== technique);
      const across = imports
        .filter(one => one.file.startsWith(technique) && !one.typeOnly)
        .filter(one => others.some(other => one.target.startsWith(other)))
        .map(one => `${one.file} imports ${one.target}`);
      assert.deepEqual(across, []);
    });
  }

  test('lib never mentions pets', () => {
    const said = files.filter(file => stairOf(file) === 'lib').filter(file => /\bpets?\b/i.test(codeOf(file)));
    assert.deepEqual(said, []);
  });

  test('no file is part of an import cycle', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]) => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (path.includes(file) || done.has(file)) return;
      for (const one of imports)
        if (one.file === file && inside(one) && !one.typeOnly) walk(one.target, [...path, file]);
      done.add(file);
    };
    for (const file of files) walk(file, []);
    assert.deepEqual(circles, []);
  });
});

describe('packages are imported in few files', () => {
  for (const [name, through] of Object.entries(doors)) {
    test(`${name} through ${through.join(' and ')}`, () => {
      const users = new Set(
        imports.filter(one => packageOf(one.target) === name && one.outside && !one.typeOnly).map(one => one.file),
      );
      assert.deepEqual([...users].sort(), through);
    });
  }

  test('no other package is imported', () => {
    const others = imports
      .filter(
        one =>
          one.outside &&
          !isBuiltin(one.target) &&
          !(packageOf(one.target) in doors) &&
          packageOf(one.target) !== SCHEMA_PACKAGE,
      )
      .map(one => `${one.file} imports ${one.target}`);
    assert.deepEqual(others, []);
  });

  test('only the command line reads the environment', () => {
    const readers = files
      .filter(file => stairOf(file) !== 'cli')
      .filter(file => /process\.env|\benv\b.*from 'node:process'/.test(readFileSync(join(src, file), 'utf8')));
    assert.deepEqual(readers, []);
  });
});

import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';

/** The wings of src, from the bottom to the top: a wing may import those before it, and itself. */
const wings = ['lib', 'model', 'access', 'store', 'events', 'operate', 'views', 'web', 'main', 'cli'];

/** The files that import each other outside package at run time. */
const entryPoints: Record<string, string[]> = {
  '@redis/client': ['access/limits/valkey.ts'],
  aws4fetch: ['lib/bucket.ts'],
  'better-sqlite3': ['lib/storage/sqlite/connection.ts'],
  'find-my-way': ['lib/http/server/router.ts'],
  kysely: ['lib/storage/query.ts'],
  'lean-qr': ['lib/html/qr-code.ts'],
  marked: ['lib/html/markdown.ts'],
  minisearch: ['web/search/search-index.ts'],
  nodemailer: ['store/messages/email-sender.ts'],
  pg: ['lib/storage/postgres/connection.ts'],
  pino: ['lib/log.ts'],
  sharp: ['model/photo-files/encode.ts'],
  // Schemas are written with its types, and with `lib/type.ts`.
  typebox: ['lib/http/server/schema-validator.ts', 'operate/backup/manifest.ts'],
};

/** Folders of `lib` that may import only types of each other. */
const independent = ['lib/http', 'lib/storage'];

const src = new URL('../../src', import.meta.url).pathname;
const files = globSync('**/*.ts', { cwd: src }).filter(file => !/\.test\.ts$/.test(file));
const imports = files.flatMap(importsOf);

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
  /** Whether the target is a package or a module of Node. */
  readonly outside: boolean;
}

/** Returns the text of a file without its comments. */
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
    file,
    typeOnly: Boolean(type?.trim()),
    outside: !target!.startsWith('.'),
    target: target!.startsWith('.') ? relative(src, join(src, dirname(file), target!)) : target!,
  }));
}

const wingOf = (file: string) => file.slice(0, file.indexOf('/'));
/** Returns the room of a file: its folder in its wing, or the file itself if it is in no room. */
const roomOf = (file: string) => (file.match(/^[^/]+\/[^/]+/) ?? [file])[0];
// The command `listen` is in the SDK.
const isOurs = (one: Import) => one.target.endsWith('.ts') && !one.target.startsWith('../sdk/');
const packageOf = (target: string) => target.match(/^(@[^/]+\/)?[^/]+/)![0];
const described = (found: readonly Import[]) => found.map(({ file, target }) => `${file} imports ${target}`);

/** Returns the cycles of a graph, each as a path. */
function cyclesOf(edges: readonly (readonly [from: string, to: string])[]): string[] {
  const targets = Map.groupBy(edges, ([from]) => from);
  const cycles: string[] = [];
  const done = new Set<string>();
  const walk = (node: string, path: readonly string[]) => {
    if (path.includes(node)) cycles.push([...path.slice(path.indexOf(node)), node].join(' → '));
    if (path.includes(node) || done.has(node)) return;
    for (const [, target] of targets.get(node) ?? []) walk(target, [...path, node]);
    done.add(node);
  };
  for (const node of targets.keys()) walk(node, []);
  return cycles;
}

describe('the wings of src', () => {
  test('are all listed, and include every file', () => {
    assert.deepEqual(readdirSync(src).sort(), wings.toSorted());
  });

  for (const [height, wing] of wings.entries()) {
    const allowed = wings.slice(0, height + 1);
    test(`${wing} imports only wings below it`, () => {
      const own = imports.filter(one => wingOf(one.file) === wing && isOurs(one));
      assert.ok(own.length > 0);
      assert.deepEqual(described(own.filter(one => !allowed.includes(wingOf(one.target)))), []);
    });
  }

  test('have rooms that import each other one way, types included', () => {
    const between = imports
      .filter(isOurs)
      .map(({ file, target }) => [roomOf(file), roomOf(target)] as const)
      .filter(([from, to]) => from !== to);
    assert.deepEqual(cyclesOf(between), []);
  });

  for (const folder of independent) {
    test(`${folder} imports only types of the other techniques`, () => {
      const others = independent.filter(one => one !== folder);
      const across = imports
        .filter(one => one.file.startsWith(folder) && !one.typeOnly)
        .filter(one => others.some(other => one.target.startsWith(other)));
      assert.deepEqual(described(across), []);
    });
  }

  test('lib does not mention pets', () => {
    const mentions = files.filter(file => wingOf(file) === 'lib' && /\bpets?\b/i.test(codeOf(file)));
    assert.deepEqual(mentions, []);
  });

  test('have no import cycles among files, types included', () => {
    assert.deepEqual(cyclesOf(imports.filter(isOurs).map(({ file, target }) => [file, target] as const)), []);
  });
});

describe('outside packages', () => {
  for (const [name, entries] of Object.entries(entryPoints)) {
    test(`${name} is imported by ${entries.join(' and ')} only`, () => {
      const users = imports.filter(one => packageOf(one.target) === name && one.outside && !one.typeOnly);
      assert.deepEqual([...new Set(users.map(one => one.file))].sort(), entries);
    });
  }

  test('are all listed', () => {
    const known = new Set(Object.keys(entryPoints));
    const others = imports.filter(one => one.outside && !isBuiltin(one.target) && !known.has(packageOf(one.target)));
    assert.deepEqual(described(others), []);
  });

  test('leave the environment to the command line', () => {
    const readers = files
      .filter(file => wingOf(file) !== 'cli')
      .filter(file => /process\.env|\benv\b.*from 'node:process'/.test(readFileSync(join(src, file), 'utf8')));
    assert.deepEqual(readers, []);
  });
});

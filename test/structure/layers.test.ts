import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';

/** The layers of src, from the bottom to the top: a layer may import those before it, and itself. */
const layers = [
  'lib',
  'error-codes.ts',
  'errors.ts',
  'categories/category.ts',
  'photos/photo.ts',
  'pets/profile.ts',
  'pets/pet.ts',
  'organizations/organization.ts',
  'holds/hold.ts',
  'orders/order.ts',
  'messages/message.ts',
  'events/public/public-event.ts',
  'webhooks/webhook.ts',
  'deliveries/delivery.ts',
  'audit/refusal.ts',
  'usage/logged-request.ts',
  'schema.ts',
  'migrations',
  'facts.ts',
  'places',
  'newest-time.ts',
  'database-size.ts',
  'events',
  'plans',
  'photos/references.ts',
  'photos/files',
  'limits',
  'accounts',
  'keys',
  'deployment.ts',
  'idempotency',
  'categories',
  'organizations',
  'pets',
  'photos',
  'exports',
  'imports',
  'categories/merge',
  'inventory',
  'holds',
  'orders',
  'messages',
  'events/public',
  'webhooks',
  'deliveries',
  'audit',
  'usage',
  'sessions',
  'messages/visitors',
  'accounts/usage',
  'accounts/deletion',
  'retention.ts',
  'settings.ts',
  'config.ts',
  'backup',
  'jobs.ts',
  'backlog.ts',
  'tracing',
  'seeds',
  'generated',
  'api.ts',
  'local-call.ts',
  'accounts/export',
  'urls.ts',
  'openapi.ts',
  'web',
  'sessions/visits.ts',
  'sessions/pages.ts',
  'keys/views.ts',
  'sessions/link-page.ts',
  'sessions/list-page.ts',
  'accounts/pages',
  'keys/pages.ts',
  'photos/pages',
  'pets/pages',
  'organizations/pages',
  'web/front',
  'imports/pages',
  'usage/pages',
  'web/operator',
  'web/guides',
  'web/reference',
  'web/search',
  'pages.ts',
  'metrics',
  'address.ts',
  'resources.ts',
  'app.ts',
  'verify',
  'copy',
  'cli',
];

/** The package that schemas are written with; any file may import it. */
const SCHEMA_PACKAGE = 'typebox';

/** The files that import each other outside package at run time. */
const entryPoints: Record<string, string[]> = {
  '@redis/client': ['limits/valkey.ts'],
  aws4fetch: ['lib/bucket.ts'],
  'better-sqlite3': ['lib/storage/sqlite/connection.ts'],
  'find-my-way': ['lib/http/server/router.ts'],
  kysely: ['lib/storage/query.ts'],
  'lean-qr': ['lib/html/qr-code.ts'],
  marked: ['lib/html/markdown.ts'],
  minisearch: ['web/search/search-index.ts'],
  nodemailer: ['messages/email-sender.ts'],
  pg: ['lib/storage/postgres/connection.ts'],
  pino: ['lib/log.ts'],
  sharp: ['photos/files/encode.ts'],
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

/** Returns the layer of a file: the longest that names it or a folder above it. */
const layerOf = (file: string) =>
  layers.filter(layer => file === layer || file.startsWith(`${layer}/`)).sort((a, b) => b.length - a.length)[0];
const isOurs = (one: Import) => one.target.endsWith('.ts');
const packageOf = (target: string) => target.match(/^(@[^/]+\/)?[^/]+/)![0];
const described = (found: readonly Import[]) => found.map(({ file, target }) => `${file} imports ${target}`);

describe('the layers of src', () => {
  test('include every file', () => {
    assert.deepEqual(
      files.filter(file => layerOf(file) === undefined),
      [],
    );
  });

  for (const [height, layer] of layers.entries()) {
    const allowed = layers.slice(0, height + 1);
    test(`${layer} imports only layers below it`, () => {
      const up = imports.filter(one => layerOf(one.file) === layer && isOurs(one));
      assert.deepEqual(described(up.filter(one => !allowed.includes(layerOf(one.target) ?? ''))), []);
    });
  }

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
    const mentions = files.filter(file => layerOf(file) === 'lib' && /\bpets?\b/i.test(codeOf(file)));
    assert.deepEqual(mentions, []);
  });

  test('have no import cycles, type-only imports included', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]) => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (path.includes(file) || done.has(file)) return;
      for (const one of imports) if (one.file === file && isOurs(one)) walk(one.target, [...path, file]);
      done.add(file);
    };
    for (const file of files) walk(file, []);
    assert.deepEqual(circles, []);
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
    const known = new Set([...Object.keys(entryPoints), SCHEMA_PACKAGE]);
    const others = imports.filter(one => one.outside && !isBuiltin(one.target) && !known.has(packageOf(one.target)));
    assert.deepEqual(described(others), []);
  });

  test('leave the environment to the command line', () => {
    const readers = files
      .filter(file => layerOf(file) !== 'cli')
      .filter(file => /process\.env|\benv\b.*from 'node:process'/.test(readFileSync(join(src, file), 'utf8')));
    assert.deepEqual(readers, []);
  });
});

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { operations, routes } from '../../src/api.ts';
import { commands, commonOptions } from '../../src/cli/commands.ts';
import { settings } from '../../src/config.ts';
import { errors } from '../../src/errors.ts';
import type { PetReason } from '../../src/pets/change-pet.ts';
import { generatedPages } from './generated-pages.ts';

const root = new URL('../..', import.meta.url).pathname;
const pages = new Map(
  ['*.md', 'docs/**/*.md', '.github/**/*.md']
    .flatMap(pattern => globSync(pattern, { cwd: root }))
    .map(path => [path, readFileSync(join(root, path), 'utf8')]),
);
const scripts = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> })
  .scripts;
const loaded = new Map(
  await Promise.all(Object.entries(commands).map(async ([name, load]) => [name, (await load()).command] as const)),
);

/** Why an animal changed, as its history says it. */
const reasons: readonly PetReason[] = [
  'held',
  'hold_released',
  'hold_expired',
  'order_placed',
  'order_cancelled',
  'order_expired',
  'order_delivered',
  'order_returned',
  'category_merged',
];

/** Each thing that a pattern finds in the pages, with the page it stands in. */
function said(pattern: RegExp): { page: string; what: string }[] {
  return [...pages].flatMap(([page, text]) => [...text.matchAll(pattern)].map(match => ({ page, what: match[1]! })));
}

/** What stands in the pages but not in the product, as sentences. */
function unknown(found: { page: string; what: string }[], known: (what: string) => boolean): string[] {
  return found.filter(({ what }) => !known(what)).map(({ page, what }) => `${page} says ${what}`);
}

/** The name that a heading has in links. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documents and the product say the same', () => {
  test('every relative link leads somewhere, its anchor included', () => {
    const dead = said(/\]\((?!https?:|mailto:)([^)\s]+)\)/g).filter(({ page, what }) => {
      const [path, anchor] = what.split('#') as [string, string?];
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchors(pages.get(target) ?? '').includes(anchor);
    });
    assert.deepEqual(dead, []);
  });

  test('every page can be reached from the README', () => {
    const reached = new Set<string>();
    const walk = (page: string) => {
      if (reached.has(page) || !pages.has(page)) return;
      reached.add(page);
      for (const [, link] of pages.get(page)!.matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)) {
        walk(normalize(join(dirname(page), link!)));
      }
    };
    walk('README.md');
    const lost = [...pages.keys()].filter(page => page.startsWith('docs/') && !reached.has(page));
    assert.deepEqual(lost, []);
  });

  test('every generated page is fresh (`npm run docs` writes them)', async () => {
    const stale = [...(await generatedPages())].filter(([path, text]) => pages.get(`docs/${path}`) !== text);
    assert.deepEqual(
      stale.map(([path]) => path),
      [],
    );
  });

  test('every command line names a command, with options that it has', () => {
    const lines = said(/(?:^|[`\s(]|bin\/)petstore ((?:[a-z][a-z-]+|--[a-z]|[A-Z_]+\b)[^`\n]*)/g).filter(
      ({ what }) => !what.startsWith('serve --help') && !what.startsWith('--help') && !what.startsWith('COMMAND'),
    );
    const commandOf = (line: string) =>
      loaded.get(line.split(' ').slice(0, 2).join(' ')) ?? loaded.get(line.split(' ')[0]!);
    assert.ok(lines.length > 10);
    assert.deepEqual(
      unknown(lines, line => commandOf(line) !== undefined),
      [],
    );
    const options = lines.flatMap(({ page, what }) =>
      [...what.matchAll(/--([a-z-]+)/g)].map(([, option]) => ({
        page,
        what: `${what} (--${option})`,
        line: what,
        option,
      })),
    );
    const known = new Set(Object.keys(commonOptions));
    assert.deepEqual(
      options.filter(({ line, option }) => !known.has(option!) && !(option! in (commandOf(line)?.options ?? {}))),
      [],
    );
  });

  test('every command and every option of one is in the pages', () => {
    const page = pages.get('docs/command-line.md')!;
    for (const [name, command] of loaded) {
      assert.ok(page.includes(`petstore ${name}`), name);
      for (const option of Object.keys(command.options ?? {})) assert.ok(page.includes(`--${option}`), option);
    }
  });

  test('every setting in the pages exists, and every setting is in them', () => {
    const names = Object.values(settings).map(setting => setting.name as string);
    const tests = ['PETSTORE_TEST_DATABASE_URL', 'PETSTORE_TEST_VALKEY_URL', 'PETSTORE_TEST_LONG'];
    assert.deepEqual(
      unknown(said(/\b(PETSTORE_[A-Z_]+)/g), name => names.includes(name) || tests.includes(name)),
      [],
    );
    const page = pages.get('docs/settings.md')!;
    for (const name of names) assert.ok(page.includes(`\`${name}\``), name);
  });

  test('every error code has one page, and every page a code', () => {
    const documented = globSync('*.md', { cwd: join(root, 'docs/errors') }).map(file => file.replace('.md', ''));
    assert.deepEqual(documented.filter(name => name !== 'README').sort(), Object.keys(errors).sort());
  });

  test('every code that a sentence names exists', () => {
    const words = said(/`([a-z]+(?:_[a-z]+)+)`/g);
    const others = [
      'forbidden_address',
      'forbidden_url',
      'full_page_writes',
      'malformed_answer',
      'petstore_staging',
      'pg_dump',
      'snake_case',
      'synchronous_commit',
      'tcp_nopush',
      ...reasons,
    ];
    assert.deepEqual(
      unknown(words, word => word in errors || others.includes(word)),
      [],
    );
  });

  test('every path under /v1 exists with its method, and every route is in the reference', () => {
    const known = (line: string) => {
      const [method, path] = line.split(' ') as [string, string];
      const plain = path.replace(/[?…].*$/, '').replaceAll(/\/\d+(?=\/|$)/g, '/{id}');
      return routes.some(
        route =>
          route.method === method && route.path.replaceAll(/\{\w+\}/g, '{id}') === plain.replaceAll(/\{\w+\}/g, '{id}'),
      );
    };
    const named = said(/\b((?:GET|POST|PUT|PATCH|DELETE) \/v1\/[^\s`,;)]*)/g).map(({ page, what }) => ({
      page,
      what: what.replace(' /v1', ' '),
    }));
    assert.ok(named.length > 0);
    assert.deepEqual(unknown(named, known), []);
    const reference = pages.get('docs/reference.md')!;
    for (const route of operations) {
      const { operationId, method, path } = route;
      assert.ok(reference.includes(`## ${operationId}`), operationId);
      assert.ok(reference.includes(`\`${method} ${routes.includes(route) ? '/v1' : ''}${path}\``), path);
    }
  });

  test('every operation that a sentence names exists', () => {
    const names = operations.map(route => route.operationId);
    assert.deepEqual(
      unknown(
        said(
          /`((?:list|get|create|send|update|replace|delete|merge|extend|release|approve|deliver|cancel|return)[A-Z][A-Za-z]+)`/g,
        ),
        name => names.includes(name),
      ),
      [],
    );
  });

  test('every operation that is not stable stands in the page on stability, and no other', () => {
    const page = pages.get('docs/stability.md')!;
    for (const { operationId, stability } of operations) {
      assert.equal(page.includes(`\`${operationId}\``), stability !== 'stable', operationId);
    }
  });

  test('every reason for which an animal changes is explained', () => {
    for (const reason of reasons) assert.ok(pages.get('docs/listing.md')!.includes(`\`${reason}\``), reason);
  });

  test('every npm script that is named exists', () => {
    const named = said(/`?npm (?:run )?((?!install|audit|ci\b)[a-z][a-z:]*)/g).filter(
      ({ what }) => what in scripts || /npm run/.test(what),
    );
    const run = said(/npm run ([a-z][a-z:-]*)/g);
    assert.ok(named.length > 0);
    assert.deepEqual(
      unknown(run, name => name in scripts),
      [],
    );
  });
});

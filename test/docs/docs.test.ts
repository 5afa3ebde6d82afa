import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { allCommands } from '../../src/cli/commands.ts';
import { commonOptions } from '../../src/cli/usage.ts';
import { listenVariables } from '../../src/model/config.ts';
import { errors } from '../../src/model/errors.ts';
import { petReasons } from '../../src/model/pet.ts';
import { fileVariable, type Setting, settings } from '../../src/model/settings.ts';
import { columnsOf, presetNames } from '../../src/store/exports/presets.ts';
import { routes } from '../../src/views/api.ts';
import { definitions } from '../../src/views/mcp/definitions.ts';
import { openApiDocument } from '../../src/views/openapi.ts';
import { blocksOf } from '../support/pages-as-scripts.ts';
import { executedPages, testedElsewhere } from './executed-pages.ts';
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
  await Promise.all(Object.entries(await allCommands()).map(async ([name, load]) => [name, await load()] as const)),
);

/** Words in snake_case that are not error codes. */
const otherNames: readonly string[] = [
  'client_max_body_size',
  'date_order_required',
  'max_connections',
  'forbidden_address',
  'event_loop',
  'foreign_key_check',
  'forbidden_url',
  'full_page_writes',
  'https_proxy',
  'integrity_check',
  'invalid_url',
  'malformed_answer',
  'non_idempotent',
  'petstore_staging',
  'pg_amcheck',
  'pg_dump',
  'pg_restore',
  'pg_stat_activity',
  'photo_in_file',
  'photo_not_fetched',
  'photo_too_large',
  'photo_unreachable',
  'photos_late',
  'proxy_pass',
  'secret_rotated',
  'snake_case',
  'stop_grace_period',
  'synchronous_commit',
  'tcp_nopush',
  'too_many_photos',
  ...petReasons,
  ...presetNames.flatMap(preset => columnsOf(preset).map(({ name }) => name)),
];

/** The codes of errors that only pages have, such as `too_many_pages`; those of the API are in `errors`. */
const pageErrors = new Set(
  globSync('src/**/*.ts', { cwd: root }).flatMap(path =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/new Problem\('(\w+)'/g)].map(([, code]) => code!),
  ),
);

/** Returns the first group of every match in the pages, with the page's path. */
function mentions(pattern: RegExp): { page: string; text: string }[] {
  return [...pages].flatMap(([page, content]) =>
    [...content.matchAll(pattern)].map(match => ({ page, text: match[1]! })),
  );
}

/** Returns a sentence for each mention of something that the product does not have. */
function unknown(found: { page: string; text: string }[], known: (text: string) => boolean): string[] {
  return found.filter(({ text }) => !known(text)).map(({ page, text }) => `${page} mentions ${text}`);
}

/** Returns the anchors of a page's headings. */
function anchors(content: string): string[] {
  return [...content.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The members and values of the schemas in the OpenAPI document. */
const documentedNames = new Set(
  [...JSON.stringify(openApiDocument(routes, [], '')).matchAll(/"([A-Za-z_]+)"/g)].map(([, name]) => name!),
);

describe('the documentation agrees with the product', () => {
  test('every relative link has a target, its anchor included', () => {
    const dead = mentions(/\]\((?!https?:|mailto:)([^)\s]+)\)/g).filter(({ page, text }) => {
      const [path, anchor] = text.split('#') as [string, string?];
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
    const unreached = [...pages.keys()].filter(page => page.startsWith('docs/') && !reached.has(page));
    assert.deepEqual(unreached, []);
  });

  test('every example in a shell block is run by a test', () => {
    const tested = [...Object.keys(executedPages), ...testedElsewhere];
    const withExamples = [...pages].filter(([, content]) =>
      blocksOf(content).some(({ language }) => language === 'sh'),
    );
    // The other tests here check commands, options and npm scripts.
    const exempt = ['docs/command-line.md', 'CONTRIBUTING.md'];
    assert.deepEqual(
      withExamples.map(([page]) => page).filter(page => !tested.includes(page) && !exempt.includes(page)),
      [],
    );
  });

  test('every generated page is up to date (`npm run docs` writes them)', async () => {
    const stale = [...(await generatedPages())].filter(([path, text]) => pages.get(`docs/${path}`) !== text);
    assert.deepEqual(
      stale.map(([path]) => path),
      [],
    );
  });

  test('every command line uses an existing command and existing options', () => {
    const lines = mentions(/(?:^|[`\s(]|bin\/)petstore ((?:[a-z][a-z-]+|--[a-z]|[A-Z_]+\b)[^`\n]*)/g).filter(
      ({ text }) => !text.startsWith('serve --help') && !text.startsWith('--help') && !text.startsWith('COMMAND'),
    );
    const commandOf = (line: string) =>
      loaded.get(line.split(' ').slice(0, 2).join(' ')) ?? loaded.get(line.split(' ')[0]!);
    assert.ok(lines.length > 10);
    assert.deepEqual(
      unknown(lines, line => commandOf(line) !== undefined),
      [],
    );
    const options = lines.flatMap(({ page, text }) =>
      [...text.matchAll(/ --([a-z-]+)/g)].map(([, option]) => ({ page, line: text, option: option! })),
    );
    const known = new Set(Object.keys(commonOptions));
    assert.deepEqual(
      options.filter(({ line, option }) => !known.has(option) && !(option in (commandOf(line)?.options ?? {}))),
      [],
    );
  });

  test('the command-line reference has every command and every option', () => {
    const page = pages.get('docs/command-line.md')!;
    for (const [name, command] of loaded) {
      assert.ok(page.includes(`petstore ${name}`), name);
      for (const option of Object.keys(command.options ?? {})) assert.ok(page.includes(`--${option}`), option);
    }
  });

  test('every setting in the pages exists, and the settings page has every setting', () => {
    const all: readonly Setting[] = Object.values(settings);
    const names = all.map(setting => setting.name as string);
    const files = all.filter(setting => setting.isSecret).map(fileVariable);
    const tests = ['PETSTORE_TEST_DATABASE_URL', 'PETSTORE_TEST_VALKEY_URL', 'PETSTORE_TEST_LONG'];
    const known = new Set([...names, ...files, ...tests, ...listenVariables]);
    assert.deepEqual(
      unknown(mentions(/\b(PETSTORE_[A-Z0-9_]+)/g), name => known.has(name)),
      [],
    );
    const page = pages.get('docs/settings.md')!;
    for (const name of [...names, ...files]) assert.ok(page.includes(`\`${name}\``), name);
  });

  test('every error code has a page, and every page a code', () => {
    const documented = globSync('*.md', { cwd: join(root, 'docs/errors') }).map(file => file.replace('.md', ''));
    assert.deepEqual(documented.filter(name => name !== 'README').sort(), Object.keys(errors).sort());
  });

  test('every error code in the pages exists', () => {
    const words = mentions(/`([a-z]+(?:_[a-z]+)+)`/g)
      .filter(({ text }) => !/^(petstore|process|nodejs)_/.test(text))
      // This page has the names of another interface.
      .filter(({ page }) => page !== 'docs/petfinder.md');
    assert.deepEqual(
      unknown(
        words,
        word =>
          word in errors ||
          word in definitions ||
          pageErrors.has(word) ||
          otherNames.includes(word) ||
          documentedNames.has(word),
      ),
      [],
    );
  });

  test('every method and path in the pages exists, and the reference has every route', () => {
    const known = (line: string) => {
      const [method, path] = line.split(' ') as [string, string];
      const plain = path.replace(/[?…].*$/, '').replaceAll(/\/\d+(?=\/|$)/g, '/{id}');
      return routes.some(
        route =>
          route.method === method && route.path.replaceAll(/\{\w+\}/g, '{id}') === plain.replaceAll(/\{\w+\}/g, '{id}'),
      );
    };
    const named = mentions(/\b((?:GET|POST|PUT|PATCH|DELETE) \/v1\/[^\s`,;)]*)/g).map(({ page, text }) => ({
      page,
      text: text.replace(' /v1', ' '),
    }));
    assert.ok(named.length > 0);
    assert.deepEqual(unknown(named, known), []);
    const reference = pages.get('docs/reference.md')!;
    for (const { operationId, method, path } of routes) {
      assert.ok(reference.includes(`## ${operationId}`), operationId);
      assert.ok(reference.includes(`\`${method} /v1${path}\``), path);
    }
  });

  test('every operation in the pages exists', () => {
    const names = routes.map(route => route.operationId);
    assert.deepEqual(
      unknown(
        mentions(
          /`((?:list|get|create|send|update|replace|delete|merge|extend|release|approve|deliver|cancel|return)[A-Z][A-Za-z]+)`/g,
        ),
        name => names.includes(name) || documentedNames.has(name),
      ),
      [],
    );
  });

  test('the guide on MCP has every tool with its operation and scope', () => {
    const page = pages.get('docs/mcp.md')!;
    for (const [name, { operationId }] of Object.entries(definitions)) {
      const scope = routes.find(route => route.operationId === operationId)?.access.scope;
      const row = operationId === undefined ? `| \`${name}\` | none` : `| \`${name}\` | \`${operationId}\``;
      const found = page.split('\n').find(line => line.startsWith(row));
      assert.ok(found?.endsWith(scope === undefined ? '| none |' : `| \`${scope}\` |`), name);
    }
  });

  test('the section on stability names exactly the operations that are not stable', () => {
    const [, section] = /^## Stability\n(.*?)^## /ms.exec(pages.get('docs/versioning.md')!)!;
    for (const { operationId, stability } of routes) {
      assert.equal(section!.includes(`\`${operationId}\``), stability !== 'stable', operationId);
    }
  });

  test('every reason for a change of a pet is documented', () => {
    for (const reason of petReasons) assert.ok(pages.get('docs/pets.md')!.includes(`\`${reason}\``), reason);
  });

  test('every npm script in the pages exists', () => {
    const run = mentions(/npm run ([a-z][a-z:-]*)/g);
    assert.ok(run.length > 0);
    assert.deepEqual(
      unknown(run, name => name in scripts),
      [],
    );
  });
});

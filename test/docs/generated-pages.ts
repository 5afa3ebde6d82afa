import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { routes } from '../../src/api.ts';
import type { Command, Option } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { flagOf, optionText, usageOf } from '../../src/cli/help.ts';
import { commonOptions } from '../../src/cli/usage.ts';
import { type ErrorCode, errors } from '../../src/errors.ts';
import { impliedHeadersOf, type Route, takesIdempotencyKey, takesIfMatch } from '../../src/lib/http/route.ts';
import { codesOf } from '../../src/openapi.ts';
import { type Setting, settings } from '../../src/settings.ts';
import { PREFIX } from '../../src/urls.ts';
import { recordedResponses, responsesFile, sendExamples } from '../support/examples.ts';

/** Returns the text of each generated page by its path below `docs/`. `npm run docs` writes them; a test compares. */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ['errors/README.md', errorsPage()],
    ...(Object.keys(errors) as ErrorCode[]).map(code => [`errors/${code}.md`, errorPage(code)] as const),
    ['settings.md', settingsPage()],
    ['command-line.md', commandLinePage(await Promise.all(Object.values(commands).map(load => load())))],
    ['reference.md', referencePage(routes as readonly Route<never>[])],
  ]);
}

const generatedFrom = (source: string) => `<!-- Generated from ${source} by \`npm run docs\`. Do not edit. -->\n\n`;

function errorsPage(): string {
  const rows = (Object.keys(errors) as ErrorCode[]).map(
    code => `| ${errors[code].status} | [\`${code}\`](${code}.md) | ${errors[code].message} |`,
  );
  return `${generatedFrom('src/error-codes.ts')}# Error codes

Every error response has this format. [Errors](../error-handling.md) explains it, and which errors to retry.

\`\`\`json
${JSON.stringify({ code: 'pet_not_found', message: errors.pet_not_found.message, status: 404 }, null, 2)}
\`\`\`

| Status | Code | Message |
|---|---|---|
${rows.join('\n')}
`;
}

function errorPage(code: ErrorCode): string {
  const { status, message, meaning, remedy } = errors[code];
  return `${generatedFrom('src/error-codes.ts')}# ${code}

**${status}** · ${message}

**Cause**: ${meaning}

**Fix**: ${remedy}

[All error codes](README.md)
`;
}

function settingsPage(): string {
  const rows = (Object.values(settings) as Setting<unknown>[]).map(setting => {
    const usual = setting.default === undefined ? (setting.defaultText ?? '–') : `\`${setting.default}\``;
    return `| \`${setting.name}\` | ${usual} | ${setting.description} |`;
  });
  return `${generatedFrom('src/settings.ts')}# Settings

Settings are environment variables. [Configuration](operating/configuration.md) explains how to use them. \`petstore serve --help\` prints this list.

| Setting | Default | Meaning |
|---|---|---|
${rows.join('\n')}
`;
}

function commandLinePage(all: readonly Command[]): string {
  return `${generatedFrom('src/cli')}# Command-line reference

Create an account, and then a key with the id that the command prints:

\`\`\`
petstore account create --email shelter@example.org --name "Riverside Shelter"
petstore key create --account ID
\`\`\`

In the project directory the command is \`bin/petstore\`; [link it](operating/install.md#put-the-command-on-the-path) to run it as \`petstore\` from any
directory. Commands read the same [settings](settings.md) as the server. The default data directory is \`./data\` of the current directory. Every command works
while a server runs on the same data: changes apply to the very next request on the embedded database, and within a second on several nodes.
[Administration](operating/administration.md) has common tasks.

| Exit code | Meaning |
|---|---|
| 0 | Success |
| 1 | Rejected or failed, with one sentence on stderr |
| 2 | Wrong usage |

Every command accepts:

${table(Object.entries(commonOptions).map(optionRow))}
${all.map(commandSection).join('')}`;
}

function commandSection(command: Command): string {
  const { summary, details, options = {}, arguments: positionals = {}, examples } = command;
  const rows = [
    ...Object.entries(positionals).map(([argument, description]) => `| \`${argument}\` | ${description} |`),
    ...Object.entries(options).map(optionRow),
  ];
  const lines = Object.entries(examples).map(([line, purpose]) => `# ${purpose}\n${line}`);
  return `
## petstore ${usageOf(command)}

${summary}
${detailsText(details)}${rows.length === 0 ? '' : `\n${table(rows)}\n`}
\`\`\`sh
${lines.join('\n')}
\`\`\`
`;
}

function detailsText(details: string | undefined): string {
  if (details === undefined) return '';
  return details.includes('\n  ') ? `\n\`\`\`\n${details}\n\`\`\`\n` : `\n${details}\n`;
}

function optionRow([name, option]: [string, Option]): string {
  return `| \`${flagOf(name, option)}\` | ${optionText(option, text => `\`${text}\``)} |`;
}

function table(rows: readonly string[]): string {
  return `| | |\n|---|---|\n${rows.join('\n')}`;
}

function referencePage(all: readonly Route<never>[]): string {
  const shared = sharedCodes(all);
  const lists = Array.from(shared, ([kind, codes]) => `- ${kind}: ${codeList(codes)}.`);
  return `${generatedFrom('the routes')}# API reference

This page lists every operation with its parameters and responses. The OpenAPI document (\`GET /openapi.json\` or \`petstore openapi\`) also has the schemas,
headers and an example of every response. Every request needs an [API key](authentication.md). Every response has [rate limit headers](rate-limits.md). Operations
marked as [beta or experimental](versioning.md#stability) may change. The operations on messages
are also on the [message address](messages.md), without \`/v1\`.

## Common headers

| Header | Accepted by | Description |
|---|---|---|
${sharedHeaders(all).join('\n')}

A successful response with a body has an \`ETag\` header. A replayed response has \`Idempotency-Replayed: true\`. \`Preference-Applied\` names the preferences that
were applied.
${all.map(route => operationSection(route, all, [...shared.values()].flat())).join('')}
## Common errors

${lists.join('\n')}
- Unknown path or method: ${codeList(['route_not_found', 'method_not_allowed'])}.
`;
}

/** The page that explains each common header, unless it is about concurrency. */
const headerPages: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotency.md',
  Prefer: 'requests.md#strict-validation',
};

/** Returns a table row for each header that operations accept because of their kind. */
function sharedHeaders(all: readonly Route<never>[]): string[] {
  const headers = new Map(all.flatMap(route => Object.entries(impliedHeadersOf(route))));
  return Array.from(headers, ([name, says]) => {
    const methods = [...new Set(all.map(({ method }) => method))].filter(method => isTakenByAll(name, method, all));
    const some = all.some(route => isMarked(name, route, all)) ? ['operations that name it below'] : [];
    const page = headerPages[name] ?? 'concurrency.md';
    const takers = [...methods.map(method => `\`${method}\``), ...some].join(', ');
    return `| [\`${name}\`](${page}) | ${takers} | ${says} |`;
  });
}

function isTakenByAll(header: string, method: string, all: readonly Route<never>[]): boolean {
  return all.every(route => route.method !== method || header in impliedHeadersOf(route));
}

/** Reports whether a route accepts a header that other routes of its method do not. */
function isMarked(header: string, route: Route<never>, all: readonly Route<never>[]): boolean {
  return header in impliedHeadersOf(route) && !isTakenByAll(header, route.method, all);
}

/** The kinds of operations that share error codes. */
const kinds: readonly [string, (route: Route<never>) => boolean][] = [
  ['Every operation', () => true],
  ['Operations with a body', route => route.body !== undefined],
  ['`POST` and `PATCH`', takesIdempotencyKey],
  ['Operations with `If-Match`', takesIfMatch],
  ['Operations for which `If-Match` can be required', route => route.conditional === true && route.method !== 'POST'],
  ['Every change', route => route.method !== 'GET'],
];

/** Returns, for each kind of operation, the error codes that all of its operations can return and no others. */
function sharedCodes(all: readonly Route<never>[]): Map<string, ErrorCode[]> {
  const codes = [...new Set(all.flatMap(codesOf))];
  const kindOf = (code: ErrorCode) =>
    kinds.find(([, belongs]) => all.every(route => codesOf(route).includes(code) === belongs(route)))?.[0];
  return new Map(
    kinds
      .map(([kind]) => [kind, codes.filter(code => kindOf(code) === kind)] as const)
      .filter(([, some]) => some.length > 0),
  );
}

function operationSection(route: Route<never>, all: readonly Route<never>[], shared: readonly ErrorCode[]): string {
  const { operationId, method, path, summary, description, deprecation, stability, access, successes } = route;
  const marks = [
    deprecation && '[deprecated](versioning.md#deprecated-operations)',
    stability !== 'stable' && `[${stability}](versioning.md#stability)`,
    access.scope && `scope \`${access.scope}\``,
    ...Object.keys(impliedHeadersOf(route)).map(name => isMarked(name, route, all) && `\`${name}\``),
  ].filter(mark => typeof mark === 'string');
  const rows = [
    ...Object.entries(route.parameters ?? {}).map(([name, one]) => [name, 'path', one.description]),
    ...Object.entries(route.query?.properties ?? {}).map(([name, one]) => [name, 'query', wordsOf(one)]),
    ...Object.entries(route.headers ?? {}).map(([name, says]) => [name, 'header', says]),
    ...Object.entries((route.body as { properties?: object } | undefined)?.properties ?? {}).map(([name, one]) => [
      name,
      'body',
      wordsOf(one),
    ]),
  ].map(([name, place, says]) => `| \`${name}\` | ${place} | ${says} |`);
  const own = codesOf(route).filter(code => !shared.includes(code));
  const responses = [
    ...successes.map(one => `${one.status}: ${one.description}`),
    ...(own.length > 0 ? [`Errors: ${codeList(own)}.`] : []),
  ];
  return `
## ${operationId}

${[`\`${method} ${PREFIX}${path}\``, ...marks].join(' · ')}

${summary}. ${description}
${rows.length === 0 ? '' : `\n| Name | In | Description |\n|---|---|---|\n${rows.join('\n')}\n`}
${responses.map(response => `- ${response}`).join('\n')}
`;
}

function codeList(codes: readonly string[]): string {
  return codes.map(code => `[\`${code}\`](errors/${code}.md)`).join(', ');
}

function wordsOf(schema: unknown): string {
  const { description, anyOf } = schema as { description?: string; anyOf?: object[] };
  // A nullable schema has its description in the other alternative.
  return description ?? anyOf?.map(wordsOf).find(words => words !== '') ?? '';
}

if (import.meta.main) {
  const docs = new URL('../../docs/', import.meta.url);
  const files = [...(await generatedPages())].map(([path, text]) => ({ file: new URL(path, docs), text }));
  const stale = [...files, { file: responsesFile, text: recordedResponses(await sendExamples()) }].filter(
    ({ file, text }) => !existsSync(file) || readFileSync(file, 'utf8') !== text,
  );
  for (const { file, text } of stale) {
    console.log(fileURLToPath(file));
    if (!process.argv.includes('--check')) writeFileSync(file, text);
  }
  if (stale.length > 0 && process.argv.includes('--check')) {
    console.error('These files are out of date. Run `npm run docs`.');
    process.exitCode = 1;
  }
}

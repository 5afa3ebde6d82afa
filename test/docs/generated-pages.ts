import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageRoutes, operations } from '../../src/api.ts';
import type { Command, Option } from '../../src/cli/command.ts';
import { commands, commonOptions } from '../../src/cli/commands.ts';
import { type Setting, settings } from '../../src/config.ts';
import { type ErrorCode, errors } from '../../src/errors.ts';
import { impliedHeadersOf, type Route, takesIdempotencyKey, takesIfMatch } from '../../src/lib/http/route.ts';
import { codesOf } from '../../src/openapi.ts';
import { answersFile, answersText, sendExamples } from '../support/examples.ts';

/**
 * The pages that are made from the code: path below `docs/` → text. `npm run docs` writes them; a test compares.
 */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ['errors/README.md', errorsPage()],
    ...(Object.keys(errors) as ErrorCode[]).map(code => [`errors/${code}.md`, errorPage(code)] as const),
    ['settings.md', settingsPage()],
    [
      'command-line.md',
      commandLinePage(await Promise.all(Object.values(commands).map(async load => (await load()).command))),
    ],
    ['reference.md', referencePage(operations as readonly Route<never>[])],
  ]);
}

const made = (from: string) => `<!-- Made from ${from} by \`npm run docs\`. -->\n\n`;

function errorsPage(): string {
  const rows = (Object.keys(errors) as ErrorCode[]).map(
    code => `| ${errors[code].status} | [\`${code}\`](${code}.md) | ${errors[code].message} |`,
  );
  return `${made('src/errors.ts')}# Errors

Every answer that is not a success has one shape:

\`\`\`json
${JSON.stringify({ code: 'pet_not_found', message: errors.pet_not_found.message, status: 404 }, null, 2)}
\`\`\`

Programs look at \`code\`, which is never renamed; people read \`message\`, which may become clearer. Where single fields are wrong,
\`errors\` lists them, each with \`path\`, \`code\` and \`message\`. With \`Accept: application/problem+json\` the answer has the members of
RFC 9457 beside these; its \`type\` leads to a page like these on the address that answered. \`X-Request-Id\` says under which id the
request stands in the logs.

| Status | Code | Says |
|---|---|---|
${rows.join('\n')}
`;
}

function errorPage(code: ErrorCode): string {
  const { status, message, meaning, remedy } = errors[code];
  return `${made('src/errors.ts')}# ${code}

**${status}** · ${message}

**When**: ${meaning}

**What to do**: ${remedy}

[All errors](README.md)
`;
}

function settingsPage(): string {
  const rows = (Object.values(settings) as Setting<unknown>[]).map(setting => {
    const usual = setting.default === undefined ? (setting.otherwise ?? '–') : `\`${setting.default}\``;
    return `| \`${setting.name}\` | ${usual} | ${setting.sentence} |`;
  });
  return `${made('src/config.ts')}# Settings

Environment variables. \`petstore serve --help\` lists them, too. A wrong value stops the start with one sentence that names it.

| Setting | Default | Does |
|---|---|---|
${rows.join('\n')}
`;
}

function commandLinePage(all: readonly Command[]): string {
  return `${made('src/cli')}# Command line

\`bin/petstore\` runs from any directory, on the Node that the project pins, and works while a server runs on the same data: what it changed counts
for the very next request on the embedded engine, and within a second on several nodes. It reads the same [settings](settings.md) as the server.

Exit code 0: done; 1: refused or failed, with one sentence on standard error; 2: wrong usage.

Every command takes:

${table(Object.entries(commonOptions).map(optionRow))}
${all.map(commandSection).join('')}`;
}

function commandSection(command: Command): string {
  const { name, sentence, details, options = {}, arguments: positionals = {}, examples } = command;
  const usage = [name, ...Object.keys(positionals)].join(' ');
  const rows = [
    ...Object.entries(positionals).map(([argument, says]) => `| \`${argument}\` | ${says} |`),
    ...Object.entries(options).map(optionRow),
  ];
  const lines = examples.map(example => `# ${example.sentence}\n${example.line}`);
  return `
## petstore ${usage}

${sentence}
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
  const extra = [
    option.required ? 'required' : '',
    option.choices?.map(choice => `\`${choice}\``).join(', ') ?? '',
    option.default === undefined ? '' : `default \`${option.default}\``,
  ].filter(text => text !== '');
  const usage = option.value === undefined ? `--${name}` : `--${name} ${option.value}`;
  return `| \`${usage}\` | ${option.sentence}${extra.length > 0 ? ` (${extra.join('; ')})` : ''} |`;
}

function table(rows: readonly string[]): string {
  return `| | |\n|---|---|\n${rows.join('\n')}`;
}

function referencePage(all: readonly Route<never>[]): string {
  const shared = sharedCodes(all);
  const lists = Array.from(shared, ([kind, codes]) => `- ${kind}: ${codeList(codes)}.`);
  return `${made('the routes')}# Reference

Every operation, shortly. \`GET /openapi.json\` (or \`petstore openapi\`) has all of it for programs: shapes, headers, and every answer with
examples. Every request needs an [API key](authentication.md); every answer carries the [rate limit headers](rate-limits.md). What is marked
as [beta or experimental](stability.md) is not settled yet. Paths without \`/v1\` are those of the [message address](messages.md).

## Headers that operations have in common

| Header | Taken by | |
|---|---|---|
${sharedHeaders(all).join('\n')}

A success with a body carries an \`ETag\`; the answer to a retry carries \`Idempotency-Replayed: true\`; where a preference was applied,
\`Preference-Applied\` names it.
${all.map(route => operationSection(route, all, [...shared.values()].flat())).join('')}
## Errors that operations have in common

${lists.join('\n')}
- Where there is no operation: ${codeList(['route_not_found', 'method_not_allowed'])}.
`;
}

/** Where headers are explained that are not about versions. */
const headerPages: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'retries.md',
  Prefer: 'decisions/requests-and-answers.md',
};

/** A row for each header that operations take because of what they are. */
function sharedHeaders(all: readonly Route<never>[]): string[] {
  const headers = new Map(all.flatMap(route => Object.entries(impliedHeadersOf(route))));
  return Array.from(headers, ([name, says]) => {
    const methods = [...new Set(all.map(({ method }) => method))].filter(method => isTakenByAll(name, method, all));
    const some = all.some(route => isMarked(name, route, all)) ? ['where it is named below'] : [];
    const page = headerPages[name] ?? 'concurrent-changes.md';
    const takers = [...methods.map(method => `\`${method}\``), ...some].join(', ');
    return `| [\`${name}\`](${page}) | ${takers} | ${says} |`;
  });
}

function isTakenByAll(header: string, method: string, all: readonly Route<never>[]): boolean {
  return all.every(route => route.method !== method || header in impliedHeadersOf(route));
}

/** Whether a route takes a header that others of its method do not. */
function isMarked(header: string, route: Route<never>, all: readonly Route<never>[]): boolean {
  return header in impliedHeadersOf(route) && !isTakenByAll(header, route.method, all);
}

/** What kinds of operations there are, for what they have in common. */
const kinds: readonly [string, (route: Route<never>) => boolean][] = [
  ['Every operation', () => true],
  ['With a body', route => route.body !== undefined],
  ['`POST` and `PATCH`', takesIdempotencyKey],
  ['With `If-Match`', takesIfMatch],
  ['Where `If-Match` may be required', route => route.conditional === true && route.method !== 'POST'],
  ['Every change', route => route.method !== 'GET'],
];

/** The error codes that all operations of a kind may answer and no others. */
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
    deprecation && '[deprecated](deprecation.md)',
    stability !== 'stable' && `[${stability}](stability.md)`,
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
  const answers = [
    ...successes.map(one => `${one.status}: ${one.description}`),
    ...(own.length > 0 ? [`Errors of its own: ${codeList(own)}.`] : []),
  ];
  return `
## ${operationId}

${[`\`${method} ${prefixOf(route)}${path}\``, ...marks].join(' · ')}

${summary}. ${description}
${rows.length === 0 ? '' : `\n| Name | In | |\n|---|---|---|\n${rows.join('\n')}\n`}
${answers.map(answer => `- ${answer}`).join('\n')}
`;
}

/** What comes between an address and the path: on the message address nothing. */
function prefixOf(route: Route<never>): string {
  return (messageRoutes as readonly Route<never>[]).includes(route) ? '' : '/v1';
}

function codeList(codes: readonly string[]): string {
  return codes.map(code => `[\`${code}\`](errors/${code}.md)`).join(', ');
}

function wordsOf(schema: unknown): string {
  const { description, anyOf } = schema as { description?: string; anyOf?: object[] };
  // What may also be null is described by what else it may be.
  return description ?? anyOf?.map(wordsOf).find(words => words !== '') ?? '';
}

if (import.meta.main) {
  const docs = new URL('../../docs/', import.meta.url);
  const files = [...(await generatedPages())].map(([path, text]) => ({ file: new URL(path, docs), text }));
  const stale = [...files, { file: answersFile, text: answersText(await sendExamples()) }].filter(
    ({ file, text }) => !existsSync(file) || readFileSync(file, 'utf8') !== text,
  );
  for (const { file, text } of stale) {
    console.log(fileURLToPath(file));
    if (!process.argv.includes('--check')) writeFileSync(file, text);
  }
  if (stale.length > 0 && process.argv.includes('--check')) {
    console.error('These are stale: `npm run docs` writes them anew.');
    process.exitCode = 1;
  }
}

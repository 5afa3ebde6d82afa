import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { routes } from '../src/app.ts';
import type { Command, Option } from '../src/cli/command.ts';
import { commands, commonOptions } from '../src/cli/commands.ts';
import { type Setting, settings } from '../src/config.ts';
import { type ErrorCode, errors } from '../src/errors.ts';
import type { Route } from '../src/lib/http/route.ts';
import { codesOf } from '../src/openapi.ts';
import { answersFile, answersText, sendExamples } from './examples.ts';
import { serve } from './serving.ts';

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
    ['reference.md', referencePage(routes as readonly Route<never>[])],
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
  const shared = codesOf(all[0]!).filter(code => all.every(route => codesOf(route).includes(code)));
  return `${made('the routes')}# Reference

Every operation, shortly. \`GET /openapi.json\` (or \`petstore openapi\`) has all of it for programs: shapes, headers, and every answer with
examples. Every request needs an [API key](authentication.md); every answer carries the [rate limit headers](rate-limits.md).
${all.map(route => operationSection(route, shared)).join('')}
## What every operation may answer

${codeList(shared)}. Where there is no operation: ${codeList(['route_not_found', 'method_not_allowed'])}.
`;
}

function operationSection(route: Route<never>, shared: readonly ErrorCode[]): string {
  const { operation, method, path, summary, description, deprecation, stability, access, successes } = route;
  const marks = [
    deprecation && '[deprecated](deprecation.md)',
    stability && `[${stability}](stability.md)`,
    access.scope && `scope \`${access.scope}\``,
  ].filter(mark => mark !== undefined);
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
## ${operation}

${[`\`${method} /v1${path}\``, ...marks].join(' · ')}

${summary}. ${description}

| Name | In | |
|---|---|---|
${rows.join('\n')}

${answers.map(answer => `- ${answer}`).join('\n')}
`;
}

function codeList(codes: readonly string[]): string {
  return codes.map(code => `[\`${code}\`](errors/${code}.md)`).join(', ');
}

function wordsOf(schema: unknown): string {
  return (schema as { description?: string }).description ?? '';
}

/** The recorded answers, from a service that has nothing but the examples. */
async function record(): Promise<string> {
  const service = await serve();
  try {
    return answersText(await sendExamples(service.urls.production, (await service.newKey()).token));
  } finally {
    await service.stop();
  }
}

if (import.meta.main) {
  const docs = new URL('../docs/', import.meta.url);
  const files = [...(await generatedPages())].map(([path, text]) => ({ file: new URL(path, docs), text }));
  const stale = [...files, { file: answersFile, text: await record() }].filter(
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

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command, Option } from '../../src/cli/command.ts';
import { flagOf, optionText, usageOf } from '../../src/cli/command-help.ts';
import { allCommands } from '../../src/cli/commands.ts';
import { commonOptions } from '../../src/cli/usage.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { type ErrorCode, errors } from '../../src/model/errors.ts';
import { fileVariable, type Setting, settings } from '../../src/model/settings.ts';
import { metricGroups } from '../../src/operate/metrics/metrics.ts';
import { routes } from '../../src/views/api.ts';
import { recordedResponses, responsesFile, sendExamples } from '../support/examples.ts';
import { referencePage } from './reference-page.ts';
import { builtSdk } from './sdk-build.ts';
import { sdkSources } from './sdk-source.ts';

/** Returns the text of each generated page by its path below `docs/`. `npm run docs` writes them; a test compares. */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ['errors/README.md', errorsPage()],
    ...(Object.keys(errors) as ErrorCode[]).map(code => [`errors/${code}.md`, errorPage(code)] as const),
    ['settings.md', settingsPage()],
    ['metrics.md', metricsPage()],
    ['command-line.md', commandLinePage(await Promise.all(Object.values(await allCommands()).map(load => load())))],
    ['reference.md', generatedFrom('the routes') + referencePage(routes as readonly Route<never>[])],
  ]);
}

/** Returns the first line of a generated page. */
const generatedFrom = (source: string) => `<!-- Generated from ${source} by \`npm run docs\`. Do not edit. -->\n\n`;

function errorsPage(): string {
  const rows = (Object.keys(errors) as ErrorCode[]).map(
    code => `| ${errors[code].status} | [\`${code}\`](${code}.md) | ${errors[code].message} |`,
  );
  return `${generatedFrom('src/model/error-codes.ts')}# Error codes

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
  return `${generatedFrom('src/model/error-codes.ts')}# ${code}

**${status}** · ${message}

**Cause**: ${meaning}

**Fix**: ${remedy}

[All error codes](README.md)
`;
}

function settingsPage(): string {
  const rows = (Object.values(settings) as Setting<unknown>[]).map(setting => {
    const usual = setting.default === undefined ? (setting.defaultText ?? '–') : `\`${setting.default}\``;
    const file = setting.isSecret ? ` Or name a file with \`${fileVariable(setting)}\`.` : '';
    return `| \`${setting.name}\` | ${usual} | ${setting.description}${file} |`;
  });
  return `${generatedFrom('src/model/settings.ts')}# Settings

Settings are environment variables. [Configuration](operating/configuration.md) explains how to use them. \`petstore serve --help\` prints this list.

| Setting | Default | Meaning |
|---|---|---|
${rows.join('\n')}
`;
}

function metricsPage(): string {
  const sections = Object.entries(metricGroups).map(([title, metrics]) => {
    const rows = metrics.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
    return `## ${title}

| Metric | Type | Meaning |
|---|---|---|
${rows.join('\n')}
`;
  });
  return `${generatedFrom('src/operate/metrics/metrics.ts')}# Metrics reference

Every metric of \`GET /metrics\`. [Monitoring](operating/monitoring.md#metrics) explains how to serve and use them.

${sections.join('\n')}`;
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

if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  const isCheck = process.argv.includes('--check');
  const stale: URL[] = [];
  const update = (file: URL, text: string) => {
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
    console.log(fileURLToPath(file));
    stale.push(file);
    if (!isCheck) writeFileSync(file, text);
  };
  for (const [path, text] of await generatedPages()) update(new URL(`docs/${path}`, root), text);
  for (const [path, text] of sdkSources()) update(new URL(path, root), text);
  for (const [path, text] of await builtSdk()) update(new URL(path, root), text);
  // The tests of the contract compare the recorded responses.
  if (!isCheck) update(responsesFile, recordedResponses(await sendExamples()));
  if (stale.length > 0 && isCheck) {
    console.error('These files are out of date. Run `npm run docs`.');
    process.exitCode = 1;
  }
}

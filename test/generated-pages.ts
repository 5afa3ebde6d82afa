import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Setting, settings } from '../src/config.ts';
import { type ErrorCode, errors } from '../src/errors.ts';

/**
 * The pages that are made from the code: path below `docs/` → text. `npm run docs` writes them; a test compares.
 */
export function generatedPages(): Map<string, string> {
  return new Map([
    ['errors/README.md', errorsPage()],
    ...(Object.keys(errors) as ErrorCode[]).map(code => [`errors/${code}.md`, errorPage(code)] as const),
    ['settings.md', settingsPage()],
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
RFC 9457 beside these. \`X-Request-Id\` says under which id the request stands in the logs.

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

if (import.meta.main) {
  for (const [path, text] of generatedPages()) {
    const file = new URL(`../docs/${path}`, import.meta.url).pathname;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

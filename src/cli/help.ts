import packageJson from '../../package.json' with { type: 'json' };
import { fileVariable, settings } from '../model/settings.ts';
import type { Command, Option, Style, Terminal } from './command.ts';
import { allCommands, unknownCommand } from './commands.ts';
import { list } from './terminal.ts';
import { commonOptions } from './usage.ts';

/**
 * Prints the help of all commands (`name` is empty), of a group (`account`) or of one command.
 * @throws {UsageError}
 */
export async function showHelp(name: string, json: boolean, terminal: Terminal): Promise<void> {
  const commands = await allCommands();
  const names = Object.keys(commands).filter(known => name === '' || known === name || known.startsWith(`${name} `));
  if (names.length === 0) throw await unknownCommand(name);
  const found = await Promise.all(names.map(known => commands[known]!()));
  const [first] = found;
  const { style } = terminal;
  if (json) return terminal.print(JSON.stringify(found.map(commandValue)));
  terminal.print(first!.name === name ? commandHelp(first!, style) : overview(name, found, style));
}

/** Prints the version of the product, and with `json` also that of Node.js. */
export function showVersion(json: boolean, terminal: Terminal): void {
  const { version } = packageJson;
  terminal.print(json ? JSON.stringify({ version, node: process.version }) : `petstore ${version}`);
}

function overview(name: string, found: readonly Command[], style: Style): string {
  const sections = [
    section(style, 'Usage', `petstore ${name === '' ? 'COMMAND' : `${name} COMMAND`} [OPTIONS]`),
    section(style, 'Commands', list(found.map(command => [usageOf(command), command.summary]))),
    section(style, 'Options of every command', optionList(commonOptions)),
    '`petstore --version` prints the version.',
    'Run `petstore COMMAND --help` for the options and examples of one command; `petstore serve --help` also lists the settings.',
    'Exit codes: 0 success, 1 refused or failed, 2 wrong usage.',
  ];
  const title = 'The Pet Store Service: animals over HTTP, with API keys, plans and exact rate limits.';
  return [...(name === '' ? [title] : []), ...sections].join('\n\n');
}

function commandHelp(command: Command, style: Style): string {
  const sections = [command.summary, section(style, 'Usage', `petstore ${usageOf(command)} [OPTIONS]`)];
  if (command.details !== undefined) sections.push(command.details);
  if (command.arguments !== undefined)
    sections.push(section(style, 'Arguments', list(Object.entries(command.arguments))));
  sections.push(section(style, 'Options', optionList({ ...command.options, ...commonOptions })));
  if (command.settings) sections.push(section(style, 'Settings (environment variables)', list(settingRows())));
  const examples = Object.entries(command.examples).map(([line, purpose]) => `${style.dim(`# ${purpose}`)}\n${line}`);
  return [...sections, section(style, 'Examples', examples.join('\n'))].join('\n\n');
}

/** Returns the name of a command with its arguments: `key revoke ID`. */
export function usageOf(command: Command): string {
  return [command.name, ...Object.keys(command.arguments ?? {})].join(' ');
}

function optionList(options: Readonly<Record<string, Option>>): string {
  return list(Object.entries(options).map(([name, option]) => [flagOf(name, option), optionText(option)]));
}

/** Returns an option in the form in which users type it: `--limit N`. */
export function flagOf(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** Returns the description of an option with its choices and default, which `quote` formats as code. */
export function optionText(option: Option, quote = (text: string) => text): string {
  const notes = [
    option.required && 'required',
    option.choices?.map(quote).join(', '),
    option.repeatable && 'comma-separated, or repeat the option',
    option.default && `default ${quote(option.default)}`,
  ].filter(Boolean);
  return `${option.description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
}

function settingRows(): (readonly [string, string])[] {
  return settings.map(setting => {
    const fallback = setting.default ?? setting.defaultText;
    return [
      setting.name,
      `${setting.description}${setting.isSecret ? ` Or name a file with ${fileVariable(setting)}.` : ''}${fallback === undefined ? '' : ` Default: ${fallback}.`}`,
    ];
  });
}

function section(style: Style, heading: string, body: string): string {
  return `${style.bold(heading)}\n${body.replace(/^/gm, '  ')}`;
}

/** Returns a command in the form of `--help --json`, with its descriptions converted by `sentence`. */
function commandValue({ run: _, summary, options, examples, ...command }: Command) {
  const described = Object.entries({ ...options, ...commonOptions }).map(([name, { description, ...option }]) => [
    name,
    { sentence: description, ...option },
  ]);
  return {
    ...command,
    sentence: summary,
    options: Object.fromEntries(described),
    examples: Object.entries(examples).map(([line, sentence]) => ({ line, sentence })),
  };
}

import packageJson from '../../package.json' with { type: 'json' };
import { fileVariable, settings } from '../model/settings.ts';
import type { Command, Style, Terminal } from './command.ts';
import { commandHelp, optionList, section, usageOf } from './command-help.ts';
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
  terminal.print(
    first!.name === name
      ? commandHelp(first!, style, first!.settings ? list(settingRows()) : undefined)
      : overview(name, found, style),
  );
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

function settingRows(): (readonly [string, string])[] {
  return settings.map(setting => {
    const fallback = setting.default ?? setting.defaultText;
    return [
      setting.name,
      `${setting.description}${setting.isSecret ? ` Or name a file with ${fileVariable(setting)}.` : ''}${fallback === undefined ? '' : ` Default: ${fallback}.`}`,
    ];
  });
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

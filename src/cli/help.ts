import { type Setting, settings } from '../config.ts';
import type { Command, Option, Style, Terminal } from './command.ts';
import { commands, commonOptions, missingCommand } from './commands.ts';
import { list } from './terminal.ts';

/**
 * Prints the help of everything (`name` empty), of a group of commands (`account`) or of one command; with `json` as
 * a value.
 * @throws {Misuse} when there is nothing of this name
 */
export async function showHelp(name: string, json: boolean, terminal: Terminal): Promise<void> {
  const names = Object.keys(commands).filter(known => name === '' || known === name || known.startsWith(`${name} `));
  if (names.length === 0) throw missingCommand(name);
  const found = await Promise.all(names.map(async known => (await commands[known]!()).command));
  const [only] = found;
  if (json) {
    terminal.print(JSON.stringify(found.map(commandValue)));
  } else if (found.length === 1 && only?.name === name) {
    terminal.print(commandHelp(only, terminal.style));
  } else {
    terminal.print(overview(name, found, terminal.style));
  }
}

function overview(name: string, found: readonly Command[], style: Style): string {
  const sections = [
    section(style, 'Usage', `petstore ${name === '' ? 'COMMAND' : `${name} COMMAND`} [OPTIONS]`),
    section(style, 'Commands', list(found.map(command => [usage(command), command.sentence]))),
    section(style, 'Options of every command', optionList(commonOptions)),
    'See `petstore COMMAND --help` for the options and examples of one command; `petstore serve --help` also lists the settings.',
    'Exit code: 0 done, 1 refused or failed, 2 wrong usage.',
  ];
  if (name === '')
    sections.unshift('The Pet Store Service: animals over HTTP, with API keys, plans and exact rate limits.');
  return sections.join('\n\n');
}

function commandHelp(command: Command, style: Style): string {
  const sections = [command.sentence, section(style, 'Usage', `petstore ${usage(command)} [OPTIONS]`)];
  if (command.details !== undefined) sections.push(command.details);
  if (command.arguments !== undefined) {
    sections.push(section(style, 'Arguments', list(Object.entries(command.arguments))));
  }
  sections.push(section(style, 'Options', optionList({ ...command.options, ...commonOptions })));
  if (command.settings === true) {
    const rows = Object.values<Setting<unknown>>(settings).map(
      setting => [setting.name, `${setting.description}${settingDefault(setting)}`] as const,
    );
    sections.push(section(style, 'Settings (environment variables)', list(rows)));
  }
  const examples = command.examples.map(example => `${style.dim(`# ${example.sentence}`)}\n${example.line}`);
  sections.push(section(style, 'Examples', examples.join('\n')));
  return sections.join('\n\n');
}

/** The name of a command and what follows it: `key revoke ID`. */
function usage(command: Command): string {
  return [command.name, ...Object.keys(command.arguments ?? {})].join(' ');
}

function optionList(options: Readonly<Record<string, Option>>): string {
  return list(
    Object.entries(options).map(([name, option]) => {
      const extra = [
        option.required === true ? 'required' : '',
        option.choices === undefined ? '' : option.choices.join(', '),
        option.default === undefined ? '' : `default ${option.default}`,
      ].filter(text => text !== '');
      return [
        option.value === undefined ? `--${name}` : `--${name} ${option.value}`,
        `${option.sentence}${extra.length === 0 ? '' : ` (${extra.join('; ')})`}`,
      ];
    }),
  );
}

function settingDefault(setting: Setting<unknown>): string {
  const usual = setting.default ?? setting.defaultText;
  return usual === undefined ? '' : ` Default: ${usual}.`;
}

function section(style: Style, heading: string, body: string): string {
  return `${style.bold(heading)}\n${body.replace(/^/gm, '  ')}`;
}

function commandValue({ run: _, ...command }: Command) {
  return { ...command, options: { ...command.options, ...commonOptions } };
}

import type { Command, Option, Style } from './command.ts';
import { list } from './terminal.ts';
import { commonOptions } from './usage.ts';

/** Returns the help of a command. @param settings the list of settings, if the help has it */
export function commandHelp(command: Command, style: Style, settings?: string): string {
  const sections = [command.summary, section(style, 'Usage', `petstore ${usageOf(command)} [OPTIONS]`)];
  if (command.details !== undefined) sections.push(command.details);
  if (command.arguments !== undefined)
    sections.push(section(style, 'Arguments', list(Object.entries(command.arguments))));
  sections.push(section(style, 'Options', optionList({ ...command.options, ...commonOptions })));
  if (settings !== undefined) sections.push(section(style, 'Settings (environment variables)', settings));
  const examples = Object.entries(command.examples).map(([line, purpose]) => `${style.dim(`# ${purpose}`)}\n${line}`);
  return [...sections, section(style, 'Examples', examples.join('\n'))].join('\n\n');
}

/** Returns the name of a command with its arguments: `key revoke ID`. */
export function usageOf(command: Command): string {
  return [command.name, ...Object.keys(command.arguments ?? {})].join(' ');
}

/** Returns options with their descriptions, one a line. */
export function optionList(options: Readonly<Record<string, Option>>): string {
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

/** Returns a heading and its indented text. */
export function section(style: Style, heading: string, body: string): string {
  return `${style.bold(heading)}\n${body.replace(/^/gm, '  ')}`;
}

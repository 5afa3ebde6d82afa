import process from 'node:process';
import { readConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { Problem } from '../lib/http/problem.ts';
import { StorageError } from '../lib/storage/database.ts';
import { UserError } from '../lib/user-error.ts';
import { type Terminal, UsageError } from './command.ts';
import { commands, findCommand, missingCommand } from './commands.ts';
import { harmless, harmlessJson, openTerminal, shown, taken } from './terminal.ts';
import { readUsage } from './usage.ts';

/**
 * Runs one command line and tells its exit code: 0 done, 1 refused or failed, 2 wrong usage. Never throws, and never
 * prints a stack.
 */
export async function main(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> {
  let help = 'petstore --help';
  try {
    const { name, rest, wantsHelp } = findCommand(args);
    if (wantsHelp) {
      const { showHelp } = await import('./help.ts');
      await showHelp(name, rest.includes('--json'), terminal);
      return 0;
    }
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (load === undefined) throw missingCommand(name, rest);
    help = `petstore ${name} --help`;
    const { command } = await load();
    const usage = readUsage(command, rest);
    const { config, warnings } = readConfig(environment);
    for (const warning of warnings) terminal.tell(shown(warning));
    const printed = await command.run({ ...usage, config, clock: systemClock(config.startAtMs), terminal });
    if (printed !== undefined) {
      terminal.print(usage.json ? harmlessJson(printed.value) : harmless(printed.text(terminal.style)));
      if (printed.onward !== undefined) terminal.tell(shown(printed.onward));
    }
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.tell(shown(`${error.message} See \`${help}\`.`));
      return 2;
    }
    terminal.tell(shown(sentenceOf(error)));
    return 1;
  }
}

/** What a person is told about an error: the sentence of ours, or the first line of anything else. */
export function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UserError || error instanceof StorageError || error instanceof Problem) return message;
  const [line = ''] = message.split('\n');
  return `Something went wrong: ${line.replace(/:\/\/[^\s/@]*@/g, '://')}`;
}

if (import.meta.main) {
  const terminal = openTerminal(process);
  process.on('uncaughtException', error => {
    terminal.tell(sentenceOf(error));
    process.exit(1);
  });
  const code = await main(process.argv.slice(2), process.env, terminal);
  // A pipe takes a long text piece by piece, and what it has not taken by the end of the process is lost.
  const lost = await taken(process.stdout);
  if (code === 0 && lost !== undefined) {
    terminal.tell(`It is done, but its output could not be written: ${lost.message}.`);
    process.exit(1);
  }
  // Leaves at once: a process that ends by itself would be killed by a signal that comes in its very last moments.
  process.exit(code);
}

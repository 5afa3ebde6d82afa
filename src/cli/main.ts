import { systemClock } from '../lib/clock.ts';
import { Problem } from '../lib/http/problem.ts';
import { StorageError } from '../lib/storage/database.ts';
import { UserError } from '../lib/user-error.ts';
import { readConfig } from '../model/config.ts';
import { type CommandOutput, type Terminal, UsageError } from './command.ts';
import { commandNamed, findCommand } from './commands.ts';
import { importByUrl } from './import-by-url.ts';
import { escapeJson, escapeLine, escapeText, flushed, openTerminal } from './terminal.ts';
import { parseUsage } from './usage.ts';

/** Runs one command line and returns its exit code: 0 success, 1 failure, 2 usage error. Never throws. */
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
    if (name === '' && rest.includes('--version')) {
      const { showVersion } = await import('./help.ts');
      showVersion(rest.includes('--json'), terminal);
      return 0;
    }
    const command = await commandNamed(name, rest);
    help = `petstore ${name} --help`;
    const usage = parseUsage(command, rest);
    const config = readConfig(environment);
    const output = await command.run({ ...usage, name, config, clock: systemClock(config.startAtMs), terminal });
    return output === undefined ? 0 : show(output, usage.json, terminal);
  } catch (error) {
    const misused = error instanceof UsageError;
    terminal.printError(escapeLine(misused ? `${error.message} See \`${help}\`.` : messageOf(error)));
    return misused ? 2 : 1;
  }
}

/** Prints the output of a command, and returns its exit code. */
function show(output: CommandOutput, json: boolean, terminal: Terminal): number {
  terminal.print(json ? escapeJson(output.value) : escapeText(output.text(terminal.style)));
  if (output.hint !== undefined) terminal.printError(escapeLine(output.hint));
  return output.failed ? 1 : 0;
}

/** Returns the message of an expected error, or the first line of any other error, without passwords in URLs. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UserError || error instanceof StorageError || error instanceof Problem) return message;
  const [line = ''] = message.split('\n');
  return `Unexpected error: ${line.replace(/:\/\/[^\s/@]*@/g, '://')}`;
}

if (import.meta.main) {
  importByUrl();
  const terminal = openTerminal(process);
  process.on('uncaughtException', error => {
    terminal.printError(messageOf(error));
    process.exit(1);
  });
  const code = await main(process.argv.slice(2), process.env, terminal);
  // A pipe accepts a long text in pieces, and the process would discard unaccepted pieces at its exit.
  const lost = await flushed(process.stdout);
  if (code === 0 && lost !== undefined) {
    terminal.printError(`The command succeeded, but its output could not be written: ${lost.message}.`);
    process.exit(1);
  }
  // Exit explicitly: a signal during a natural exit would end the process with another code.
  process.exit(code);
}

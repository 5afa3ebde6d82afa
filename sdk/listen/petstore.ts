import { type Invocation, type Style, type Terminal, UsageError } from '../../src/cli/command.ts';
import { commandHelp } from '../../src/cli/command-help.ts';
import { listenCommand } from '../../src/cli/commands/listen.ts';
import { readHidden } from '../../src/cli/hidden-input.ts';
import { escapeLine } from '../../src/cli/terminal.ts';
import { parseUsage } from '../../src/cli/usage.ts';
import { UserError } from '../../src/lib/user-error.ts';

// The command `petstore` of the package. It runs on older versions of Node.js than the service.

const { stdin, stdout, stderr, env } = process;
const format = (codes: readonly [on: number, off: number]) => (text: string) =>
  stdout.isTTY && !env['NO_COLOR'] ? `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m` : text;
const style: Style = { bold: format([1, 22]), dim: format([2, 22]) };
const terminal: Terminal = {
  print: text => void stdout.write(`${text}\n`),
  printError: text => void stderr.write(`${text}\n`),
  write: async text => stdout.write(text),
  ...(stdin.isTTY && stderr.isTTY && { readHidden: question => readHidden(question, stdin, stderr) }),
  style,
};

/** Runs a command line, and returns its exit code. */
async function main([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || [name, ...rest].some(arg => /^(-h|--help|help)$/.test(arg))) {
    terminal.print(commandHelp(listenCommand, style));
    return 0;
  }
  try {
    if (name !== 'listen') throw new UsageError('The only command of this package is `petstore listen`.');
    const usage: Pick<Invocation, 'options' | 'json'> = parseUsage(listenCommand, rest);
    const { value, text } = await listenCommand.run({ ...usage, terminal });
    terminal.print(usage.json ? JSON.stringify(value) : text());
    return 0;
  } catch (error) {
    const isMisuse = error instanceof UsageError;
    const { message } = error as Error;
    const known = isMisuse || error instanceof UserError ? message : `Unexpected error: ${message}`;
    terminal.printError(escapeLine(isMisuse ? `${known} See \`petstore listen --help\`.` : known));
    return isMisuse ? 2 : 1;
  }
}

// A closed output ends the command, as in `petstore listen | head`.
stdout.on('error', () => process.exit(1));
const code = await main(process.argv.slice(2));
stdout.write('', () => process.exit(code));

import assert from 'node:assert/strict';
import type { Terminal } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { plain } from '../../src/cli/terminal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The exit code and output of a command. */
export interface Outcome {
  readonly code: number;
  readonly printed: string;
  readonly errors: string;
  /** The progress of long work, such as `Exporting 100 %`. */
  readonly progress: readonly string[];
}

/** Runs a command line in this process, beside a server of the same data. */
export async function petstore(environment: Environment, ...args: string[]): Promise<Outcome> {
  const outcome = { printed: '', errors: '', progress: [] as string[] };
  const terminal: Terminal = {
    print: text => {
      outcome.printed += `${text}\n`;
    },
    printError: text => {
      outcome.errors += `${text}\n`;
    },
    write: async text => {
      outcome.printed += text;
    },
    showProgress: (step, share) => outcome.progress.push(`${step} ${Math.floor(share * 100)} %`),
    style: plain,
  };
  return { code: await main(args, environment, terminal), ...outcome };
}

/** Runs a command that must succeed and returns the JSON value that it prints. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the shape
export async function jsonOf(environment: Environment, ...args: string[]): Promise<any> {
  const { code, printed, errors } = await petstore(environment, ...args, '--json');
  assert.equal(code, 0, `petstore ${args.join(' ')}: ${errors}`);
  assert.match(printed, /^[^\n]+\n$/);
  return JSON.parse(printed);
}

/** Runs a command that must succeed and returns its text. */
export async function textOf(environment: Environment, ...args: string[]): Promise<string> {
  const { code, printed, errors } = await petstore(environment, ...args);
  assert.equal(code, 0, `petstore ${args.join(' ')}: ${errors}`);
  return printed;
}

/** Asserts that a command fails with one sentence. */
export async function refused(environment: Environment, sentence: RegExp, ...args: string[]) {
  const { code, printed, errors } = await petstore(environment, ...args);
  assert.deepEqual([code, printed], [1, ''], `petstore ${args.join(' ')}: ${errors}`);
  assert.match(errors, sentence);
  assert.match(errors, /^[^\n]+\n$/);
}

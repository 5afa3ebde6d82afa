import type { Config } from '../config.ts';
import type { SystemClock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';

export interface Option {
  readonly description: string;
  /** The name of its value in help, in capitals. An option without it is a switch. */
  readonly value?: string;
  readonly required?: boolean;
  /** The only values that it accepts. */
  readonly choices?: readonly string[];
  readonly default?: string;
  /** Whether it accepts several values: separated by commas, or in several uses of the option. */
  readonly repeatable?: boolean;
}

/** A command is a value: dispatch, help and the reference page derive from it. */
export interface Command {
  /** One word or two: `key create`. */
  readonly name: string;
  /** What the command does, as one sentence. */
  readonly summary: string;
  /** More paragraphs for its help. */
  readonly details?: string;
  /** Positional arguments: name in capitals → description. All are required. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Options by their long names, without `--json` and `--help`, which every command accepts. */
  readonly options?: Readonly<Record<string, Option>>;
  /** Command lines that work → purpose. */
  readonly examples: Readonly<Record<string, string>>;
  /** Whether its help lists the settings. */
  readonly settings?: true;
  /** Runs the command; one that prints by itself returns nothing. @throws {UserError} exit 1 @throws {UsageError} exit 2 */
  run(invocation: Invocation): Promise<CommandOutput | undefined>;
}

/** Arguments and options as the user typed them, and the environment that the command runs in. */
export interface Invocation {
  /** The name of the command. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, string>>;
  /** The options that are given or have a default. Switches are `'true'`; several values are joined by commas. */
  readonly options: Readonly<Record<string, string>>;
  /** Whether standard output gets one JSON value and nothing else. */
  readonly json: boolean;
  readonly config: Config;
  readonly clock: SystemClock;
  readonly terminal: Terminal;
}

/** The output of a command: one JSON value, or text for people. */
export interface CommandOutput {
  readonly value: unknown;
  text(style: Style): string;
  /** A hint that follows on standard error. */
  readonly hint?: string;
  /** Whether the command exits with 1 nevertheless. */
  readonly failed?: boolean;
}

/** The two output streams of a command. */
export interface Terminal {
  print(text: string): void;
  /** Writes a line to standard error. */
  printError(text: string): void;
  /** Writes a part of the output, and waits until its reader has accepted it or has gone. */
  write(text: string): Promise<unknown>;
  /** Shows on one line of standard error how much of long work is done, from 0 to 1; absent if that is no terminal. */
  showProgress?(step: string, share: number): void;
  readonly style: Style;
}

/** Formats text on terminals that support it. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
}

/** Wrong usage: one sentence, followed by a pointer to the help; exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Returns the result of `check`, and turns a UserError into a UsageError: the input is wrong whatever is stored. */
export function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof UserError ? new UsageError(error.message) : error;
  }
}

/** The option of commands that work on one of the two deployments. */
export const deploymentOption: Option = {
  description: 'The deployment to use.',
  value: 'DEPLOYMENT',
  choices: ['production', 'staging'],
  default: 'production',
};

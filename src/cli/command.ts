import type { SystemClock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';
import type { CommandOption } from '../model/command-form.ts';
import type { Config } from '../model/config.ts';

export type { CommandOption as Option };

/** A command is a value: dispatch, help and the reference page derive from it. */
export interface Command {
  /** One word or two: `key create`. */
  readonly name: string;
  /** The effect of the command, in one sentence. */
  readonly summary: string;
  /** More paragraphs of its help. */
  readonly details?: string;
  /** Positional arguments: name in capitals → description. All are required. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Options by their long names, without `--json` and `--help`, which every command accepts. */
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Working command lines → purpose. */
  readonly examples: Readonly<Record<string, string>>;
  /** Whether its help lists the settings. */
  readonly settings?: true;
  /** Checks the arguments and options as typed, before they are parsed. @throws {UsageError} */
  check?(args: readonly string[]): void;
  /**
   * Runs the command. Returns `undefined` if the command has printed its output. @throws {UserError} exit 1 @throws
   * {UsageError} exit 2
   */
  run(invocation: Invocation): Promise<CommandOutput | undefined>;
}

/** Arguments and options as typed by the user, and the environment of the command. */
export interface Invocation {
  /** The name of the command. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, string>>;
  /**
   * The options that are given or have a default. A switch has the value `'true'`; several values are joined by commas.
   */
  readonly options: Readonly<Record<string, string>>;
  /** Whether to print only one JSON value to standard output. */
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
  /** Whether the command exits with 1 despite its output. */
  readonly failed?: boolean;
}

/** The two output streams of a command. */
export interface Terminal {
  print(text: string): void;
  /** Writes a line to standard error. */
  printError(text: string): void;
  /** Writes a part of the output, and waits until its reader has accepted it or closed the stream. */
  write(text: string): Promise<unknown>;
  /**
   * Shows the completed share of a long step, from 0 to 1, on one line of standard error; absent if that is not a
   * terminal.
   */
  showProgress?(step: string, share: number): void;
  /** Asks for a line that the terminal does not show; absent if the user cannot be asked. */
  readHidden?(question: string): Promise<string>;
  readonly style: Style;
}

/** Formats text on terminals that support it. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
}

/** A usage error: one sentence, followed by a pointer to the help; exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Returns the result of `check`, and converts a UserError to a UsageError: the input is wrong regardless of the stored
 * data.
 */
export function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof UserError ? new UsageError(error.message) : error;
  }
}

/** The option of commands that use one of the two deployments. */
export const deploymentOption: CommandOption = {
  description: 'The deployment to use.',
  value: 'DEPLOYMENT',
  choices: ['production', 'staging'],
  default: 'production',
};

import type { Config } from '../config.ts';
import type { SystemClock } from '../lib/clock.ts';
import { UserError } from '../lib/user-error.ts';

/** An option of a command. */
export interface Option {
  readonly sentence: string;
  /** What stands for its value in help, in capitals; an option without it is a switch. */
  readonly value?: string;
  readonly required?: true;
  /** The only values that it takes. */
  readonly choices?: readonly string[];
  /** The value where the option is left out. */
  readonly default?: string;
  /** Whether it takes several values: with commas between them, as the command then gets them, or given several times. */
  readonly repeatable?: true;
}

/** A command is a value: dispatch, help, the tests of the documentation read it. */
export interface Command {
  /** One word, or two: `key create`. */
  readonly name: string;
  /** What it does, as a sentence. */
  readonly sentence: string;
  /** More paragraphs for its help. */
  readonly details?: string;
  /** What follows its name: name in capitals → sentence. Each is required. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** By their long names, without `--json` and `--help`, which every command takes. */
  readonly options?: Readonly<Record<string, Option>>;
  /** Command lines that work, each with what it is for. */
  readonly examples: readonly { readonly line: string; readonly sentence: string }[];
  /** Whether its help lists the settings. */
  readonly settings?: true;
  /**
   * Does it. What it returns is printed; a command that prints by itself returns nothing.
   * @throws {UserError} when it cannot be done: one sentence, exit 1
   * @throws {UsageError} when the options do not go together: one sentence, exit 2
   */
  run(call: CommandCall): Promise<CommandOutput | undefined>;
}

/** What a command is called with. */
export interface CommandCall {
  /** The arguments, by their names. */
  readonly arguments: Readonly<Record<string, string>>;
  /** The options that were given, by name; switches are `'true'`. */
  readonly options: Readonly<Record<string, string>>;
  /** Whether one JSON value is wanted on standard output, and nothing else. */
  readonly json: boolean;
  readonly config: Config;
  readonly clock: SystemClock;
  readonly terminal: Terminal;
}

/** What a command tells: one JSON value, or text for people. */
export interface CommandOutput {
  readonly value: unknown;
  text(style: Style): string;
  /** A sentence to people, told behind it on standard error. */
  readonly onward?: string;
}

/** The two streams that a command writes to. */
export interface Terminal {
  /** To standard output, with a line's end. */
  print(text: string): void;
  /** To standard error, with a line's end. */
  tell(text: string): void;
  readonly style: Style;
}

/** Marks text on terminals that show it, and nothing elsewhere. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
}

/** Wrong usage: one sentence, after which help is named; exit 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Misuse';
  }
}

/** What `check` gives; a refusal by it is wrong usage: what was typed can never work, whatever is stored. */
export function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof UserError ? new UsageError(error.message) : error;
  }
}

/** The text form of a list. */
export interface ListForm {
  /** The values shown beside the id. */
  readonly columns: readonly string[];
  /** The plural noun. */
  readonly noun: string;
  /** The hint for an empty list. */
  readonly hint: string;
  /** The hint on staging, if it differs. */
  readonly stagingHint?: string;
}

/** The command-line form of an operation: the parts that do not derive from its route. */
export interface CommandForm {
  /** More paragraphs of its help. */
  readonly details?: string;
  /** The operation; by default the operation with the same name: `listPets` for `pet list`, `getPet` for `pet show`. */
  readonly operation?: string;
  /** Working command lines, without `petstore` and the name → purpose. */
  readonly examples: Readonly<Record<string, string>>;
  /** By default the summary of the operation. */
  readonly summary?: string;
  /**
   * The operation that reads the resource in the transaction of a change: after it, or before a deletion. The command
   * prints that instead of the response.
   */
  readonly reads?: string;
  /**
   * Adds the option `--account`, with this description: the account that the command acts for. Lists do not require it.
   */
  readonly account?: string;
  /** Names of options that do not derive from the member; `null` for members without an option. */
  readonly flags?: Readonly<Record<string, string | null>>;
  /** Changes of derived options, and options that do not set members. */
  readonly options?: Readonly<Record<string, Partial<CommandOption>>>;
  /** Present for list commands. */
  readonly list?: ListForm;
  /** Returns the confirmation of a change that has no resource to show. */
  done?(value: Readonly<Record<string, unknown>>): string;
}

/** An option of a command. */
export interface CommandOption {
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

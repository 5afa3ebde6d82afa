import { parseArgs } from 'node:util';
import { suggestion } from '../lib/suggestion.ts';
import { type Command, type Invocation, type Option, UsageError } from './command.ts';

/** Options by their long names. */
type Options = Readonly<Record<string, Option>>;

/** The options of every command. */
export const commonOptions: Options = {
  json: { description: 'Print one JSON value on standard output, and nothing else there.' },
  help: { description: 'Show this help.' },
};

/**
 * Parses the command line after the name of the command.
 * @throws {UsageError} for an unknown, repeated or missing option or argument, and for a value that is not a choice
 */
export function parseUsage(
  command: Command,
  args: readonly string[],
): Pick<Invocation, 'arguments' | 'options' | 'json'> {
  command.check?.(args);
  const known: Options = { ...command.options, ...commonOptions };
  const { tokens, positionals } = tokensOf(args, known);
  const options: Record<string, string> = {};
  for (const token of tokens.filter(token => token.kind === 'option')) {
    const { name, rawName } = token;
    const option = Object.hasOwn(known, name) ? known[name]! : unknownOption(command, known, rawName);
    const value = optionValue(option, token);
    const earlier = options[name];
    if (earlier !== undefined && !option.repeatable) throw new UsageError(`--${name} is given twice.`);
    options[name] = earlier === undefined ? value : `${earlier},${value}`;
  }
  for (const [name, option] of Object.entries(known)) {
    if (option.required && options[name] === undefined) {
      throw new UsageError(`\`petstore ${command.name}\` needs --${name} ${option.value}.`);
    }
    if (option.default !== undefined) options[name] ??= option.default;
  }
  return { arguments: namedArguments(command, positionals), options, json: options.json !== undefined };
}

function unknownOption(command: Command, known: Options, rawName: string): never {
  const names = Object.keys(known).map(one => `--${one}`);
  throw new UsageError(`\`petstore ${command.name}\` has no option ${rawName}${suggestion(rawName, names)}`);
}

function tokensOf(args: readonly string[], known: Options) {
  const options = Object.entries(known).map(([name, { value }]) => {
    return [name, { type: value === undefined ? 'boolean' : 'string' } as const];
  });
  return parseArgs({ args: [...args], strict: false, tokens: true, options: Object.fromEntries(options) });
}

function optionValue(
  { value, choices, repeatable }: Option,
  { name, value: text, inlineValue }: { name: string; value: string | undefined; inlineValue: boolean | undefined },
): string {
  if (value === undefined) {
    if (text !== undefined) throw new UsageError(`--${name} takes no value.`);
    return 'true';
  }
  if (text === undefined || (inlineValue !== true && text.startsWith('-'))) {
    throw new UsageError(`--${name} needs a value: --${name}=${value}.`);
  }
  const wrong = choices && (repeatable ? text.split(',') : [text]).find(one => !choices.includes(one));
  if (wrong === undefined) return text;
  throw new UsageError(`--${name} must be ${choices!.join(' or ')}${suggestion(wrong, choices!)}`);
}

function namedArguments(command: Command, positionals: readonly string[]): Record<string, string> {
  const names = Object.keys(command.arguments ?? {});
  if (positionals.length < names.length) {
    throw new UsageError(`\`petstore ${command.name}\` needs ${names.slice(positionals.length).join(' and ')}.`);
  }
  const extra = positionals[names.length];
  if (extra !== undefined) {
    throw new UsageError(`\`petstore ${command.name}\` takes no argument ${JSON.stringify(extra)}.`);
  }
  return Object.fromEntries(names.map((name, index) => [name, positionals[index]!]));
}

import { parseArgs } from 'node:util';
import { type Command, type CommandCall, type Option, UsageError } from './command.ts';
import { commonOptions } from './commands.ts';
import { nearest } from './nearest.ts';

/**
 * What was typed after a command's name, as the command takes it.
 * @throws {UsageError} for what it does not take, and for what is missing
 */
export function readUsage(
  command: Command,
  args: readonly string[],
): Pick<CommandCall, 'arguments' | 'options' | 'json'> {
  const known: Readonly<Record<string, Option>> = { ...command.options, ...commonOptions };
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(known).map(([name, option]) => [
        name,
        { type: option.value === undefined ? 'boolean' : 'string' },
      ]),
    ),
  });

  const options: Record<string, string> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind === 'option') {
      const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
      if (option === undefined) {
        throw new UsageError(
          `\`petstore ${command.name}\` has no option ${token.rawName}${nearest(
            token.rawName,
            Object.keys(known).map(name => `--${name}`),
          )}`,
        );
      }
      const value = optionValue(token.name, option, token);
      if (options[token.name] !== undefined && option.repeatable !== true) {
        throw new UsageError(`--${token.name} was given twice.`);
      }
      options[token.name] = options[token.name] === undefined ? value : `${options[token.name]},${value}`;
    }
  }
  for (const [name, option] of Object.entries(known)) {
    if (option.required === true && options[name] === undefined) {
      throw new UsageError(`\`petstore ${command.name}\` needs --${name} ${option.value}.`);
    }
    if (option.default !== undefined) options[name] ??= option.default;
  }

  const names = Object.keys(command.arguments ?? {});
  if (positionals.length < names.length) {
    throw new UsageError(`\`petstore ${command.name}\` needs ${names.slice(positionals.length).join(' and ')}.`);
  }
  if (positionals.length > names.length) {
    throw new UsageError(`\`petstore ${command.name}\` takes no ${JSON.stringify(positionals[names.length])} there.`);
  }
  return {
    arguments: Object.fromEntries(names.map((name, index) => [name, positionals[index]!])),
    options,
    json: options.json !== undefined,
  };
}

function optionValue(
  name: string,
  option: Option,
  token: { readonly value: string | undefined; readonly inlineValue: boolean | undefined },
): string {
  if (option.value === undefined) {
    if (token.value !== undefined) throw new UsageError(`--${name} takes no value.`);
    return 'true';
  }
  if (token.value === undefined || (token.inlineValue !== true && token.value.startsWith('-'))) {
    throw new UsageError(`--${name} needs a value: --${name}=${option.value}.`);
  }
  const { choices, repeatable } = option;
  if (choices !== undefined) {
    const wrong = (repeatable ? token.value.split(',') : [token.value]).find(one => !choices.includes(one));
    if (wrong !== undefined)
      throw new UsageError(`--${name} must be ${choices.join(' or ')}${nearest(wrong, choices)}`);
  }
  return token.value;
}

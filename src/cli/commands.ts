import { type Command, type Option, UsageError } from './command.ts';
import { nearest } from './nearest.ts';

/** Every command of `petstore`, by name, in the order of its help; each is loaded when it is called. */
export const commands: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  serve: () => import('./serve.ts'),
  'account create': () => import('./account-create.ts'),
  'account list': () => import('./account-list.ts'),
  'key create': () => import('./key-create.ts'),
  'key list': () => import('./key-list.ts'),
  'key revoke': () => import('./key-revoke.ts'),
  'key rotate': () => import('./key-rotate.ts'),
  'ban list': () => import('./ban-list.ts'),
  'ban lift': () => import('./ban-lift.ts'),
  'pet list': () => import('./pet-list.ts'),
  'pet show': () => import('./pet-show.ts'),
  'pet create': () => import('./pet-create.ts'),
  'pet update': () => import('./pet-update.ts'),
  'pet delete': () => import('./pet-delete.ts'),
  'category list': () => import('./category-list.ts'),
  'category show': () => import('./category-show.ts'),
  'category create': () => import('./category-create.ts'),
  'category update': () => import('./category-update.ts'),
  'category delete': () => import('./category-delete.ts'),
  'category merge': () => import('./category-merge.ts'),
  'hold list': () => import('./hold-list.ts'),
  'hold show': () => import('./hold-show.ts'),
  'hold extend': () => import('./hold-extend.ts'),
  'hold release': () => import('./hold-release.ts'),
  'order list': () => import('./order-list.ts'),
  'order show': () => import('./order-show.ts'),
  'order place': () => import('./order-place.ts'),
  'order approve': () => import('./order-approve.ts'),
  'order deliver': () => import('./order-deliver.ts'),
  'order cancel': () => import('./order-cancel.ts'),
  'order return': () => import('./order-return.ts'),
  'message list': () => import('./message-list.ts'),
  'message show': () => import('./message-show.ts'),
  'message send': () => import('./message-send.ts'),
  'webhook list': () => import('./webhook-list.ts'),
  'webhook show': () => import('./webhook-show.ts'),
  'webhook disable': () => import('./webhook-disable.ts'),
  'webhook delete': () => import('./webhook-delete.ts'),
  'staging reset': () => import('./staging-reset.ts'),
  migrate: () => import('./migrate.ts'),
  openapi: () => import('./openapi.ts'),
};

/** What every command takes beside its own options. */
export const commonOptions: Readonly<Record<string, Option>> = {
  json: { sentence: 'Print one JSON value on standard output, and nothing else there.' },
  help: { sentence: 'Show this help.' },
};

/**
 * Which command a line of arguments means, what follows its name, and whether its help is wanted. The name may be half
 * of a command, of none, or empty.
 */
export function findCommand(args: readonly string[]): { name: string; rest: readonly string[]; wantsHelp: boolean } {
  const asked = args[0] === 'help';
  const line = asked ? args.slice(1) : args;
  const options = line.findIndex(arg => arg.startsWith('-'));
  const words = options === -1 ? line : line.slice(0, options);
  const name =
    Object.hasOwn(commands, words[0] ?? '') || words.length < 2 ? (words[0] ?? '') : words.slice(0, 2).join(' ');
  const rest = line.slice(name === '' ? 0 : name.split(' ').length);
  const end = rest.indexOf('--');
  const wantsHelp = asked || (end === -1 ? rest : rest.slice(0, end)).some(arg => arg === '--help' || arg === '-h');
  return { name, rest, wantsHelp };
}

/** The wrong usage of naming no command, half of one, or one that does not exist. */
export function missingCommand(name: string, rest: readonly string[] = []): UsageError {
  const names = Object.keys(commands);
  if (name === '') {
    return new UsageError(
      rest.length === 0
        ? `Say what to do: ${names.join(', ')}.`
        : `Say the command before ${rest[0]}, like \`petstore serve ${rest[0]}\`.`,
    );
  }
  const parts = names.filter(known => known.startsWith(`${name} `));
  if (parts.length > 0) return new UsageError(`\`petstore ${name}\` is half a command; say ${parts.join(', or ')}.`);
  return new UsageError(`There is no command \`petstore ${name}\`${nearest(name, names)}`);
}

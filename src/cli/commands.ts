import { suggestion } from '../lib/suggestion.ts';
import type { Noun } from '../model/noun.ts';
import { type Command, UsageError } from './command.ts';

type Commands = Readonly<Record<string, () => Promise<Command>>>;

/** The first commands of the help. Each loads its code when it is called. */
const first: Commands = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  'account create': async () => (await import('./commands/account.ts')).accountCreate,
  'account list': async () => (await import('./commands/account.ts')).accountList,
  'account show': async () => (await import('./commands/account.ts')).accountShow,
  'account update': async () => (await import('./commands/account.ts')).accountUpdate,
  'account suspend': async () => (await import('./commands/account.ts')).accountSuspend,
  'account resume': async () => (await import('./commands/account.ts')).accountResume,
  'account revoke-keys': async () => (await import('./commands/account-data.ts')).accountRevokeKeys,
  'account link': async () => (await import('./commands/account-link.ts')).accountLink,
  'account transfer': async () => (await import('./commands/account-data.ts')).accountTransfer,
  'account export': async () => (await import('./commands/account-export.ts')).accountExport,
  'account delete': async () => (await import('./commands/account-data.ts')).accountDelete,
  'member list': async () => (await import('./commands/member.ts')).memberList,
  'member link': async () => (await import('./commands/account-link.ts')).memberLink,
  'member remove': async () => (await import('./commands/member.ts')).memberRemove,
  'member reset-second-factor': async () => (await import('./commands/member.ts')).memberResetSecondFactor,
  export: async () => (await import('./commands/export.ts')).exportAnimals,
  import: async () => (await import('./commands/import.ts')).importAnimals,
  'key create': async () => (await import('./commands/key.ts')).keyCreate,
  'key list': async () => (await import('./commands/key.ts')).keyList,
  'key revoke': async () => (await import('./commands/key.ts')).keyRevoke,
  'key rotate': async () => (await import('./commands/key.ts')).keyRotate,
  'ban list': async () => (await import('./commands/ban.ts')).banList,
  'ban lift': async () => (await import('./commands/ban.ts')).banLift,
  'audit refusals': async () => (await import('./commands/audit.ts')).auditRefusals,
};

/** The last commands of the help. */
const last: Commands = {
  listen: async () => (await import('./commands/listen.ts')).listenCommand,
  'staging reset': async () => (await import('./commands/staging.ts')).stagingReset,
  'postal-codes import': async () => (await import('./commands/postal-codes.ts')).postalCodesImport,
  backup: async () => (await import('./commands/backup.ts')).backup,
  restore: async () => (await import('./commands/backup.ts')).restore,
  verify: async () => (await import('./commands/verify.ts')).verify,
  compact: async () => (await import('./commands/compact.ts')).compact,
  copy: async () => (await import('./commands/copy.ts')).copy,
  'secret-key rotate': async () => (await import('./commands/secret-key.ts')).secretKeyRotate,
  migrate: async () => (await import('./commands/migrate.ts')).migrate,
  health: async () => (await import('./commands/health.ts')).health,
  openapi: async () => (await import('./commands/openapi.ts')).openapi,
};

const own: Commands = { ...first, ...last };

/** Returns every command of `petstore` by name, in the order of the help; those of the nouns are between the others. */
export async function allCommands(): Promise<Commands> {
  const { nouns } = await import('../model/nouns.ts');
  const ofNouns = Object.entries<Noun>(nouns).flatMap(([kind, { commands }]) =>
    Object.entries(commands).map(([verb, form]) => {
      const name = `${kind} ${verb}`;
      return [name, async () => (await import('./store/store-command.ts')).storeCommand(name, form)] as const;
    }),
  );
  return { ...first, ...Object.fromEntries(ofNouns), ...last };
}

/** Returns the command with this name, without loading the nouns for the others. @throws {UsageError} */
export async function commandNamed(name: string, rest: readonly string[]): Promise<Command> {
  const commands = Object.hasOwn(own, name) || name === '' ? own : await allCommands();
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) throw await unknownCommand(name, rest);
  return load();
}

/**
 * Splits a command line into the name of a command and the remaining arguments. The name may be a group (`key`),
 * unknown, or empty.
 */
export function findCommand(args: readonly string[]): { name: string; rest: readonly string[]; wantsHelp: boolean } {
  const helpFirst = args[0] === 'help';
  const line = helpFirst ? args.slice(1) : args;
  const firstOption = line.findIndex(arg => arg.startsWith('-'));
  const words = firstOption === -1 ? line : line.slice(0, firstOption);
  const [word = ''] = words;
  const name = Object.hasOwn(own, word) || words.length < 2 ? word : words.slice(0, 2).join(' ');
  const rest = line.slice(name === '' ? 0 : name.split(' ').length);
  const end = rest.indexOf('--');
  const options = end === -1 ? rest : rest.slice(0, end);
  return { name, rest, wantsHelp: helpFirst || options.includes('--help') || options.includes('-h') };
}

/** Returns the error for a command line with a missing, incomplete or unknown command. */
export async function unknownCommand(name: string, rest: readonly string[] = []): Promise<UsageError> {
  const names = Object.keys(await allCommands());
  if (name === '' && rest.length === 0) return new UsageError(`Name a command: ${names.join(', ')}.`);
  if (name === '') {
    return new UsageError(`Name the command before ${rest[0]}, for example \`petstore serve ${rest[0]}\`.`);
  }
  const members = names.filter(known => known.startsWith(`${name} `));
  return new UsageError(
    members.length > 0
      ? `\`petstore ${name}\` is incomplete; use ${members.join(', or ')}.`
      : `There is no command \`petstore ${name}\`${suggestion(name, names)}`,
  );
}

import type { Deployment as Context } from '../deployment.ts';
import { Problem } from '../lib/http/problem.ts';
import { UserError } from '../lib/user-error.ts';
import type { Database, DeploymentName } from '../schema.ts';
import { type Command, type CommandCall, type CommandOutput, type Option, UsageError } from './command.ts';
import { withDatabase, withRegistry } from './databases.ts';

/** A command on what one deployment holds: its animals, categories, holds, orders and messages. */
export interface StoreCommand<Wish> extends Omit<Command, 'run'> {
  /**
   * What is wished, as far as that can be told from what was typed.
   * @throws {UsageError} when it can never work, whatever is stored
   */
  read(call: CommandCall): Wish | Promise<Wish>;
  /**
   * Does it.
   * @throws {Problem} as the room does
   * @throws {UserError}
   */
  work(store: Store, wish: Wish): Promise<CommandOutput>;
}

/** A deployment as its commands see it. */
export interface Store extends Pick<Context, 'name' | 'database' | 'categories' | 'heldMax'> {
  /** The time for reads, in whole milliseconds since the Unix epoch. */
  readonly now: number;
  /**
   * Demands that an account exists. Accounts are kept once, beside production's data.
   * @throws {UserError} when it does not
   */
  requireAccount(id: number): Promise<void>;
}

/** The command for a store command: with the option that says on which deployment it works, production where left out. */
export function storeCommand<Wish>({ read, work, ...command }: StoreCommand<Wish>): Command {
  return {
    ...command,
    options: { ...command.options, deployment },
    async run(call) {
      const wish = await read(call);
      const name = call.options['deployment'] as DeploymentName;
      return withDatabase(call, call.config.locations[name], async database => {
        try {
          return await work(storeOf(call, name, database), wish);
        } catch (error) {
          throw error instanceof Problem ? refusalOf(error) : error;
        }
      });
    },
  };
}

const deployment: Option = {
  sentence: 'The deployment that it works on.',
  value: 'DEPLOYMENT',
  choices: ['production', 'staging'],
  default: 'production',
};

function storeOf(call: CommandCall, name: DeploymentName, database: Database): Store {
  const { config, clock } = call;
  return {
    name,
    database,
    categories: config.categories,
    heldMax: config.heldMax,
    now: Math.floor(clock.now()),
    async requireAccount(id) {
      const { getAccount } = await import('../accounts/accounts.ts');
      if (name === 'production') await getAccount(database, id);
      else await withRegistry(call, registry => getAccount(registry, id));
    },
  };
}

/** The number that an argument or an option names something by. */
export function readId(name: string, text: string): number {
  const id = Number(text);
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(id)) {
    throw new UsageError(`${name} must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, such as 7.`);
  }
  return id;
}

/** The same for an option that may be left out. */
export function readOptionalId(name: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : readId(name, text);
}

/** What stands for "without it" where an option could also name a value. */
export const NONE = 'none';

/**
 * What is sent over HTTP to do the same, judged by the same schema.
 * @throws {UsageError} with one sentence that names the option whose value is wrong
 */
export async function readBody<Body>(schema: object, body: Body): Promise<Body> {
  const { BodyReader } = await import('../lib/http/server/validation.ts');
  const reading = new BodyReader(schema).read(body, true);
  if ('value' in reading) return reading.value as Body;
  const { path, message } = reading.errors[0]!;
  throw new UsageError(sentenceOf(path, message));
}

/**
 * Demands that a change changes something.
 * @throws {UsageError} that names the options
 */
export function requireSome(patch: object, options: Readonly<Record<string, unknown>>): void {
  if (Object.keys(patch).length > 0) return;
  const names = Object.keys(options).map(name => `--${name}`);
  throw new UsageError(`Say what to change: ${names.join(', ')}.`);
}

/** The refusal of a room as people read it who typed options and no JSON. */
function refusalOf(problem: Problem): UserError {
  const [field] = problem.errors ?? [];
  if (field === undefined || !field.message.startsWith('Must ')) return new UserError(problem.message);
  if (field.path === 'cursor') {
    return new UserError('--cursor must be one that was told under a list with the same filters.');
  }
  return new UserError(sentenceOf(field.path, field.message));
}

/** `Must be …` of a member, as a sentence about the option that it was made of. */
function sentenceOf(path: string, message: string): string {
  const member = path.split('/').find(part => part !== '') ?? '';
  const option = optionOf[member] ?? member;
  if (option === 'slug') return '--slug must be lower-case letters and digits with single hyphens, 100 at most.';
  return `--${option} ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** The options that are called otherwise than the members that they become. */
const optionOf: Readonly<Record<string, string>> = {
  categoryId: 'category',
  statusReason: 'reason',
  parentId: 'parent',
  intoId: 'into',
  expiresAt: 'until',
  petId: 'pet',
  holdId: 'hold',
  replyTo: 'reply-to',
};

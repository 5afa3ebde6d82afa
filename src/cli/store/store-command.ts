import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { DeploymentName } from '../../schema.ts';
import {
  type Command,
  type CommandOutput,
  deploymentOption,
  type Invocation,
  type Option,
  UsageError,
} from '../command.ts';
import { withDatabase } from '../databases.ts';
import { listing, type Value } from '../text.ts';
import { parseId, parseInteger } from '../values.ts';
import { actions, type Input } from './actions.ts';
import type { StoreCommand } from './commands.ts';
import { type Member, membersOf, optionsOf, parseMembers, sentenceOf } from './options.ts';
import { operationNamed, readPages, Store, type StorePage } from './store.ts';
import { resourceText, rowOf } from './views.ts';

/** The most items that a list command prints. */
const LIMIT_MAX = 100_000;

const listOptions: Readonly<Record<string, Option>> = {
  limit: { description: `The most items to print, 1 to ${LIMIT_MAX}.`, value: 'N', default: '20' },
  cursor: { description: 'Where to continue: the cursor printed below a list with the same filters.', value: 'CURSOR' },
};

/** Returns the command that runs an operation of the store as its operator, or for the account of `--account`. */
export function storeCommand(name: string, definition: StoreCommand): Command {
  const { summary, account, flags = {}, options = {}, columns } = definition;
  const route = operationNamed(definition.operation);
  const members = [...membersOf('query', route.query, flags), ...membersOf('body', route.body, flags)];
  const [kind = ''] = name.split(' ');
  const [parameter] = Object.values(route.parameters ?? {});
  return {
    name,
    summary: summary ?? `${route.summary}.`,
    ...(definition.details && { details: definition.details }),
    ...(parameter && {
      arguments: { ID: `${parameter.description.replace(/\.$/, '')}; see \`petstore ${kind} list\`.` },
    }),
    options: {
      ...(account && { account: { description: account, value: 'ID', required: true } }),
      ...optionsOf(members, options),
      ...(columns && listOptions),
      deployment: deploymentOption,
    },
    examples: Object.fromEntries(
      Object.entries(definition.examples).map(([line, purpose]) => [`petstore ${name} ${line}`.trimEnd(), purpose]),
    ),
    async run(invocation) {
      definition.check?.(invocation.options);
      const input = await readInput(definition, members, invocation);
      const deployment = invocation.options['deployment'] as DeploymentName;
      return withDatabase(invocation, invocation.config.locations[deployment], async database => {
        try {
          const store = new Store(deployment, database, invocation);
          if (input.accountId !== undefined) await store.requireAccount(input.accountId);
          return await (columns ? runList(kind, definition, store, input) : runOne(kind, definition, store, input));
        } catch (error) {
          throw error instanceof Problem ? userError(error, members) : error;
        }
      });
    },
  };
}

/**
 * Reads the request of a command from its arguments and options.
 * @throws {UsageError} when the operation could never accept it, whatever is stored
 */
async function readInput(definition: StoreCommand, members: readonly Member[], invocation: Invocation): Promise<Input> {
  const { options, clock } = invocation;
  const { query, body, method, parameters = {} } = operationNamed(definition.operation);
  const path = Object.entries(parameters).map(([name, { schema }]) => [
    name,
    readId(schema, invocation.arguments['ID']!),
  ]);
  const read = (schema: object, now: number) => parseMembers(schema, membersIn(schema, members), options, now);
  const bodyAt = async (now: number) => body && read(body, now);
  const sent = await bodyAt(clock.now());
  if (method === 'PATCH' && Object.keys(sent!).length === 0) {
    throw new UsageError(`Name what to change: ${members.map(({ flag }) => `--${flag}`).join(', ')}.`);
  }
  return {
    path: Object.fromEntries(path),
    query: { ...(query && { ...(await read(query, clock.now())), ...definition.query }) },
    bodyAt,
    accountId: definition.account === undefined ? undefined : parseId('--account', options['account']!),
    options,
    limit: definition.columns ? parseInteger('--limit', options['limit']!, 1, LIMIT_MAX) : 1,
  };
}

function membersIn(schema: object, members: readonly Member[]): Member[] {
  const { properties = {} } = schema as { properties?: object };
  return members.filter(({ name }) => name in properties);
}

function readId(
  schema: { readonly type?: string; readonly pattern?: string; readonly examples?: readonly unknown[] },
  text: string,
) {
  if (schema.type === 'integer') return parseId('ID', text);
  if (new RegExp(schema.pattern!).test(text)) return text;
  throw new UsageError(`ID must be like ${schema.examples?.[0]}.`);
}

async function runOne(kind: string, definition: StoreCommand, store: Store, input: Input): Promise<CommandOutput> {
  const value = await resultOf(definition, store, input);
  return { value, text: style => definition.done?.(value) ?? resourceText(style, kind, value) };
}

async function resultOf(definition: StoreCommand, store: Store, input: Input): Promise<Value> {
  const { operation, action, reads } = definition;
  if (action !== undefined) return actions[action](store, input) as Promise<Value>;
  if (reads !== undefined) return store.atomically(tx => sendAndRead(tx, definition, reads, input));
  return (await store.send(operation, { ...input, body: await input.bodyAt(store.now) })) ?? idOf(input);
}

/** Runs a change and reads the resource that it changed, or the resource that it deletes beforehand. */
async function sendAndRead(tx: Store, definition: StoreCommand, reads: string, input: Input): Promise<Value> {
  const { operation, query } = definition;
  if (operationNamed(operation).method === 'DELETE') {
    const { status: _, ...last } = await tx.send(reads, { path: input.path });
    await tx.send(operation, { path: input.path });
    return { ...last, deletedAt: formatTime(tx.now) };
  }
  const { id } = await tx.send(operation, { ...input, query: {}, body: await input.bodyAt(tx.now) });
  const [parameter] = Object.keys(operationNamed(reads).parameters!);
  return tx.send(reads, { path: { [parameter!]: id }, ...(query && { query }) });
}

function idOf({ path }: Input): Value {
  return { id: Object.values(path)[0] };
}

async function runList(kind: string, definition: StoreCommand, store: Store, input: Input): Promise<CommandOutput> {
  const { operation, action, columns = [], empty } = definition;
  const { limit: _, cursor, deployment, ...filters } = input.options;
  const readPage = (page: object) => {
    const request = { ...input, query: { ...input.query, ...page } };
    return (action ? actions[action](store, request) : store.page(operation, request)) as Promise<StorePage>;
  };
  const { items, next } = await readPages(readPage, input.limit, cursor);
  const { noun, hint, stagingHint = hint } = empty!;
  const unfiltered = cursor === undefined && Object.keys(filters).every(name => name === 'json');
  const nothing = unfiltered
    ? `There are no ${noun}; ${deployment === 'staging' ? stagingHint : hint}`
    : `There are no such ${noun}; \`petstore ${kind} list\` lists all of them.`;
  const rows = items.map(item => rowOf(kind, item));
  return {
    value: items,
    text: style => listing(style, rows, ['id', ...columns], nothing),
    ...(next !== undefined && { hint: `There are more: run the same command with --cursor=${next} to continue.` }),
  };
}

/** Returns the error of an operation in the words of the command line. */
function userError(problem: Problem, members: readonly Member[]): UserError {
  const [field] = problem.errors ?? [];
  if (field === undefined || !field.message.startsWith('Must ')) return new UserError(problem.message);
  if (field.path !== 'cursor') return new UserError(sentenceOf(field.path, field.message, members));
  return new UserError('--cursor must be a cursor printed below a list with the same filters.');
}

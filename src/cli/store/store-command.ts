import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { CommandForm, ListForm } from '../../model/command-form.ts';
import type { DeploymentName } from '../../model/schema.ts';
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
import { type Action, actions, checks, type Input } from './actions.ts';
import { type BodyMember, membersOf, type OptionSchema, optionsOf, parseMembers, sentenceOf } from './options.ts';
import { operationNamed, readPages, Store, type StorePage, type StoreRoute } from './store.ts';
import { resourceText, rowOf } from './views.ts';

/** The maximum number of items that a list command prints. */
const LIMIT_MAX = 100_000;

const listOptions: Readonly<Record<string, Option>> = {
  limit: { description: `The maximum number of items to print, 1 to ${LIMIT_MAX}.`, value: 'N', default: '20' },
  cursor: { description: 'Where to continue: the cursor printed below a list with the same filters.', value: 'CURSOR' },
};

/** Returns the command that runs an operation of the store, for the operator or for the account of `--account`. */
export function storeCommand(name: string, definition: CommandForm): Command {
  const { summary, account, flags = {}, options = {}, list, details, examples } = definition;
  const [kind = ''] = name.split(' ');
  const route = operationNamed(definition.operation ?? defaultOperation(name));
  const members = [...membersOf('query', route.query, flags), ...membersOf('body', route.body, flags)];
  const perform = actions[name] ?? actionOf(definition, route);
  const [parameter] = Object.values(route.parameters ?? {});
  return {
    name,
    summary: summary ?? `${route.summary}.`,
    ...(details && { details }),
    ...(parameter && {
      arguments: { ID: `${parameter.description.replace(/\.$/, '')}; see \`petstore ${kind} list\`.` },
    }),
    options: {
      ...(account && { account: { description: account, value: 'ID', required: list === undefined } }),
      ...optionsOf(members, options),
      ...(list && listOptions),
      deployment: deploymentOption,
    },
    examples: Object.fromEntries(
      Object.entries(examples).map(([line, purpose]) => [`petstore ${name} ${line}`.trimEnd(), purpose]),
    ),
    async run(invocation) {
      checks[name]?.(invocation.options);
      const input = await readInput(definition, route, members, invocation);
      const deployment = invocation.options['deployment'] as DeploymentName;
      return withDatabase(invocation, invocation.config.locations[deployment], async database => {
        try {
          const store = new Store(deployment, database, invocation);
          if (input.accountId !== undefined) await store.requireAccount(input.accountId);
          if (list) {
            const readPage = (page: object) => perform(store, { ...input, query: { ...input.query, ...page } });
            return await listOutput(kind, list, input, readPage as (page: object) => Promise<StorePage>);
          }
          const value = await perform(store, input);
          return { value, text: style => definition.done?.(value) ?? resourceText(style, kind, value) };
        } catch (error) {
          throw error instanceof Problem ? userError(error, members) : error;
        }
      });
    },
  };
}

/** Returns the operation of a command by default: `getPet` for `pet show`, `listCategories` for `category list`. */
function defaultOperation(name: string): string {
  const [kind, verb] = name.split(' ') as [string, string];
  const noun = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  if (verb === 'list') return `list${`${noun}s`.replace(/ys$/, 'ies')}`;
  return `${verb === 'show' ? 'get' : verb}${noun}`;
}

/**
 * Reads the request of a command from its arguments and options.
 * @throws {UsageError} when the operation could not accept it with any stored data
 */
async function readInput(
  { account, list }: CommandForm,
  route: StoreRoute,
  members: readonly BodyMember[],
  { arguments: { ID }, options, clock }: Invocation,
): Promise<Input> {
  const { account: forAccount } = options;
  const { query, body, method, parameters = {} } = route;
  const read = (schema: object, now: number) => parseMembers(schema, members, options, now);
  const bodyAt = async (now: number) => body && read(body, now);
  const path = Object.entries(parameters).map(([name, { schema }]) => [name, readId(schema, ID!)]);
  // Rejects wrong options before the database is opened. The sent body counts durations from its transaction.
  const sent = await bodyAt(clock.now());
  if (method === 'PATCH' && Object.keys(sent!).length === 0) {
    throw new UsageError(`Name what to change: ${members.map(({ flag }) => `--${flag}`).join(', ')}.`);
  }
  return {
    path: Object.fromEntries(path),
    query: { ...(query && (await read(query, clock.now()))), ...fullView(route) },
    bodyAt,
    accountId: account === undefined || forAccount === undefined ? undefined : parseId('--account', forAccount),
    options,
    limit: list ? parseInteger('--limit', options['limit']!, 1, LIMIT_MAX) : 1,
  };
}

/** Returns the query that requests all fields, if the operation has views. */
function fullView({ query }: StoreRoute): { readonly view?: 'full' } {
  return query?.properties.view === undefined ? {} : { view: 'full' };
}

function readId({ type, pattern, examples }: OptionSchema, text: string) {
  if (type === 'integer') return parseId('ID', text);
  if (new RegExp(pattern!).test(text)) return text;
  throw new UsageError(`ID must be like ${examples?.[0]}.`);
}

/** Returns the function that runs an operation: one page of a list, or a single value. */
function actionOf({ list, reads }: CommandForm, route: StoreRoute): Action {
  const { operationId } = route;
  if (list) return (store, input) => store.page(operationId, input);
  if (reads !== undefined) {
    return (store, input) => store.atomically(tx => sendAndRead(tx, route, operationNamed(reads), input));
  }
  return async (store, input) => {
    const value = await store.send(operationId, { ...input, body: await input.bodyAt(store.now) });
    return value ?? { id: Object.values(input.path)[0] };
  };
}

/** Runs a change and then reads the changed resource; for a deletion, reads the resource first. */
async function sendAndRead(tx: Store, change: StoreRoute, read: StoreRoute, input: Input): Promise<Value> {
  const { path } = input;
  if (change.method === 'DELETE') {
    const { status: _, ...last } = await tx.send(read.operationId, { path });
    await tx.send(change.operationId, { path });
    return { ...last, deletedAt: formatTime(tx.now) };
  }
  const { id } = await tx.send(change.operationId, { ...input, body: await input.bodyAt(tx.now) });
  const [parameter] = Object.keys(read.parameters!);
  return tx.send(read.operationId, { path: { [parameter!]: id }, query: fullView(read) });
}

async function listOutput(
  kind: string,
  { columns, noun, hint, stagingHint = hint }: ListForm,
  { options, limit }: Input,
  readPage: (page: object) => Promise<StorePage>,
): Promise<CommandOutput> {
  const { limit: _, cursor, deployment, ...filters } = options;
  const { items, next } = await readPages(readPage, limit, cursor);
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

/** Returns the error of an operation in the terms of the command line. */
function userError(problem: Problem, members: readonly BodyMember[]): UserError {
  const [field] = problem.errors ?? [];
  if (field === undefined || !field.message.startsWith('Must ')) return new UserError(problem.message);
  if (field.path !== 'cursor') return new UserError(sentenceOf(field.path, field.message, members));
  return new UserError('--cursor must be a cursor printed below a list with the same filters.');
}

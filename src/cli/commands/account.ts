import { resolve } from 'node:path';
import {
  createAccount,
  getAccount,
  listAccounts,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from '../../access/accounts/accounts.ts';
import { suspendWithDependents } from '../../events/webhooks/account-changes.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { type Account, type AccountChange, checkChange, checkNewAccount } from '../../model/account.ts';
import { LIMIT_MAX, type PlanName, plans } from '../../model/plan.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import { asUsage, type Command, type CommandOutput, type Invocation, type Option, UsageError } from '../command.ts';
import { hasDatabase, untilEffective, withAccountDatabases, withAccounts } from '../databases.ts';
import { describe, launcher, listing, type Value, withTimes } from '../text.ts';
import { parseId, parseInteger } from '../values.ts';

/** The options that set the properties of an account. */
const properties = {
  email: { description: 'The e-mail address of the account; no two accounts share one.', value: 'EMAIL' },
  name: { description: `The name of the account, 1 to ${NAME_LENGTH_MAX} characters.`, value: 'NAME' },
  plan: {
    description: 'The plan, which sets the rate limits of the account.',
    value: 'PLAN',
    choices: Object.keys(plans),
  },
  'per-minute': {
    description: `Requests per minute, 1 to 10^${Math.log10(LIMIT_MAX)}; required by enterprise, and only for it.`,
    value: 'N',
  },
  'per-day': {
    description: `Requests per day, 1 to 10^${Math.log10(LIMIT_MAX)}; required by enterprise, and only for it.`,
    value: 'N',
  },
  admin: { description: 'Allow the keys of the account to change resources of other accounts.' },
} as const satisfies Record<string, Option>;

/** The argument of commands for one account. */
export const accountArgument = { ID: 'The id of the account; see `petstore account list`.' };

export const accountCreate: Command = {
  name: 'account create',
  summary: 'Create an account, which owns animals and API keys and has a plan.',
  details: 'Creates the embedded database as well, if the data directory has none.',
  options: {
    ...properties,
    email: { ...properties.email, required: true },
    name: { ...properties.name, required: true },
    plan: { ...properties.plan, default: 'free' },
  },
  examples: {
    'petstore account create --email shelter@example.org --name "Riverside Shelter"': 'on the free plan',
    'petstore account create --email big@example.org --name Big --plan enterprise --per-minute 5000 --per-day 1000000':
      'with its own limits',
  },
  async run(invocation) {
    const { email, name } = invocation.options;
    const newAccount = { email: email!, name: name!, ...changeOf(invocation.options) };
    asUsage(() => checkNewAccount(newAccount));
    const { dataDir, locations } = invocation.config;
    // Without PETSTORE_DATA_DIR, the operator may have run the command in the wrong directory.
    const creates = !hasDatabase(locations.production) && dataDir === resolve('data');
    const create = (accounts: Database) => accounts.write(tx => createAccount(tx, newAccount));
    const created = await withAccounts(invocation, create, { create: true });
    const { id: _, ...view } = accountView(withTimes(created));
    const next = `Create a key for the account: ${launcher()} key create --account ${created.id}`;
    return {
      value: withTimes(created),
      text: () => `${describe(view)}\n\n${next}`,
      ...(creates && { hint: `Created a new pet store in ${dataDir}.` }),
    };
  },
};

export const accountList: Command = {
  name: 'account list',
  summary: 'List all accounts, sorted by id.',
  examples: { 'petstore account list': 'all accounts' },
  async run(invocation) {
    const value = (await withAccounts(invocation, listAccounts)).map(withTimes);
    const columns = ['id', 'e-mail', 'name', 'plan', 'admin', 'state', 'createdAt'];
    return { value, text: style => listing(style, value.map(accountView), columns, 'There are no accounts.') };
  },
};

export const accountShow: Command = {
  name: 'account show',
  summary: 'Show an account.',
  arguments: accountArgument,
  examples: { 'petstore account show 7': 'its plan, and whether it is suspended' },
  run: invocation => show(invocation, getAccount),
};

export const accountUpdate: Command = {
  name: 'account update',
  summary: 'Change the name, e-mail address, plan, limits or rights of an account.',
  details:
    'Properties without an option stay as they are. Takes effect with the next request. A smaller plan deletes nothing: resources beyond its bounds stay, and the account can add more only once it is below the bounds.',
  arguments: accountArgument,
  options: {
    ...properties,
    'no-admin': { description: 'No longer allow the keys of the account to change resources of other accounts.' },
  },
  examples: {
    'petstore account update 7 --plan business': 'to another plan',
    'petstore account update 7 --plan enterprise --per-minute 5000 --per-day 1000000': 'with its own limits',
    'petstore account update 7 --no-admin': 'an account that is no longer an admin',
  },
  async run(invocation) {
    const { options } = invocation;
    if (options.admin !== undefined && options['no-admin'] !== undefined) {
      throw new UsageError('--admin and --no-admin exclude each other.');
    }
    const change = changeOf(options);
    if (Object.keys(change).length === 0) {
      const names = Object.keys(properties).map(name => `--${name}`);
      throw new UsageError(`Name what to change: ${[...names, '--no-admin'].join(', ')}.`);
    }
    asUsage(() => checkChange(change));
    return changed(invocation, (tx, id) => updateAccount(tx, id, change));
  },
};

export const accountSuspend: Command = {
  name: 'account suspend',
  summary:
    'Suspend an account: its API keys are rejected, its event streams and imports end, and its webhooks are disabled.',
  details:
    'Takes effect before the command ends. Its animals, orders and holds stay, and messages to it are still stored. Safe to repeat.',
  arguments: accountArgument,
  examples: { 'petstore account suspend 7': 'an account that misuses the service' },
  run: invocation => suspended(invocation, suspendAccount),
};

export const accountResume: Command = {
  name: 'account resume',
  summary: 'Resume a suspended account: its API keys are accepted again.',
  details:
    'Also cancels the deletion of the account, until the grace period ends. The owner must activate the webhooks again. Safe to repeat.',
  arguments: accountArgument,
  examples: { 'petstore account resume 7': 'after its owner has answered' },
  run: invocation => changed(invocation, resumeAccount),
};

/** Runs a change that suspends the account of an invocation, and returns the account as output. */
export async function suspended(invocation: Invocation, suspend: (tx: Transaction, id: number) => Promise<Account>) {
  const id = idOf(invocation);
  return output(
    await withAccountDatabases(invocation, async databases => {
      const account = await suspendWithDependents(databases, id, suspend);
      await untilEffective(databases.accounts);
      return account;
    }),
  );
}

/** Runs a change of the account of an invocation, and returns the account as output. */
function changed(invocation: Invocation, work: (tx: Transaction, id: number) => Promise<Account>) {
  return show(invocation, (accounts, id) => accounts.write(tx => work(tx, id)));
}

async function show(
  invocation: Invocation,
  work: (accounts: Database, id: number) => Promise<Account>,
): Promise<CommandOutput> {
  const id = idOf(invocation);
  return output(await withAccounts(invocation, accounts => work(accounts, id)));
}

function output(account: Account): CommandOutput {
  const value = withTimes(account);
  const { id: _, ...view } = accountView(value);
  return { value, text: () => describe(view) };
}

/**
 * Returns the account id of an invocation.
 * @throws {UsageError}
 */
export function idOf(invocation: Invocation): number {
  return parseId('ID', invocation.arguments['ID']!);
}

/** Returns an account in its text form. */
function accountView(value: Value): Value {
  const { id, email, name, plan, perMinute, perDay, admin, createdAt } = value;
  const limits = perMinute === null ? '' : ` (${perMinute} per minute, ${perDay} per day)`;
  return { id, account: id, 'e-mail': email, name, plan: plan + limits, admin, state: stateText(value), createdAt };
}

function stateText({ suspendedAt, deleteAt, deletedAt }: Value): string {
  if (deletedAt !== undefined) return `deleted at ${deletedAt}`;
  if (deleteAt !== undefined) return `suspended, to be deleted at ${deleteAt}`;
  return suspendedAt === undefined ? 'active' : `suspended since ${suspendedAt}`;
}

/** Returns the properties that options set. @throws {UsageError} */
function changeOf({ email, name, plan, admin, ...options }: Invocation['options']): AccountChange {
  const { 'per-minute': perMinute, 'per-day': perDay, 'no-admin': noAdmin } = options;
  return {
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name }),
    ...(plan !== undefined && { plan: plan as PlanName }),
    ...(perMinute !== undefined && { perMinute: parseInteger('--per-minute', perMinute, 1, LIMIT_MAX) }),
    ...(perDay !== undefined && { perDay: parseInteger('--per-day', perDay, 1, LIMIT_MAX) }),
    ...((admin ?? noAdmin) !== undefined && { admin: admin !== undefined }),
  };
}

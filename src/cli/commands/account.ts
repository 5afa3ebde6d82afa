import { checkNewAccount, LIMIT_MAX, type NewAccount } from '../../accounts/account.ts';
import { createAccount, listAccounts } from '../../accounts/accounts.ts';
import { type PlanName, plans } from '../../plans/plan.ts';
import { asUsage, type Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { describe, listing, type Value, withTimes } from '../text.ts';
import { parseInteger } from '../values.ts';

export const accountCreate: Command = {
  name: 'account create',
  summary: 'Create an account, which owns animals and API keys and has a plan.',
  options: {
    email: { description: 'Its e-mail address; no two accounts share one.', value: 'EMAIL', required: true },
    name: { description: 'Its name, 1 to 255 characters.', value: 'NAME', required: true },
    plan: {
      description: 'Its plan, which sets its rate limits.',
      value: 'PLAN',
      choices: Object.keys(plans),
      default: 'free',
    },
    'per-minute': {
      description: 'Requests per minute, 1 to 10^9; required by enterprise, and only for it.',
      value: 'N',
    },
    'per-day': { description: 'Requests per day, 1 to 10^9; required by enterprise, and only for it.', value: 'N' },
    admin: { description: 'Allow its keys to change what belongs to others.' },
  },
  examples: {
    'petstore account create --email shelter@example.org --name "Riverside Shelter"': 'on the free plan',
    'petstore account create --email big@example.org --name Big --plan enterprise --per-minute 5000 --per-day 1000000':
      'with its own limits',
  },
  async run(invocation) {
    const { options } = invocation;
    const newAccount: NewAccount = {
      email: options.email!,
      name: options.name!,
      plan: options.plan as PlanName,
      admin: options.admin !== undefined,
      ...(options['per-minute'] !== undefined && { perMinute: parseLimit('--per-minute', options['per-minute']) }),
      ...(options['per-day'] !== undefined && { perDay: parseLimit('--per-day', options['per-day']) }),
    };
    asUsage(() => checkNewAccount(newAccount));
    const account = await withAccounts(invocation, accounts => accounts.write(tx => createAccount(tx, newAccount)));
    const value = withTimes(account);
    const { id: _, ...view } = accountView(value);
    const next = `Create a key for it: petstore key create --account ${account.id} [--deployment staging]`;
    return { value, text: () => `${describe(view)}\n\n${next}` };
  },
};

export const accountList: Command = {
  name: 'account list',
  summary: 'List all accounts, sorted by id.',
  examples: { 'petstore account list': 'all accounts' },
  async run(invocation) {
    const value = (await withAccounts(invocation, listAccounts)).map(withTimes);
    const columns = ['id', 'e-mail', 'name', 'plan', 'admin', 'createdAt'];
    return { value, text: style => listing(style, value.map(accountView), columns, 'There are no accounts.') };
  },
};

/** Returns an account as people read it. */
function accountView({ id, email, name, plan, perMinute, perDay, admin, createdAt }: Value): Value {
  const limits = perMinute === null ? '' : ` (${perMinute} per minute, ${perDay} per day)`;
  return { id, account: id, 'e-mail': email, name, plan: plan + limits, admin, createdAt };
}

function parseLimit(option: string, text: string): number {
  return parseInteger(option, text, 1, LIMIT_MAX);
}

import { type Account, checkNewAccount, LIMIT_MAX, type NewAccount } from '../../accounts/account.ts';
import { formatTime } from '../../lib/time.ts';
import { type PlanName, plans } from '../../plans/plan.ts';
import { asUsage, type Command, UsageError } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { describe, listing } from '../text.ts';

/** `petstore account create` */
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
    const { createAccount } = await import('../../accounts/accounts.ts');
    const newAccount: NewAccount = {
      email: options.email!,
      name: options.name!,
      plan: options.plan as PlanName,
      admin: options.admin !== undefined,
      ...(options['per-minute'] !== undefined && { perMinute: parseLimit('per-minute', options['per-minute']) }),
      ...(options['per-day'] !== undefined && { perDay: parseLimit('per-day', options['per-day']) }),
    };
    asUsage(() => checkNewAccount(newAccount));
    const account = await withAccounts(invocation, accounts => accounts.write(tx => createAccount(tx, newAccount)));
    const { id: _, ...view } = accountView(account);
    const next = `Create a key for it: petstore key create --account ${account.id} [--deployment staging]`;
    return { value: accountValue(account), text: () => `${describe(view)}\n\n${next}` };
  },
};

/** `petstore account list` */
export const accountList: Command = {
  name: 'account list',
  summary: 'List all accounts, by id.',
  examples: { 'petstore account list': 'all accounts' },
  async run(invocation) {
    const { listAccounts } = await import('../../accounts/accounts.ts');
    const accounts = await withAccounts(invocation, listAccounts);
    const columns = ['id', 'e-mail', 'name', 'plan', 'admin', 'createdAt'];
    return {
      value: accounts.map(accountValue),
      text: style => listing(style, accounts.map(accountView), columns, 'There are no accounts.'),
    };
  },
};

function accountValue(account: Account) {
  return { ...account, createdAt: formatTime(account.createdAt) };
}

/** Returns an account as people read it. */
function accountView({ id, email, name, admin, createdAt, ...plan }: Account) {
  return { id, account: id, 'e-mail': email, name, plan: planText(plan), admin, createdAt: formatTime(createdAt) };
}

function planText({ plan, perMinute, perDay }: Pick<Account, 'plan' | 'perMinute' | 'perDay'>): string {
  return perMinute === null ? plan : `${plan} (${perMinute} per minute, ${perDay} per day)`;
}

function parseLimit(option: string, text: string): number {
  const number = Number(text);
  if (!/^\d{1,10}$/.test(text) || number < 1 || number > LIMIT_MAX) {
    throw new UsageError(`--${option} must be a whole number from 1 to ${LIMIT_MAX}.`);
  }
  return number;
}

import { checkNewAccount, LIMIT_MAX, type NewAccount } from '../accounts/account.ts';
import { type PlanName, plans } from '../plans/plan.ts';
import { accountText, accountValue } from './account-list.ts';
import { asUsage, type Command, UsageError } from './command.ts';
import { withRegistry } from './databases.ts';

/** `petstore account create` */
export const command: Command = {
  name: 'account create',
  sentence: 'Registers an account, which owns animals and API keys and has a plan.',
  options: {
    email: { sentence: 'Its e-mail address; each address has one account.', value: 'EMAIL', required: true },
    name: { sentence: 'Its name, 1 to 255 characters.', value: 'NAME', required: true },
    plan: { sentence: 'How much it may call.', value: 'PLAN', choices: Object.keys(plans), default: 'free' },
    'per-minute': { sentence: 'Requests a minute, 1 to 10^9; with enterprise always, else never.', value: 'N' },
    'per-day': { sentence: 'Requests a day, 1 to 10^9; with enterprise always, else never.', value: 'N' },
    admin: { sentence: 'Its keys may change what belongs to others.' },
  },
  examples: [
    {
      line: 'petstore account create --email shelter@example.org --name "Riverside Shelter"',
      sentence: 'on the plan free',
    },
    {
      line: 'petstore account create --email big@example.org --name Big --plan enterprise --per-minute 5000 --per-day 1000000',
      sentence: 'with limits of its own',
    },
  ],
  async run({ options, config, clock, terminal }) {
    const { createAccount } = await import('../accounts/accounts.ts');
    const wanted: NewAccount = {
      email: options.email!,
      name: options.name!,
      plan: options.plan as PlanName,
      admin: options.admin !== undefined,
      ...(options['per-minute'] !== undefined && { perMinute: wholeNumber('per-minute', options['per-minute']) }),
      ...(options['per-day'] !== undefined && { perDay: wholeNumber('per-day', options['per-day']) }),
    };
    asUsage(() => checkNewAccount(wanted));
    const account = await withRegistry({ config, clock, terminal }, database =>
      database.write(tx => createAccount(tx, wanted)),
    );
    return {
      value: accountValue(account),
      text: () =>
        `${accountText(account)}\n\nA key for it: petstore key create --account ${account.id} [--deployment staging]`,
    };
  },
};

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!/^\d{1,10}$/.test(text) || number < 1 || number > LIMIT_MAX) {
    throw new UsageError(`--${option} must be a whole number from 1 to ${LIMIT_MAX}.`);
  }
  return number;
}

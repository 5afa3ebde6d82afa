import type { Account } from '../accounts/account.ts';
import { formatTime } from '../lib/time.ts';
import type { Command } from './command.ts';
import { withRegistry } from './databases.ts';
import { list, table } from './terminal.ts';

/** `petstore account list` */
export const command: Command = {
  name: 'account list',
  sentence: 'Lists every account, by id.',
  examples: [{ line: 'petstore account list', sentence: 'who is registered' }],
  async run({ config, clock, terminal }) {
    const { listAccounts } = await import('../accounts/accounts.ts');
    const accounts = await withRegistry({ config, clock, terminal }, listAccounts);
    return {
      value: accounts.map(accountValue),
      text: style =>
        table(
          style,
          ['ID', 'E-MAIL', 'NAME', 'PLAN', 'ADMIN', 'CREATED'],
          accounts.map(account => [
            String(account.id),
            account.email,
            account.name,
            planText(account),
            account.admin ? 'yes' : 'no',
            formatTime(account.createdAt),
          ]),
          'There are no accounts.',
        ),
    };
  },
};

/** An account as `--json` shows it: its times in RFC 3339. */
export function accountValue(account: Account) {
  return { ...account, createdAt: formatTime(account.createdAt) };
}

/** An account as people read it. */
export function accountText(account: Account): string {
  return list([
    ['account', String(account.id)],
    ['e-mail', account.email],
    ['name', account.name],
    ['plan', planText(account)],
    ['admin', account.admin ? 'yes' : 'no'],
  ]);
}

function planText({ plan, perMinute, perDay }: Account): string {
  return perMinute === null ? plan : `${plan} (${perMinute} a minute, ${perDay} a day)`;
}

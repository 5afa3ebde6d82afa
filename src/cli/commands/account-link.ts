import { getAccount, requireLasting } from '../../accounts/accounts.ts';
import { formatTime } from '../../lib/time.ts';
import { createLink, linkPath } from '../../sessions/links.ts';
import { publicUrlOf } from '../../urls.ts';
import type { Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { accountArgument, idOf } from './account.ts';

export const accountLink: Command = {
  name: 'account link',
  summary: 'Print a link that signs the owner of an account in to the pages, once and within an hour.',
  details:
    'The owner can also choose a password with it, and it confirms the e-mail address: make sure that you give it to the right person. Its address is that of PETSTORE_PUBLIC_URL.',
  arguments: accountArgument,
  examples: {
    'petstore account link 1': 'the first account, which has no password',
    'petstore account link 7': 'for an owner who has lost the password, where the store sends no e-mail',
  },
  async run(invocation) {
    const id = idOf(invocation);
    const { config } = invocation;
    const link = await withAccounts(invocation, accounts =>
      accounts.write(async tx => {
        const account = await getAccount(tx, id);
        requireLasting(account);
        return createLink(tx, { accountId: id, purpose: 'sign_in', email: account.email });
      }),
    );
    const portal = config.ports.production === undefined ? 'staging' : 'production';
    const url = publicUrlOf(config, portal, config.ports[portal]) + linkPath(link.secret);
    const expiresAt = formatTime(link.expiresAt);
    return {
      value: { accountId: id, url, expiresAt },
      text: style =>
        `${style.bold(url)}\n\nIt works once, until ${expiresAt}. Whoever opens it is signed in to account ${id}.`,
    };
  },
};

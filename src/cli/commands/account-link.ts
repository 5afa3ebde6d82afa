import { getAccount, requireLasting } from '../../access/accounts/accounts.ts';
import { firstOwner } from '../../access/people/members.ts';
import { createLink, LINK_MS, linkPath } from '../../access/sessions/links.ts';
import { durationIn, formatTime } from '../../lib/time.ts';
import { factNamed, PORTAL_FACT } from '../../model/facts.ts';
import { publicUrlOf } from '../../views/urls.ts';
import type { Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { accountArgument, idOf } from './account.ts';

/** The time limit for the server's response. */
const REQUEST_MS = 2000;
const NOT_RUNNING =
  '\n\nNo server responds on this machine, so the link uses the address from the settings. Start the server before you open it.';

export const accountLink: Command = {
  name: 'account link',
  summary: `Print a link that signs the owner of an account in to the pages, once and within ${durationIn('hour', LINK_MS.sign_in, 'article')}.`,
  details:
    'With the link, the owner can also choose a password. Opening the link confirms the e-mail address: make sure that you give it to the right person. The address of the link is PETSTORE_PUBLIC_URL, or else the address of the server that runs on this machine.',
  arguments: accountArgument,
  examples: {
    'petstore account link 1': 'the first account, which has no password',
    'petstore account link 7': 'for an owner who has lost the password, where the store sends no e-mail',
  },
  async run(invocation) {
    const id = idOf(invocation);
    const { config } = invocation;
    const { link, served } = await withAccounts(invocation, accounts =>
      accounts.write(async tx => {
        const account = await getAccount(tx, id);
        requireLasting(account);
        const { id: personId, email } = await firstOwner(tx, id);
        const link = await createLink(tx, { personId, purpose: 'sign_in', email });
        return { link, served: (await tx.first(factNamed, { name: PORTAL_FACT }))?.value };
      }),
    );
    const portal = config.ports.production === undefined ? 'staging' : 'production';
    const configured = publicUrlOf(config, portal, config.ports[portal]);
    const isRunning = config.publicUrls[portal] === undefined && served !== undefined && (await responds(served));
    const origin = isRunning ? served : configured;
    const isGuess = !isRunning && config.publicUrls[portal] === undefined;
    const url = origin + linkPath(link.secret);
    const expiresAt = formatTime(link.expiresAt);
    return {
      value: { accountId: id, url, expiresAt },
      text: style =>
        `${style.bold(url)}\n\nIt works once, until ${expiresAt}. Whoever opens it is signed in to account ${id}.${isGuess ? NOT_RUNNING : ''}`,
    };
  },
};

/** Reports whether a server responds at a URL. */
function responds(url: string): Promise<boolean> {
  return fetch(`${url}/livez`, { signal: AbortSignal.timeout(REQUEST_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

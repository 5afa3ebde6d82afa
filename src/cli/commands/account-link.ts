import { getAccount, requireLasting } from '../../access/accounts/accounts.ts';
import { findPerson, listMemberships } from '../../access/accounts/people.ts';
import { firstOwner } from '../../access/people/members.ts';
import { createLink, LINK_MS, linkPath } from '../../access/sessions/links.ts';
import { durationIn, formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { factNamed, PORTAL_FACT } from '../../model/facts.ts';
import type { Person } from '../../model/person.ts';
import type { Transaction } from '../../model/schema.ts';
import { publicUrlOf } from '../../views/urls.ts';
import type { Command, CommandOutput, Invocation } from '../command.ts';
import { withAccounts } from '../databases.ts';
import type { Value } from '../text.ts';
import { parseId } from '../values.ts';
import { accountArgument, idOf } from './account.ts';
import { personArgument } from './member.ts';

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
    const accountId = idOf(invocation);
    const link = await newLink(invocation, async tx => {
      requireLasting(await getAccount(tx, accountId));
      return firstOwner(tx, accountId);
    });
    return linkOutput(link, { accountId }, `account ${accountId}`);
  },
};

export const memberLink: Command = {
  name: 'member link',
  summary: `Print a link that signs a member in to the pages, once and within ${durationIn('hour', LINK_MS.sign_in, 'article')}.`,
  details:
    'Like `petstore account link`, for any member. A second factor of the member is still asked for. Opening the link confirms the e-mail address: make sure that you give it to the right person.',
  arguments: personArgument,
  examples: { 'petstore member link 12': 'for a volunteer who has lost the password' },
  async run(invocation) {
    const personId = parseId('PERSON', invocation.arguments['PERSON']!);
    const link = await newLink(invocation, async tx => {
      const person = await findPerson(tx, personId);
      if (person !== undefined && (await listMemberships(tx, personId)).length > 0) return person;
      throw new UserError(`No member has the id ${personId}; see \`petstore member list\`.`);
    });
    return linkOutput(link, { personId }, `the accounts of person ${personId}`);
  },
};

interface PrintedLink {
  readonly url: string;
  readonly expiresAt: string;
  /** Whether the address of the server is that of the settings, because no server responds. */
  readonly isGuess: boolean;
}

/** Creates the link of a person, with the address of the server that runs. */
async function newLink(
  invocation: Invocation,
  personIn: (tx: Transaction) => Promise<Pick<Person, 'id' | 'email'>>,
): Promise<PrintedLink> {
  const { config } = invocation;
  const { link, served } = await withAccounts(invocation, accounts =>
    accounts.write(async tx => {
      const { id: personId, email } = await personIn(tx);
      const link = await createLink(tx, { personId, purpose: 'sign_in', email });
      return { link, served: (await tx.first(factNamed, { name: PORTAL_FACT }))?.value };
    }),
  );
  const portal = config.ports.production === undefined ? 'staging' : 'production';
  const configured = publicUrlOf(config, portal, config.ports[portal]);
  const isRunning = config.publicUrls[portal] === undefined && served !== undefined && (await responds(served));
  const origin = isRunning ? served : configured;
  const isGuess = !isRunning && config.publicUrls[portal] === undefined;
  return { url: origin + linkPath(link.secret), expiresAt: formatTime(link.expiresAt), isGuess };
}

function linkOutput({ url, expiresAt, isGuess }: PrintedLink, of: Value, opened: string): CommandOutput {
  return {
    value: { ...of, url, expiresAt },
    text: style =>
      `${style.bold(url)}\n\nIt works once, until ${expiresAt}. Whoever opens it is signed in to ${opened}.${isGuess ? NOT_RUNNING : ''}`,
  };
}

/** Reports whether a server responds at a URL. */
function responds(url: string): Promise<boolean> {
  return fetch(`${url}/livez`, { signal: AbortSignal.timeout(REQUEST_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

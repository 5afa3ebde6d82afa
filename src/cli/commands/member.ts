import { getAccount } from '../../access/accounts/accounts.ts';
import { findPerson } from '../../access/accounts/people.ts';
import { listMembers } from '../../access/people/members.ts';
import { resetSecondFactors } from '../../access/sessions/second-factors.ts';
import { removeMemberWithDependents } from '../../events/webhooks/account-changes.ts';
import { UserError } from '../../lib/user-error.ts';
import { factNamed, PORTAL_FACT } from '../../model/facts.ts';
import type { Reader } from '../../model/schema.ts';
import type { Command, Invocation } from '../command.ts';
import { withAccountDatabases, withAccounts } from '../databases.ts';
import { listing, type Value, withTimes } from '../text.ts';
import { parseId } from '../values.ts';
import { accountArgument, idOf } from './account.ts';

export const personArgument = { PERSON: 'The id of the person; see `petstore member list`.' };
const memberArguments = { ...accountArgument, ...personArgument };

export const memberList: Command = {
  name: 'member list',
  summary: 'List the members of an account, who sign in to its pages, with their roles.',
  arguments: accountArgument,
  examples: { 'petstore member list 7': 'who works in account 7' },
  async run(invocation) {
    const id = idOf(invocation);
    const members = await withAccounts(invocation, async accounts => {
      await getAccount(accounts, id);
      return listMembers(accounts, id);
    });
    const value: Value[] = members.map(withTimes);
    const rows = value.map(({ email, ...member }) => ({ ...member, 'e-mail': email }));
    return { value, text: style => listing(style, rows, ['id', 'e-mail', 'name', 'role', 'joinedAt'], 'No members.') };
  },
};

export const memberRemove: Command = {
  name: 'member remove',
  summary: 'Remove a member from an account: the sessions, invitations and the import of the member end at once.',
  details:
    'API keys belong to the account and stay. The last owner cannot be removed: make another member an owner first.',
  arguments: memberArguments,
  options: { 'revoke-keys': { description: 'Also revoke the API keys that the member created.' } },
  examples: {
    'petstore member remove 7 12': 'who has left',
    'petstore member remove 7 12 --revoke-keys': 'with the keys that the member created',
  },
  async run(invocation) {
    const accountId = idOf(invocation);
    const personId = parseId('PERSON', invocation.arguments['PERSON']!);
    const revokesKeys = invocation.options['revoke-keys'] !== undefined;
    await withAccountDatabases(invocation, async databases => {
      const emailUrl = await emailUrlOf(invocation, databases.accounts);
      await removeMemberWithDependents(databases, { accountId, personId }, { revokesKeys, emailUrl });
    });
    return {
      value: { accountId, personId },
      text: () => `Person ${personId} is no longer a member of account ${accountId}.`,
    };
  },
};

export const memberResetSecondFactor: Command = {
  name: 'member reset-second-factor',
  summary: 'Remove the authenticator app, the passkeys and the recovery codes of a person, and end the sessions.',
  details:
    'For someone who has lost all of them. Afterwards the password is enough to sign in: make sure that you talk to the right person. If the store sends e-mail, the person gets one about it.',
  arguments: personArgument,
  examples: { 'petstore member reset-second-factor 12': 'who has lost the phone and the recovery codes' },
  async run(invocation) {
    const personId = parseId('PERSON', invocation.arguments['PERSON']!);
    await withAccounts(invocation, accounts =>
      accounts.write(async tx => {
        const person = await findPerson(tx, personId);
        if (person === undefined) throw new UserError(`There is no person ${personId}; see \`petstore member list\`.`);
        await resetSecondFactors(tx, person, await emailUrlOf(invocation, tx));
      }),
    );
    return { value: { personId }, text: () => `Person ${personId} has no second factor any more, and is signed out.` };
  },
};

/** Returns the address of the pages for links in e-mails; `undefined` if the store sends none. */
async function emailUrlOf({ config }: Pick<Invocation, 'config'>, reader: Reader): Promise<string | undefined> {
  const { mail, publicUrls } = config;
  return mail && (publicUrls.production ?? (await reader.first(factNamed, { name: PORTAL_FACT }))?.value);
}

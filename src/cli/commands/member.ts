import { getAccount } from '../../access/accounts/accounts.ts';
import { listMembers } from '../../access/people/members.ts';
import { removeMemberWithDependents } from '../../events/webhooks/account-changes.ts';
import type { Command } from '../command.ts';
import { withAccountDatabases, withAccounts } from '../databases.ts';
import { listing, type Value, withTimes } from '../text.ts';
import { parseId } from '../values.ts';
import { accountArgument, idOf } from './account.ts';

const memberArguments = { ...accountArgument, PERSON: 'The id of the person; see `petstore member list`.' };

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
    await withAccountDatabases(invocation, databases =>
      removeMemberWithDependents(databases, { accountId, personId }, { revokesKeys }),
    );
    return {
      value: { accountId, personId },
      text: () => `Person ${personId} is no longer a member of account ${accountId}.`,
    };
  },
};

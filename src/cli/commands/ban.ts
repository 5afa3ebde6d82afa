import { getKey } from '../../access/keys/keys.ts';
import { liftBan, listBans } from '../../access/limits/bans.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { listing, withTimes } from '../text.ts';

export const banList: Command = {
  name: 'ban list',
  summary: 'List the API keys that are banned at the moment because they kept sending requests over their limit.',
  examples: { 'petstore ban list': 'the banned keys, and when each ban ends' },
  async run(invocation) {
    const now = invocation.clock.now();
    const bans = await withAccounts(invocation, accounts => listBans(accounts, now));
    const value = bans.map(({ keyId, accountId, step, bannedAt, until }) =>
      withTimes({ keyId, accountId, step, bannedAt, until }),
    );
    const rows = value.map(ban => ({ ...ban, since: ban.bannedAt }));
    const columns = ['keyId', 'accountId', 'since', 'until'];
    return { value, text: style => listing(style, rows, columns, 'No key is banned.') };
  },
};

export const banLift: Command = {
  name: 'ban lift',
  summary: 'Lift the ban of an API key; the next request with it is accepted.',
  arguments: { KEY_ID: 'The public part of the key; see `petstore ban list`.' },
  examples: { 'petstore ban lift q7Zc1Lw0aPdT': 'after its owner has fixed a loop' },
  async run(invocation) {
    const keyId = invocation.arguments['KEY_ID']!;
    await withAccounts(invocation, accounts =>
      accounts.write(async tx => {
        await getKey(tx, keyId);
        if (!(await liftBan(tx, keyId))) throw new UserError(`The key ${keyId} is not banned.`);
      }),
    );
    return { value: { keyId, lifted: true }, text: () => `Lifted the ban of the key ${keyId}.` };
  },
};

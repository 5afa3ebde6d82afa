import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { listing } from '../text.ts';

/** `petstore ban list` */
export const banList: Command = {
  name: 'ban list',
  summary: 'List the API keys that are banned now because they kept sending requests over their limit.',
  examples: { 'petstore ban list': 'the banned keys, and when each ban ends' },
  async run(invocation) {
    const { listBans } = await import('../../limits/bans.ts');
    const now = invocation.clock.now();
    const bans = (await withAccounts(invocation, accounts => listBans(accounts, now))).map(
      ({ keyId, accountId, step, bannedAt, until }) => ({
        keyId,
        accountId,
        step,
        bannedAt: formatTime(bannedAt),
        until: formatTime(until),
      }),
    );
    const rows = bans.map(({ keyId, bannedAt, ...ban }) => ({ key: keyId, since: bannedAt, ...ban }));
    return {
      value: bans,
      text: style => listing(style, rows, ['key', 'accountId', 'since', 'until'], 'No key is banned.'),
    };
  },
};

/** `petstore ban lift` */
export const banLift: Command = {
  name: 'ban lift',
  summary: 'Lift the ban of an API key; the next request with it is accepted.',
  arguments: { KEY_ID: 'The public part of the key; see `petstore ban list`.' },
  examples: { 'petstore ban lift q7Zc1Lw0aPdT': 'after its owner has fixed a loop' },
  async run(invocation) {
    const [{ getKey }, { liftBan }] = await Promise.all([import('../../keys/keys.ts'), import('../../limits/bans.ts')]);
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

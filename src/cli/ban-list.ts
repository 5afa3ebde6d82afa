import { formatTime } from '../lib/time.ts';
import { type ActiveBan, listBans } from '../limits/bans.ts';
import type { Command } from './command.ts';
import { withRegistry } from './databases.ts';
import { table } from './terminal.ts';

/** `petstore ban list` */
export const command: Command = {
  name: 'ban list',
  sentence: 'Lists the API keys that are banned now, for sending on after a refusal.',
  examples: [{ line: 'petstore ban list', sentence: 'who is banned, and until when' }],
  async run({ config, clock, terminal }) {
    const now = clock.now();
    const bans = await withRegistry({ config, clock, terminal }, registry => listBans(registry, now));
    return {
      value: bans.map(banValue),
      text: style =>
        table(
          style,
          ['KEY', 'ACCOUNT', 'SINCE', 'UNTIL'],
          bans.map(ban => [ban.keyId, String(ban.accountId), formatTime(ban.bannedAt), formatTime(ban.until)]),
          'No key is banned.',
        ),
    };
  },
};

function banValue({ keyId, accountId, step, bannedAt, until }: ActiveBan) {
  return { keyId, accountId, step, bannedAt: formatTime(bannedAt), until: formatTime(until) };
}

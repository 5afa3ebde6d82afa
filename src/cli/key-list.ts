import { type IssuedKey, type Key, keyState } from '../keys/key.ts';
import { formatTime } from '../lib/time.ts';
import type { Command, Style } from './command.ts';
import { withRegistry } from './databases.ts';
import { list, table } from './terminal.ts';

/** `petstore key list` */
export const command: Command = {
  name: 'key list',
  sentence: 'Lists every API key, oldest first; never a token.',
  examples: [{ line: 'petstore key list --json', sentence: 'for a program' }],
  async run({ config, clock, terminal }) {
    const { listKeys } = await import('../keys/keys.ts');
    const keys = await withRegistry({ config, clock, terminal }, database => listKeys(database));
    const now = clock.now();
    return {
      value: keys.map(key => keyValue(key, now)),
      text: style =>
        table(
          style,
          ['ID', 'ACCOUNT', 'DEPLOYMENT', 'STATE', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'],
          keys.map(key => [
            key.id,
            String(key.accountId),
            key.deployment,
            keyState(key, now),
            key.scopes.join(','),
            formatTime(key.createdAt),
            timeOr('never', key.expiresAt),
            timeOr('never', key.lastUsedAt),
          ]),
          'There are no keys; `petstore key create --account ID` makes one.',
        ),
    };
  },
};

/** A key as `--json` shows it: its times in RFC 3339, and whether it works at `now`. */
export function keyValue<K extends Key>(key: K, now: number) {
  return {
    ...key,
    state: keyState(key, now),
    createdAt: formatTime(key.createdAt),
    expiresAt: timeOr(null, key.expiresAt),
    revokedAt: timeOr(null, key.revokedAt),
    lastUsedAt: timeOr(null, key.lastUsedAt),
  };
}

/** A new key as people read it. */
export function issuedText(style: Style, key: IssuedKey): string {
  return `${list([
    ['token', style.bold(key.token)],
    ['key', key.id],
    ['account', String(key.accountId)],
    ['deployment', key.deployment],
    ['scopes', key.scopes.join(', ')],
    ['expires', timeOr('never', key.expiresAt)],
  ])}\n\nKeep the token: it is shown this once.`;
}

function timeOr<T>(none: T, ms: number | null): string | T {
  return ms === null ? none : formatTime(ms);
}

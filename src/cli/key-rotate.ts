import { formatTime, parseDuration } from '../lib/time.ts';
import { type Command, UsageError } from './command.ts';
import { withRegistry } from './databases.ts';
import { expiresOption, expiryOf } from './key-create.ts';
import { issuedText, keyValue } from './key-list.ts';

/** `petstore key rotate` */
export const command: Command = {
  name: 'key rotate',
  sentence: 'Makes a new API key in place of an old one, which goes on for a while; shows the new token, this once.',
  arguments: { ID: 'The public part of the old key, as `petstore key list` shows it.' },
  options: {
    overlap: {
      sentence: 'How long the old key goes on, though never beyond its own expiry: 0s, 30s, 15m, 24h, 7d.',
      value: 'DURATION',
      default: '24h',
    },
    expires: expiresOption,
  },
  examples: [{ line: 'petstore key rotate q7Zc1Lw0aPdT --overlap 1h', sentence: 'an hour to change over' }],
  async run({ arguments: { ID: id }, options, config, clock, terminal }) {
    const overlapMs = parseDuration(options.overlap!);
    if (overlapMs === undefined) throw new UsageError('--overlap must be a duration like 0s, 30s, 15m, 24h or 7d.');
    const expiresAt = expiryOf(options.expires, clock.now());
    const { rotateKey } = await import('../keys/keys.ts');
    const { issued, previous } = await withRegistry({ config, clock, terminal }, database =>
      database.write(tx => rotateKey(tx, id!, overlapMs, expiresAt)),
    );
    const now = clock.now();
    return {
      value: { ...keyValue(issued, now), previous: keyValue(previous, now) },
      text: style =>
        `${issuedText(style, issued)}\nThe key ${previous.id} expires at ${formatTime(previous.expiresAt!)}.`,
    };
  },
};

import type { Command } from './command.ts';
import { withRegistry } from './databases.ts';
import { keyValue } from './key-list.ts';

/** `petstore key revoke` */
export const command: Command = {
  name: 'key revoke',
  sentence: 'Takes an API key out of use for ever, from the very next request on.',
  arguments: { ID: 'The public part of the key, as `petstore key list` shows it.' },
  examples: [{ line: 'petstore key revoke q7Zc1Lw0aPdT', sentence: 'a key that leaked' }],
  async run({ arguments: { ID: id }, config, clock, terminal }) {
    const { revokeKey } = await import('../keys/keys.ts');
    const key = await withRegistry({ config, clock, terminal }, database => database.write(tx => revokeKey(tx, id!)));
    return { value: keyValue(key, clock.now()), text: () => `The key ${key.id} is revoked.` };
  },
};

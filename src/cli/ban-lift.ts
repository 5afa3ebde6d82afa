import { getKey } from '../keys/keys.ts';
import { UserError } from '../lib/user-error.ts';
import { liftBan } from '../limits/bans.ts';
import type { Command } from './command.ts';
import { withRegistry } from './databases.ts';

/** `petstore ban lift` */
export const command: Command = {
  name: 'ban lift',
  sentence: 'Ends the ban of an API key, from the very next request on.',
  arguments: { KEY_ID: 'The public part of the key, as `petstore ban list` shows it.' },
  examples: [{ line: 'petstore ban lift q7Zc1Lw0aPdT', sentence: 'for someone who has repaired a loop' }],
  async run({ arguments: { KEY_ID: keyId }, config, clock, terminal }) {
    await withRegistry({ config, clock, terminal }, registry =>
      registry.write(async tx => {
        await getKey(tx, keyId!);
        if (!(await liftBan(tx, keyId!))) throw new UserError(`The key ${keyId} is not banned.`);
      }),
    );
    return { value: { keyId, lifted: true }, text: () => `The ban of the key ${keyId} is lifted.` };
  },
};

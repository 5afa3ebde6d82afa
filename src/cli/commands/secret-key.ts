import { encryptorOf } from '../../access/secret-key.ts';
import { reencryptSecrets } from '../../events/webhooks/reencrypt-secrets.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Command } from '../command.ts';
import { requireStore, storedLocations, withDatabase } from '../databases.ts';
import { list } from '../terminal.ts';

export const secretKeyRotate: Command = {
  name: 'secret-key rotate',
  summary:
    'Encrypt the secrets of webhooks and authenticator apps with PETSTORE_SECRET_KEY, on production and staging.',
  details:
    'Set PETSTORE_SECRET_KEY_PREVIOUS to the key that encrypted them. Works while servers run, if all of them have both keys. If the command is interrupted, run it again with both keys. The secrets themselves stay the same.',
  examples: {
    'PETSTORE_SECRET_KEY_FILE=new.key PETSTORE_SECRET_KEY_PREVIOUS_FILE=secret.key petstore secret-key rotate':
      'after a restart of the servers with these settings',
  },
  async run(invocation) {
    const { config } = invocation;
    requireStore(config);
    if (config.secretKey === undefined)
      throw new UserError('Set PETSTORE_SECRET_KEY to the new key, as on the servers.');
    const encryptor = encryptorOf(config);
    const counts: [string, number][] = [];
    for (const [name, location] of storedLocations(config)) {
      counts.push([name, await withDatabase(invocation, location, database => reencryptSecrets(database, encryptor))]);
    }
    const lines = counts.map(([name, count]) => [name, `${count} secrets encrypted again`] as const);
    return {
      value: { reencrypted: Object.fromEntries(counts) },
      text: () => list(lines),
      hint: 'PETSTORE_SECRET_KEY_PREVIOUS is not needed any more. Keep that key as long as you keep backups made with it.',
    };
  },
};

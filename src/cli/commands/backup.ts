import process from 'node:process';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Manifest } from '../../operate/backup/manifest.ts';
import type { Command, Invocation, Option } from '../command.ts';
import { logOf, requireStore } from '../databases.ts';
import { list, table } from '../terminal.ts';

const argument = { DIRECTORY: 'The directory of the backup: a new one for each backup.' };

export const backup: Command = {
  name: 'backup',
  summary: 'Back up production and staging into a new directory.',
  details:
    'Works while a server runs. Writes the databases as of one moment, and a manifest with their checksums, and verifies them. The directory gets its name once the backup is complete. The secret key and the sandboxes of the classic Petstore are not part of it. PostgreSQL needs pg_dump.',
  arguments: argument,
  examples: { 'petstore backup backups/2026-11-22': 'copies of both databases, with their checksums' },
  async run(invocation) {
    requireStore(invocation.config);
    const { createBackup } = await import('../../operate/backup/backup.ts');
    const manifest = await createBackup(depsOf(invocation), invocation.arguments['DIRECTORY']!);
    return { value: manifest, text: () => textOf(manifest) };
  },
};

const options: Readonly<Record<string, Option>> = {
  'new-webhook-secrets': {
    description:
      'If the secret key of the backup is lost: give every webhook a new secret, disable it, and send its owner a message.',
  },
};

export const restore: Command = {
  name: 'restore',
  summary: 'Restore a backup into an empty data directory, or an empty PostgreSQL database.',
  details:
    'Verifies the checksums first, and refuses a directory or database that has data or that a server uses. Needs the secret key that belongs to the backup if there are webhooks. PostgreSQL needs pg_restore.',
  arguments: { DIRECTORY: 'The directory of the backup.' },
  options,
  examples: { 'PETSTORE_DATA_DIR=restored petstore restore backups/2026-11-22': 'into the new directory restored' },
  async run(invocation) {
    const { restoreBackup } = await import('../../operate/backup/restore.ts');
    const directory = invocation.arguments['DIRECTORY']!;
    const newSecrets = invocation.options['new-webhook-secrets'] !== undefined;
    const { manifest, webhooks } = await restoreBackup(
      { ...depsOf(invocation), log: logOf(invocation.terminal) },
      directory,
      newSecrets,
    );
    const replaced = webhooks.map(({ deployment, webhook: { id, accountId, url, status } }) => {
      return { deployment, id, accountId, url, status };
    });
    return {
      value: { ...manifest, replacedSecrets: replaced },
      text(style) {
        const restored = `Restored the backup of ${manifest.startedAt}.\n\n${textOf(manifest)}`;
        if (replaced.length === 0) return restored;
        const rows = replaced.map(one => [one.deployment, String(one.id), String(one.accountId), one.url, one.status]);
        const heading = ['DEPLOYMENT', 'WEBHOOK', 'ACCOUNT', 'URL', 'WAS'];
        return `${restored}\n\nThese webhooks have new secrets. Their owners must rotate the secret and activate them:\n${table(style, heading, rows, '')}`;
      },
    };
  },
};

function depsOf({ config, clock, json, terminal }: Invocation) {
  return {
    config,
    clock,
    version: packageJson.version,
    environment: process.env,
    ...(!json && terminal.showProgress && { onProgress: terminal.showProgress }),
  };
}

function textOf({ startedAt, version, files }: Manifest): string {
  return list([
    ['time', startedAt],
    ['version', version],
    ...files.map(({ path, bytes, sha256 }) => [path, `${bytes} bytes, SHA-256 ${sha256}`] as const),
    ['left out', 'the sandboxes of the classic Petstore'],
  ]);
}

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { requireComplete } from '../../lib/storage/open.ts';
import { UserError } from '../../lib/user-error.ts';
import { migrations } from '../../model/migrations/index.ts';
import type { Command } from '../command.ts';
import { requireStore } from '../databases.ts';
import { table } from '../terminal.ts';

export const compact: Command = {
  name: 'compact',
  summary: 'Rewrite the embedded databases without their free pages, and return the space to the disk.',
  details:
    'Stop the server first. Checks the free disk space: a database needs up to twice its used bytes meanwhile. If the command is interrupted, the databases are as before; run it again. PostgreSQL reuses space by itself (VACUUM).',
  examples: { 'petstore compact': 'after much was deleted' },
  async run({ config, json, terminal }) {
    requireStore(config);
    const locations = Object.entries(config.locations);
    const files = locations.flatMap(([name, at]) => ('file' in at && existsSync(at.file) ? [[name, at.file]] : []));
    if (!files.some(([name]) => name === 'production')) {
      throw new UserError('petstore compact is for the embedded databases; PostgreSQL reuses space by itself.');
    }
    const directory = dirname(files[0]![1]!);
    // SQLite reads it when it opens its first file.
    process.env['SQLITE_TMPDIR'] = directory;
    const [{ lockDataDirectory }, { compactionSpace, compactSqlite }, { requireSpace }] = await Promise.all([
      import('../../lib/storage/sqlite/directory-lock.ts'),
      import('../../lib/storage/sqlite/compact.ts'),
      import('../../operate/backup/space.ts'),
    ]);
    const lock = lockDataDirectory(directory);
    try {
      for (const [, file] of files) await requireComplete({ file: file! }, migrations);
      requireSpace(directory, Math.max(...files.map(([, file]) => compactionSpace(file!))), 'petstore compact');
      const compacted = files.map(([name, file], index) => {
        if (!json) terminal.showProgress?.(`Rewriting ${name}`, index / files.length);
        return [name, compactSqlite(file!)] as const;
      });
      return {
        value: Object.fromEntries(compacted),
        text: style =>
          table(
            style,
            ['DATABASE', 'BYTES BEFORE', 'BYTES AFTER'],
            compacted.map(([name, { before, after }]) => [name!, String(before), String(after)]),
            '',
          ),
      };
    } finally {
      lock.release();
    }
  },
};

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openSqlite } from '../../src/lib/storage/sqlite/database.ts';
import { migrations } from '../../src/model/migrations/index.ts';

/** The file system in memory on Linux. */
export const MEMORY: string = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

let migrated: Promise<Buffer> | undefined;

/**
 * Creates a migrated database file. A migration takes 50 ms and 21 flushes, so each process migrates one file and copies it.
 */
export async function writeMigratedFile(file: string): Promise<void> {
  migrated ??= migrate();
  await writeFile(file, await migrated, { mode: 0o600 });
}

async function migrate(): Promise<Buffer> {
  const directory = await mkdtemp(join(MEMORY, 'petstore-test-'));
  try {
    const file = join(directory, 'petstore.db');
    const database = await openSqlite({
      file,
      migrations,
      clock: systemClock(),
      role: 'cli',
      log: { info() {}, warn() {}, error() {} },
      onFailed(error) {
        throw error;
      },
    });
    await database.close();
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

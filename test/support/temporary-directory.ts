import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directories: string[] = [];

/** Creates a directory that is removed when the process ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  directories.push(directory);
  return directory;
}

process.on('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

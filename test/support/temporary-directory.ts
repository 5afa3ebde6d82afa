import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const directories: string[] = [];

/** Creates a directory that is removed after the last test of the file. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  directories.push(directory);
  return directory;
}

after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

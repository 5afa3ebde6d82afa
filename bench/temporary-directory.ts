import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** A directory that is removed with its owner, at the latest when this process exits. */
export interface TemporaryDirectory extends Disposable {
  readonly path: string;
}

/** Creates a directory below TMPDIR. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on('exit', remove);
  return { path, [Symbol.dispose]: remove };
}

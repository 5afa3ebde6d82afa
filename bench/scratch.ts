import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** A directory that goes away with its holder, at the latest with this process. */
export interface Scratch extends Disposable {
  readonly path: string;
}

/** Makes a directory below TMPDIR. */
export function scratch(): Scratch {
  const path = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on('exit', remove);
  return { path, [Symbol.dispose]: remove };
}

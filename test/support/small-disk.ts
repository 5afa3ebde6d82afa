import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A small file system for one test. */
export interface SmallDisk {
  readonly directory: string;
  /** Fills the file system. */
  fill(): void;
  /** Deletes the filling. */
  empty(): void;
}

/** Mounts a file system of `mib` MiB. If that is not possible, skips the test and returns `undefined`. */
export function smallDisk(context: TestContext, mib: number): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-small-disk-'));
  let mounted = false;
  context.after(() => {
    // A lazy unmount works even if a process still has a file open.
    if (mounted) execFileSync('umount', ['--lazy', directory]);
    if (existsSync(directory)) rmSync(directory, { recursive: true });
  });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', directory], { stdio: 'pipe' });
    mounted = true;
  } catch {
    context.skip('left out: no file system can be mounted here');
    return undefined;
  }
  const ballast = join(directory, 'ballast');
  return {
    directory,
    fill() {
      try {
        for (;;) writeFileSync(ballast, Buffer.alloc(4096), { flag: 'a' });
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'ENOSPC');
      }
    },
    empty: () => rmSync(ballast),
  };
}

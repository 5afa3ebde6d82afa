import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A file system that is full soon, mounted for one test. */
export interface SmallDisk {
  readonly directory: string;
  /** Puts ballast in until nothing more fits. */
  fill(): void;
  /** Takes the ballast out. */
  empty(): void;
}

/** A disk of so many MiB; where none can be mounted the test is left out with one line, and there is none. */
export function smallDisk(context: TestContext, mib: number): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-small-disk-'));
  let mounted = false;
  context.after(() => {
    // A process that still has a file open there does not keep it.
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

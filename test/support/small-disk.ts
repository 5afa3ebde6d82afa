import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './temporary-directory.ts';

/** A small file system for one test. */
export interface SmallDisk {
  readonly directory: string;
  /** Fills the file system. */
  fill(): void;
  /** Deletes the filling. */
  empty(): void;
}

/** A file system for one test that becomes read-only. */
export interface FailingDisk {
  readonly directory: string;
  /** Makes the file system find an error, after which it is read-only. */
  fail(): void;
}

/** Mounts an ext4 file system. If that is not possible, skips the test and returns `undefined`. */
export function failingDisk(context: TestContext): FailingDisk | undefined {
  const image = join(temporaryDirectory(), 'disk');
  const directory = mounted(context, directory => {
    writeFileSync(image, '');
    truncateSync(image, 64 * 2 ** 20);
    execFileSync('mkfs.ext4', ['-q', '-F', image], { stdio: 'pipe' });
    execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, directory], { stdio: 'pipe' });
  });
  if (directory === undefined) return undefined;
  const device = execFileSync('findmnt', ['-n', '-o', 'SOURCE', directory], { encoding: 'utf8' }).trim();
  const fail = () => writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, '1');
  return { directory, fail };
}

/** Mounts a file system of `mib` MiB. If that is not possible, skips the test and returns `undefined`. */
export function smallDisk(context: TestContext, mib: number): SmallDisk | undefined {
  const directory = mounted(context, directory => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', directory], { stdio: 'pipe' });
  });
  if (directory === undefined) return undefined;
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

/** Mounts a file system on a new directory until the test ends. */
function mounted(context: TestContext, mount: (directory: string) => void): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-small-disk-'));
  let isMounted = false;
  context.after(() => {
    // A lazy unmount works even if a process still has a file open.
    if (isMounted) execFileSync('umount', ['--lazy', directory]);
    if (existsSync(directory)) rmSync(directory, { recursive: true });
  });
  try {
    mount(directory);
    isMounted = true;
    return directory;
  } catch {
    context.skip('left out: no file system can be mounted here');
    return undefined;
  }
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { smallDisk } from '../../../test/support/small-disk.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { UserError } from '../../lib/user-error.ts';
import { runOnPostgres } from './postgres-programs.ts';
import { requireSpace, watchSpace } from './space.ts';

const MEBIBYTE = 1024 * 1024;

describe('the disk of a backup', () => {
  it('must have space for the backup and the reserve', t => {
    const disk = smallDisk(t, 138);
    if (disk === undefined) return;
    requireSpace(disk.directory, 9 * MEBIBYTE);
    const message = `The disk of ${disk.directory} is full: 138 MiB are free, and a backup needs 139 MiB.`;
    assert.throws(() => requireSpace(disk.directory, 11 * MEBIBYTE), { name: 'UserError', message });
  });

  it('is watched while a program writes to it, which ends when only the reserve is left', async t => {
    const disk = smallDisk(t, 138);
    if (disk === undefined) return;
    using space = watchSpace(disk.directory);
    disk.fill();
    await waitUntil(() => space.signal.aborted);
    const program = runOnPostgres('pg_dump', ['--version'], { environment: process.env, signal: space.signal });
    await assert.rejects(program, (error: unknown) => {
      assert.ok(error instanceof UserError);
      assert.match(error.message, /^The disk of .* is full: 0 MiB are free, and a backup needs 128 MiB\.$/);
      return true;
    });
  });
});

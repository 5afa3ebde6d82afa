import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { skipFor } from '../support/selection.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;
const skip = skipFor(existsSync('/proc/self/limits') ? undefined : 'left out: the system has no /proc/self/limits');

describe('the limit of open files', { skip }, () => {
  it('is reported in the log at start if it is too low for the connections', async () => {
    const [line = '', ...others] = (await logOfStart('ulimit -n 5000')).split('\n').filter(Boolean);
    assert.deepEqual(others, []);
    const { level, msg } = JSON.parse(line);
    assert.equal(level, 'warn');
    assert.match(msg, /may open 5000 files, but needs up to 11000,.* `ulimit -Hn 11000`.* LimitNOFILE=11000/);
  });

  it('is raised to the hard limit', async () => {
    assert.equal(await logOfStart('ulimit -Sn 1024'), '');
  });
});

/** Starts the service with a limit, stops it, and returns its log. */
async function logOfStart(limit: string): Promise<string> {
  const ports = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
  const env = { ...process.env, ...ports, PETSTORE_DATA_DIR: temporaryDirectory() };
  const command = ['-c', `${limit} && exec "$0" serve --json`, launcher];
  const child = spawn('sh', command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = text(child.stderr);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  return log;
}

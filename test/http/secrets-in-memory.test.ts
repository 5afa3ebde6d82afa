import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

describe('the memory of a process', () => {
  const directory = temporaryDirectory();
  let service: Process;
  before(async () => {
    const environment = { NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${directory}` };
    service = await spawnService({ environment });
  });
  after(async () => {
    await service?.stop();
    await service?.remove();
  });

  /** Returns the text of all objects that the process can reach. */
  async function heapSnapshot(): Promise<string> {
    service.child.kill('SIGUSR2');
    let text = '';
    await waitUntil(() => {
      const [file] = readdirSync(directory).filter(name => name.endsWith('.heapsnapshot'));
      text = file === undefined ? '' : readFileSync(join(directory, file), 'utf8');
      return text.endsWith(']}') || text.endsWith(']}\n');
    });
    return text;
  }

  it('has no token in its objects, neither of accepted nor of rejected requests', async () => {
    const token = await newProcessKey(service);
    const [, , id, secret] = token.split('_') as [string, string, string, string];
    const wrong = token.replace(secret, secret.split('').reverse().join(''));
    const petId = 1_000_000_007;
    // Node keeps the last request of an open connection.
    const agent = new Agent();
    for (let times = 0; times < 3; times++) {
      assert.equal((await send(`${service.urls.production}/pets?id=${petId}`, { key: { token }, agent })).status, 200);
      assert.equal((await send(`${service.urls.production}/pets`, { key: { token: wrong }, agent })).status, 401);
    }
    const text = await heapSnapshot();
    assert.ok(text.includes(id), 'finds texts: the id of the key is public, and cached');
    assert.ok(text.includes(String(petId)), 'finds parts of requests: the list is cached by its URL');
    for (const hidden of [secret, wrong.slice(-secret.length)]) {
      for (let from = 0; from + 12 <= hidden.length; from += 9) {
        assert.ok(!text.includes(hidden.slice(from, from + 12)), `finds a part of a secret from position ${from}`);
      }
    }
  });
});

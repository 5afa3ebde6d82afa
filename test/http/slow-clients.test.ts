import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { long } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';

const SLOW = 5000;
const REQUESTS = long ? 6000 : 2500;
const TRIES = 4;

describe('five thousand slow clients', () => {
  let service: Process;
  let key: string;
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });

  before(async () => {
    service = await spawnService();
    key = await newProcessKey(service);
    for (let index = 0; index < 50; index++) {
      await send(`${service.urls.production}/pets`, { method: 'POST', key, body: { name: 'Minka', categoryId: 2 } });
    }
    await honest();
  });
  after(async () => {
    agent.destroy();
    await service.stop();
    await service.remove();
  });

  it('at most double the p99 of other callers', async t => {
    // On a machine that does other things as well one try says little; the promise holds if it is ever seen to.
    const ratios: string[] = [];
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const alone = median([await honest(), await honest(), await honest()]);
      const slow = await startSlow();
      const beside = median([await honest(), await honest(), await honest()]);
      const memory = await residentMiB();
      await slow.end();
      ratios.push(`${alone.toFixed(2)} → ${beside.toFixed(2)} ms (${(beside / alone).toFixed(2)}), ${memory} MiB`);
      if (beside <= 2 * alone) {
        t.diagnostic(`p99 ${ratios.join('; ')}`);
        return;
      }
    }
    assert.fail(`p99 ${ratios.join('; ')}`);
  });

  it('get 408 after 15 s for headers and 30 s for bodies', {
    skip: !long && 'PETSTORE_TEST_LONG',
  }, async () => {
    const slow = await startSlow();
    await pause(33_000);
    const ends = await slow.end();
    assert.equal(ends.headers.length + ends.body.length + ends.idle.length, SLOW);
    for (const { status, seconds } of [...ends.headers, ...ends.idle]) {
      assert.equal(status, 408);
      assert.ok(seconds >= 14.5 && seconds < 19, `${seconds}`);
    }
    for (const { status, seconds } of ends.body) {
      assert.equal(status, 408);
      assert.ok(seconds >= 29.5 && seconds < 34, `${seconds}`);
    }
  });

  it('do not block new callers', async () => {
    const more = [await startSlow(), await startSlow(), await startSlow()];
    for (let index = 0; index < 20; index++) {
      const fresh = new Agent();
      const reply = await send(`${service.urls.production}/pets`, { key, agent: fresh });
      assert.equal(reply.status, 200);
      fresh.destroy();
    }
    for (const slow of more) await slow.end();
  });

  /** The p99 of honest callers' answers, in milliseconds. */
  async function honest(): Promise<number> {
    const url = `${service.urls.production}/pets`;
    const times: number[] = [];
    let left = REQUESTS;
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (left-- > 0) {
          const from = performance.now();
          const { status } = await send(url, { key, agent });
          times.push(performance.now() - from);
          assert.equal(status, 200);
        }
      }),
    );
    times.sort((a, b) => a - b);
    return times[Math.floor(times.length * 0.99)]!;
  }

  async function startSlow() {
    const { port } = new URL(service.urls.production);
    const program = new URL('./slow-callers.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, port, String(SLOW), key], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface(child.stdout);
    const exited = once(child, 'exit');
    const [line] = (await Promise.race([once(lines, 'line'), exited])) as [string];
    assert.equal(line, 'open');
    return {
      async end(): Promise<Record<'headers' | 'body' | 'idle', { status: number; seconds: number }[]>> {
        const told = once(lines, 'line') as Promise<[string]>;
        child.stdin.end();
        const [text] = await told;
        await exited;
        return JSON.parse(text);
      },
    };
  }

  async function residentMiB(): Promise<number> {
    const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8').catch(() => 'VmRSS: 0 kB');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024);
  }
});

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

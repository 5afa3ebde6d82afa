import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { long } from '../support/selection.ts';
import { type Process, send, spawnService } from '../support/serving.ts';

const ROUNDS = long ? 100 : 10;
const WRITERS = 32;

describe(`after ${ROUNDS} kills under ${WRITERS} writers`, () => {
  it('loses no acknowledged pet and no counted request, and assigns no id twice', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-kill-'));
    const names = new Map<number, string>();
    let token: string | undefined;
    let counted = 0;
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const server = await spawnService({ directory });
        token ??= await newToken(server);
        const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
        const before = names.size;
        const writers = Array.from({ length: WRITERS }, (_, writer) =>
          write(server, agent, token!, `${round}/${writer}`, (id, name) => {
            assert.ok(!names.has(id), `the id ${id} was assigned twice: to ${names.get(id)} and to ${name}`);
            names.set(id, name);
            counted++;
          }),
        );
        // Kills the server under load.
        while (names.size < before + WRITERS) await pause(5);
        await pause(Math.random() * 200);
        assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
        await Promise.all(writers);
        agent.destroy();
      }

      const server = await spawnService({ directory });
      try {
        const shown = new Map<number, string>();
        let url: string | undefined = `${server.urls.production}/pets?limit=100`;
        while (url !== undefined) {
          const page = await send(url, { key: token! });
          assert.equal(page.status, 200);
          for (const { id, name } of page.body) shown.set(id, name);
          url = page.headers['x-next'] as string | undefined;
          counted++;
        }
        for (const [id, name] of names) assert.equal(shown.get(id), name, `the animal ${id} was acknowledged`);
        const total = await send(`${server.urls.production}/pets?limit=1`, {
          key: token!,
          headers: { Prefer: 'count=exact' },
        });
        assert.equal(Number(total.headers['x-total-count']), shown.size, 'the counters are exact');
        const left = Number(/"day";r=(\d+)/.exec(String(total.headers.ratelimit))![1]);
        assert.ok(
          1_000_000_000 - left >= counted,
          `${counted} requests were counted, the day knows ${1_000_000_000 - left}`,
        );
      } finally {
        assert.equal((await server.stop()).code, 0);
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

async function newToken(server: Process): Promise<string> {
  const account = await server.petstore(
    ...['account', 'create', '--email', 'writer@example.org', '--name', 'Writer', '--plan', 'enterprise'],
    ...['--per-minute', '1000000', '--per-day', '1000000000'],
  );
  return String((await server.petstore('key', 'create', '--account', String(account['id'])))['token']);
}

/** Creates pets one after the other until the server is killed. */
async function write(
  server: Process,
  agent: Agent,
  key: string,
  writer: string,
  acknowledged: (id: number, name: string) => void,
): Promise<void> {
  for (let number = 0; ; number++) {
    const name = `${writer}/${number}`;
    let reply: Awaited<ReturnType<typeof send>>;
    try {
      const body = { name, categoryId: 1 + (number % 8) };
      reply = await send(`${server.urls.production}/pets`, { method: 'POST', key, agent, body });
    } catch {
      return;
    }
    assert.equal(reply.status, 201, reply.text);
    acknowledged(reply.body.id, reply.body.name);
  }
}

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { onServer, run } from '../support/engines.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const ROUNDS = long ? 40 : 4;
/** Each with an account of its own, because a node logs 100 requests of an account in a second. */
const CALLERS = 8;
/** How many requests are answered before the usage must be stored. */
const ENOUGH = 300;

overEachEngine(engine => {
  describe(`the usage after ${ROUNDS} kills under ${CALLERS} callers`, { timeout: long ? 600_000 : 180_000 }, () => {
    it('lacks the last requests at most, counts none twice, and logs whole requests', async t => {
      const directory = await mkdtemp(join(tmpdir(), 'petstore-usage-kill-'));
      const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '' };
      let running: Process | undefined;
      t.after(async () => {
        await running?.stop('SIGKILL');
        await rm(directory, { recursive: true, force: true });
      });
      const serve = async () => {
        running = await spawnService({ directory, environment });
        return running;
      };
      const all = async (text: string) => {
        const url = (environment as Record<string, string>)['PETSTORE_DATABASE_URL'];
        return (
          url === undefined ? allOf(join(directory, 'production.db'), text) : onServer(db => run(db, text), url)
        ) as Promise<Record<string, unknown>[]>;
      };
      const counted = async () => Number((await all(SUM))[0]!['requests']);

      const sent = new Set<string>();
      const keys: string[] = [];
      let lost = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const server = await serve();
        while (keys.length < CALLERS) keys.push(await newProcessKey(server));
        const [countedBefore, sentBefore] = [await counted(), sent.size];
        let answered = 0;
        const callers = keys.map((key, caller) => call(server, key, `${round}.${caller}`, sent, () => answered++));
        await waitUntil(() => answered >= ENOUGH);
        const mustBeCounted = answered;
        await waitUntil(async () => (await counted()) - countedBefore >= mustBeCounted);
        await pause(Math.random() * 1500);
        assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
        await Promise.all(callers);

        const [usage, requests] = [(await counted()) - countedBefore, sent.size - sentBefore];
        assert.ok(usage >= mustBeCounted && usage <= requests, `${usage} of ${requests} requests are counted`);
        lost += requests - usage;
      }

      const last = await serve();
      const before = await counted();
      assert.equal((await last.stop()).code, 0, last.log());
      assert.equal(await counted(), before, 'a restart counts nothing');
      const logged = await all('select * from requests order by id');
      assert.ok(logged.length > 0);
      for (const { id: _, account_id, key_id, at, duration_us, request_id, ...row } of logged) {
        assert.ok(sent.has(String(request_id)), `${request_id} was not sent`);
        assert.ok(Number(account_id) > 0 && Number(at) > 0 && Number(duration_us) > 0);
        assert.ok(keys.some(key => key.includes(String(key_id))));
        assert.deepEqual(row, {
          ...{ deployment: 'production', method: 'GET', path: '/v1/pets?limit=1', operation: 'listPets' },
          ...{ status: row['status'], code: null },
        });
        assert.equal(Number(row['status']), 200);
      }
      assert.equal(new Set(logged.map(({ request_id }) => request_id)).size, logged.length, 'logged twice');
      const { loggable } = (await all(SUM))[0]!;
      assert.equal(logged.length, Number(loggable), 'a line and its count are written together');
      t.diagnostic(`${sent.size} sent, ${lost} lost in ${ROUNDS} kills; ${logged.length} logged`);
    });
  });
});

const SUM = `select coalesce(sum(succeeded + client_errors + rate_limited + banned + server_errors), 0) as requests,
  coalesce(sum(succeeded + client_errors + rate_limited + banned + server_errors - unlogged), 0) as loggable from usage`;

function allOf(file: string, text: string): unknown[] {
  const db = new Sqlite(file, { readonly: true });
  try {
    return db.prepare(text).all();
  } finally {
    db.close();
  }
}

/** Sends requests one after the other until the server is killed. */
async function call(server: Process, key: string, name: string, sent: Set<string>, answered: () => void) {
  for (let n = 0; ; n++) {
    const id = `${name}.${n}`;
    sent.add(id);
    try {
      const headers = { 'X-Request-Id': id };
      assert.equal((await send(`${server.urls.production}/pets?limit=1`, { key, headers })).status, 200);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    answered();
  }
}

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { recordEvents } from '../../src/model/log/log.ts';
import type { Database } from '../../src/model/schema.ts';
import { overEachEngine, type ServedEngine } from '../support/engines-over-http.ts';
import { assertApiResponse, dial, send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

/** More than a page scans. */
const EVENTS = 21_000;
const SCANS_MAX = 4;

overEachEngine(engine => {
  describe('lists that scan many rows', () => {
    let serving: TestService;
    let base: string;
    let bystander: string;
    let reads = 0;
    let onRead = () => {};
    /** How many reads in turns ran at the same time at most. */
    let readsAtOnce = 0;

    before(async () => {
      serving = await start(engine);
      base = serving.urls.production;
      const database = serving.app.databases.production;
      // A call to PostgreSQL has a time limit, which a busy machine exceeds with all of them at once.
      for (let first = 0; first < EVENTS; first += 1000) {
        const events = Array.from({ length: 1000 }, (_, index) => categoryEvent(first + index));
        await database.write(tx => recordEvents(tx, events));
      }
      bystander = (await serving.newKey()).token;
      watchReads(database, atOnce => {
        reads++;
        readsAtOnce = Math.max(readsAtOnce, atOnce);
        onRead();
      });
      await send(`${base}/events?limit=1`, { key: bystander });
    });
    after(() => serving.stop());

    const scan = (key: { token: string }) => send(`${base}/events?types=order.placed&after=evt_0`, { key });

    it('return a short page with a next one, without a scan beyond the bound', async () => {
      const key = await serving.newKey({ plan: 'free' });
      const page = await scan(key);
      assert.deepEqual([page.status, page.body], [200, []]);
      const rest = await send(page.headers['x-next'] as string, { key });
      assert.deepEqual([rest.status, rest.headers['x-next']], [200, undefined]);
    });

    it('let other requests be served in between', async () => {
      const key = await serving.newKey({ plan: 'free' });
      await send(`${base}/categories/1`, { key });
      const readBefore = reads;
      let isDone = false;
      const scans = Promise.all(Array.from({ length: SCANS_MAX }, () => scan(key))).then(replies => {
        isDone = true;
        return replies;
      });
      let served = 0;
      while (!isDone) {
        assert.equal((await send(`${base}/categories/1`, { key: bystander })).status, 200);
        served++;
      }
      for (const { status } of await scans) assert.equal(status, 200);
      const read = reads - readBefore;
      assert.ok(read >= 10 * SCANS_MAX, `${read} reads`);
      // Both run in this process: a request takes a few turns of the event loop.
      assert.ok(served >= read / 10, `${served} responses during ${read} reads`);
      assert.ok(readsAtOnce <= 2, `${readsAtOnce} reads at once`);
    });

    it('beyond the bound of an account get 503, which does not count, and leave other accounts alone', async () => {
      const key = await serving.newKey({ plan: 'free' });
      assert.equal((await send(`${base}/categories/1`, { key })).headers['x-ratelimit-remaining'], '59');
      const replies = await Promise.all([
        ...Array.from({ length: 40 }, () => scan(key)),
        send(`${base}/events?limit=1`, { key }),
        scan({ token: bystander }),
      ]);
      const [ofOther, unscanned, ...ofAccount] = replies.reverse();
      assert.deepEqual([ofOther!.status, unscanned!.status], [200, 200]);
      const refused = ofAccount.filter(({ status }) => status === 503);
      const accepted = ofAccount.filter(({ status }) => status === 200);
      assert.equal(accepted.length + refused.length, 40);
      assert.ok(accepted.length >= SCANS_MAX && refused.length > 0, `${accepted.length} are accepted`);
      for (const reply of refused) {
        assertApiResponse(reply);
        assert.equal(reply.body.code, 'overloaded');
        assert.equal(reply.headers['retry-after'], '1');
      }
      const left = Number((await send(`${base}/categories/1`, { key })).headers['x-ratelimit-remaining']);
      assert.equal(left, 60 - 1 - accepted.length - 1 - 1);
      const { bounds } = (await send(`${base}/account`, { key })).body;
      assert.deepEqual(bounds.scans, { used: 0, maximum: SCANS_MAX });
    });

    it('end when the client has gone', async () => {
      const key = await serving.newKey({ plan: 'free' });
      const inProgress = async () => (await send(`${base}/account`, { key })).body.bounds.scans.used as number;
      const readBefore = reads;
      const clients = Array.from({ length: SCANS_MAX }, () => {
        const socket = dial(base);
        socket.write(
          `GET /v1/events?types=order.placed&after=evt_0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.token}\r\n\r\n`,
        );
        return socket;
      });
      onRead = () => {
        if (reads < readBefore + 2 * SCANS_MAX) return;
        for (const client of clients) client.destroy();
      };
      await waitUntil(async () => reads >= readBefore + 2 * SCANS_MAX && (await inProgress()) === 0);
      const read = reads - readBefore;
      assert.ok(read < 6 * SCANS_MAX, `${read} reads`);
    });
  });
});

async function start(engine: ServedEngine): Promise<TestService> {
  return serve({ environment: { ...(await engine.settings()), PETSTORE_SCANS_MAX: String(SCANS_MAX) } });
}

/** Calls a function before each read of the log from now on, with the number of reads in turns that run. */
function watchReads(database: Database, onRead: (atOnce: number) => void): void {
  const all = database.all.bind(database);
  let running = 0;
  database.all = (query, params) => {
    if (typeof params !== 'object' || params === null || !('upTo' in params)) return all(query, params);
    const { after, upTo } = params as unknown as { after: number; upTo: number };
    assert.ok(upTo - after <= 2000, `${upTo - after} events at once`);
    // The first read of a page takes no turn.
    const turn = upTo - after > 500 ? 1 : 0;
    running += turn;
    onRead(running);
    const rows = all(query, params);
    const ended = () => {
      running -= turn;
    };
    if (rows instanceof Promise) rows.then(ended, ended);
    else ended();
    return rows;
  };
}

function categoryEvent(index: number) {
  const category = { name: 'Cats', slug: 'cats', placeholder: false };
  return {
    kind: 'category',
    action: 'updated',
    subjectId: 1 + (index % 8),
    accountId: null,
    data: { category },
  } as const;
}

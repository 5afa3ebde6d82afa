import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { long } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { assertStoredInvariants, storedIn } from '../support/stored.ts';

const ROUNDS = long ? 40 : 6;
const HELD = 90;
const ORDERED = 150;
const MESSAGES = 50;
const START = Date.parse('2026-11-21T12:00:00Z');
const DAY = 86_400_000;

describe(`jobs, after ${ROUNDS} kills while they run`, () => {
  it('run once each in the next process: expiry, delivery and retention', async t => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-work-kill-'));
    let running: Process | undefined;
    t.after(async () => {
      await running?.stop('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    });
    const serveAt = async (ms: number) => {
      running = await spawnService({
        directory,
        environment: { NODE_ENV: 'test', PETSTORE_NOW: new Date(START + ms).toISOString(), PETSTORE_STAGING_PORT: '' },
      });
      return running;
    };

    const first = await serveAt(0);
    const key = await newProcessKey(first);
    const petIds: number[] = [];
    const post = async (url: string, idempotencyKey: string, body: unknown) => {
      const reply = await send(url, { method: 'POST', key, body, headers: { 'Idempotency-Key': idempotencyKey } });
      assert.ok(reply.status < 300, reply.text);
      return reply.body;
    };
    for (let n = 0; n < HELD + ORDERED; n++) {
      const { id } = await post(`${first.urls.production}/pets`, `pet-${n}`, { name: `Animal ${n}`, categoryId: 2 });
      petIds.push(Number(id));
    }
    for (const petId of petIds.slice(0, HELD)) {
      await post(`${first.urls.production}/holds`, `hold-${petId}`, { petIds: [petId] });
    }
    for (const petId of petIds.slice(HELD)) {
      await post(`${first.urls.production}/store/orders`, `order-${petId}`, { petId });
    }
    await Promise.all(
      Array.from({ length: MESSAGES }, (_, n) =>
        post(`${first.urls.messages}/messages`, `message-${n}`, { message: `${n}` }),
      ),
    );
    await first.stop('SIGKILL');

    const all = waiting(directory).total;
    const left: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const server = await serveAt(8 * DAY + round * 60_000);
      // Somewhere in the middle of its share.
      const enough = all * (1 - (round + Math.random()) / ROUNDS);
      while (waiting(directory).total > enough) await pause(1);
      await server.stop('SIGKILL');
      left.push(waiting(directory).total);
    }
    t.diagnostic(`left of ${all} after each kill: ${left.join(', ')}`);

    assert.ok(
      left.some(one => one > 0 && one < all),
      'a kill came in the middle',
    );

    const last = await serveAt(9 * DAY);
    for (let tries = 0; waiting(directory).total > 0; tries++) {
      assert.ok(tries < 300, JSON.stringify(waiting(directory)));
      await pause(50);
    }
    assert.equal((await last.stop()).code, 0, last.log());

    const stored = storedIn(directory);
    assertStoredInvariants(stored);
    const times = new Map<string, number>();
    for (const { kind, action, subject_id } of stored.events) {
      if (action === 'created' || action === 'queued') continue;
      const what = `${kind} ${subject_id} ${action}`;
      times.set(what, (times.get(what) ?? 0) + 1);
    }
    // An animal is updated when it is promised, and when it is free again.
    for (const [what, count] of times) assert.equal(count, /^pet \d+ updated$/.test(what) ? 2 : 1, what);
    const ended = [...times.keys()].filter(what => /^(hold|order) \d+ expired$/.test(what));
    assert.equal(ended.length, HELD + ORDERED);
    assert.equal([...times.keys()].filter(what => /^message \d+ delivered$/.test(what)).length, MESSAGES);
  });
});

/** What of the work there is has not been done yet. */
function waiting(directory: string) {
  const db = new Sqlite(join(directory, 'production.db'), { readonly: true });
  try {
    const count = (text: string) => db.prepare<unknown[], number>(`select count(*) from ${text}`).pluck().get()!;
    const rows = {
      pets: count('pets where reserved_until is not null'),
      holds: count('holds where ended_at is null'),
      orders: count(`orders where status = 'placed'`),
      messages: count('messages where arrived_at is null'),
      answers: count('idempotency'),
    };
    return { ...rows, total: Object.values(rows).reduce((sum, one) => sum + one, 0) };
  } finally {
    db.close();
  }
}

import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { onEachEngine, silent } from '../../test/support/engines.ts';
import { problem } from '../errors.ts';
import { createEventBus } from '../events/event-bus.ts';
import { type TestClock, testClock } from '../lib/clock.ts';
import { Problem } from '../lib/http/problem.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import { StorageError } from '../lib/storage/database.ts';
import { type Database, type Params, query, sql, type Transaction } from '../schema.ts';
import { type IdempotentResponse, withIdempotency } from './idempotency.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Call = Parameters<typeof withIdempotency>[0];

onEachEngine(engine => {
  let clock: TestClock;
  let database: Database;
  beforeEach(async () => {
    clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
    database = await engine.open({ clock });
  });

  /** A request with an Idempotency-Key; '' sends none. */
  function callWith(key: string, more: Partial<Call> & { on?: Database; accountId?: number } = {}): Call {
    const { on = database, accountId = 1, ...rest } = more;
    return {
      context: {
        name: 'production',
        database: on,
        clock,
        categories: 'open',
        heldMax: 100,
        eventsKeptMs: 0,
        streamsMax: 1,
        hub: createEventBus({ database: on, log: silent }),
        webhooks: {} as Call['context']['webhooks'],
      },
      caller: { keyId: 'k', deployment: 'production', accountId, admin: false },
      operationId: 'makeThing',
      path: {},
      query: {},
      body: { name: 'Minka' },
      header: name => (name === 'idempotency-key' && key !== '' ? key : undefined),
      ...rest,
    };
  }

  /** Makes a thing, and answers with the number that it got. */
  async function make(tx: Transaction): Promise<IdempotentResponse> {
    const { id } = (await tx.first(addThing, { now: tx.now }))!;
    return { status: 201, body: { id, name: 'Minka' }, headers: ['Location', `/things/${id}`, 'ETag', `"${id}.1"`] };
  }

  const things = async (on = database) => (await on.first(countThings, {}))!.things;
  const kept = async () => (await database.first(countAnswers, {}))!.answers;
  const textOf = ({ body }: RouteResponse) => (Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body));
  const isReplay = ({ headers = [] }: RouteResponse) => headers[0] === 'Idempotency-Replayed' && headers[1] === 'true';
  const refusedWith = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

  describe('a retry with the same key', () => {
    it('does nothing and gets the first answer byte for byte, with Location and ETag', async () => {
      const first = await withIdempotency(callWith('a'), make);
      const retry = await withIdempotency(callWith('a'), make);
      assert.equal(await things(), 1);
      assert.equal(textOf(retry), textOf(first));
      assert.equal(textOf(first), '{"id":1,"name":"Minka"}');
      assert.equal(retry.status, 201);
      assert.deepEqual(retry.headers, ['Idempotency-Replayed', 'true', ...first.headers!]);
    });

    it('gets an answer without a body, and one whose status is the usual, as they were', async () => {
      const empty = () => ({ headers: ['ETag', '"1.2"'] });
      assert.deepEqual(await withIdempotency(callWith('a'), empty), { headers: ['ETag', '"1.2"'] });
      assert.deepEqual(await withIdempotency(callWith('a'), empty), {
        headers: ['Idempotency-Replayed', 'true', 'ETag', '"1.2"'],
      });
    });

    it('is none without a key: each request makes something', async () => {
      for (let n = 0; n < 3; n++) assert.ok(!isReplay(await withIdempotency(callWith(''), make)));
      assert.equal(await things(), 3);
      assert.equal(await kept(), 0);
    });

    it('gets null where the first answer showed a secret, which rests nowhere', async () => {
      const work = () => ({ body: { id: 'k1', token: 'the secret', note: 'x' }, secrets: ['token'] });
      assert.equal(textOf(await withIdempotency(callWith('a'), work)), '{"id":"k1","token":"the secret","note":"x"}');
      assert.equal(textOf(await withIdempotency(callWith('a'), work)), '{"id":"k1","token":null,"note":"x"}');
      assert.doesNotMatch(JSON.stringify(await database.all(everyAnswer, {})), /the secret/);
    });

    it('gets the answer of that time, whatever became of the thing since', async () => {
      const first = await withIdempotency(callWith('a'), make);
      await database.write(tx => tx.run(forgetThings, {}));
      assert.equal(textOf(await withIdempotency(callWith('a'), make)), textOf(first));
      assert.equal(await things(), 0);
    });
  });

  describe('the same key', () => {
    it('with another operation, path, query or body is refused', async () => {
      await withIdempotency(callWith('a', { path: { id: 1 } }), make);
      for (const other of [
        { operationId: 'makeOther', path: { id: 1 } },
        { path: { id: 2 } },
        { path: { id: 1 }, query: { x: 1 } },
        { path: { id: 1 }, body: { name: 'Mia' } },
        { path: { id: 1 }, body: undefined },
      ]) {
        await assert.rejects(withIdempotency(callWith('a', other), make), refusedWith('idempotency_key_reused'));
      }
      assert.ok(isReplay(await withIdempotency(callWith('a', { path: { id: 1 } }), make)));
      assert.equal(await things(), 1);
    });

    it('of another account is another key', async () => {
      await withIdempotency(callWith('a'), make);
      assert.ok(!isReplay(await withIdempotency(callWith('a', { accountId: 2, body: 'other' }), make)));
      assert.equal(await things(), 2);
    });

    it('in the other deployment is another key, also at the same time', async () => {
      const staging = await engine.open({ clock });
      const answers = await Promise.all([
        withIdempotency(callWith('a'), make),
        withIdempotency(
          callWith('a', { context: { ...callWith('a').context, name: 'staging', database: staging } }),
          make,
        ),
      ]);
      assert.deepEqual(answers.map(isReplay), [false, false]);
      assert.deepEqual([await things(), await things(staging)], [1, 1]);
    });

    it('within 24 hours is a retry, and after that a new request', async () => {
      await withIdempotency(callWith('a'), make);
      clock.advance(DAY_MS - 1);
      assert.ok(isReplay(await withIdempotency(callWith('a'), make)));
      clock.advance(1);
      assert.ok(!isReplay(await withIdempotency(callWith('a', { body: 'other' }), make)));
      assert.ok(isReplay(await withIdempotency(callWith('a', { body: 'other' }), make)));
      assert.equal(await things(), 2);
    });

    it('is told apart from others by case and by every character', async () => {
      for (const key of ['a', 'A', 'a.', '"a"', `${'a'.repeat(254)}b`, 'a'.repeat(255), '!', '~']) {
        assert.ok(!isReplay(await withIdempotency(callWith(key), make)), key);
      }
      assert.equal(await things(), 8);
    });
  });

  it('refuses a key that is none', async () => {
    for (const key of [' ', 'a b', 'a,b', 'a, a', 'ä', 'a\tb', '\x7f', 'a'.repeat(256), '🐈']) {
      await assert.rejects(withIdempotency(callWith(key), make), refusedWith('invalid_parameter'), key);
    }
    const empty = { ...callWith('a'), header: () => '' };
    await assert.rejects(withIdempotency(empty, make), refusedWith('invalid_parameter'));
    assert.equal(await things(), 0);
  });

  describe('a refusal', () => {
    it('stores nothing and takes back what was done: the same key is judged again', async () => {
      for (const code of ['invalid_body', 'pet_not_found', 'pet_reserved'] as const) {
        const refusing = async (tx: Transaction) => {
          await make(tx);
          throw problem(code);
        };
        await assert.rejects(withIdempotency(callWith('a'), refusing), refusedWith(code));
        assert.deepEqual([await things(), await kept()], [0, 0]);
      }
      assert.ok(!isReplay(await withIdempotency(callWith('a', { body: 'corrected' }), make)));
      assert.equal(await things(), 1);
    });

    it('because of a fault frees the key as well', async () => {
      const broken = () => Promise.reject(new Error('a fault'));
      await assert.rejects(withIdempotency(callWith('a'), broken), /a fault/);
      assert.ok(!isReplay(await withIdempotency(callWith('a'), make)));
    });
  });

  describe('many at once with the same key', () => {
    it('make exactly one thing; each gets its answer, or is told to wait', async () => {
      for (let round = 0; round < 10; round++) {
        const settled = await Promise.allSettled(
          Array.from({ length: 20 }, () => withIdempotency(callWith(`key ${round}`.replace(' ', '-')), make)),
        );
        assert.equal(await things(), round + 1);
        const answers = settled.filter(one => one.status === 'fulfilled').map(({ value }) => value);
        assert.equal(answers.filter(answer => !isReplay(answer)).length, 1);
        assert.equal(new Set(answers.map(textOf)).size, 1);
        for (const one of settled) {
          if (one.status === 'rejected') assert.ok(refusedWith('idempotency_key_in_use')(one.reason), one.reason);
        }
      }
    });

    it('are told in how long to try again', async () => {
      const [, second] = await Promise.allSettled([
        withIdempotency(callWith('a'), make),
        withIdempotency(callWith('a'), make),
      ]);
      assert.ok(second.status === 'rejected');
      assert.deepEqual(second.reason.headers, ['Retry-After', '1']);
    });
  });

  it('remembers over a restart', async () => {
    const place = await engine.place();
    const before = await engine.open({ place, clock });
    const first = await withIdempotency(callWith('a', { on: before }), make);
    await before.close();
    const after = await engine.open({ place, clock });
    const retry = await withIdempotency(callWith('a', { on: after }), make);
    assert.ok(isReplay(retry));
    assert.equal(textOf(retry), textOf(first));
    assert.equal(await things(after), 1);
  });

  if (engine.name === 'postgres') {
    describe('two nodes', () => {
      let nodes: [Database, Database];
      beforeEach(async () => {
        const place = await engine.place();
        const one = await engine.open({ place, clock });
        nodes = [one, await engine.open({ place, clock })];
      });

      it('with the same key at the same time never make two things', async () => {
        for (let round = 0; round < 25; round++) {
          const settled = await Promise.allSettled(
            Array.from({ length: 6 }, (_, n) => withIdempotency(callWith(`key-${round}`, { on: nodes[n % 2]! }), make)),
          );
          assert.equal(await things(nodes[0]), round + 1);
          const answers = settled.filter(one => one.status === 'fulfilled').map(({ value }) => textOf(value));
          assert.deepEqual(new Set(answers), new Set([`{"id":${round + 1},"name":"Minka"}`]));
          for (const one of settled) {
            if (one.status === 'rejected') assert.ok(refusedWith('idempotency_key_in_use')(one.reason), one.reason);
          }
        }
      });

      it('refuse the key that the other is working on, and answer as it did from then on', async () => {
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        const slow = withIdempotency(callWith('a', { on: nodes[0] }), async tx => {
          const change = await make(tx);
          begin();
          await released;
          return change;
        });
        await begun;
        const other = callWith('a', { on: nodes[1], body: 'even with another body' });
        await assert.rejects(withIdempotency(other, make), refusedWith('idempotency_key_in_use'));
        release();
        const first = await slow;
        const retry = await withIdempotency(callWith('a', { on: nodes[1] }), make);
        assert.ok(isReplay(retry));
        assert.equal(textOf(retry), textOf(first));
      });

      it('never write over an answer, whoever believes to be alone', async () => {
        const work = async (tx: Transaction) => {
          // What a lock that does not hold would let through.
          await nodes[1].write(other => other.run(plantAnswer, { key: 'a', now: other.now }));
          return make(tx);
        };
        await assert.rejects(
          withIdempotency(callWith('a', { on: nodes[0] }), work),
          refusedWith('idempotency_key_in_use'),
        );
        assert.equal(await things(nodes[0]), 0);
      });
    });

    it('leaves nothing behind when its session is killed in the middle: the retry does the work', async () => {
      const killed = async (tx: Transaction) => {
        const change = await make(tx);
        await tx.first(killMyself, {});
        return change;
      };
      await assert.rejects(withIdempotency(callWith('a'), killed), StorageError);
      assert.deepEqual([await things(), await kept()], [0, 0]);
      assert.ok(!isReplay(await withIdempotency(callWith('a'), make)));
      assert.equal(await things(), 1);
    });
  }
});

const addThing = query((db, p: Params<{ now: number }>) =>
  db
    .insertInto('holds')
    .values({ account_id: 1, expires_at: p.now, created_at: p.now, updated_at: p.now })
    .returning('id'),
);
const countThings = query(db => db.selectFrom('holds').select(eb => eb.fn.countAll<number>().as('things')));
const forgetThings = query(db => db.deleteFrom('holds'));
const countAnswers = query(db => db.selectFrom('idempotency').select(eb => eb.fn.countAll<number>().as('answers')));
const everyAnswer = query(db => db.selectFrom('idempotency').selectAll());
const plantAnswer = query((db, p: Params<{ key: string; now: number }>) =>
  db.insertInto('idempotency').values({ account_id: 1, key: p.key, fingerprint: '', body: '', created_at: p.now }),
);
const killMyself = query(db => db.selectNoFrom(sql`pg_terminate_backend(pg_backend_pid())`.as('killed')));

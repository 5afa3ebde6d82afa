import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { type TestClock, testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { RouteResponse } from '../../lib/http/route.ts';
import { JsonText } from '../../lib/http/server/json.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { problem } from '../../model/errors.ts';
import { EventBus } from '../../model/log/event-bus.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { storedBytes } from '../plans/stored-bytes.ts';
import { deleteResponses, type IdempotentResponse, withIdempotency } from './idempotency.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Request = Parameters<typeof withIdempotency>[0];

onEachEngine(engine => {
  let clock: TestClock;
  let database: Database;
  beforeEach(async () => {
    clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
    database = await engine.open({ clock });
  });

  /** Builds a request with an Idempotency-Key; '' omits the header. */
  function requestWith(key: string, more: Partial<Request> & { on?: Database; accountId?: number } = {}): Request {
    const { on = database, accountId = 1, ...rest } = more;
    return {
      context: {
        name: 'production',
        database: on,
        clock,
        categories: 'open',
        bounds: {},
        sandbox: {} as never,
        scans: {} as never,
        uploads: {} as never,
        eventsKeptMs: 0,
        eventBus: new EventBus({ database: on, log: silent }),
        webhooks: {} as Request['context']['webhooks'],
        photos: {} as Request['context']['photos'],
      },
      caller: { accountId, plan: 'free' },
      origin: undefined,
      operationId: 'createThing',
      path: {},
      query: {},
      body: { name: 'Minka' },
      headers: { 'idempotency-key': key === '' ? undefined : key },
      ...rest,
    };
  }

  /** Creates a thing and returns a response with its id. */
  async function create(tx: Transaction): Promise<IdempotentResponse> {
    const { id } = (await tx.first(addThing, { now: tx.now }))!;
    return { status: 201, body: { id, name: 'Minka' }, headers: ['Location', `/things/${id}`, 'ETag', `"${id}.1"`] };
  }

  const things = async (on = database) => (await on.first(countThings, {}))!.things;
  const storedCount = async () => (await database.first(countResponses, {}))!.responses;
  const textOf = ({ body }: RouteResponse) => (body instanceof JsonText ? body.text : JSON.stringify(body));
  const isReplay = ({ headers = [] }: RouteResponse) => headers[0] === 'Idempotency-Replayed' && headers[1] === 'true';
  const failsWith = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

  describe('a retry with the same key', () => {
    it('changes nothing and replays the first response byte for byte, with Location and ETag', async () => {
      const first = await withIdempotency(requestWith('a'), create);
      const retry = await withIdempotency(requestWith('a'), create);
      assert.equal(await things(), 1);
      assert.equal(textOf(retry), textOf(first));
      assert.equal(textOf(first), '{"id":1,"name":"Minka"}');
      assert.equal(retry.status, 201);
      assert.deepEqual(retry.headers, ['Idempotency-Replayed', 'true', ...first.headers!]);
    });

    it('replays a response without a body or without an explicit status', async () => {
      const empty = () => ({ headers: ['ETag', '"1.2"'] });
      assert.deepEqual(await withIdempotency(requestWith('a'), empty), { headers: ['ETag', '"1.2"'] });
      assert.deepEqual(await withIdempotency(requestWith('a'), empty), {
        headers: ['Idempotency-Replayed', 'true', 'ETag', '"1.2"'],
      });
    });

    it('is not recognised without a key: every request runs the handler', async () => {
      for (let n = 0; n < 3; n++) assert.ok(!isReplay(await withIdempotency(requestWith(''), create)));
      assert.equal(await things(), 3);
      assert.equal(await storedCount(), 0);
    });

    it('has null in place of a secret, which is never stored', async () => {
      const handler = () => ({ body: { id: 'k1', token: 'the secret', note: 'x' }, secrets: ['token'] });
      assert.equal(
        textOf(await withIdempotency(requestWith('a'), handler)),
        '{"id":"k1","token":"the secret","note":"x"}',
      );
      assert.equal(textOf(await withIdempotency(requestWith('a'), handler)), '{"id":"k1","token":null,"note":"x"}');
      assert.doesNotMatch(JSON.stringify(await database.all(allResponses, {})), /the secret/);
    });

    it('stores no member that repeats the request, and replays it all the same', async () => {
      const text = 'Is "Minka"\n\u0007 nice? 🐈';
      const echoing = (key: string) => requestWith(key, { body: { message: text, note: 'x' } });
      const handler = () => ({ body: { id: 'm1', message: text, status: 'queued' } });
      const first = await withIdempotency(echoing('a'), handler, { echoed: ['message'] });
      const retry = await withIdempotency(echoing('a'), handler, { echoed: ['message'] });
      assert.ok(isReplay(retry));
      assert.deepEqual([textOf(first), textOf(retry)], Array(2).fill(JSON.stringify(handler().body)));
      assert.equal((await database.first(allResponses, {}))?.body, '{"id":"m1","message":null,"status":"queued"}');
      // An earlier release stored all members, including echoed ones.
      await withIdempotency(echoing('b'), handler);
      assert.equal(textOf(await withIdempotency(echoing('b'), handler, { echoed: ['message'] })), textOf(first));
    });

    it('replays the stored response even if the resource has been deleted', async () => {
      const first = await withIdempotency(requestWith('a'), create);
      await database.write(tx => tx.run(deleteThings, {}));
      assert.equal(textOf(await withIdempotency(requestWith('a'), create)), textOf(first));
      assert.equal(await things(), 0);
    });
  });

  describe('the same key', () => {
    it('is rejected with another operation, path, query or body', async () => {
      await withIdempotency(requestWith('a', { path: { id: 1 } }), create);
      for (const other of [
        { operationId: 'createOther', path: { id: 1 } },
        { path: { id: 2 } },
        { path: { id: 1 }, query: { x: 1 } },
        { path: { id: 1 }, body: { name: 'Mia' } },
        { path: { id: 1 }, body: undefined },
      ]) {
        await assert.rejects(withIdempotency(requestWith('a', other), create), failsWith('idempotency_key_reused'));
      }
      assert.ok(isReplay(await withIdempotency(requestWith('a', { path: { id: 1 } }), create)));
      assert.equal(await things(), 1);
    });

    it('is a different key for another account', async () => {
      await withIdempotency(requestWith('a'), create);
      assert.ok(!isReplay(await withIdempotency(requestWith('a', { accountId: 2, body: 'other' }), create)));
      assert.equal(await things(), 2);
    });

    it('is a different key in the other deployment, even concurrently', async () => {
      const staging = await engine.open({ clock });
      const answers = await Promise.all([
        withIdempotency(requestWith('a'), create),
        withIdempotency(
          requestWith('a', { context: { ...requestWith('a').context, name: 'staging', database: staging } }),
          create,
        ),
      ]);
      assert.deepEqual(answers.map(isReplay), [false, false]);
      assert.deepEqual([await things(), await things(staging)], [1, 1]);
    });

    it('replays for 24 hours and then runs a new request', async () => {
      await withIdempotency(requestWith('a'), create);
      clock.advance(DAY_MS - 1);
      assert.ok(isReplay(await withIdempotency(requestWith('a'), create)));
      clock.advance(1);
      assert.ok(!isReplay(await withIdempotency(requestWith('a', { body: 'other' }), create)));
      assert.ok(isReplay(await withIdempotency(requestWith('a', { body: 'other' }), create)));
      assert.equal(await things(), 2);
    });

    it('is compared exactly, including case', async () => {
      for (const key of ['a', 'A', 'a.', '"a"', `${'a'.repeat(254)}b`, 'a'.repeat(255), '!', '~']) {
        assert.ok(!isReplay(await withIdempotency(requestWith(key), create)), key);
      }
      assert.equal(await things(), 8);
    });
  });

  it('is rejected beyond the bytes that the account may store, and succeeds without the key', async () => {
    const bounded = (key: string) => {
      const request = requestWith(key);
      return { ...request, context: { ...request.context, bounds: { storedBytes: 50 } } };
    };
    for (const key of ['a', 'b']) await withIdempotency(bounded(key), create);
    await assert.rejects(withIdempotency(bounded('c'), create), failsWith('storage_limit_exceeded'));
    assert.ok(isReplay(await withIdempotency(bounded('a'), create)));
    await withIdempotency(bounded(''), create);
    assert.deepEqual([await things(), await storedCount()], [3, 2]);
    assert.equal(await storedBytes.read(database, 1), 2 * '{"id":1,"name":"Minka"}'.length);
    // An expired response is replaced when its key is used again, or deleted by retention.
    clock.advance(DAY_MS);
    await withIdempotency(bounded('a'), create);
    assert.equal(await storedBytes.read(database, 1), 2 * '{"id":1,"name":"Minka"}'.length);
    await database.write(tx => deleteResponses(tx, 10));
    assert.equal(await storedBytes.read(database, 1), '{"id":1,"name":"Minka"}'.length);
  });

  it('rejects a malformed key', async () => {
    for (const key of [' ', 'a b', 'a,b', 'a, a', 'ä', 'a\tb', '\x7f', 'a'.repeat(256), '🐈']) {
      await assert.rejects(withIdempotency(requestWith(key), create), failsWith('invalid_parameter'), key);
    }
    const empty = { ...requestWith('a'), headers: { 'idempotency-key': '' } };
    await assert.rejects(withIdempotency(empty, create), failsWith('invalid_parameter'));
    assert.equal(await things(), 0);
  });

  describe('errors', () => {
    it('rolls back and stores nothing, so the key can be used again', async () => {
      for (const code of ['invalid_body', 'pet_not_found', 'pet_reserved'] as const) {
        const failing = async (tx: Transaction) => {
          await create(tx);
          throw problem(code);
        };
        await assert.rejects(withIdempotency(requestWith('a'), failing), failsWith(code));
        assert.deepEqual([await things(), await storedCount()], [0, 0]);
      }
      assert.ok(!isReplay(await withIdempotency(requestWith('a', { body: 'corrected' }), create)));
      assert.equal(await things(), 1);
    });

    it('frees the key even if it is unexpected', async () => {
      const broken = () => Promise.reject(new Error('unexpected'));
      await assert.rejects(withIdempotency(requestWith('a'), broken), /unexpected/);
      assert.ok(!isReplay(await withIdempotency(requestWith('a'), create)));
    });
  });

  describe('concurrent requests with the same key', () => {
    it('run the handler once; the others get its response or idempotency_key_in_use', async () => {
      for (let round = 0; round < 10; round++) {
        const settled = await Promise.allSettled(
          Array.from({ length: 20 }, () => withIdempotency(requestWith(`key ${round}`.replace(' ', '-')), create)),
        );
        assert.equal(await things(), round + 1);
        const answers = settled.filter(one => one.status === 'fulfilled').map(({ value }) => value);
        assert.equal(answers.filter(answer => !isReplay(answer)).length, 1);
        assert.equal(new Set(answers.map(textOf)).size, 1);
        for (const one of settled) {
          if (one.status === 'rejected') assert.ok(failsWith('idempotency_key_in_use')(one.reason), one.reason);
        }
      }
    });

    it('get Retry-After', async () => {
      const [, second] = await Promise.allSettled([
        withIdempotency(requestWith('a'), create),
        withIdempotency(requestWith('a'), create),
      ]);
      assert.ok(second.status === 'rejected');
      assert.deepEqual(second.reason.headers, ['Retry-After', '1']);
    });
  });

  it('replays after a restart', async () => {
    const location = await engine.newLocation();
    const before = await engine.open({ location, clock });
    const first = await withIdempotency(requestWith('a', { on: before }), create);
    await before.close();
    const after = await engine.open({ location, clock });
    const retry = await withIdempotency(requestWith('a', { on: after }), create);
    assert.ok(isReplay(retry));
    assert.equal(textOf(retry), textOf(first));
    assert.equal(await things(after), 1);
  });

  if (engine.name === 'postgres') {
    describe('on two nodes', () => {
      let nodes: [Database, Database];
      beforeEach(async () => {
        const location = await engine.newLocation();
        const one = await engine.open({ location, clock });
        nodes = [one, await engine.open({ location, clock })];
      });

      it('runs the handler once per key', async () => {
        for (let round = 0; round < 25; round++) {
          const settled = await Promise.allSettled(
            Array.from({ length: 6 }, (_, n) =>
              withIdempotency(requestWith(`key-${round}`, { on: nodes[n % 2]! }), create),
            ),
          );
          assert.equal(await things(nodes[0]), round + 1);
          const answers = settled.filter(one => one.status === 'fulfilled').map(({ value }) => textOf(value));
          assert.deepEqual(new Set(answers), new Set([`{"id":${round + 1},"name":"Minka"}`]));
          for (const one of settled) {
            if (one.status === 'rejected') assert.ok(failsWith('idempotency_key_in_use')(one.reason), one.reason);
          }
        }
      });

      it('rejects a key that the other node is processing, then replays its response', async () => {
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        const slow = withIdempotency(requestWith('a', { on: nodes[0] }), async tx => {
          const response = await create(tx);
          begin();
          await released;
          return response;
        });
        await begun;
        const other = requestWith('a', { on: nodes[1], body: 'another body' });
        await assert.rejects(withIdempotency(other, create), failsWith('idempotency_key_in_use'));
        release();
        const first = await slow;
        const retry = await withIdempotency(requestWith('a', { on: nodes[1] }), create);
        assert.ok(isReplay(retry));
        assert.equal(textOf(retry), textOf(first));
      });

      it('never overwrites a stored response, even if the advisory lock fails', async () => {
        const handler = async (tx: Transaction) => {
          // Simulates a second node that did not wait for the lock.
          await nodes[1].write(other => other.run(insertResponse, { key: 'a', now: other.now }));
          return create(tx);
        };
        await assert.rejects(
          withIdempotency(requestWith('a', { on: nodes[0] }), handler),
          failsWith('idempotency_key_in_use'),
        );
        assert.equal(await things(nodes[0]), 0);
      });
    });

    it('stores nothing if the database session is terminated, so the retry runs the handler', async () => {
      const killed = async (tx: Transaction) => {
        const response = await create(tx);
        await tx.first(terminateSession, {});
        return response;
      };
      await assert.rejects(withIdempotency(requestWith('a'), killed), StorageError);
      assert.deepEqual([await things(), await storedCount()], [0, 0]);
      assert.ok(!isReplay(await withIdempotency(requestWith('a'), create)));
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
const deleteThings = query(db => db.deleteFrom('holds'));
const countResponses = query(db => db.selectFrom('idempotency').select(eb => eb.fn.countAll<number>().as('responses')));
const allResponses = query(db => db.selectFrom('idempotency').selectAll());
const insertResponse = query((db, p: Params<{ key: string; now: number }>) =>
  db.insertInto('idempotency').values({ account_id: 1, key: p.key, fingerprint: '', body: '', created_at: p.now }),
);
const terminateSession = query(db => db.selectNoFrom(sql`pg_terminate_backend(pg_backend_pid())`.as('killed')));

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { systemClock } from '../../src/lib/clock.ts';
import { StorageError } from '../../src/lib/storage/database.ts';
import { openPostgres, type PostgresDatabase } from '../../src/lib/storage/postgres/database.ts';
import { migrations } from '../../src/model/migrations/index.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { onPostgres, onServer, run, silent } from '../support/engines.ts';
import { startProxy } from '../support/proxy.ts';
import { RECOVERY_MS, RESPONSE_MS } from '../support/selection.ts';
import { waitUntil } from '../support/wait-until.ts';

const addFact = query((db, p: Params<{ name: string }>) => db.insertInto('facts').values({ name: p.name, value: '' }));
const factByName = query((db, p: Params<{ name: string }>) =>
  db.selectFrom('facts').select('name').where('name', '=', p.name),
);
const setFact = query((db, p: Params<{ name: string; value: string }>) =>
  db.updateTable('facts').set({ value: p.value }).where('name', '=', p.name),
);
const sleep = query((db, p: Params<{ seconds: number }>) =>
  db.selectNoFrom(sql<null>`pg_sleep(${p.seconds}::float8)`.as('slept')),
);

/** These tests mostly wait. */
const together = { concurrency: 5 };

/** Returns the outcome of a call; fails after `limitMs`. */
async function within<T>(limitMs: number, call: Promise<T>): Promise<PromiseSettledResult<T>> {
  const timer = new AbortController();
  const late = pause(limitMs, undefined, { signal: timer.signal }).then(
    () => assert.fail(`no answer within ${limitMs} ms`),
    () => assert.fail('never seen'),
  );
  late.catch(() => {});
  const outcome = await Promise.race([Promise.allSettled([call]).then(([settled]) => settled), late]);
  timer.abort();
  return outcome;
}

async function refusedWithin(limitMs: number, call: Promise<unknown>): Promise<StorageError> {
  const outcome = await within(limitMs, call);
  assert.ok(outcome.status === 'rejected', 'the call succeeded');
  assert.ok(outcome.reason instanceof StorageError, inspect(outcome.reason));
  assert.equal(outcome.reason.reason, 'unavailable');
  return outcome.reason;
}

onPostgres(engine => {
  /** Opens a database through a proxy that can fail. */
  async function begin(t: TestContext) {
    const location = (await engine.newLocation()) as { url: string; schema: string };
    const url = new URL(location.url);
    const proxy = await startProxy({ host: url.hostname, port: Number(url.port || 5432) });
    const log: string[] = [];
    const opened: PostgresDatabase[] = [];
    t.after(async () => {
      await Promise.all(opened.map(database => database.close()));
      await proxy.close();
    });
    async function open(
      options: { direct?: boolean; role?: 'server' | 'cli'; schema?: string; options?: string } = {},
    ) {
      const through = options.direct ? {} : { hostname: '127.0.0.1', port: `${proxy.port}` };
      const reached = Object.assign(new URL(url), through);
      if (options.options !== undefined) reached.searchParams.set('options', options.options);
      const database = await openPostgres({
        url: reached.href,
        schema: options.schema ?? location.schema,
        migrations,
        clock: systemClock(),
        role: options.role ?? 'server',
        migrate: true,
        log: { ...silent, warn: (message: unknown) => log.push(`${message}`) },
        connectionsMax: 4,
      });
      opened.push(database);
      return database;
    }
    const database = await open();
    const add = (name: string) => database.write(tx => tx.run(addFact, { name }));
    const isThere = async (name: string) => (await database.first(factByName, { name })) !== undefined;
    let names = 0;
    /** Every kind of call, twice. */
    const calls = (): Promise<unknown>[] =>
      [1, 2].flatMap(() => [
        Promise.resolve(database.first(factByName, { name: 'a' })),
        Promise.resolve(database.all(factByName, { name: 'a' })),
        add(`call ${++names}`),
        database.write(tx => tx.notify('keys')),
      ]);
    async function wellAgain() {
      const well = waitUntil(async () => {
        const outcomes = await Promise.allSettled(calls());
        return outcomes.every(({ status }) => status === 'fulfilled') && (await database.health()).ok;
      });
      assert.equal((await within(RECOVERY_MS, well)).status, 'fulfilled');
      await waitUntil(() => database.topicVersion('keys') !== undefined);
    }
    /** Runs statements on another connection, in the schema of the database. */
    const beside = <T>(work: (statement: (text: string) => Promise<unknown>) => Promise<T>) =>
      onServer(async connection => {
        await run(connection, `set search_path = ${location.schema}`);
        return await work(text => run(connection, text));
      }, url.href);
    return { url, schema: location.schema, proxy, log, database, open, add, isThere, calls, wellAgain, beside };
  }

  describe('a database that receives but never responds', together, () => {
    it('fails every call within the request timeout, and recovers soon after', async t => {
      const { proxy, log, database, calls, wellAgain } = await begin(t);
      await Promise.all(calls());
      proxy.swallow();
      await Promise.all([...calls(), ...calls()].map(call => refusedWithin(RESPONSE_MS, call)));
      await Promise.all(calls().map(call => refusedWithin(RESPONSE_MS, call)));
      const { value: health } = (await within(RESPONSE_MS, Promise.resolve(database.health()))) as { value: unknown };
      assert.deepEqual(Object.entries(health as object).slice(0, 2), [
        ['ok', false],
        ['writes', 'unavailable'],
      ]);
      assert.equal(database.topicVersion('keys'), undefined);
      proxy.heal();
      await wellAgain();
      assert.ok(log.length <= 4, inspect(log));
    });

    it('reports an unknown outcome if the commit got no response', async t => {
      const { proxy, database, wellAgain } = await begin(t);
      await waitUntil(() => database.topicVersion('keys') !== undefined);
      const before = database.topicVersion('keys');
      proxy.onBytes = bytes => {
        if (bytes.includes('commit\0')) proxy.swallow();
      };
      const error = await refusedWithin(
        RESPONSE_MS,
        database.write(async tx => {
          await tx.run(addFact, { name: 'a' });
          await tx.notify('keys');
        }),
      );
      assert.match(error.message, /not known/);
      proxy.onBytes = () => {};
      proxy.heal();
      await wellAgain();
      assert.notEqual(database.topicVersion('keys'), before);
    });

    it('is detected within a second, even without traffic', async t => {
      const { proxy, database } = await begin(t);
      await waitUntil(() => database.topicVersion('keys') !== undefined);
      proxy.swallow();
      await waitUntil(() => database.topicVersion('keys') === undefined);
      proxy.heal();
      await waitUntil(() => database.topicVersion('keys') !== undefined);
    });

    it('does not delay closing', async t => {
      const { proxy, database, calls } = await begin(t);
      proxy.swallow();
      const outcomes = Promise.allSettled(calls());
      await within(RECOVERY_MS, database.close());
      for (const { status } of await outcomes) assert.equal(status, 'rejected');
    });
  });

  describe('a database that disconnects', () => {
    it('fails immediately while it is down, and recovers when it is back', async t => {
      const { proxy, database, calls, wellAgain } = await begin(t);
      proxy.refuse();
      proxy.cut();
      await Promise.all(calls().map(call => refusedWithin(RESPONSE_MS, call)));
      assert.equal((await database.health()).ok, false);
      proxy.heal();
      await wellAgain();
    });

    it('loses nothing acknowledged and reports only "unavailable" when connections are cut under load', async t => {
      const { proxy, database, add, beside } = await begin(t);
      const acknowledged: string[] = [];
      let going = true;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; going; n++) {
          const name = `writer ${writer}, ${n}`;
          const outcome = await within(RESPONSE_MS, add(name));
          if (outcome.status === 'fulfilled') acknowledged.push(name);
          else assert.ok(outcome.reason instanceof StorageError && outcome.reason.reason === 'unavailable');
        }
      });
      for (let round = 0; round < 10; round++) {
        const before = acknowledged.length;
        await waitUntil(() => acknowledged.length > before + 20);
        if (round % 2 === 0) proxy.cut();
        else await beside(statement => statement(END_ALL));
      }
      going = false;
      await Promise.all(writers);
      const all = new Set((await database.all(everyFact, {})).map(({ name }) => name));
      for (const name of acknowledged) assert.ok(all.has(name), `${name} is lost`);
    });

    it('does not fail a call because an idle connection was closed', async t => {
      const { calls, beside } = await begin(t);
      await Promise.all(calls());
      await beside(statement => statement(END_ALL));
      for (const { status } of await Promise.allSettled(calls())) assert.equal(status, 'fulfilled');
    });
  });

  describe('a transaction on PostgreSQL', together, () => {
    it('is retried after a deadlock, so both commit', async t => {
      const { database, add } = await begin(t);
      await add('a');
      await add('b');
      let met = 0;
      const both = (first: string, second: string) =>
        database.write(async tx => {
          await tx.run(setFact, { name: first, value: first });
          met++;
          await waitUntil(() => met >= 2);
          await tx.run(setFact, { name: second, value: first });
        });
      await Promise.all([both('a', 'b'), both('b', 'a')]);
      assert.equal(met, 3);
    });

    it('is retried after a serialization failure, a limited number of times', async t => {
      const { beside, add, isThere } = await begin(t);
      await beside(async statement => {
        await statement('create sequence tries');
        await statement(`create function refuse() returns trigger language plpgsql as $$ begin
          if nextval('tries') % 4 <> 0 or new.name = 'never' then raise exception 'no' using errcode = '40001'; end if;
          return new; end $$`);
        await statement('create trigger refuse before insert on facts for each row execute function refuse()');
      });
      await add('a');
      assert.ok(await isThere('a'));
      await refusedWithin(RESPONSE_MS, add('never'));
    });

    it('changes nothing if its work swallows the error of a statement', async t => {
      const { database, add, isThere } = await begin(t);
      await add('a');
      await assert.rejects(
        database.write(async tx => {
          await tx.run(addFact, { name: 'b' });
          await Promise.resolve(tx.run(addFact, { name: 'a' })).catch(() => {});
        }),
        { code: '23505' },
      );
      assert.ok(!(await isThere('b')));
    });

    it('cannot be used after it ends', async t => {
      const { database } = await begin(t);
      const tx = await database.write(tx => ({ tx }));
      await assert.rejects(async () => tx.tx.run(addFact, { name: 'a' }), /has ended/);
    });

    it('fails when the disk is full, which health reports until a write succeeds', async t => {
      const { database, add, isThere, beside } = await begin(t);
      await beside(async statement => {
        await statement(`create function fill() returns trigger language plpgsql as $$ begin
          raise exception 'could not extend file' using errcode = '53100'; end $$`);
        await statement('create trigger fill before insert on facts for each row execute function fill()');
      });
      await assert.rejects(add('a'), (error: StorageError) => error.reason === 'full');
      assert.equal(await isThere('a'), false);
      assert.equal((await database.health()).writes, 'full');
      await beside(statement => statement('drop trigger fill on facts'));
      await add('a');
      await waitUntil(async () => (await database.health()).writes === 'ok');
    });

    it('fails on a read-only database, which health reports', async t => {
      const { add, open } = await begin(t);
      await add('a');
      const options = '-c default_transaction_read_only=on';
      await assert.rejects(open({ options }), /^StorageError: The database at .* accepts no changes/);
      const standby = await open({ role: 'cli', options });
      assert.deepEqual(await standby.first(factByName, { name: 'a' }), { name: 'a' });
      assert.equal((await standby.health()).writes, 'unavailable', 'although the latest call succeeded');
      const error = await refusedWithin(
        RESPONSE_MS,
        standby.write(tx => tx.run(addFact, { name: 'b' })),
      );
      const detail = error.publicMessage;
      assert.match(detail, /^The database accepts no changes/);
      assert.deepEqual(await standby.health(), { ok: true, writes: 'unavailable', detail });
    });

    it('leaves its connection clean if its work times out', async t => {
      const { database, calls, isThere } = await begin(t);
      await refusedWithin(
        2 * RESPONSE_MS,
        database.write(async tx => {
          await tx.run(addFact, { name: 'a' });
          await pause(RESPONSE_MS);
        }),
      );
      await Promise.all(calls());
      assert.equal(await isThere('a'), false);
    });

    it('times out if a statement takes too long or a lock is not available', async t => {
      const { beside, database, add, wellAgain } = await begin(t);
      await add('a');
      await beside(async statement => {
        await statement('begin');
        await statement(`update facts set value = 'held'`);
        await Promise.all([
          refusedWithin(RESPONSE_MS, Promise.resolve(database.first(sleep, { seconds: 30 }))),
          refusedWithin(
            RESPONSE_MS,
            database.write(tx => tx.run(setFact, { name: 'a', value: 'b' })),
          ),
        ]);
      });
      await wellAgain();
    });
  });

  describe('the server lock', together, () => {
    it('has one holder at a time per schema and name', async t => {
      const { schema, database, open } = await begin(t);
      const other = await open();
      assert.equal(await database.tryAdvisoryLock('only'), true);
      assert.equal(await other.tryAdvisoryLock('another'), true);
      assert.equal(await other.tryAdvisoryLock('only'), false);
      const elsewhere = await open({ schema: `${schema}_too` });
      assert.equal(await elsewhere.tryAdvisoryLock('only'), true);
      await database.close();
      assert.equal(await other.tryAdvisoryLock('only'), true);
    });

    it('is acquired again after the connection was lost, even if the server has not noticed', async t => {
      const { proxy, log, database, open, wellAgain } = await begin(t);
      assert.equal(await database.tryAdvisoryLock('only'), true);
      const other = await open({ direct: true });
      for (const lose of [() => proxy.cut(), () => proxy.swallow()]) {
        const before = log.length;
        lose();
        await waitUntil(() => log.slice(before).some(message => !/is available again/.test(message)));
        proxy.heal();
        await waitUntil(() => /is available again/.test(log.at(-1) ?? ''));
        await wellAgain();
      }
      assert.equal(await other.tryAdvisoryLock('only'), false);
      assert.deepEqual(await database.health(), { ok: true, writes: 'ok', detail: '' });
    });

    it('is released when its holder is killed', async t => {
      const { url, schema, database } = await begin(t);
      const holder = spawn(
        process.execPath,
        ['--input-type=module', '--eval', HOLDER, JSON.stringify({ url: url.href, schema })],
        { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const [held] = await once(holder.stdout, 'data');
      assert.equal(`${held}`, 'true');
      assert.equal(await database.tryAdvisoryLock('only'), false);
      holder.kill('SIGKILL');
      assert.equal(await database.tryAdvisoryLock('only'), true);
    });

    it('is never granted to a CLI connection', async t => {
      const { open } = await begin(t);
      assert.equal(await (await open({ role: 'cli' })).tryAdvisoryLock('only'), false);
    });
  });

  describe('opening', together, () => {
    const secret = 'correct-horse';
    const refused = (url: string, schema?: string) =>
      openPostgres({
        url,
        ...(schema === undefined ? {} : { schema }),
        migrations,
        clock: systemClock(),
        role: 'server',
        migrate: false,
        log: silent,
      }).then(
        () => assert.fail('it was opened'),
        (error: Error) => {
          assert.ok(!inspect(error, { depth: null, showHidden: true }).includes(secret), inspect(error));
          return error.message;
        },
      );

    it('reports errors in one sentence without the password', async t => {
      const { url } = await begin(t);
      const closed = new URL(url);
      closed.password = secret;
      closed.port = '1';
      assert.match(await refused(closed.href), /^The database at .*:1\/.* cannot be reached \(ECONNREFUSED\)\.$/);
      const missing = new URL(url);
      missing.password = secret;
      missing.pathname = '/petstore_missing';
      assert.match(await refused(missing.href), /^The database at .*\/petstore_missing does not exist\.$/);
      const unencrypted = new URL(missing);
      unencrypted.searchParams.set('sslmode', 'verify-full');
      assert.match(await refused(unencrypted.href), /^The database at .* is not usable: .*SSL.*\.$/);
      assert.match(await refused(`postgres://u:${secret}@[::/x`), /^The database URL is invalid/);
      assert.match(await refused(`mysql://u:${secret}@localhost/x`), /^The database URL is invalid/);
      const unread = new URL(missing);
      unread.searchParams.set('sslrootcert', '/nowhere.pem');
      assert.match(await refused(unread.href), /^The database at .* is not usable: ENOENT.*\.$/);
      assert.match(await refused(`postgres://u:${secret}@localhost/x`, 'a"b'), /schema/);
    });

    it('rejects a database that was never migrated, and one with another encoding', async t => {
      const { url } = await begin(t);
      assert.match(
        await refused(url.href, 'nowhere'),
        /^The database at .* is not up to date: run "petstore migrate" first\.$/,
      );
      const name = `${url.pathname.slice(1)}_latin`;
      await onServer(connection =>
        run(connection, `create database ${name} template template0 encoding 'LATIN1' locale 'C'`),
      );
      try {
        assert.match(await refused(Object.assign(new URL(url), { pathname: `/${name}` }).href), /is LATIN1, not UTF8/);
      } finally {
        await onServer(connection => run(connection, `drop database ${name} with (force)`));
      }
    });
  });
});

const everyFact = query(db => db.selectFrom('facts').select('name'));

/** Ends all of our connections to this database, as a restarting server does. */
const END_ALL = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

const HOLDER = `
  import { openPostgres } from '../../src/lib/storage/postgres/database.ts';
  import { systemClock } from '../../src/lib/clock.ts';
  import { migrations } from '../../src/model/migrations/index.ts';
  const place = JSON.parse(process.argv[1]);
  const database = await openPostgres({
    ...place, migrations, clock: systemClock(), role: 'server', migrate: false, log: console,
  });
  process.stdout.write(String(await database.tryAdvisoryLock('only')));
`;

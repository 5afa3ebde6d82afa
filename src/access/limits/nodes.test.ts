import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { onPostgres } from '../../../test/support/engines.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { systemClock, testClock } from '../../lib/clock.ts';
import { type Params, query } from '../../model/schema.ts';
import { joinNodes, type Nodes } from './nodes.ts';

onPostgres(engine => {
  test('detects joining and leaving nodes immediately', async () => {
    const database = await engine.open();
    const one = await joinNodes(database, systemClock(), 'one');
    assert.equal(one.live(), 1);
    const two = await joinNodes(database, systemClock(), 'two');
    assert.equal(two.live(), 2);
    await sees(one, 2);
    await two.close();
    await sees(one, 1);
    await one.close();
  });

  test('notices a node that joins while its own first heartbeat is under way', async () => {
    const location = await engine.newLocation();
    const [database, other] = [await engine.open({ location }), await engine.open({ location })];
    const write = database.write.bind(database);
    const answered = Promise.withResolvers<void>();
    let writes = 0;
    database.write = (async work => {
      const isFirst = ++writes === 1;
      const result = await write(work);
      if (isFirst) await answered.promise;
      return result;
    }) as typeof write;
    let notify = () => {};
    database.onNotification = listener => {
      notify = listener;
      return () => {};
    };
    const joining = joinNodes(database, systemClock(), 'one');
    await waitUntil(async () => (await other.all(ids, {})).length === 1);
    const two = await joinNodes(other, systemClock(), 'two');
    notify();
    await turn();
    assert.equal(writes, 1, 'a heartbeat does not overtake another');
    answered.resolve();
    const one = await joining;
    await turn();
    assert.equal(writes, 2);
    await waitUntil(() => one.live() === 2);
    await Promise.all([one.close(), two.close()]);
    assert.deepEqual(await other.all(ids, {}), []);
  });

  test('counts a node as live although its clock is stopped or off by a minute', async () => {
    const database = await engine.open();
    const one = await joinNodes(database, systemClock(), 'one');
    const two = await joinNodes(database, testClock(Date.now() - 50_000), 'two');
    assert.equal(two.live(), 2);
    await sees(one, 2);
    for (let i = 0; i < 3; i++) {
      two.refresh();
      await pause(20);
    }
    await sees(one, 2);
    await two.close();
    await one.close();
  });

  test('ignores the row of a node that was killed long ago', async () => {
    const database = await engine.open();
    await database.write(tx => tx.run(addNode, { id: 'gone', seenAt: Date.now() - 3_600_000 }));
    const one = await joinNodes(database, systemClock(), 'one');
    assert.equal(one.live(), 1);
    while ((await database.all(ids, {})).length > 1) await pause(10);
    assert.deepEqual(await database.all(ids, {}), [{ id: 'one' }]);
    await one.close();
    assert.deepEqual(await database.all(ids, {}), []);
  });

  test('reports once when no node of an older release is left', async () => {
    const database = await engine.open();
    await database.write(tx => tx.run(addNode, { id: 'older', seenAt: Date.now() }));
    let told = 0;
    const one = await joinNodes(database, systemClock(), 'one', async () => {
      if (++told === 1) throw new Error('unreachable for a moment');
    });
    const two = await joinNodes(database, systemClock(), 'two');
    await one.refresh();
    assert.equal(told, 0);
    await database.write(tx => tx.run(removeNode, { id: 'older' }));
    for (let heartbeat = 1; heartbeat <= 3; heartbeat++) await one.refresh();
    assert.equal(told, 2, 'again after an error, and not after a success');
    await two.close();
    await one.close();
  });
});

async function sees(node: Nodes, count: number) {
  while (node.live() !== count) {
    node.refresh();
    await pause(10);
  }
}

const ids = query(db => db.selectFrom('nodes').select('id'));
const removeNode = query((db, p: Params<{ id: string }>) => db.deleteFrom('nodes').where('id', '=', p.id));
const addNode = query((db, p: Params<{ id: string; seenAt: number }>) =>
  db.insertInto('nodes').values({ id: p.id, started_at: p.seenAt, seen_at: p.seenAt }),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Params, query } from '../../src/model/schema.ts';
import { onPostgres } from '../support/engines.ts';
import { waitUntil } from '../support/wait-until.ts';

onPostgres(engine => {
  test('notifies a server of changes by commands and of notified topics, not of its own changes', async () => {
    const location = await engine.newLocation();
    const server = await engine.open({ location });
    const command = await engine.open({ location, role: 'cli' });
    // It listens once it has read the topics.
    await waitUntil(() => server.topicVersion('topic') !== undefined);
    let notifications = 0;
    server.onNotification!(() => notifications++);
    const nextAfter = async (work: () => unknown) => {
      const before = notifications;
      await work();
      await waitUntil(() => notifications > before);
    };
    await server.write(tx => tx.run(addNode, { id: 'server' }));
    await command.first(nodes, {});
    await nextAfter(() => command.write(tx => tx.run(addNode, { id: 'command' })));
    await nextAfter(() => server.write(tx => tx.notify('topic')));
    assert.equal(notifications, 2);
  });
});

const nodes = query(db => db.selectFrom('nodes').selectAll());
const addNode = query((db, p: Params<{ id: string }>) =>
  db.insertInto('nodes').values({ id: p.id, started_at: 0, seen_at: 0 }),
);

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { long } from '../support/selection.ts';
import { newProcessKey, spawnService } from '../support/serving.ts';
import { StoreLoad } from '../support/store-load.ts';
import { assertShownAlike, Mirror } from '../support/store-mirror.ts';
import { assertStoredInvariants, storedIn } from '../support/stored.ts';

/** Each kill costs an account a hundredth of its day. */
const ROUNDS = long ? 60 : 10;
const CALLERS = 32;

describe(`after ${ROUNDS} kills under ${CALLERS} callers of the store`, { timeout: long ? 900_000 : 180_000 }, () => {
  it('runs once per Idempotency-Key, loses no acknowledged change, and stays consistent', async t => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-store-kill-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    let load: StoreLoad | undefined;
    let mirror: Mirror | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      const server = await spawnService({ directory });
      const { production } = server.urls;
      if (load === undefined || mirror === undefined) {
        const keys = [await newProcessKey(server), await newProcessKey(server), await newProcessKey(server)];
        load = new StoreLoad(keys);
        mirror = new Mirror(keys[0]!);
      }
      await load.retry(production);
      await load.assertReplays(production, 10);

      let going = true;
      const target = load.answered + 150;
      const callers = Array.from({ length: CALLERS }, () => load!.call(production, () => going));
      const mirrored = mirror.follow(production, () => going);
      while (load.answered < target) await Promise.race([pause(5), Promise.all(callers)]);
      await pause(Math.random() * 100);
      assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
      await Promise.all(callers);
      going = false;
      await mirrored;
    }

    const server = await spawnService({ directory });
    const { production } = server.urls;
    await load!.retry(production);
    await load!.assertReplays(production, 100);
    await assertShownAlike(production, mirror!);
    assert.equal((await server.stop()).code, 0, server.log());

    const stored = storedIn(directory);
    assertStoredInvariants(stored);
    load!.assertOnce(stored.events);
    load!.assertKept(stored.events);
    t.diagnostic(
      `${load!.answered} answered, ${load!.again} sent again; slowest ${Math.round(load!.slowestMs)} ms; ` +
        `${stored.events.length} events; ${JSON.stringify(load!.seen)}`,
    );
  });
});

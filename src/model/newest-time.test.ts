import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { overEachEngine } from '../../test/support/engines-over-http.ts';
import { send, serve } from '../../test/support/serving.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { testClock } from '../lib/clock.ts';
import { DAY_MS } from '../lib/time.ts';

type Key = { readonly token: string };

const NOON = Date.UTC(2026, 10, 20, 12);

overEachEngine(engine => {
  describe('a start with a clock that is earlier than the data', () => {
    /** Starts the service at a time, does `work` and stops. Returns the warnings about the clock. */
    async function warningsAt(
      environment: Record<string, string>,
      now: number,
      work?: (service: Awaited<ReturnType<typeof serve>>) => Promise<unknown>,
    ): Promise<object[]> {
      const service = await serve({ clock: testClock(now), environment });
      try {
        await work?.(service);
        const lines = service.lines.map(line => JSON.parse(line));
        return lines
          .filter(({ msg }) => /^The clock is earlier/.test(msg))
          .map(({ level, deployment, now, newest }) => ({ level, deployment, now, newest }));
      } finally {
        await service.stop();
      }
    }

    it('logs both times of each deployment, for changes and for requests', async () => {
      const environment = { ...(await engine.settings()), PETSTORE_DATA_DIR: temporaryDirectory() };
      const [change, request] = ['2026-11-20T12:00:00.000Z', '2026-11-21T12:00:00.000Z'];
      let key: Key | undefined;
      const create = await warningsAt(environment, NOON, async ({ newKey, urls }) => {
        key = await newKey();
        for (const deployment of ['production', 'staging'] as const) {
          const owner: Key = deployment === 'staging' ? await newKey({ deployment }) : key;
          const body = { name: 'Minka', categoryId: 2 };
          assert.equal((await send(`${urls[deployment]}/pets`, { method: 'POST', key: owner, body })).status, 201);
        }
      });
      assert.deepEqual(create, [], 'an empty database is no reason');
      const now = '2026-11-20T11:58:59.999Z';
      const about = (deployment: string, newest: string) => ({ level: 'warn', deployment, now, newest });
      assert.deepEqual(await warningsAt(environment, NOON - 60_001), [
        about('production', change),
        about('staging', change),
      ]);
      assert.deepEqual(await warningsAt(environment, NOON - 60_000), [], 'clocks of nodes may differ by a minute');

      await warningsAt(environment, NOON + DAY_MS, async ({ urls }) => {
        assert.equal((await send(`${urls.production}/pets`, { key: key! })).status, 200);
      });
      assert.deepEqual(await warningsAt(environment, NOON - 60_001), [
        about('production', request),
        about('staging', change),
      ]);
    });
  });
});

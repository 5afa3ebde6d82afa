import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import type { DatabaseLocation } from '../../src/model/config.ts';
import {
  type BackupSettings,
  readBackupState,
  ScheduledBackups,
  updateBackupState,
} from '../../src/operate/backup/scheduled/job.ts';
import { type Engine, onEachEngine } from '../support/engines.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const MINUTE = 60_000;

const opened: ScheduledBackups[] = [];
afterEach(() => {
  for (const scheduled of opened.splice(0)) scheduled.close();
});

onEachEngine(engine => {
  describe('scheduled backups', () => {
    it('are made at the start if there is none, then at each due time, and not at a restart', async () => {
      const { clock, start, backups } = await newStore(engine);
      const node = await start();
      assert.deepEqual(node.status(), { intervalMs: DAY_MS, last: undefined, failures: 0 });
      assert.equal(await node.look(), 1);
      assert.equal(node.status().last!.startedAt, NOON);
      clock.advance(14 * HOUR_MS - 1);
      assert.equal(await node.look(), 0);
      assert.equal(node.dueAt(), NOON + 14 * HOUR_MS);
      clock.advance(1);
      assert.equal(await node.look(), 1);
      assert.equal(await node.look(), 0);
      assert.equal(backups().length, 2);

      clock.advance(HOUR_MS);
      const restarted = await start();
      const { last } = restarted.status();
      assert.equal(last!.startedAt, NOON + 14 * HOUR_MS, 'is known before the directory is read');
      assert.equal(await restarted.look(), 1);
      assert.deepEqual([backups().length, restarted.dueAt()], [2, NOON + 38 * HOUR_MS]);
      assert.deepEqual([node.errors, restarted.errors], [[], []]);
    });

    it('are made soon after the start if one was missed, and once if several were', async () => {
      const { clock, start, backups } = await newStore(engine);
      await (await start()).look();
      clock.advance(3 * DAY_MS);
      const restarted = await start();
      assert.deepEqual([await restarted.look(), await restarted.look()], [1, 0]);
      assert.equal(backups().length, 2);
      assert.equal(restarted.status().last!.startedAt, NOON + 3 * DAY_MS);
    });

    it('are made at the next start if they were deleted', async () => {
      const { clock, start, backups, settings } = await newStore(engine);
      await (await start()).look();
      rmSync(settings.directory, { recursive: true });
      clock.advance(MINUTE);
      const restarted = await start();
      await restarted.look();
      assert.equal(backups().length, 1);
      assert.equal(restarted.status().last!.startedAt, NOON + MINUTE);
    });

    it('are retried with backoff, logged, and older ones stay', async () => {
      const { clock, start, backups, settings } = await newStore(engine);
      const node = await start();
      await node.look();
      const [first] = backups();
      const { directory } = settings;
      settings.directory = join(directory, first!, 'manifest.json');
      clock.advance(14 * HOUR_MS);
      for (const [failures, minutes] of [1, 5, 15, 30, 60, 60].entries()) {
        assert.equal(await node.look(), 1);
        assert.equal(node.status().failures, failures + 1);
        assert.match(node.errors[failures]!.reason!, /^The backup cannot be written to .*manifest\.json \(E\w+\)\.$/);
        assert.equal(Date.parse(node.errors[failures]!.retryAt), Math.floor(node.dueAt()));
        const waitMinutes = (node.dueAt() - clock.now()) / MINUTE;
        assert.ok(Math.abs(waitMinutes - minutes) <= minutes / 10, `${waitMinutes} minutes`);
        assert.equal(await node.look(), 0);
        clock.advance(node.dueAt() - clock.now());
      }
      settings.directory = directory;
      assert.deepEqual([backups(), node.status().last!.startedAt], [[first], NOON]);
      await node.look();
      assert.deepEqual([backups().length, node.errors.length], [2, 6]);
      assert.equal(node.dueAt(), NOON + 38 * HOUR_MS);
    });

    it('are retried at the latest after an interval', async () => {
      const { clock, start, settings } = await newStore(engine);
      Object.assign(settings, { directory: '/proc/backups', intervalMs: 15 * MINUTE });
      const node = await start();
      for (let failures = 1; failures <= 4; failures++) {
        await node.look();
        assert.ok(node.dueAt() <= clock.now() + 15 * MINUTE);
        clock.advance(15 * MINUTE);
      }
      assert.equal(node.status().failures, 4);
    });

    it('are made by one of several processes at each due time', async t => {
      if (engine.name === 'sqlite') return t.skip('one process serves a file');
      const { clock, start, backups } = await newStore(engine);
      const nodes = [await start(), await start(), await start()];
      const lookAll = async () => {
        const looks = await Promise.all(nodes.map(node => node.look()));
        return looks.reduce((sum, jobs) => sum + jobs, 0);
      };
      assert.equal(await lookAll(), 1);
      // Each process looks at the directory once.
      for (const node of nodes) {
        clock.advance(5000);
        await node.look();
      }
      assert.equal(backups().length, 1);
      clock.advance(14 * HOUR_MS);
      for (let day = 2; day <= 4; day++) {
        assert.equal(await lookAll(), 1);
        clock.advance(5000);
        assert.equal(await lookAll(), 0);
        assert.equal(backups().length, day);
        for (const node of nodes) assert.equal(node.status().last!.startedAt, clock.now() - 5000);
        clock.advance(DAY_MS);
      }
      assert.deepEqual(
        nodes.flatMap(({ errors }) => errors),
        [],
      );
      return undefined;
    });

    it('are left to another process until its lease ends; on the embedded engine that process has ended', async () => {
      const { clock, start, database } = await newStore(engine);
      await updateBackupState(database, (state, now) => ({
        ...state,
        lease: { holder: 'other', until: now + MINUTE },
      }));
      const node = await start();
      if (engine.name === 'postgres') {
        for (let ms = 0; ms < MINUTE; ms += 5000) {
          assert.equal(await node.look(), 0);
          clock.advance(5000);
        }
      }
      assert.equal(await node.look(), 1);
      assert.equal((await readBackupState(database)).lease, undefined);
    });

    it('are ended by a stop, which is no failure, and made after the next start', async () => {
      const { start, entries, backups, settings } = await newStore(engine);
      const node = await start();
      const looking = node.look();
      await waitUntil(() => existsSync(settings.directory) && entries().length > 0, 1);
      node.stop();
      await looking;
      assert.deepEqual([node.errors, node.status().failures], [[], 0]);
      const restarted = await start();
      await restarted.look();
      assert.deepEqual([restarted.errors, backups().length, entries()], [[], 1, backups()]);
    });
  });
});

/** Creates a store whose backups are due every day at 02:00. It is noon. */
async function newStore(engine: Engine) {
  const clock = testClock(NOON);
  const place = await engine.newLocation();
  const database = await engine.open({ location: place, clock });
  const location: DatabaseLocation = 'directory' in place ? { file: join(place.directory, 'petstore.db') } : place;
  const settings = { directory: join(temporaryDirectory(), 'backups'), ...{ intervalMs: DAY_MS, timeMs: 2 * HOUR_MS } };
  const backupSettings: BackupSettings = Object.assign(settings, { keep: 7 });
  const entries = () => readdirSync(settings.directory);
  return {
    ...{ clock, database, settings, entries },
    /** Returns the names of the backups, drafts left out. */
    backups: () => entries().filter(name => !name.includes('.partial-')),
    /** Starts a process that makes backups. Its database has both deployments. */
    async start() {
      const stored = { ...location, photos: { directory: join(settings.directory, '..', 'photos') } };
      const config = { locations: { production: stored, staging: stored }, backups: backupSettings };
      const errors: { reason?: string; retryAt: string }[] = [];
      const log: Log = { info() {}, warn() {}, error: (fields: object | string) => void errors.push(fields as never) };
      const scheduled = await ScheduledBackups.open({ config, database, clock, log, environment: process.env });
      opened.push(scheduled);
      const { type } = scheduled;
      const stopping = new AbortController();
      let initialized = false;
      return {
        errors,
        status: () => scheduled.status(),
        dueAt: () => scheduled.dueAt(),
        /** Does what is due, and returns how many jobs that were. */
        async look(): Promise<number> {
          if (!initialized) await type.init?.();
          initialized = true;
          const { jobs } = await type.claim(1);
          for (const job of jobs) await type.run(job, stopping.signal);
          return jobs.length;
        },
        stop: () => stopping.abort(),
      };
    },
  };
}

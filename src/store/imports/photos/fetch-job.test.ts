import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it, type TestContext } from 'node:test';
import { insertBan } from '../../../../test/support/bans.ts';
import { type Engine, onEachEngine, silent } from '../../../../test/support/engines.ts';
import { addImporters } from '../../../../test/support/import-accounts.ts';
import { hashOf, image } from '../../../../test/support/photos.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { revokeKey } from '../../../access/keys/keys.ts';
import { newBan } from '../../../access/limits/bans.ts';
import { testClock } from '../../../lib/clock.ts';
import { openOutgoingClient } from '../../../lib/http/client/client.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { recordUpgraded } from '../../../model/facts.ts';
import { DiskStore } from '../../../model/photo-files/disk-store.ts';
import { PhotoEncoder } from '../../../model/photo-files/encoder.ts';
import { PhotoFiles } from '../../../model/photo-files/photo-files.ts';
import { query, sql } from '../../../model/schema.ts';
import { steps } from '../../../operate/deletion/steps.ts';
import { deletePet, getPet } from '../../pets/pets.ts';
import { photoBytes, photosOf } from '../../photo-references.ts';
import { petPhotos } from '../../photos/holders.ts';
import { deletePhoto } from '../../photos/photos.ts';
import { importErrors } from '../errors.ts';
import { type ImportOptions, importOf } from '../import.ts';
import { importJob } from '../import-job.ts';
import { activateImport, cancelImport, getImport } from '../imports.ts';
import { receiveImport } from '../receive.ts';
import { photoFetchJob } from './fetch-job.ts';
import type { ClaimedSource } from './sources.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const owner = { accountId: 1, admin: false };
const other = { accountId: 2, admin: false };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a server with photos by path. */
async function startPhotoServer(t: TestContext) {
  const handlers = new Map<string, Handler>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    const handler = handlers.get(request.url!);
    if (handler === undefined) response.writeHead(404).end('no such photo');
    else handler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    requests,
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    serve: (path: string, bytes: Buffer | string, type = 'image/jpeg') =>
      handlers.set(path, (_, response) => response.writeHead(200, { 'content-type': type }).end(bytes)),
    on: (path: string, handler: Handler) => handlers.set(path, handler),
  };
}

const countEvents = query(db => db.selectFrom('events').select(sql<number>`count(*)`.as('events')));
const countSources = query(db => db.selectFrom('photo_sources').select(sql<number>`count(*)`.as('sources')));

async function openStore(
  t: TestContext,
  engine: Engine,
  { deadlineMs = 30_000, ...bounds }: { photoBytes?: number; deadlineMs?: number } = {},
) {
  const server = await startPhotoServer(t);
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  await recordUpgraded(database);
  const names: Record<string, string[]> = {
    'photos.example': ['127.0.0.1'],
    'inner.example': ['10.0.0.1', '127.0.0.2'],
  };
  const networks = ['127.0.0.1'];
  const outgoing = openOutgoingClient({ networks }, { findAddresses: async host => names[host] ?? [] });
  t.after(() => outgoing.close());
  const photos = { files: new PhotoFiles(new DiskStore(temporaryDirectory()), encoder) };
  const deployment = { database, clock, bounds, photos };
  const now = () => clock.now();
  const rules = { categories: 'open', bounds: {}, webhookNetworks: networks } as const;
  const rows = importJob({ database, accounts: database, rules, now });
  const openJob = () => photoFetchJob({ deployment, accounts: database, outgoing, deadlineMs, now });
  const job = openJob();
  const origin = await addImporters(database);
  const options: ImportOptions = {
    ...{ accountId: 1, plan: 'free', mode: 'upsert', preset: 'petfinder', format: 'csv', dryRun: false },
    origin,
    ...{ confirmRemovals: undefined, currency: undefined },
  };
  const never = new AbortController().signal;
  return {
    ...{ server, clock, database, photos, openJob, keyId: origin.keyId },
    async begin(lines: readonly string[], more: Partial<ImportOptions> = {}) {
      const text = `ID,AnimalName,Type,photo1,photo2,photo3\n${lines.join('\n')}\n`;
      const file = (async function* () {
        yield Buffer.from(text);
      })();
      const { id } = await receiveImport({ database, clock, bounds }, file, { ...options, ...more });
      await database.write(tx => activateImport(tx, id, {}));
      return id;
    },
    /** Runs all due steps of imports. */
    async workRows() {
      while ((await rows.claim(1)).rows > 0) clock.advance(1);
    },
    /** Fetches the due photos; with `passing`, also each retry at its time. */
    async work(passing = true) {
      for (;;) {
        await this.workRows();
        const { jobs } = await job.claim(32);
        await Promise.all(jobs.map(source => job.run(source, never)));
        if (jobs.length > 0) continue;
        await this.workRows();
        const row = await this.latest();
        if (!passing || row.ended_at !== null) return;
        clock.advance(10_000);
      }
    },
    run: (source: ClaimedSource) => job.run(source, never),
    claim: () => job.claim(32),
    latest: async () => (await database.first(latestImport, {}))!,
    async outcome(id: number) {
      const row = await getImport(database, owner, id);
      const { state, photosWanted, photosFetched, photosFailed } = importOf(row, {});
      return [state, photosWanted, photosFetched, photosFailed];
    },
    errors: async (id: number) =>
      (await importErrors(database, id, 0, 100)).map(({ error }) => {
        const { level, line, column, code, value } = JSON.parse(error);
        return [level, line, column, code, value];
      }),
    pet: (id: number) => getPet(database, id, now()),
    async hashes(id = 1) {
      return photosOf(await this.pet(id)).map(photo => photo.id);
    },
    events: async () => (await database.first(countEvents, {}))!.events,
    sources: async () => (await database.first(countSources, {}))!.sources,
  };
}

const latestImport = query(db => db.selectFrom('imports').selectAll().orderBy('id', 'desc').limit(1));

const wantMany = query(db => db.updateTable('imports').set({ photos_wanted: 9_999 }));

/** The process that encodes the photos of all tests. */
const encoder = new PhotoEncoder({ log: silent, idleMs: 600_000 });
const red = await image('jpeg', { color: '#f00' });
const green = await image('png', { color: '#0f0' });
const blue = await image('webp', { color: '#00f' });

describe('photos of imports', () => {
  after(() => encoder.close());
  onEachEngine(engine => {
    it('are fetched in the order of the row, and not again', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/1', red);
      server.serve('/2', green, 'text/plain');
      server.serve('/3', blue);
      const row = `A,Rex,Dog,${server.url('/1')},${server.url('/2')},http://photos.example:${server.port}/3`;
      const id = await store.begin([row]);
      await store.workRows();
      assert.deepEqual(await store.outcome(id), ['running', 3, 0, 0]);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 3, 3, 0], JSON.stringify(await store.errors(id)));
      assert.deepEqual(await store.hashes(), [red, green, blue].map(hashOf));
      const [events, requests] = [await store.events(), server.requests.length];
      const again = await store.begin([row]);
      await store.work();
      const { unchanged, updated } = await getImport(store.database, owner, again);
      assert.deepEqual([await store.outcome(again), unchanged, updated], [['completed', 0, 0, 0], 1, 0]);
      assert.deepEqual([await store.events(), server.requests.length], [events, requests]);
    });

    it('keep the order of the row when an earlier one comes later', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.on('/1', (_, response) => response.writeHead(503).end());
      server.serve('/2', green);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},${server.url('/2')},`]);
      await store.work(false);
      assert.deepEqual(await store.outcome(id), ['running', 2, 1, 0]);
      server.serve('/1', red);
      store.clock.advance(29_000);
      await store.work(false);
      assert.deepEqual(await store.hashes(), [hashOf(green)]);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 2, 2, 0]);
      assert.deepEqual(await store.hashes(), [red, green].map(hashOf));
    });

    it('that cannot be fetched are errors of the import, and the animal is imported', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/jpeg');
      server.serve('/html', '<!doctype html><title>Not a photo</title>', 'image/jpeg');
      server.serve('/pixels', await image('png', { width: 8000, height: 7000 }));
      server.on('/large', (_, response) =>
        response.writeHead(200).end(Buffer.concat([red, Buffer.alloc(10 * 2 ** 20)])),
      );
      server.on('/endless', (_, response) => {
        response.writeHead(200).write(red);
        const more = () => response.destroyed || response.write(Buffer.alloc(65_536), () => setImmediate(more));
        more();
      });
      server.on('/inner', (_, response) => response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end());
      server.on('/loop', (_, response) => response.writeHead(302, { location: '/loop' }).end());
      const url = server.url;
      const inner = `http://inner.example:${server.port}/`;
      const id = await store.begin([
        `A,Rex,Dog,${url('/gone')},${url('/svg')},${url('/html')}`,
        `B,Leo,Dog,${url('/large')},${url('/endless')},${url('/pixels')}`,
        `C,Mia,Dog,${url('/inner')},${url('/loop')},${inner}`,
        `D,Tom,Dog,https://10.0.0.1/,http://user:secret@127.0.0.1/,ftp://photos.example/`,
      ]);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 12, 0, 12]);
      const errors = await store.errors(id);
      const byPlace = errors.map(([level, line, column, code, value]) => [level, `${line} ${column}`, code, value]);
      assert.deepEqual(
        byPlace.toSorted(([, one], [, other]) => (one < other ? -1 : 1)),
        [
          ['error', '2 photo1', 'photo_not_fetched', url('/gone')],
          ['error', '2 photo2', 'invalid_photo', url('/svg')],
          ['error', '2 photo3', 'invalid_photo', url('/html')],
          ['error', '3 photo1', 'photo_too_large', url('/large')],
          ['error', '3 photo2', 'photo_too_large', url('/endless')],
          ['error', '3 photo3', 'invalid_photo', url('/pixels')],
          ['error', '4 photo1', 'photo_unreachable', url('/inner')],
          ['error', '4 photo2', 'photo_not_fetched', url('/loop')],
          ['error', '4 photo3', 'photo_unreachable', inner],
          ['error', '5 photo1', 'invalid_url', 'https://10.0.0.1/'],
          ['error', '5 photo2', 'invalid_url', 'http://user:secret@127.0.0.1/'],
          ['error', '5 photo3', 'invalid_url', 'ftp://photos.example/'],
        ],
      );
      assert.equal(server.requests.filter(path => path === '/gone').length, 1);
      assert.equal(server.requests.filter(path => path === '/loop').length, 4);
      assert.equal((await getImport(store.database, owner, id)).created, 4);
      assert.equal(await store.sources(), 0);
    });

    it('of a host that fails are tried three times together, while others go on', async t => {
      const store = await openStore(t, engine, { deadlineMs: 500 });
      const { server } = store;
      const slow = await startPhotoServer(t);
      const rows = Array.from({ length: 20 }, (_, row) => {
        slow.on(`/${row}`, () => {});
        return `S${row},Rex,Dog,${slow.url(`/${row}`)},,`;
      });
      server.serve('/1', red);
      const id = await store.begin([...rows, `A,Leo,Dog,${server.url('/1')},,`]);
      await store.work(false);
      assert.deepEqual(await store.outcome(id), ['running', 21, 1, 0]);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 21, 1, 20]);
      assert.ok(slow.requests.length <= 12, `${slow.requests.length} requests`);
      assert.ok((await store.errors(id)).every(([, , , code]) => code === 'photo_unreachable'));
    });

    it('that cannot be stored are fetched again ten minutes later', async t => {
      const store = await openStore(t, engine);
      store.server.serve('/rex.jpg', red);
      const { photos } = store;
      const full = t.mock.method(photos.files.store, 'add', () => {
        throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC', syscall: 'write' });
      });
      const id = await store.begin([`R-1,Rex,Dog,${store.server.url('/rex.jpg')},,`]);
      await store.work(false);
      store.clock.advance(9 * 60_000);
      await store.work(false);
      assert.deepEqual([await store.outcome(id), full.mock.callCount()], [['running', 1, 0, 0], 1]);
      full.mock.restore();
      store.clock.advance(60_000);
      await store.work(false);
      assert.deepEqual(await store.outcome(id), ['completed', 1, 1, 0]);
    });

    it('are neither fetched nor added once the key of the import has ended', async t => {
      const store = await openStore(t, engine);
      const { server, database } = store;
      server.on('/1', async (_, response) => {
        await database.write(tx => revokeKey(tx, store.keyId));
        response.writeHead(200, { 'content-type': 'image/jpeg' }).end(red);
      });
      server.serve('/2', green);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},${server.url('/2')},`]);
      await store.workRows();
      const { jobs } = await store.claim();
      assert.equal(jobs.length, 2);
      await store.run(jobs[0]!);
      await store.run(jobs[1]!);
      assert.deepEqual(server.requests, ['/1']);
      await store.workRows();
      assert.deepEqual(await store.outcome(id), ['failed', 2, 0, 0]);
      assert.equal((await getImport(database, owner, id)).code, 'revoked_api_key');
      assert.deepEqual(await store.hashes(), []);
      assert.equal(await store.sources(), 0);
    });

    it('wait while the key of the import is banned', async t => {
      const store = await openStore(t, engine);
      const { server, database, clock } = store;
      server.serve('/1', red);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.workRows();
      const ban = newBan(store.keyId, undefined, clock.now());
      await database.write(tx => tx.run(insertBan, ban));
      await store.work(false);
      assert.deepEqual([await store.outcome(id), server.requests], [['paused', 1, 0, 0], []]);
      assert.deepEqual((await store.claim()).jobs, []);
      clock.advance(ban.until - clock.now());
      await store.work(false);
      assert.deepEqual([await store.outcome(id), server.requests], [['completed', 1, 1, 0], ['/1']]);
    });

    it('take a place of their import only while they are fetched', async t => {
      const store = await openStore(t, engine);
      await store.begin([1, 2, 3, 4].map(row => `S${row},Rex,Dog,${store.server.url(`/${row}`)},,`));
      await store.workRows();
      assert.equal((await store.claim()).jobs.length, 4);
      // The leases end before the photos are fetched.
      store.clock.advance(5 * 60_000);
      assert.equal((await store.claim()).jobs.length, 4);
    });

    it('are fetched after a kill, and added once', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/1', red);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.workRows();
      const { jobs } = await store.claim();
      assert.equal(jobs.length, 1);
      assert.equal((await store.claim()).rows, 0, 'a claim is a lease');
      // Another process starts; on PostgreSQL, after the lease has expired.
      if (engine.name === 'postgres') store.clock.advance(5 * 60_000);
      const next = store.openJob();
      await next.init!();
      const claimed = await next.claim(1);
      assert.equal(claimed.jobs.length, 1);
      store.clock.advance(1);
      await next.run(claimed.jobs[0]!, new AbortController().signal);
      await store.run(jobs[0]!);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 1, 1, 0]);
      assert.deepEqual(await store.hashes(), [hashOf(red)]);
    });

    it('are not fetched once an import is canceled, and those that arrive are discarded', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/1', red);
      server.serve('/2', green);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},,`, `B,Leo,Dog,${server.url('/2')},,`]);
      await store.workRows();
      const { jobs } = await store.claim();
      await store.database.write(tx => cancelImport(tx, owner, id));
      await Promise.all(jobs.map(store.run));
      await store.work();
      assert.deepEqual(await store.outcome(id), ['canceled', 2, 0, 0]);
      assert.deepEqual([await store.hashes(1), await store.hashes(2), await store.sources()], [[], [], 0]);
    });

    it('respect the quota of the plan and the limit of an animal', async t => {
      const roomy = await openStore(t, engine);
      roomy.server.serve('/1', red);
      await roomy.begin([`A,Rex,Dog,${roomy.server.url('/1')},,`]);
      await roomy.work();
      const store = await openStore(t, engine, { photoBytes: 1 + (await photoBytes.read(roomy.database, 1)) });
      const { server } = store;
      server.serve('/1', red);
      server.serve('/2', green);
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 1, 1, 0]);
      const next = await store.begin([`A,Rex,Dog,${server.url('/1')},${server.url('/2')},`]);
      await store.work();
      assert.deepEqual(await store.outcome(next), ['completed', 1, 0, 1]);
      assert.equal((await store.errors(next))[0]![3], 'photo_storage_exceeded');
      assert.deepEqual(await store.hashes(), [hashOf(red)]);
    });

    it('of a changed list: new ones are added in their places, and only replace removes others', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      for (const [path, bytes] of Object.entries({ '/1': red, '/2': green, '/3': blue })) server.serve(path, bytes);
      const url = server.url;
      const send = async (cells: string, mode: 'upsert' | 'replace' = 'upsert') => {
        const id = await store.begin([`A,Rex,Dog,${cells}`], { mode });
        await store.work();
        return getImport(store.database, owner, id);
      };
      await send(`${url('/1')},${url('/3')},${url('/1')}`);
      assert.deepEqual(await store.hashes(), [red, blue].map(hashOf));
      await send(`${url('/1')},${url('/2')},${url('/3')}`);
      assert.deepEqual(await store.hashes(), [red, green, blue].map(hashOf));
      assert.equal((await send(`${url('/1')},,`)).unchanged, 1);
      assert.equal((await store.hashes()).length, 3);
      // An export lists the same photos.
      const own = `https://store.example/photos/${hashOf(green)}/1280.jpg`;
      assert.equal((await send(`${url('/1')},${own},`, 'replace')).updated, 1);
      assert.deepEqual(await store.hashes(), [red, green].map(hashOf));
      const requests = server.requests.length;
      assert.equal((await send(`${url('/1')},${own},`, 'replace')).unchanged, 1);
      assert.equal(server.requests.length, requests);
      // A deleted photo is fetched again.
      await store.database.write(tx => deletePhoto(tx, petPhotos, owner, 1, hashOf(red)));
      await send(`${url('/1')},${own},`);
      assert.deepEqual(await store.hashes(), [red, green].map(hashOf));
    });

    it('of this deployment are read without a request', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/1', green);
      await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.work();
      const own = `http://localhost:8081/photos/${hashOf(green)}/1280.jpg`;
      const send = async () => {
        const id = await store.begin([`B,Leo,Dog,${own},,`], { accountId: 2 });
        await store.work();
        const { photos_wanted, photos_fetched, unchanged } = await getImport(store.database, other, id);
        return [photos_wanted, photos_fetched, unchanged];
      };
      assert.deepEqual(await send(), [1, 1, 0]);
      // It is the public photo, without the metadata of the original.
      assert.notDeepEqual(await store.hashes(2), [hashOf(green)]);
      assert.deepEqual(await send(), [0, 0, 1]);
      assert.deepEqual(server.requests, ['/1']);
    });

    it('of this deployment must have a URL as an export writes it', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      server.serve('/1', green);
      await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.work();
      const photo = `/photos/${hashOf(green)}/1280.jpg`;
      // Random letters, which an index cannot compress.
      const long = randomBytes(4000).toString('hex');
      const hosts = [long, 'a\0b', 'a b', 'user:password@store.example'];
      const id = await store.begin(hosts.map((host, row) => `B-${row},Leo,Dog,http://${host}${photo},,`));
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 4, 0, 4]);
      assert.deepEqual(
        (await store.errors(id)).map(([, , , code]) => code),
        hosts.map(() => 'invalid_url'),
      );
    });

    it('go with their import, their animal and their account', async t => {
      const store = await openStore(t, engine);
      const { server, database } = store;
      server.serve('/1', red);
      await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.work();
      await store.begin([`B,Leo,Dog,${server.url('/2')},,`, `C,Tom,Dog,${server.url('/3')},,`]);
      await store.workRows();
      assert.equal(await store.sources(), 3);
      await database.write(tx => deletePet(tx, owner, 3));
      assert.equal(await store.sources(), 2);
      const deleteAll = (step: 'imports' | 'pets') => database.write(tx => steps[step](tx, 1, 0));
      while ((await deleteAll('imports')) !== undefined);
      assert.equal(await store.sources(), 1);
      while ((await deleteAll('pets')) !== undefined);
      assert.equal(await store.sources(), 0);
    });

    it('of an import end even if the last animal that waits for one is deleted', async t => {
      const store = await openStore(t, engine);
      const { server, database } = store;
      server.on('/1', (_, response) => response.writeHead(503).end());
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},,`]);
      await store.work(false);
      await database.write(tx => deletePet(tx, owner, 1));
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 1, 0, 0]);
    });

    it('are at most 10,000 of an import, and are given up after a day', async t => {
      const store = await openStore(t, engine);
      const { server, database } = store;
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},${server.url('/2')},`]);
      await database.write(tx => tx.run(wantMany, {}));
      await store.workRows();
      assert.deepEqual(await store.outcome(id), ['running', 10_001, 0, 1]);
      store.clock.advance(DAY_MS);
      await store.workRows();
      assert.deepEqual(await store.outcome(id), ['completed', 10_001, 0, 2]);
      const codes = (await store.errors(id)).map(([, , , code]) => code);
      assert.deepEqual(codes, ['too_many_photos', 'photos_late']);
      assert.equal(await store.sources(), 0);
    });

    it('of a dry run are counted and their URLs checked, but not fetched', async t => {
      const store = await openStore(t, engine);
      const { server } = store;
      const id = await store.begin([`A,Rex,Dog,${server.url('/1')},https://10.0.0.1/a.jpg,`], { dryRun: true });
      await store.work();
      assert.deepEqual(await store.outcome(id), ['completed', 2, 0, 1]);
      assert.deepEqual(await store.errors(id), [['error', 2, 'photo2', 'invalid_url', 'https://10.0.0.1/a.jpg']]);
      assert.deepEqual([server.requests, await store.sources()], [[], 0]);
    });
  });
});

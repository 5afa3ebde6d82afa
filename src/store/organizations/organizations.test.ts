import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { etagOf } from '../../lib/etag.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type NewOrganization, type OrganizationPatch, organizationValues } from '../../model/organization.ts';
import type { Database } from '../../model/schema.ts';
import { listOrganizations, type OrganizationFilter } from './list.ts';
import {
  deleteOrganization,
  getOrganization,
  type OrganizationEventData,
  replaceOrganization,
  updateOrganization,
} from './organizations.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const someone: Actor = { accountId: 7, admin: false };
const admin: Actor = { accountId: 9, admin: true };

const shelter = {
  name: 'Maple Lane Dog Rescue',
  address: { line1: '12 Maple Lane', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
  location: { latitude: 39.7990175, longitude: -89.6439575 },
  phone: '+1 555 0100',
  email: 'hello@maple-lane.example',
  website: 'https://maple-lane.example/',
  hours: { saturday: '10:00–16:00', sunday: 'by appointment' },
  mission: 'A home for every dog.\nOf the county.',
  adoption: { policy: 'Visit us twice.', url: 'https://maple-lane.example/adopt' },
  socialMedia: ['https://social.example/@maplelane', 'https://video.example/maplelane'],
} satisfies NewOrganization;

onEachEngine(engine => {
  const open = (clock = testClock(NOON)) => engine.open({ clock });
  const publish = (database: Database, accountId: number, body: NewOrganization = { name: `Shelter ${accountId}` }) =>
    database.write(tx => replaceOrganization(tx, { accountId, admin: false }, accountId, body));
  const patch = (database: Database, change: OrganizationPatch, actor = someone) =>
    database.write(tx => updateOrganization(tx, actor, 7, change));
  const read = async (database: Database) => organizationValues.fullOf(await getOrganization(database, someone, 7));
  const log = (database: Database) => eventsOf<OrganizationEventData>(database, 'organization', 7);

  describe('replaceOrganization', () => {
    it('publishes every field of the organization of an account', async () => {
      const database = await open();
      const { isNew } = await publish(database, 7, shelter);
      assert.equal(isNew, true);
      const times = { createdAt: '2026-11-21T12:00:00.000Z', updatedAt: '2026-11-21T12:00:00.000Z' };
      assert.deepEqual(await read(database), { id: 7, ...shelter, ...times, etag: '"7.1"' });
    });

    it('deletes what a replacement leaves out', async () => {
      const clock = testClock(NOON);
      const database = await open(clock);
      await publish(database, 7, shelter);
      clock.advance(1000);
      const { isNew } = await publish(database, 7, { name: 'Maple' });
      assert.equal(isNew, false);
      const times = { createdAt: '2026-11-21T12:00:00.000Z', updatedAt: '2026-11-21T12:00:01.000Z' };
      assert.deepEqual(await read(database), { id: 7, name: 'Maple', ...times, etag: '"7.2"' });
    });

    it('changes nothing if all values are the same', async () => {
      const database = await open();
      await publish(database, 7, shelter);
      await publish(database, 7, shelter);
      assert.equal((await read(database)).etag, '"7.1"');
      assert.equal((await log(database)).length, 1);
    });

    it('records events without the long texts', async () => {
      const database = await open();
      await publish(database, 7, shelter);
      await publish(database, 7, { ...shelter, phone: '+1 555 0199', mission: 'Another one' });
      const { hours: _, mission: __, adoption: ___, socialMedia: ____, ...state } = shelter;
      assert.deepEqual(
        (await log(database)).map(({ action, accountId, data }) => ({ action, accountId, data })),
        [
          { action: 'created', accountId: 7, data: { organization: state, ownerId: 7 } },
          {
            action: 'updated',
            accountId: 7,
            data: { organization: { ...state, phone: '+1 555 0199' }, was: { phone: '+1 555 0100' }, ownerId: 7 },
          },
        ],
      );
    });

    it('keeps coordinates as they were sent, also at their bounds', async () => {
      const database = await open();
      for (const latitude of [52.5200066, -90, 90, 0, 0.1, 5e-324]) {
        const location = { latitude, longitude: -2 * latitude };
        await publish(database, 7, { name: 'x', location });
        assert.deepEqual({ ...(await read(database)).location }, JSON.parse(JSON.stringify(location)));
      }
    });

    it('is for the account itself; an admin can replace what is published', async () => {
      const database = await open();
      const replace = (actor: Actor) => database.write(tx => replaceOrganization(tx, actor, 7, { name: 'By another' }));
      await assert.rejects(replace({ accountId: 8, admin: false }), { code: 'not_owner' });
      await assert.rejects(replace(admin), { code: 'organization_not_found' });
      await publish(database, 7);
      await assert.rejects(replace({ accountId: 8, admin: false }), { code: 'not_owner' });
      assert.equal((await replace(admin)).organization.name, 'By another');
    });

    it('checks the preconditions of the version that it replaces, or that there is none', async () => {
      const database = await open();
      const tags: (string | undefined)[] = [];
      const check = (etag: string | undefined) => {
        tags.push(etag);
        if (tags.length > 1) throw problem('precondition_failed');
      };
      const replace = () => database.write(tx => replaceOrganization(tx, someone, 7, shelter, check));
      await replace();
      await assert.rejects(replace, { code: 'precondition_failed' });
      assert.deepEqual([...new Set(tags)], [undefined, '"7.1"']);
    });

    it('publishes once when several requests come at the same time', async () => {
      const database = await open();
      const all = await Promise.all(['a', 'b', 'c', 'd'].map(name => publish(database, 7, { name })));
      assert.equal(all.filter(({ isNew }) => isNew).length, 1);
      assert.deepEqual(all.map(({ organization }) => organization.version).toSorted(), [1, 2, 3, 4]);
      assert.equal((await log(database)).length, 4);
    });
  });

  describe('updateOrganization', () => {
    it('merges members of objects, replaces lists, and deletes by null', async () => {
      const database = await open();
      await publish(database, 7, shelter);
      await patch(database, {
        address: { line1: null, city: 'Shelbyville' },
        location: { latitude: 40 },
        hours: { sunday: null, saturday: null },
        adoption: { url: null },
        socialMedia: ['https://social.example/@other'],
        website: null,
      });
      const { website: _, hours: __, ...rest } = shelter;
      const { createdAt, updatedAt, etag, ...now } = await read(database);
      assert.deepEqual(now, {
        id: 7,
        ...rest,
        address: { city: 'Shelbyville', state: 'IL', postalCode: '62701', country: 'US' },
        location: { latitude: 40, longitude: -89.6439575 },
        adoption: { policy: 'Visit us twice.' },
        socialMedia: ['https://social.example/@other'],
      });
      assert.equal(etag, '"7.2"');
    });

    it('rejects an address without a country, and half a location', async () => {
      const database = await open();
      await publish(database, 7, { name: 'x' });
      const { errors } = await patch(database, { address: { city: 'Springfield' }, location: { longitude: 1 } }).then(
        () => assert.fail(),
        error => error,
      );
      assert.deepEqual(errors, [
        {
          path: '/address/country',
          code: 'required',
          message: 'country is required, because there is no address yet.',
        },
        {
          path: '/location/latitude',
          code: 'required',
          message: 'latitude is required, because there is no location yet.',
        },
      ]);
      assert.equal((await read(database)).etag, '"7.1"');
    });

    it('changes nothing by a patch without an effect', async () => {
      const database = await open();
      await publish(database, 7, shelter);
      for (const change of [{}, { mission: shelter.mission }, { hours: {} }, { hours: { monday: null } }]) {
        assert.equal((await patch(database, change)).version, 1);
      }
    });

    it('records a change of texts that events leave out', async () => {
      const database = await open();
      await publish(database, 7, shelter);
      assert.equal((await patch(database, { hours: { monday: '9–5' } })).version, 2);
      const [, event] = await log(database);
      assert.deepEqual(event?.data.was, {});
    });

    it('is for the account itself and for admins', async () => {
      const database = await open();
      await assert.rejects(patch(database, { name: 'x' }), { code: 'organization_not_found' });
      await publish(database, 7);
      await assert.rejects(patch(database, { name: 'x' }, { accountId: 8, admin: false }), { code: 'not_owner' });
      assert.equal((await patch(database, { name: 'x' }, admin)).name, 'x');
    });
  });

  describe('deleteOrganization', () => {
    it('lets the account publish it again, with later versions', async () => {
      const database = await open();
      await publish(database, 7);
      await patch(database, { name: 'x' });
      const remove = (actor: Actor) => database.write(tx => deleteOrganization(tx, actor, 7));
      await assert.rejects(remove({ accountId: 8, admin: false }), { code: 'not_owner' });
      await remove(someone);
      await assert.rejects(read(database), { code: 'organization_not_found' });
      await assert.rejects(remove(someone), { code: 'organization_not_found' });
      const { organization } = await publish(database, 7);
      assert.equal(etagOf(organization), '"7.4"');
      assert.equal((await patch(database, { name: 'y' })).version, 5);
      assert.deepEqual(
        (await log(database)).map(({ action }) => action),
        ['created', 'updated', 'deleted', 'created', 'updated'],
      );
    });
  });

  describe('listOrganizations', () => {
    const names = ['Zoo', 'maple lane', 'Öland cats', 'Maple Ridge', 'zoo', 'Ａlpha', 'Maple lane'];
    const country = (id: number) => (id % 2 === 0 ? 'US' : 'CA');

    async function fill() {
      const database = await open();
      for (const [index, name] of names.entries()) {
        const address = { country: country(index), ...(index > 3 && { state: 'BC' }) };
        await publish(database, index + 1, { name, address });
      }
      return database;
    }
    async function list(database: Database, filter: OrganizationFilter, limit = 2) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await listOrganizations(database, filter, { limit, cursor });
        found.push(...page.rows.map(({ name }) => name));
        cursor = page.next;
      } while (cursor !== undefined);
      return found;
    }

    it('sorts by id and by name without case and accents, in both directions', async () => {
      const database = await fill();
      assert.deepEqual(await list(database, {}), names);
      assert.deepEqual(await list(database, { sort: '-id' }), names.toReversed());
      const byName = ['Ａlpha', 'maple lane', 'Maple lane', 'Maple Ridge', 'Öland cats', 'Zoo', 'zoo'];
      assert.deepEqual(await list(database, { sort: 'name' }), byName);
      assert.deepEqual(await list(database, { sort: '-name' }), byName.toReversed());
    });

    it('finds names by their beginnings, whatever the order', async () => {
      const database = await fill();
      for (const name of ['MAPLE', 'maple ', 'mäplé']) {
        assert.deepEqual(await list(database, { name, sort: 'name' }), ['maple lane', 'Maple lane', 'Maple Ridge']);
        assert.deepEqual(await list(database, { name }), ['maple lane', 'Maple Ridge', 'Maple lane']);
        assert.deepEqual(await list(database, { name, sort: '-name' }), ['Maple Ridge', 'Maple lane', 'maple lane']);
      }
      assert.deepEqual(await list(database, { name: 'oland' }), ['Öland cats']);
      assert.deepEqual(await list(database, { name: 'aple' }), []);
    });

    it('filters by country and state', async () => {
      const database = await fill();
      assert.deepEqual(await list(database, { country: 'CA' }), ['maple lane', 'Maple Ridge', 'Ａlpha']);
      assert.deepEqual(await list(database, { country: 'US', state: 'BC', sort: 'name' }), ['Maple lane', 'zoo']);
      assert.deepEqual(await list(database, { state: 'BC', name: 'z' }), ['zoo']);
      assert.deepEqual(await list(database, { state: 'bc' }), []);
    });

    it('leads back to previous pages, and rejects cursors of other lists', async () => {
      const database = await fill();
      const page = async (filter: OrganizationFilter, cursor?: string) => {
        const { rows, ...links } = await listOrganizations(database, filter, { limit: 3, cursor });
        return { names: rows.map(({ name }) => name), ...links };
      };
      for (const sort of ['name', '-id'] as const) {
        const first = await page({ sort });
        const second = await page({ sort }, first.next);
        assert.deepEqual((await page({ sort }, second.previous)).names, first.names);
        await assert.rejects(page({ sort: 'id' }, first.next), { code: 'invalid_parameter' });
        await assert.rejects(page({ sort, country: 'US' }, first.next), { code: 'invalid_parameter' });
      }
    });

    it('reads on where a page had to stop before it was full', async () => {
      const database = await open();
      for (let id = 1; id <= 510; id++) {
        await publish(database, id, { name: `Shelter ${String(id).padStart(3, '0')}`, address: { country: 'DE' } });
      }
      await publish(database, 511, { name: 'The last', address: { country: 'FR' } });
      for (const sort of ['id', 'name'] as const) {
        assert.deepEqual(await list(database, { country: 'FR', sort }), ['The last']);
      }
    });
  });
});

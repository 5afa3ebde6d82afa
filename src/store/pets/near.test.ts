import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { overEachEngine } from '../../../test/support/engines-over-http.ts';
import { send, serve, type TestService } from '../../../test/support/serving.ts';
import { KM_PER_MILE } from '../../lib/distance.ts';
import type { FullPet } from '../../model/pet.ts';
import { deleteOrganization, replaceOrganization, updateOrganization } from '../organizations/organizations.ts';
import { startPostalImport } from '../places/imported-codes.ts';
import { createPet } from './pets.ts';

/** Los Angeles, where the postal code 90012 is. */
const NEAR = '34.0614,-118.2385';
/** Accounts 101 to 170, each 5 km further north, and 171 at the location of 101. */
const FIRST = 101;
const LAST = 171;
const KM_PER_DEGREE = 111.195;
const PETS_EACH = 3;

overEachEngine(engine => {
  let serving: TestService;
  let key: string;
  before(async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    serving = await serve({ environment });
    key = (await serving.newKey({ perMinute: 100_000, perDay: 1_000_000 } as never)).token;
    const { production } = serving.app.databases;
    for (let id = FIRST; id <= LAST; id++) {
      const latitude = 34.0614 + (id === LAST ? 0 : ((id - FIRST) * 5) / KM_PER_DEGREE);
      const location = { latitude, longitude: -118.2385 };
      await production.write(tx => replaceOrganization(tx, actor(id), id, { name: `Shelter ${id}`, location }));
    }
    // Ids and distances have different orders.
    for (let n = 0; n < PETS_EACH; n++) {
      const pet = { name: n === 1 ? 'Bella' : 'Max', categoryId: 1 + n, sex: n === 2 ? 'male' : 'female' } as const;
      for (let id = LAST; id >= FIRST; id--) await production.write(tx => createPet(tx, id, pet, 'open'));
    }
    await production.write(tx => createPet(tx, 999, { name: 'Bella', categoryId: 1 }, 'open'));
  });
  after(() => serving?.stop());

  const actor = (accountId: number) => ({ accountId, admin: false });
  const get = (query: string) => send(`${serving.urls.production}/pets?${query}`, { key });

  /** Follows a list to its end, and returns the organizations of its pets. */
  async function walk(query: string, limit = 50): Promise<number[]> {
    const seen: { id: number; accountId: number }[] = [];
    for (let next: string | undefined = `${serving.urls.production}/pets?${query}&view=full&limit=${limit}`; next; ) {
      const reply = await send(next, { key });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      seen.push(...reply.body);
      next = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link ?? ''))?.[1];
    }
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);
    return seen.map(({ accountId }) => accountId);
  }

  const each = (ids: readonly number[], times = PETS_EACH) => ids.flatMap(id => Array<number>(times).fill(id));
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => FIRST + index);

  it('shows the distance in the full view, in the unit of the request', async () => {
    const shown = async (query: string) => (await get(`${query}&limit=3`)).body.map((pet: FullPet) => pet.distance);
    const north = `near=${NEAR}&organizationId=111&sort=distance`;
    assert.deepEqual(await shown(`${north}&view=full`), Array(3).fill({ value: 50, unit: 'km' }));
    assert.deepEqual(await shown(`${north}&view=full&within=100mi`), Array(3).fill({ value: 31.1, unit: 'mi' }));
    for (const sort of ['id', 'random', '-name']) {
      const [first] = await shown(`near=${NEAR}&organizationId=101&sort=${sort}&view=full`);
      assert.deepEqual(first, { value: 0, unit: 'km' }, sort);
    }
    assert.deepEqual(await shown(north), Array(3).fill(undefined));
    assert.deepEqual(await shown('organizationId=111&view=full'), Array(3).fill(undefined));
  });

  it('counts the traits of animals of organizations, near a place, and of the own account', async () => {
    const sexes = async (query: string) => {
      const { status, body } = await send(`${serving.urls.production}/pets/facets?${query}`, { key });
      assert.equal(status, 200, JSON.stringify(body));
      return [body.exact, body.facets.sex];
    };
    assert.deepEqual(await sexes('organizationId=110,105'), [true, { female: 4, male: 2 }]);
    assert.deepEqual(await sexes(`near=${NEAR}&within=6km`), [true, { female: 6, male: 3 }]);
    assert.deepEqual(await sexes(`near=${NEAR}&within=6km&organizationId=101,110&q=bel`), [true, { female: 1 }]);
    assert.deepEqual(await sexes('near=0,0'), [true, {}]);
    assert.deepEqual(await sexes('owner=me'), [true, {}]);
    const { body } = await send(`${serving.urls.production}/pets/facets?within=6km`, { key });
    assert.deepEqual([body.code, body.errors[0].parameter ?? body.errors[0].path], ['invalid_parameter', 'within']);
  });

  it('finds the animals of organizations', async () => {
    assert.deepEqual((await walk('organizationId=110,105', 2)).toSorted(), each([105, 110]));
    assert.deepEqual((await walk('organizationId=110&q=bel')).toSorted(), [110]);
    assert.deepEqual(await walk('organizationId=110,105,150&q=bel&sort=-id', 2), [105, 110, 150]);
    assert.deepEqual((await walk('organizationId=110,105&sex=male')).toSorted(), [105, 110]);
    assert.deepEqual((await walk('organizationId=110,105&sort=name', 1)).toSorted(), each([105, 110]));
    assert.deepEqual(await walk('organizationId=98'), []);
    for (const q of ['*', '%F0%9F%90%88']) assert.deepEqual(await walk(`organizationId=110&q=${q}`), []);
  });

  it('finds animals near a point, in the order of ids or of distances', async () => {
    const near = [101, 171, 102, 103];
    assert.deepEqual((await walk(`near=${NEAR}&within=12km`)).toSorted(), each(near).toSorted());
    assert.deepEqual(await walk(`near=${NEAR}&within=12km&sort=distance`), each(near));
    for (const limit of [1, 2, 3, 5]) {
      assert.deepEqual(await walk(`near=${NEAR}&within=12km&sort=distance`, limit), each(near));
    }
    assert.deepEqual(await walk(`near=${NEAR}&within=12km&sort=distance&q=be`), near);
    assert.deepEqual(await walk(`near=${NEAR}&within=12km&sort=distance&categoryId=3&sex=male`, 3), near);
    assert.deepEqual(await walk(`near=${NEAR}&within=12km&organizationId=102,150&sort=distance`), each([102]));
    assert.deepEqual(await walk(`near=${NEAR}&within=0km&sort=distance`), each([101, 171]));
    // The default distance is 100 km.
    assert.deepEqual((await walk(`near=${NEAR}`)).length, 21 * PETS_EACH);
    // More organizations than are merged.
    const all = await walk(`near=${NEAR}&within=400km`);
    assert.deepEqual(all.toSorted(), each([...upTo(70), 171]).toSorted());
    assert.deepEqual((await walk(`near=${NEAR}&within=400km&q=bella&sort=-id`)).toSorted(), [...upTo(70), 171]);
    assert.deepEqual((await walk(`near=${NEAR}&within=400km&sort=distance`, 100)).slice(-6), each([169, 170]));
  });

  it('ends a page after 20,000 rows of all organizations, of which each takes 500 at least', async () => {
    const query = `near=${NEAR}&within=400km&sort=distance&coat=short`;
    const { body, headers } = await get(query);
    assert.deepEqual(body, []);
    assert.match(String(headers.link), /rel="next"/);
    assert.deepEqual(await walk(query), []);
  });

  it('finds animals near a postal code, by kilometers and miles', async () => {
    assert.deepEqual((await walk('near=US-90012&within=8km&sort=distance')).slice(0, 6), each([101, 171]));
    assert.deepEqual(
      (await walk('near=US-90012-1234&within=8km')).length,
      (await walk('near=US-90012&within=8km')).length,
    );
    const miles = await walk(`near=${NEAR}&within=20mi`);
    assert.deepEqual(miles.length, (2 + Math.floor((20 * KM_PER_MILE) / 5)) * PETS_EACH);
    assert.deepEqual(await walk('near=CA-K1A%200B1&sort=distance'), []);
  });

  it('finds animals near what people type: codes without a country, cities with and without their states', async () => {
    const same = ['90012', 'us-90012', 'US 90012', '90012-1234', 'US-90012'];
    for (const near of same) {
      assert.deepEqual(
        (await walk(`near=${encodeURIComponent(near)}&within=8km&sort=distance`)).slice(0, 6),
        each([101, 171]),
        near,
      );
    }
    // Each point of a city belongs to one of its postal codes.
    const cities = ['Los Angeles', 'los angeles, ca', 'Los Angeles California', 'Los Angeles, CA, USA'];
    for (const near of cities)
      assert.ok((await walk(`near=${encodeURIComponent(near)}&within=30km`)).includes(101), near);
    assert.deepEqual(await walk(`near=${encodeURIComponent('Portland, TX')}&within=30km`), []);
    for (const near of ['K1A 0B1', 'k1a0b1', 'K1A', 'St. Louis', 'Quebec', 'Saint John, NB', '34.0614, -118.2385']) {
      assert.equal((await get(`near=${encodeURIComponent(near)}`)).status, 200, near);
    }
    // All cities of the name count.
    const { production } = serving.app.databases;
    const move = (latitude: number, longitude: number) =>
      production.write(tx => updateOrganization(tx, actor(150), 150, { location: { latitude, longitude } }));
    for (const [state, latitude, longitude] of [
      ['OR', 45.52, -122.67],
      ['ME', 43.66, -70.25],
    ] as const) {
      await move(latitude, longitude);
      for (const near of ['Portland', `Portland, ${state}`, `portland ${state}`]) {
        assert.deepEqual(await walk(`near=${encodeURIComponent(near)}&within=20km&sort=distance`), each([150]), near);
      }
    }
    assert.deepEqual(await walk(`near=${encodeURIComponent('Portland, OR')}&within=20km`), []);
    await move(34.0614 + ((150 - FIRST) * 5) / KM_PER_DEGREE, -118.2385);
  });

  it('finds animals near an imported postal code of another country', async () => {
    const { production } = serving.app.databases;
    const messageOf = async (near: string) => (await get(`near=${near}`)).body.errors?.[0]?.message;
    assert.match(
      await messageOf('FR-75001'),
      /^This store has no postal codes of FR, only of CA, US\. Latitude and longitude/,
    );
    const run = await startPostalImport(production);
    const place = { country: 'FR', code: '75001', latitude: 34.0614, longitude: -118.2385 };
    await run.add([place, { ...place, country: 'LV', code: '1010' }]);
    await run.finish(['FR', 'LV']);
    for (const near of ['FR-75001', 'FR-75%20001', 'FR-750-01', 'LV-1010', 'LV-LV-1010', 'LV-lv1010']) {
      assert.deepEqual(await walk(`near=${near}&within=1km&sort=distance`), each([101, 171]), near);
    }
    assert.equal(await messageOf('FR-75002'), 'There is no postal code 75002 in FR.');
    assert.equal(await messageOf('US-00000'), 'There is no postal code 00000 in US.');
    assert.match(await messageOf('DE-10115'), /no postal codes of DE, only of CA, FR, LV, US\./);
    // The list is cached until another import replaces the code.
    const other = await startPostalImport(production);
    await other.add([{ ...place, latitude: 50 }]);
    await other.finish(['FR']);
    assert.deepEqual(await walk('near=FR-75001&within=1km&sort=distance'), []);
  });

  it('says what is wrong with a place', async () => {
    const wrong: [query: string, parameter: string][] = [
      ['near=91,0', 'near'],
      ['near=34.05,-181', 'near'],
      ['near=34.05', 'near'],
      ['near=US-00000', 'near'],
      ['near=DE-10115', 'near'],
      ['near=DE-', 'near'],
      ['near=DE-10_115', 'near'],
      ['near=de-10115', 'near'],
      ['near=Atlantis%20City', 'near'],
      ['near=Springfield%209', 'near'],
      ['near=US-9021', 'near'],
      ['near=US-90210-12', 'near'],
      ['near=CA-K1', 'near'],
      ['near=US-90012&within=5', 'within'],
      ['near=US-90012&within=-5km', 'within'],
      ['within=5km', 'within'],
      ['sort=distance', 'sort'],
      ['sort=relevance', 'sort'],
      ['near=US-90012&updatedSince=2026-11-21T00:00:00Z', 'near'],
      ['organizationId=1&updatedSince=2026-11-21T00:00:00Z', 'organizationId'],
      [`near=${NEAR}&sort=distance&cursor=WzFd`, 'cursor'],
    ];
    for (const [query, parameter] of wrong) {
      const { status, body } = await get(query);
      assert.deepEqual([status, body.code, body.errors?.[0]?.path], [400, 'invalid_parameter', parameter], query);
    }
    const messageOf = async (near: string) => (await get(`near=${near}`)).body.errors[0].message;
    assert.equal(
      await messageOf('34.05'),
      'Must be latitude,longitude, such as 34.05,-118.24, a postal code, such as 90210 or DE-10115, or a city, such as Portland, OR.',
    );
    assert.equal(
      await messageOf('Atlantis%20City'),
      'This store knows no city Atlantis City. Latitude and longitude work everywhere, such as 34.05,-118.24.',
    );
  });

  it('follows an organization that moves, is deleted or comes back', async () => {
    const { production } = serving.app.databases;
    const query = `near=${NEAR}&within=1km&sort=distance`;
    const original = { latitude: 34.0614, longitude: -118.2385 };
    assert.deepEqual(await walk(query), each([101, 171]));
    await production.write(tx => updateOrganization(tx, actor(171), 171, { location: { latitude: 50 } }));
    assert.deepEqual(await walk(query), each([101]));
    await production.write(tx => deleteOrganization(tx, actor(101), 101));
    assert.deepEqual(await walk(query), []);
    await production.write(tx => replaceOrganization(tx, actor(101), 101, { name: 'Back', location: original }));
    await production.write(tx => updateOrganization(tx, actor(171), 171, { location: original }));
    assert.deepEqual(await walk(query), each([101, 171]));
  });
});

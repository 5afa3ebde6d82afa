import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../../test/support/engines-over-http.ts';
import { type SendOptions, send, serve, type TestService } from '../../test/support/serving.ts';
import { createAccount } from '../access/accounts/accounts.ts';
import { testClock } from '../lib/clock.ts';
import type { IssuedKey } from './key.ts';

const START = Date.parse('2026-11-21T12:00:00Z');

/** A profile with every field. */
const profile = {
  externalId: 'A-117 ',
  breeds: { primary: 'Labrador Retriever', secondary: 'Pudel-Mischling', mixed: true, unknown: false },
  colors: { primary: 'Tricolor (Brown, Black, & White)', secondary: 'Golden' },
  pattern: 'Brindle',
  coat: 'short',
  sex: 'female',
  birthDate: '2024-05-01',
  birthDatePrecision: 'estimated',
  age: 'young',
  size: 'xlarge',
  weight: { value: 27.25, unit: 'kg' },
  goodWith: { children: 'yes', dogs: 'no', cats: 'unknown' },
  traits: { houseTrained: 'no', spayedNeutered: 'unknown', vaccinated: 'yes' },
  energy: 4,
  group: { id: 'litter 7', kind: 'litter' },
  tags: ['playful', 'Ünïcode 🐶'],
  videos: ['https://videos.example/1,2'],
  specialNeedsNotes: 'None.',
  microchips: ['276098102345678'],
  tattoo: 'LE 4711',
  shelterLocation: 'Dog runs, Building 2, 7',
  intake: { date: '2026-10-01', kind: 'stray', from: 'Main Street' },
  outcome: { date: '2026-11-01', kind: 'adoption', to: 'The Smiths' },
  extra: { 'kennel no.': '7', z: '', a: ' =1+1' },
  description: ' First line.\r\n\tSecond line. \n',
};
const ownersOnly = ['microchips', 'tattoo', 'shelterLocation', 'intake', 'outcome'] as const;

overEachEngine(engine => {
  const clock = testClock(START);
  let serving: TestService;
  let owner: IssuedKey;
  let stranger: IssuedKey;
  let admin: IssuedKey;
  before(async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    serving = await serve({ clock, environment });
    owner = await serving.newKey();
    stranger = await otherKey('b@example.org', false);
    admin = await otherKey('c@example.org', true);
  });
  after(() => serving?.stop());

  async function otherKey(email: string, isAdmin: boolean): Promise<IssuedKey> {
    const { id: accountId } = await serving.app.databases.production.write(tx =>
      createAccount(tx, { email, name: email, plan: 'business', admin: isAdmin }),
    );
    return serving.newKey({ accountId });
  }
  const ask = (path: string, sending: SendOptions = {}) =>
    send(`${serving.urls.production}${path}`, { key: owner, ...sending });
  const create = (body: object, sending: SendOptions = {}) =>
    ask('/pets?view=full', { method: 'POST', body: { name: 'Bella', categoryId: 1, ...body }, ...sending });
  const patch = (id: number, body: object) => ask(`/pets/${id}?view=full`, { method: 'PATCH', body });
  const get = async (id: number, key = owner) => (await ask(`/pets/${id}?view=full`, { key })).body;

  describe('the profile of a pet', () => {
    it('is kept as sent, and shown in the full view alone', async () => {
      const { status, body } = await create(profile);
      assert.equal(status, 201);
      assert.deepEqual(pick(body, Object.keys(profile)), profile);
      assert.deepEqual(pick(await get(body.id), Object.keys(profile)), profile);
      const list = await ask(`/pets?id=${body.id}`);
      assert.deepEqual(Object.keys(list.body[0]), ['id', 'name', 'categoryId', 'status']);
    });

    it('distinguishes an unknown answer from a missing one', async () => {
      const { body } = await create({ goodWith: { cats: 'unknown' }, traits: {} });
      assert.deepEqual(body.goodWith, { cats: 'unknown' });
      assert.ok(!('traits' in body));
    });

    it('is changed by a merge patch, member by member', async () => {
      const { id } = (await create({ ...profile, externalId: 'patched' })).body;
      const { status, body } = await patch(id, {
        breeds: { secondary: null },
        goodWith: { dogs: 'yes', cats: null },
        weight: { value: 30 },
        extra: { z: null, new: 'x' },
        tags: ['calm'],
        colors: null,
      });
      assert.equal(status, 200);
      assert.deepEqual(body.breeds, { primary: 'Labrador Retriever', mixed: true, unknown: false });
      assert.deepEqual(body.goodWith, { children: 'yes', dogs: 'yes' });
      assert.deepEqual(body.weight, { value: 30, unit: 'kg' });
      assert.deepEqual(body.extra, { 'kennel no.': '7', a: ' =1+1', new: 'x' });
      assert.deepEqual(body.tags, ['calm']);
      assert.ok(!('colors' in body));
      const { body: history } = await ask(`/pets/${id}/history`);
      assert.deepEqual(Object.keys(history.at(-1).changes).sort(), [
        'breeds',
        'colors',
        'extra',
        'goodWith',
        'tags',
        'weight',
      ]);
    });

    it('says which members are missing or wrong', async () => {
      const { id } = (await create({})).body;
      const wrong = async (body: object) => {
        const reply = await patch(id, body);
        assert.equal(reply.status, 400, reply.text);
        return reply.body.errors.map(({ path }: { path: string }) => path);
      };
      assert.deepEqual(await wrong({ weight: { value: 1 } }), ['/weight/unit']);
      assert.deepEqual(await wrong({ birthDate: '2026-02-30' }), ['/birthDate']);
      assert.deepEqual(await wrong({ birthDate: '2026-11-23' }), ['/birthDate']);
      assert.deepEqual(await wrong({ microchips: ['12'] }), ['/microchips/0']);
      for (const url of ['javascript:alert(1)', 'https://a/\0', 'https://a/\ud800', 'https://[', 'https://me@a/'])
        assert.deepEqual(await wrong({ videos: [url] }), ['/videos/0'], JSON.stringify(url));
      assert.deepEqual(await wrong({ extra: { 'a/b': 'x' } }), ['/extra/a~1b']);
      assert.deepEqual(await wrong({ goodWith: { cats: true } }), ['/goodWith/cats']);
      assert.deepEqual(await wrong({ tags: Array.from({ length: 21 }, (_, tag) => `${tag}`) }), ['/tags']);
      assert.equal((await get(id)).etag, `"${id}.1"`);
    });

    it('shows some fields to the owner and to admins only: in views, lists, events and the history', async () => {
      const { body: own } = await create({ ...profile, externalId: 'private' });
      await patch(own.id, { tattoo: 'LE 4712' });
      await ask('/holds', {
        method: 'POST',
        key: stranger,
        body: { petIds: [own.id], expiresAt: new Date(clock.now() + 60_000).toISOString() },
      });
      for (const [key, shown] of [
        [owner, [...ownersOnly]],
        [admin, [...ownersOnly]],
        [stranger, []],
      ] as const) {
        const seen = async (path: string) => (await ask(path, { key })).body;
        const { body: listed } = await ask(`/pets?id=${own.id}&view=full`, { key });
        const changed = await seen('/pets?updatedSince=2026-01-01T00:00:00Z&view=full&limit=100');
        const events = (await seen('/events?types=pet.*&limit=100')).filter(
          (event: { data: { id: number } }) => event.data.id === own.id,
        );
        const history = await seen(`/pets/${own.id}/history`);
        const views: object[] = [
          await get(own.id, key),
          listed[0],
          changed.find((pet: { id: number }) => pet.id === own.id),
          events[0].data,
          events[0].changes,
          events.at(-1).data,
          history[0].changes,
        ];
        for (const view of views) assert.deepEqual(Object.keys(view).filter(isOwnersOnly).sort(), [...shown].sort());
        assert.equal(events.length, 3);
        assert.deepEqual(Object.keys(events[1].changes), shown.length > 0 ? ['tattoo'] : []);
        assert.deepEqual(Object.keys(history[1].changes ?? {}), shown.length > 0 ? ['tattoo'] : []);
      }
    });

    it('has an age that follows from the date of birth, also in cached lists, unless it is given', async () => {
      const birthDate = new Date(clock.now() - 182 * 86_400_000).toISOString().slice(0, 10);
      const { body } = await create({ birthDate });
      const given = (await create({ birthDate, age: 'senior' })).body.id;
      const listed = async (id: number) => (await ask(`/pets?id=${id}&view=full`)).body[0].age;
      assert.deepEqual([body.age, await listed(body.id), await listed(given)], ['baby', 'baby', 'senior']);
      clock.advance(86_400_000);
      assert.deepEqual([await listed(body.id), await listed(given)], ['young', 'senior']);
      assert.equal((await get(body.id)).age, 'young');
    });

    it('is searched by traits, alone and together, page by page', async () => {
      const categoryId = 4711;
      const birthDate = new Date(clock.now() - 3 * 366 * 86_400_000).toISOString().slice(0, 10);
      const add = async (body: object) => (await create({ categoryId, ...body })).body.id as number;
      const calm = await add({ sex: 'female', birthDate, goodWith: { cats: 'yes', dogs: 'unknown' } });
      const wild = await add({ sex: 'male', age: 'baby', goodWith: { cats: 'no' }, traits: { houseTrained: 'no' } });
      const plain = await add({});
      const senior = await add({ sex: 'female', birthDate, age: 'senior', size: 'small', status: 'sold' });
      const found = async (query: string) => {
        const ids: number[] = [];
        for (let url: string | undefined = `/pets?categoryId=${categoryId}&limit=1&${query}`; url; ) {
          const reply = await ask(url);
          assert.equal(reply.status, 200, reply.text);
          ids.push(...reply.body.map(({ id }: { id: number }) => id));
          url = (reply.headers['x-next'] as string | undefined)?.replace(serving.urls.production, '');
        }
        return ids;
      };
      assert.deepEqual(await found('sex=female'), [calm, senior]);
      assert.deepEqual(await found('sex=female,male'), [calm, wild, senior]);
      assert.deepEqual(await found('age=adult'), [calm]);
      assert.deepEqual(await found('age=baby,senior&sort=-id'), [senior, wild]);
      assert.deepEqual(await found('age=baby,senior&sort=name&owner=me'), [wild, senior]);
      assert.deepEqual(await found('goodWithCats=yes,no&status=available'), [calm, wild]);
      assert.deepEqual(await found('goodWithDogs=unknown'), [calm]);
      assert.deepEqual(await found('houseTrained=no&sex=male'), [wild]);
      assert.deepEqual(await found('sex=female&size=small&includeDescendants=true'), [senior]);
      assert.deepEqual(await found(`id=${plain},${wild}&sex=male`), [wild]);
      assert.equal((await ask('/pets?sex=girl')).body.errors[0].path, 'sex');
      assert.equal((await ask('/pets?sex=male&updatedSince=2026-01-01T00:00:00Z')).status, 400);
    });

    it('has an externalId that no other animal of the account has', async () => {
      const { id } = (await create({ externalId: 'E-1' })).body;
      const second = await create({ externalId: 'E-1' });
      assert.deepEqual([second.status, second.body.code], [409, 'external_id_taken']);
      assert.equal((await patch(id, { externalId: 'E-1', name: 'Bello' })).status, 200);
      const other = (await create({ externalId: 'E,2' })).body.id;
      assert.equal((await patch(other, { externalId: 'E-1' })).status, 409);
      const { id: others } = (await create({ externalId: 'E-1' }, { key: stranger })).body;
      const listed = async (query: string) =>
        (await ask(`/pets?owner=me&externalId=${query}`)).body.map((pet: { id: number }) => pet.id);
      assert.deepEqual(await listed('E-1'), [id]);
      assert.deepEqual(await listed('E%2C2'), [other]);
      assert.deepEqual(await listed(`E-1&id=${other}`), []);
      assert.deepEqual(await listed('E-9'), []);
      const ofCaller = async (sending: SendOptions = {}) =>
        (await ask('/pets?externalId=E-1', sending)).body.map((pet: { id: number }) => pet.id);
      assert.deepEqual([await ofCaller(), await ofCaller({ key: stranger })], [[id], [others]]);
      const together = await Promise.all(Array.from({ length: 10 }, () => create({ externalId: 'E-3' })));
      assert.deepEqual(together.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)]);
    });
  });
});

function isOwnersOnly(name: string): boolean {
  return (ownersOnly as readonly string[]).includes(name);
}

function pick(object: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(names.map(name => [name, object[name]]));
}

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../src/lib/clock.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { petfinderClient } from '../support/petfinder.ts';
import { assertApiResponse, type Reply, serve, type TestService } from '../support/serving.ts';

const TYPES = 'https://www.petfinder.com/developers/v2/docs/errors';
const portland = { latitude: 45.52, longitude: -122.68 };
const seattle = { latitude: 47.61, longitude: -122.33 };

/** The animals of the store, oldest first. Each is added a minute after the one before. */
const animals = [
  {
    ...{ name: 'Alfredo', categoryId: 1, externalId: 'A-1', sex: 'male', age: 'adult', size: 'xlarge', coat: 'wire' },
    breeds: { primary: 'Corgi', secondary: 'Pug', mixed: true },
    colors: { primary: 'Tricolor (Brown, Black, & White)', secondary: 'Black' },
    goodWith: { children: 'yes', dogs: 'no', cats: 'unknown' },
    traits: { houseTrained: 'yes', declawed: 'no', spayedNeutered: 'yes', vaccinated: 'yes' },
    tags: ['calm'],
    videos: ['https://video.example/1?a=1&b=2'],
    description: `Likes <b>walks</b> & ${'snow '.repeat(30)}`,
  },
  { name: 'Frederick', categoryId: 1, sex: 'female', age: 'baby', breeds: { primary: 'Black Labrador Retriever' } },
  { name: 'Corgi', categoryId: 1, breeds: { primary: 'Pug' }, goodWith: { children: 'no' } },
  { name: 'Mia', categoryId: 2, colors: { primary: 'Black & White / Tuxedo' }, traits: { specialNeeds: 'yes' } },
  { name: 'Tweety', categoryId: 6, sex: 'unknown' },
  { name: 'Away', categoryId: 1, status: 'sold' },
  { name: 'Held', categoryId: 1, status: 'pending' },
  { name: 'Nibbles', categoryId: 4 },
];

overEachEngine(engine => {
  const start = Date.parse('2026-11-20T12:00:00Z');
  const clock = testClock(start);
  let service: TestService;
  let client: Awaited<ReturnType<typeof petfinderClient>>;
  let other: typeof client;
  let hamsters: number;

  before(async () => {
    service = await serve({ clock, environment: await engine.settings() });
    const keys = [await service.newKey(), await service.newKey()] as const;
    client = await petfinderClient(service.urls, keys[0]);
    other = await petfinderClient(service.urls, keys[1]);
    const address = { line1: '1 Main St', city: 'Portland', state: 'OR', postalCode: '97201', country: 'US' };
    const first = {
      ...{
        name: 'Maple Lane Dog Rescue',
        email: 'maple@example.org',
        phone: '+1 555 0100',
        address,
        location: portland,
      },
      ...{ hours: { monday: '10:00–17:00' }, mission: 'Dogs.', website: 'https://maple.example' },
      socialMedia: ['https://www.facebook.com/maple', 'https://x.com/maple'],
    };
    await client.create(`/organizations/${keys[0].accountId}`, first, 'PUT');
    const second = { name: 'Côté Cats', address: { city: 'Seattle', state: 'WA', country: 'US' }, location: seattle };
    await other.create(`/organizations/${keys[1].accountId}`, second, 'PUT');
    hamsters = (await client.create('/categories', { name: 'Hamster', parentId: 4 })).id;
    for (const animal of animals) {
      clock.advance(60_000);
      const owner = animal.categoryId === 2 ? other : client;
      await owner.create('/pets', animal.categoryId === 4 ? { ...animal, categoryId: hamsters } : animal);
    }
  });
  after(() => service.stop());

  const names = ({ body }: Reply): string[] => body.animals.map(({ name }: { name: string }) => name);
  const organizationNames = ({ body }: Reply) => body.organizations.map(({ name }: { name: string }) => name);

  function assertInvalid(reply: Reply, path: string, number = '00002') {
    assertApiResponse(reply);
    assert.equal(reply.status, 400, reply.text);
    assert.equal(reply.headers['content-type'], 'application/problem+json');
    const { 'invalid-params': invalid, ...problem } = reply.body;
    assert.deepEqual([problem.type, problem.title], [`${TYPES}/ERR-${number}/`, 'Invalid Request']);
    assert.deepEqual([invalid[0].in, invalid[0].path], ['query', path]);
  }

  describe('an animal', () => {
    it('has the members of the original, in their order', async () => {
      const { body } = await client.get('/animals/10000001');
      const { url, photos, primary_photo_cropped: cropped, contact, description, ...animal } = body.animal;
      assert.deepEqual(animal, {
        ...{ id: 10_000_001, organization_id: 'PS1', type: 'Dog', species: 'Dog' },
        breeds: { primary: 'Corgi', secondary: 'Pug', mixed: true, unknown: false },
        colors: { primary: 'Tricolor (Brown, Black, & White)', secondary: 'Black', tertiary: null },
        ...{ age: 'Adult', gender: 'Male', size: 'Extra Large', coat: 'Wire' },
        attributes: {
          ...{ spayed_neutered: true, house_trained: true, declawed: false, special_needs: false, shots_current: true },
        },
        environment: { children: true, dogs: false, cats: null },
        ...{ tags: ['calm'], name: 'Alfredo', organization_animal_id: 'A-1' },
        videos: [{ embed: '<a href="https://video.example/1?a=1&#38;b=2">https://video.example/1?a=1&#38;b=2</a>' }],
        ...{ status: 'adoptable', distance: null },
        status_changed_at: '2026-11-20T12:01:00+0000',
        published_at: '2026-11-20T12:01:00+0000',
        _links: {
          self: { href: '/petfinder/v2/animals/10000001' },
          type: { href: '/petfinder/v2/types/dog' },
          organization: { href: '/petfinder/v2/organizations/ps1' },
        },
      });
      assert.match(url, /\/animals\/1$/);
      assert.deepEqual([photos, cropped], [[], null]);
      assert.match(description, /^Likes &#60;b&#62;walks&#60;\/b&#62; &#38; (snow )+.*\.\.\.$/);
      assert.deepEqual(contact, {
        ...{ email: 'maple@example.org', phone: '+1 555 0100' },
        address: {
          ...{ address1: '1 Main St', address2: null, city: 'Portland', state: 'OR', postcode: '97201', country: 'US' },
        },
      });
      assert.deepEqual(Object.keys(body.animal), [
        ...['id', 'organization_id', 'url', 'type', 'species', 'breeds', 'colors', 'age', 'gender', 'size', 'coat'],
        ...['attributes', 'environment', 'tags', 'name', 'description', 'organization_animal_id', 'photos'],
        ...['primary_photo_cropped', 'videos', 'status', 'status_changed_at', 'published_at', 'distance'],
        ...['contact', '_links'],
      ]);
    });

    it('has the species of its category, and the type of the one at the top', async () => {
      const { body } = await client.get(`/animals/${10_000_000 + animals.length}/`);
      assert.deepEqual([body.animal.type, body.animal.species], ['Small & Furry', 'Hamster']);
    });

    it('does not exist without the offset of its id, or while it is pending', async () => {
      for (const id of ['1', '0', '10000000', '10000007', '99999999', 'abc', '1e7', '9'.repeat(40)]) {
        const reply = await client.get(`/animals/${id}`);
        assertApiResponse(reply);
        assert.deepEqual(reply.body, {
          type: `${TYPES}/ERR-404/`,
          status: 404,
          title: 'Not Found',
          detail: 'Not Found',
        });
      }
    });
  });

  describe('the list of animals', () => {
    const adoptable = ['Nibbles', 'Tweety', 'Mia', 'Corgi', 'Frederick', 'Alfredo'];
    const expected: Record<string, readonly string[]> = {
      '': adoptable,
      'type=&animal_type=&unknown=1': adoptable,
      'status=adopted': ['Away'],
      'status=found': [],
      'status=adopted,found,Adoptable&type=Dog': ['Away', 'Corgi', 'Frederick', 'Alfredo'],
      'type=dog': ['Corgi', 'Frederick', 'Alfredo'],
      'type=Small%20%26%20furry': ['Nibbles'],
      'type=small-furry': ['Nibbles'],
      'type=Scales%2C+Fins+%26+Other': [],
      'breed=corgi': ['Alfredo'],
      'breed[]=Corgi&breed[]=Black+Labrador+Retriever': ['Frederick', 'Alfredo'],
      'breed=pug': ['Corgi', 'Alfredo'],
      'breed=Retriever': [],
      'breed=%25': [],
      'name=fred,': [],
      'color=Tricolor+(Brown,+Black,+%26+White)': ['Alfredo'],
      'color=Black': ['Alfredo'],
      'color=Black+%26+White+/+Tuxedo,Black': ['Mia', 'Alfredo'],
      'breed=Pug&color=black': ['Alfredo'],
      'name=fred': ['Frederick', 'Alfredo'],
      'size=xlarge,small': ['Alfredo'],
      'size=Extra+Large': ['Alfredo'],
      'gender=Male,female': ['Frederick', 'Alfredo'],
      'gender=unknown': ['Tweety'],
      'age=baby': ['Frederick'],
      'coat=wire,curly': ['Alfredo'],
      'good_with_children=1': ['Alfredo'],
      'good_with_children=false': ['Corgi'],
      'good_with_dogs=true': [],
      'house_trained=true&good_with_dogs=0': ['Alfredo'],
      'special_needs=1': ['Mia'],
      'organization=ps2': ['Mia'],
      'organization=PS1,ps2&type=cat': ['Mia'],
      'location=97201': ['Nibbles', 'Tweety', 'Corgi', 'Frederick', 'Alfredo'],
      'location=Portland,+OR&distance=200&type=cat': ['Mia'],
      'location=47.6,-122.3&distance=500&sort=distance&gender=female,male': ['Alfredo', 'Frederick'],
      'sort=-recent': adoptable.toReversed(),
      'after=2026-11-20T12:05:00%2B00:00': ['Nibbles'],
      'after=2026-11-20T12:04:00+0000&before=2026-11-20T12:06:00Z': ['Tweety'],
      'before=2026-11-20T12:03:00': ['Frederick', 'Alfredo'],
      'before=2026-11-20': [],
    };
    for (const [query, wanted] of Object.entries(expected)) {
      it(`with ${query || 'no parameters'}`, async () => {
        const reply = await client.get(`/animals?${query}`);
        assertApiResponse(reply);
        assert.deepEqual(names(reply), wanted, reply.text);
        assert.equal(reply.body.pagination.total_count, wanted.length);
      });
    }

    it('has distances in miles near a location', async () => {
      const { body } = await client.get('/animals/?location=45.52,-122.68&distance=200&sort=distance');
      const distances: number[] = body.animals.map(({ distance }: { distance: number }) => distance);
      assert.deepEqual(distances.slice(0, 5), [0, 0, 0, 0, 0]);
      assert.ok(distances[5]! > 140 && distances[5]! < 150);
    });

    it('has every animal once in random order', async () => {
      const seen: string[] = [];
      let reply = await client.get('/animals?sort=random&limit=2');
      for (;;) {
        seen.push(...names(reply));
        const { next } = reply.body.pagination._links;
        if (next === undefined) break;
        reply = await client.follow(next);
      }
      assert.deepEqual(seen.sort(), adoptable.toSorted());
    });

    const invalid: Record<string, string> = {
      ...{
        'type=Unicorn': 'type',
        'type=1': 'type',
        'type=constructor': 'type',
        'age=old': 'age',
        'size=huge': 'size',
      },
      ...{ 'gender=x': 'gender', 'coat=silk': 'coat', 'status=sold': 'status', 'good_with_cats=2': 'good_with_cats' },
      ...{ 'house_trained=false': 'house_trained', 'organization=CO5x': 'organization', 'sort=name': 'sort' },
      ...{ 'sort=-distance&location=97201': 'sort', 'limit=101': 'limit', 'limit=0': 'limit', 'page=0': 'page' },
      ...{ 'page=x': 'page', 'page=1e3': 'page', 'page=99999999999': 'page', 'page=201&limit=100': 'page' },
      ...{ 'name=a&page=101': 'page', 'location=Nowhereville': 'location', 'location=%00': 'location' },
      ...{ 'location=97201&distance=501': 'distance', 'after=yesterday': 'after', 'before=2026-02-30': 'before' },
      ...{ 'page=2&cursor=2.0.x': 'cursor', [`name=${'x'.repeat(300)}&page=2&cursor=2.0.@`]: 'cursor' },
    };
    for (const [query, path] of Object.entries(invalid)) {
      it(`rejects ${query.slice(0, 60)}`, async () => assertInvalid(await client.get(`/animals?${query}`), path));
    }

    it('requires a location with a distance', async () => {
      for (const query of ['distance=10', 'sort=distance']) {
        assertInvalid(await client.get(`/animals?${query}`), 'location', '00001');
      }
    });
  });

  describe('a page', () => {
    for (const query of [
      'limit=2',
      'limit=2&type=dog',
      'limit=1&name=e',
      'limit=1&breed[]=pug',
      'limit=2&sort=-recent',
    ]) {
      it(`of ${query} is the same by its number and by the link to it`, async () => {
        const all = await client.get(`/animals?${query}&limit=100`);
        const seen: string[] = [];
        let linked = await client.get(`/animals?${query}`);
        for (let page = 1; ; page++) {
          const numbered = await client.get(`/animals?${query}&page=${page}`);
          assert.deepEqual(names(numbered), names(linked));
          const { pagination } = linked.body;
          const limit = Number(/\d/.exec(query));
          assert.deepEqual([pagination.current_page, pagination.count_per_page], [page, limit]);
          assert.deepEqual(
            [pagination.total_count, pagination.total_pages],
            [all.body.animals.length, Math.ceil(all.body.animals.length / limit)],
          );
          seen.push(...names(linked));
          const { previous, next } = pagination._links;
          if (page > 1) assert.equal(names(await client.follow(previous)).at(-1), seen[(page - 1) * limit - 1]);
          if (next === undefined) break;
          assert.ok(next.href.startsWith('/petfinder/v2/animals?'));
          linked = await client.follow(next);
        }
        assert.deepEqual(seen, names(all));
      });
    }

    it('beyond the last is empty, and up to row 20,000 it can be asked for', async () => {
      const { body } = await client.get('/animals?type=dog&limit=100&page=200');
      assert.deepEqual(body.animals, []);
      assert.equal(body.pagination.total_count, 3);
    });

    it('repeats no parameter that the operation does not have', async () => {
      const { text } = await client.get('/animals?limit=1&client_secret=hidden');
      assert.ok(!text.includes('hidden'));
    });
  });

  describe('types', () => {
    it('are the eight of the original, with coats, colors and genders', async () => {
      const { body } = await client.get('/types');
      assert.deepEqual(
        body.types.map(({ name }: { name: string }) => name),
        ['Dog', 'Cat', 'Rabbit', 'Small & Furry', 'Horse', 'Bird', 'Scales, Fins & Other', 'Barnyard'],
      );
      const bird = await client.get('/types/Bird');
      assert.deepEqual(bird.body.type, body.types[5]);
      assert.deepEqual([bird.body.type.genders, bird.body.type.coats], [['Male', 'Female', 'Unknown'], []]);
      assert.deepEqual(body.types[0].coats, ['Hairless', 'Short', 'Medium', 'Long', 'Wire', 'Curly']);
    });

    it('have names and slugs in any case', async () => {
      for (const name of ['small-furry', 'Small%20&%20Furry', 'SMALL%20%26%20FURRY', 'scales,%20fins%20&%20other']) {
        assert.equal((await client.get(`/types/${name}`)).status, 200, name);
        assert.equal((await client.get(`/types/${name}/breeds/`)).status, 200, name);
      }
      for (const name of ['unicorn', 'toString', '1']) {
        assert.equal((await client.get(`/types/${name}`)).status, 404, name);
        assert.equal((await client.get(`/types/${name}/breeds`)).status, 404, name);
      }
    });

    it('have breeds, which all find their animals', async () => {
      const { body } = await client.get('/types/cat/breeds');
      const breeds: string[] = body.breeds.map(({ name }: { name: string }) => name);
      assert.deepEqual(body.breeds[0]._links, { type: { href: '/petfinder/v2/types/cat' } });
      const created: string[] = [];
      for (const primary of breeds) {
        await other.create('/pets', { name: 'X', categoryId: 2, status: 'sold', breeds: { primary } });
        const found = await client.get(`/animals?status=adopted&type=cat&breed=${encodeURIComponent(primary)}`);
        if (names(found).length === 1) created.push(primary);
      }
      assert.deepEqual(created, breeds);
    });
  });

  describe('organizations', () => {
    it('have the members of the original, in their order', async () => {
      const { body } = await client.get('/organizations/PS1');
      assert.deepEqual(body.organization, {
        ...{ id: 'PS1', name: 'Maple Lane Dog Rescue', email: 'maple@example.org', phone: '+1 555 0100' },
        address: {
          ...{ address1: '1 Main St', address2: null, city: 'Portland', state: 'OR', postcode: '97201', country: 'US' },
        },
        hours: {
          monday: '10:00–17:00',
          ...{ tuesday: null, wednesday: null, thursday: null, friday: null, saturday: null, sunday: null },
        },
        url: body.organization.url,
        ...{ website: 'https://maple.example', mission_statement: 'Dogs.', adoption: { policy: null, url: null } },
        social_media: {
          ...{ facebook: 'https://www.facebook.com/maple', twitter: 'https://x.com/maple' },
          ...{ youtube: null, instagram: null, pinterest: null },
        },
        ...{ photos: [], distance: null },
        _links: {
          self: { href: '/petfinder/v2/organizations/ps1' },
          animals: { href: '/petfinder/v2/animals?organization=ps1' },
        },
      });
      assert.deepEqual(names(await client.follow(body.organization._links.animals)).length, 5);
    });

    const expected: Record<string, readonly string[]> = {
      '': ['Maple Lane Dog Rescue', 'Côté Cats'],
      'sort=name': ['Côté Cats', 'Maple Lane Dog Rescue'],
      'country=us&state=wa': ['Côté Cats'],
      'country=CA': [],
      'name=cote': ['Côté Cats'],
      'name=lane': ['Maple Lane Dog Rescue'],
      'query=portl': ['Maple Lane Dog Rescue'],
      'location=97201': ['Maple Lane Dog Rescue'],
      'location=Seattle,+WA&distance=500': ['Côté Cats', 'Maple Lane Dog Rescue'],
      'location=98101&distance=500&sort=-distance': ['Maple Lane Dog Rescue', 'Côté Cats'],
      'location=98101&distance=500&state=OR': ['Maple Lane Dog Rescue'],
    };
    for (const [query, wanted] of Object.entries(expected)) {
      it(`with ${query || 'no parameters'}`, async () => {
        const reply = await client.get(`/organizations?${query}`);
        assert.deepEqual(organizationNames(reply), wanted, reply.text);
        assert.equal(reply.body.pagination.total_count, wanted.length);
        const [first, second] = [`/organizations?${query}&limit=1`, `/organizations?${query}&limit=1&page=2`];
        assert.deepEqual(organizationNames(await client.get(first)), wanted.slice(0, 1));
        assert.deepEqual(organizationNames(await client.get(second)), wanted.slice(1, 2));
      });
    }

    it('reject parameters that are not valid', async () => {
      assertInvalid(await client.get('/organizations?country=Neverland'), 'country');
      assertInvalid(await client.get('/organizations?sort=state'), 'sort');
      assertInvalid(await client.get('/organizations?location=97201&sort=name'), 'sort');
      assertInvalid(await client.get('/organizations?location=%00'), 'location');
      assertInvalid(await client.get('/organizations?location=97201&page=2&cursor=2.0.x'), 'cursor');
      for (const id of ['ABC1234', 'PS99', 'ps', 'PS1e3', '1']) {
        assert.equal((await client.get(`/organizations/${id}`)).status, 404, id);
      }
    });
  });

  it('responds to arbitrary parameters with a list or an error of the original', async () => {
    const name = fc.constantFrom(
      ...[
        'type',
        'breed',
        'breed[]',
        'size',
        'gender',
        'age',
        'color',
        'coat',
        'status',
        'name',
        'organization',
        'query',
      ],
      ...['good_with_cats', 'declawed', 'location', 'distance', 'before', 'after', 'sort', 'page', 'limit', 'cursor'],
    );
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(
        'dog',
        'Pug',
        '97201',
        '50',
        '2',
        'recent',
        'distance',
        '2.0.',
        'true',
        '2026-11-20',
        ',',
        '%',
        "'",
      ),
    );
    const queries = fc.sample(fc.array(fc.tuple(name, value), { maxLength: 5 }), 150);
    for (const query of queries) {
      const search = query.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join('&');
      for (const list of ['animals', 'organizations']) {
        const reply = await client.get(`/${list}?${search}`);
        assertApiResponse(reply, search);
        assert.ok([200, 400].includes(reply.status), `${search} ${reply.text}`);
        const members = Object.keys(reply.body).slice(0, 4).join();
        assert.ok([`${list},pagination`, 'type,status,title,detail'].includes(members), members);
      }
    }
  });
});

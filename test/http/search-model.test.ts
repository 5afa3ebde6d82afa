import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { replaceOrganization } from '../../src/store/organizations/organizations.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import { send, serve, type TestService } from '../support/serving.ts';

const RUNS = long ? 5000 : 150;
const PETS = 400;

/** Places where a search by coordinates can go wrong, by account: the last account has no organization. */
const places: Readonly<Record<number, readonly [number, number]>> = {
  201: [90, 0],
  202: [89.9, 179],
  203: [-90, -180],
  204: [10, 179.95],
  205: [10, -179.95],
  206: [0, 0],
  207: [34.05, -118.24],
  208: [34.05, -118.24],
};
const ACCOUNT = 209;
const accounts = [...Object.keys(places).map(Number), ACCOUNT];

const names = [
  ...['Bella', 'BELLA Bo', 'bella-bo', 'Zoë', 'Zoe\u0308', 'Straße', 'STRASSE', 'ΣΑΣ', 'σασα', 'Bjørn', 'İrem', 'ışık'],
  ...[
    '小白',
    '小白 二',
    'ﾚｯｸｽ',
    'レックス',
    '🐈',
    '🐈 Bo',
    '100 %',
    "O'Neil",
    'a_b',
    'x AND y',
    'x*',
    '"q"',
    '한',
    '하나',
  ],
];
const texts = [
  ...names,
  'b',
  'be',
  'bel bo',
  '小',
  '🐈',
  '%',
  '_',
  '*',
  '" OR 1=1',
  'x near y',
  'zo',
  'stras',
  'o neil',
  'bird bo',
  'do',
  'レ',
  '하',
];

const categories = ['Dog', 'Cat', 'Rabbit', 'Small & Furry', 'Horse', 'Bird'];
/** The words of these texts that say nothing. */
const ignored = ['a', 'and', 'near', 'or'];

/** An animal as the full view shows it. */
interface Shown {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
  readonly accountId: number;
  readonly sex?: string;
  readonly size?: string;
  readonly age?: string;
  readonly tags?: readonly string[];
  readonly goodWith?: { readonly children?: string };
}

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);
/** Few filters at once, so that searches find something. */
const maybe = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: one });
const someOf = <T>(values: readonly T[]) => maybe(fc.subarray([...values], { minLength: 1 }));

const sexes = ['male', 'female', 'unknown'] as const;
const sizes = ['small', 'medium', 'large'] as const;
const answers = ['yes', 'no', 'unknown'] as const;
const statuses = ['available', 'pending', 'sold'] as const;
const ages = ['baby', 'young', 'adult', 'senior'] as const;

const anyPet = fc.record({
  accountId: pick(accounts),
  pet: fc.record(
    {
      name: pick(names),
      categoryId: fc.integer({ min: 1, max: 6 }),
      status: pick(statuses),
      sex: pick(sexes),
      size: pick(sizes),
      age: pick(ages),
      tags: fc.uniqueArray(pick(names), { maxLength: 2 }),
      goodWith: fc.record({ children: pick(answers) }),
    },
    { requiredKeys: ['name', 'categoryId', 'status'] },
  ),
});

const anySearch = fc.record({
  q: maybe(pick(texts)),
  status: someOf(statuses),
  categoryId: maybe(fc.integer({ min: 1, max: 6 })),
  sex: someOf(sexes),
  size: someOf(sizes),
  age: someOf(ages),
  goodWithChildren: someOf(answers),
  organizationId: someOf([201, 204, 207, 209]),
  near: maybe(
    fc.record({
      point: pick([...Object.values(places), [-89.99, 0], [10, 179.99], [10, -179.99], [34.06, -118.25]] as const),
      within: pick(['0km', '0.001km', '1mi', '12km', '30km', '5000mi', '99999km']),
    }),
  ),
});
type Search = typeof anySearch extends fc.Arbitrary<infer Value> ? Value : never;

const sorts = ['id', '-id', 'name', '-name', 'recent', 'random', 'distance', 'relevance'] as const;

overEachEngine(engine => {
  let serving: TestService;
  let key: string;
  let all: readonly Shown[];
  before(async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    serving = await serve({ environment });
    key = (await serving.newKey()).token;
    const { production } = serving.app.databases;
    for (const [id, [latitude, longitude]] of Object.entries(places)) {
      const actor = { accountId: Number(id), admin: false };
      const organization = { name: `Shelter ${id}`, location: { latitude, longitude } };
      await production.write(tx => replaceOrganization(tx, actor, Number(id), organization));
    }
    for (const { accountId, pet } of fc.sample(anyPet, { numRuns: PETS, seed: 7 })) {
      await production.write(tx => createPet(tx, accountId, pet, 'open'));
    }
    all = await walk('sort=id');
    assert.equal(all.length, PETS);
  });
  after(() => serving?.stop());

  async function walk(query: string, limit = 100): Promise<Shown[]> {
    const seen: Shown[] = [];
    for (let next: string | undefined = `${serving.urls.production}/pets?view=full&limit=${limit}&${query}`; next; ) {
      const reply = await send(next, { key });
      assert.equal(reply.status, 200, `${query}: ${reply.text}`);
      seen.push(...reply.body);
      next = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link ?? ''))?.[1];
    }
    return seen;
  }

  it('finds and counts what a plain model does, whatever the filters', async () => {
    const anyOrder = fc.record({ sort: pick(sorts), limit: pick([1, 7, 100]) });
    await fc.assert(
      fc.asyncProperty(anySearch, anyOrder, async (search, { sort, limit }) => {
        const expected = all.filter(pet => matches(pet, search));
        const query = queryOf(search);
        const required = { distance: search.near, relevance: search.q } as Readonly<Record<string, unknown>>;
        if (!(sort in required) || required[sort] !== undefined) {
          const found = await walk(`${query}&sort=${sort}`, Math.max(limit, Math.ceil(expected.length / 10)));
          if (sort === 'random' || sort === 'relevance') found.sort((one, other) => one.id - other.id);
          const order = sorted(expected, sort, search);
          assert.deepEqual(
            found.map(({ id }) => id),
            order.map(({ id }) => id),
            `${query} by ${sort}`,
          );
        }
        const { status, body } = await send(`${serving.urls.production}/pets/facets?${query}`, { key });
        assert.equal(status, 200);
        assert.equal(body.exact, true);
        for (const name of ['sex', 'size', 'age', 'goodWithChildren'] as const) {
          assert.deepEqual(
            { ...body.facets[name] },
            countBy(expected, pet => traitOf(pet, name)),
            `${name} of ${query}`,
          );
        }
      }),
      { numRuns: RUNS },
    );
  });
});

function queryOf({ near, ...filters }: Search): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, String(value));
  if (near !== undefined) {
    query.set('near', near.point.join(','));
    query.set('within', near.within);
  }
  return query.toString();
}

function matches(pet: Shown, { q, near, ...filters }: Search): boolean {
  const among = <T>(values: readonly T[] | undefined, value: T | undefined) =>
    values === undefined || (value !== undefined && values.includes(value));
  return (
    (q === undefined || hasWords(pet, q)) &&
    (near === undefined || kmTo(pet, near.point) <= kmOf(near.within)) &&
    among(filters.status, pet.status as never) &&
    (filters.categoryId === undefined || filters.categoryId === pet.categoryId) &&
    among(filters.organizationId, pet.accountId) &&
    (['sex', 'size', 'age', 'goodWithChildren'] as const).every(name =>
      among(filters[name], traitOf(pet, name) as never),
    )
  );
}

function traitOf(pet: Shown, name: 'sex' | 'size' | 'age' | 'goodWithChildren'): string | undefined {
  return name === 'goodWithChildren' ? pet.goodWith?.children : pet[name];
}

function hasWords({ name, categoryId, tags = [] }: Shown, q: string): boolean {
  const words = [name, categories[categoryId - 1]!, ...tags].flatMap(wordsIn);
  const all = wordsIn(q);
  const telling = all.filter(one => !ignored.includes(one));
  const wanted = telling.length === 0 ? all : telling;
  return wanted.length > 0 && wanted.every(one => words.some(word => word.startsWith(one)));
}

/** The words of a text: letters are the same if they are in upper case. */
function wordsIn(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toUpperCase().toLowerCase();
  return (
    plain
      .replaceAll('ς', 'σ')
      .replaceAll('ø', 'o')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function kmOf(within: string): number {
  return Number.parseFloat(within) * (within.endsWith('mi') ? 1.609344 : 1);
}

/** The distance by the spherical law of cosines; infinite without an organization. */
function kmTo({ accountId }: Shown, [latitude, longitude]: readonly [number, number] | readonly number[]): number {
  const place = places[accountId];
  if (place === undefined) return Number.POSITIVE_INFINITY;
  if (place[0] === latitude && place[1] === longitude) return 0;
  const [a, b, c] = [place[0], latitude!, place[1] - longitude!].map(degrees => (degrees * Math.PI) / 180) as [
    number,
    number,
    number,
  ];
  const cosine = Math.sin(a) * Math.sin(b) + Math.cos(a) * Math.cos(b) * Math.cos(c);
  return 6371.0088 * Math.acos(Math.max(-1, Math.min(1, cosine)));
}

function sorted(pets: readonly Shown[], sort: (typeof sorts)[number], { near }: Search): readonly Shown[] {
  const byName = (one: Shown, other: Shown) =>
    Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) || one.id - other.id;
  const byDistance = (one: Shown, other: Shown) => {
    const difference = kmTo(one, near!.point) - kmTo(other, near!.point);
    return Math.abs(difference) > 0.001 ? difference : one.accountId - other.accountId || one.id - other.id;
  };
  switch (sort) {
    case '-id':
    case 'recent':
      return pets.toReversed();
    case 'name':
      return pets.toSorted(byName);
    case '-name':
      return pets.toSorted(byName).reverse();
    case 'distance':
      return pets.toSorted(byDistance);
    default:
      return pets;
  }
}

function countBy(pets: readonly Shown[], of: (pet: Shown) => string | undefined): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const pet of pets) {
    const value = of(pet);
    if (value !== undefined) counts[value] = (counts[value] ?? 0) + 1;
  }
  return counts;
}

import { encodeCursor } from '../src/lib/http/pagination/cursor.ts';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { type PetFilter, petList } from '../src/store/pets/filter.ts';
import { seededRandom } from './fill.ts';
import type { Request } from './load.ts';

/** A workload: a row of the result tables. */
export interface Row {
  /** The name for `--only`. */
  readonly name: string;
  readonly title: string;
  /** The requests for a store with this many pets. They are sent in random order. */
  requests(pets: number): Request[];
}

const get = (path: string): Request => ({ method: 'GET', path });

/** A query parameter that the product ignores. It differs in each request and so bypasses the response cache. */
export const uncached = 'n={n}';

/** The workloads that are compared with peers, which serve the same bytes. */
export const peerRows = [
  { name: 'list', title: '`GET /v1/pets`', requests: () => [get('/pets')] },
  { name: 'list-anew', title: '`GET /v1/pets`, not cached', requests: () => [get(`/pets?${uncached}`)] },
  {
    name: 'get',
    title: '`GET /v1/pets/{id}` at random',
    requests: pets => some(10_000, random => get(`/pets/${1 + (random() % pets)}`)),
  },
  {
    name: 'create',
    title: '`POST /v1/pets`, durable',
    requests: () => samplePets().map(pet => ({ method: 'POST', path: '/pets', body: JSON.stringify(pet) }) as const),
  },
] as const satisfies readonly Row[];

/** The workload that creates pets. */
export const createRow: Row = peerRows[3];

/** The workloads that are compared on two stores of different sizes, without the response cache. */
export const growthRows: readonly Row[] = [
  { name: 'first-page', title: 'first page', requests: () => [get(`/pets?${uncached}`)] },
  {
    name: 'middle-page',
    title: 'page by cursor in the middle',
    requests: pets => pages(pets, { sort: 'id' }, ''),
  },
  {
    name: 'status',
    title: 'page of `status=pending` by cursor',
    requests: pets => pages(pets, { sort: 'id', status: ['pending'] }, 'status=pending&'),
  },
  {
    name: 'name',
    title: 'page of `sort=name` by cursor',
    requests: pets => pages(pets, { sort: 'name' }, 'sort=name&'),
  },
  {
    name: 'category-status',
    title: 'page of `categoryId=2&status=pending` by cursor',
    requests: pets => pages(pets, { sort: 'id', categoryId: 2, status: ['pending'] }, 'categoryId=2&status=pending&'),
  },
];

/** The row of orders, compared with nginx and on two stores of different sizes. Each pet is ordered once. */
export const orderRow = { name: 'order', title: '`POST /v1/store/orders`, durable' } as const;

/** Returns one order for each pet, in random order. */
export function orders(pets: readonly number[]): Request[] {
  const random = seededRandom(1);
  return pets
    .map(petId => ({ rank: random(), petId }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ petId }) => ({ method: 'POST', path: '/store/orders', body: JSON.stringify({ petId }) }));
}

/** Returns pages that start at random positions in the middle half of a list. */
function pages(pets: number, filter: PetFilter, query: string): Request[] {
  const names = samplePets().map(({ name }) => name);
  return some(5000, random => {
    const id = Math.floor(pets / 4) + (random() % Math.floor(pets / 2));
    const cursor = encodeCursor(petList(filter), {
      backward: false,
      id,
      ...(filter.sort.endsWith('name') && { key: names[random() % names.length]! }),
    });
    return get(`/pets?${query}cursor=${cursor}&${uncached}`);
  });
}

function some(count: number, make: (random: () => number) => Request): Request[] {
  const random = seededRandom(count);
  return Array.from({ length: count }, () => make(random));
}

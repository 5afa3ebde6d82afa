import { encodeCursor } from '../src/lib/http/pagination/cursor.ts';
import { type PetFilter, petList } from '../src/pets/filter.ts';
import { samplePets } from '../src/seeds/pets.ts';
import { randomFrom } from './fill.ts';
import type { Request } from './load.ts';

/** Something that a caller does, as a row of the table. */
export interface Row {
  /** What `--only` says. */
  readonly name: string;
  readonly title: string;
  /** What is sent to a store with this many animals, in random order. */
  requests(animals: number): Request[];
}

const get = (path: string): Request => ({ method: 'GET', path });

/**
 * A parameter that the product ignores, different in each request: finished answers are kept by their URL, so that
 * the page is read and written anew each time.
 */
const anew = 'n={n}';

/** Measured beside nginx and Fastify, which serve the same bytes. */
export const peerRows = [
  { name: 'list', title: '`GET /v1/pets`', requests: () => [get('/pets')] },
  { name: 'list-anew', title: '`GET /v1/pets`, no kept answer', requests: () => [get(`/pets?${anew}`)] },
  {
    name: 'get',
    title: '`GET /v1/pets/{id}` at random',
    requests: animals => some(10_000, random => get(`/pets/${1 + (random() % animals)}`)),
  },
  {
    name: 'create',
    title: '`POST /v1/pets`, durable',
    requests: () =>
      samplePets().map(animal => ({ method: 'POST', path: '/pets', body: JSON.stringify(animal) }) as const),
  },
] as const satisfies readonly Row[];

/** How animals are added, of these. */
export const createRow: Row = peerRows[3];

/** Measured on two stores of different size; no answer is a kept one. */
export const growthRows: readonly Row[] = [
  { name: 'first-page', title: 'first page', requests: () => [get(`/pets?${anew}`)] },
  {
    name: 'middle-page',
    title: 'page by cursor in the middle',
    requests: animals => pages(animals, { sort: 'id' }, ''),
  },
  {
    name: 'status',
    title: 'page of `status=pending` by cursor',
    requests: animals => pages(animals, { sort: 'id', status: ['pending'] }, 'status=pending&'),
  },
  {
    name: 'name',
    title: 'page of `sort=name` by cursor',
    requests: animals => pages(animals, { sort: 'name' }, 'sort=name&'),
  },
  {
    name: 'category-status',
    title: 'page of `categoryId=2&status=pending` by cursor',
    requests: animals =>
      pages(animals, { sort: 'id', categoryId: 2, status: ['pending'] }, 'categoryId=2&status=pending&'),
  },
];

/** Measured beside nginx, and on two stores of different size: each animal is ordered once. */
export const orderRow = { name: 'order', title: '`POST /v1/store/orders`, durable' } as const;

/** Orders for these animals, each once, in random order. */
export function orders(animals: readonly number[]): Request[] {
  const random = randomFrom(1);
  return animals
    .map(petId => ({ place: random(), petId }))
    .sort((one, other) => one.place - other.place)
    .map(({ petId }) => ({ method: 'POST', path: '/store/orders', body: JSON.stringify({ petId }) }));
}

/** Pages that begin anywhere in the middle half of a list. */
function pages(animals: number, filter: PetFilter, query: string): Request[] {
  const names = samplePets().map(({ name }) => name);
  return some(5000, random => {
    const id = Math.floor(animals / 4) + (random() % Math.floor(animals / 2));
    const cursor = encodeCursor(petList(filter), {
      backward: false,
      id,
      ...(filter.sort.endsWith('name') && { key: names[random() % names.length]! }),
    });
    return get(`/pets?${query}cursor=${cursor}&${anew}`);
  });
}

function some(count: number, make: (random: () => number) => Request): Request[] {
  const random = randomFrom(count);
  return Array.from({ length: count }, () => make(random));
}

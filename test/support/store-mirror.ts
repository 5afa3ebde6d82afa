import assert from 'node:assert/strict';
import { type Reply, send } from './serving.ts';

/** The checked members of a pet in `view=full`. */
interface Shown {
  readonly id: number;
  readonly status: 'available' | 'pending' | 'sold';
  readonly categoryId: number;
  readonly etag: string;
}

/** A copy of the store that follows it over HTTP with sync tokens. */
export class Mirror {
  readonly key: string;
  readonly #animals = new Map<number, Shown>();
  #since = '1970-01-01T00:00:00Z';

  constructor(key: string) {
    this.key = key;
  }

  get animals(): Shown[] {
    return [...this.#animals.values()].toSorted((one, other) => one.id - other.id);
  }

  /** Follows to the end of the list, repeatedly until told to stop. Throws if the server fails. */
  async follow(url: string, going: () => boolean = () => false): Promise<void> {
    do {
      const query = `updatedSince=${encodeURIComponent(this.#since)}&includeRemoved=true&view=full`;
      let next: string | undefined = `${url}/pets?${query}&limit=${20 + Math.floor(Math.random() * 80)}`;
      while (next !== undefined) {
        let page: Reply;
        try {
          page = await send(next, { key: this.key });
        } catch (error) {
          if (going()) return;
          throw error;
        }
        if (page.status === 503) break;
        assert.equal(page.status, 200, page.text);
        for (const pet of page.body) {
          if ('deletedAt' in pet) this.#animals.delete(pet.id);
          else this.#animals.set(pet.id, pet);
        }
        next = page.headers['x-next'] as string | undefined;
        if (next === undefined) this.#since = String(page.headers['x-sync-token']);
      }
    } while (going());
  }
}

/**
 * Asserts that a mirror matches the lists, totals and inventory. Holds may expire meanwhile, so it compares again until
 * nothing changes during the comparison.
 */
export async function assertShownAlike(url: string, mirror: Mirror): Promise<void> {
  const { key } = mirror;
  const count = async (filter: string) => {
    const { headers } = await send(`${url}/pets?limit=1${filter}`, { key, headers: { Prefer: 'count=exact' } });
    return Number(headers['x-total-count']);
  };
  for (;;) {
    const before = await everything(url, key);
    await mirror.follow(url);
    const inventory = (await send(`${url}/store/inventory`, { key })).body;
    const total = await count('');
    const byStatus = {
      available: await count('&status=available'),
      pending: await count('&status=pending'),
      sold: await count('&status=sold'),
    };
    const inCategory = await count('&categoryId=3');
    const after = await everything(url, key);
    if (JSON.stringify(before) !== JSON.stringify(after)) continue;
    assert.deepEqual(mirror.animals, after);
    const recount = { available: 0, pending: 0, sold: 0 };
    for (const { status } of after) recount[status]++;
    assert.deepEqual({ ...inventory }, recount, 'the inventory');
    assert.deepEqual(byStatus, recount, 'totals by status');
    assert.equal(total, after.length, 'the total');
    assert.equal(inCategory, after.filter(({ categoryId }) => categoryId === 3).length, 'the total of a category');
    return;
  }
}

async function everything(url: string, key: string): Promise<Shown[]> {
  const all: Shown[] = [];
  let next: string | undefined = `${url}/pets?limit=100&view=full`;
  while (next !== undefined) {
    const page: Reply = await send(next, { key });
    assert.equal(page.status, 200, page.text);
    all.push(...page.body);
    next = page.headers['x-next'] as string | undefined;
  }
  return all;
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { encodeCursor } from '../../lib/http/pagination/cursor.ts';
import { dialects } from '../../lib/storage/migration.ts';
import { migrations } from '../../model/migrations/index.ts';
import type { PetStatus } from '../../model/pet.ts';
import type { Query, Reader } from '../../model/schema.ts';
import { type PetFilter, type PetSort, petList } from './filter.ts';
import { listPets } from './list.ts';

const sorts: readonly PetSort[] = ['id', '-id', 'name', '-name'];
const subsets: readonly (readonly PetStatus[] | undefined)[] = [
  undefined,
  ['available'],
  ['pending'],
  ['sold'],
  ['available', 'pending'],
  ['available', 'sold'],
  ['pending', 'sold'],
  ['available', 'pending', 'sold'],
];

describe('pageQuery', () => {
  it('follows an index for every filter and sort on SQLite', async () => {
    const sqlite = new SqliteDatabase(':memory:');
    for (const { up } of migrations) for (const statement of up(dialects.sqlite)) sqlite.exec(statement);
    const asked: string[] = [];
    const note = (query: Query<never, unknown>) => asked.push(query.compiledFor('sqlite').sql);
    const edge = { id: 5, name: 'x' };
    let below: readonly number[] = [2];
    const reader = {
      engine: 'sqlite',
      first: (query: Query<never, unknown>) => note(query) && edge,
      all: (query: Query<never, unknown>) =>
        query.compiledFor('sqlite').sql.includes('recursive') ? below.map(id => ({ id })) : note(query) && [],
    } as unknown as Reader;
    const traits = { sex: ['male'], age: ['baby', 'senior'] };
    const filters = [
      ...subsets.flatMap(status => [{ status }, { status, ownerId: 7 }]),
      ...[undefined, 7].map(ownerId => ({ status: subsets[1], ownerId, traits })),
    ];
    for (const { status, ownerId, traits: wanted } of filters as readonly Omit<PetFilter, 'sort'>[]) {
      for (const tree of [undefined, [2], [2, 3, 4], Array.from({ length: 60 }, (_, index) => index + 2)]) {
        for (const sort of sorts) {
          below = tree ?? [];
          const filter: PetFilter = {
            status,
            categoryId: tree && 2,
            includeDescendants: below.length > 1,
            ownerId,
            traits: wanted,
            sort,
          };
          for (const place of [undefined, { ...edge, backward: false }, { ...edge, backward: true }]) {
            asked.length = 0;
            await listPets(
              reader,
              filter,
              {
                limit: 20,
                cursor:
                  place && encodeCursor(petList(filter), sort.endsWith('name') ? { ...place, key: place.name } : place),
              },
              0,
            );
            for (const sql of asked) {
              const plan = sqlite
                .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
                .all(...new Array((sql.match(/\?/g) ?? []).length).fill(1))
                .map(({ detail }) => detail);
              const what = `${JSON.stringify(filter)}: ${sql}: ${plan.join('; ')}`;
              // Only the few rows of the merged index ranges are sorted.
              const merged = plan.some(detail => /UNION ALL|CO-ROUTINE/.test(detail));
              if (!merged) assert.ok(!plan.some(detail => detail.includes('TEMP B-TREE')), what);
              const walksSort = below.length > 50 || sort.endsWith('id');
              for (const detail of plan.filter(detail => detail.startsWith('SCAN pets'))) {
                assert.ok(detail.includes('INDEX') || walksSort, what);
                if (merged) assert.fail(what);
              }
              if (ownerId !== undefined && sort.endsWith('id') && sql.includes('from "pets"')) {
                assert.match(plan.join(), /SEARCH pets USING (COVERING )?INDEX pets_by_account \(account_id=\?/, what);
                continue;
              }
              const freed =
                wanted === undefined &&
                status?.includes('available') &&
                !status.includes('pending') &&
                tree === undefined;
              if (freed && sort.endsWith('id')) assert.match(plan.join(), /USING .*pets_by_end/, what);
            }
          }
        }
      }
    }
    sqlite.close();
  });
});

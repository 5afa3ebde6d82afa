import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { createQueryFactory, type Params, sql } from './query.ts';

const query = createQueryFactory<{ pets: { id: number; name: string } }>();

const named = query((db, p: Params<{ name: string; after: number; rows: number }>) =>
  db
    .selectFrom('pets')
    .select(['id', sql<string>`typeof(${p.name})`.as('type')])
    .where('name', '=', p.name)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.rows),
);

describe('a query on SQLite', () => {
  it('is prepared once: the planner does not see the values of its parameters', () => {
    const { sql: text } = named.compiledFor('sqlite');
    assert.equal(text.match(/\?/g)?.length, 4);
    assert.doesNotMatch(text, /(?<!\+)\?/);
    const first = query(db => db.selectFrom('pets').select('id').limit(1));
    assert.match(first.compiledFor('sqlite').sql, /limit 1$/);
  });

  it('gets its parameters unchanged', () => {
    const sqlite = new SqliteDatabase(':memory:');
    sqlite.exec(
      "create table pets (id integer primary key, name text); insert into pets (name) values ('7'), ('7'), ('7')",
    );
    const { sql: text, values } = named.compiledFor('sqlite');
    const rows = sqlite.prepare(text).all(...values({ name: '7', after: 1, rows: 1 }));
    assert.deepEqual(rows, [{ id: 2, type: 'text' }]);
    sqlite.close();
  });
});

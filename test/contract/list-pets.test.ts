import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { before, describe, it } from 'node:test';
import { assertApiResponse, type Reply, send } from '../support/serving.ts';
import { links, paths, service } from './service.ts';

describe('listPets', () => {
  const { use, get, post } = service();
  const names = ['Zoe', 'abel', 'Abel', 'Ömer', '🐈', 'Zoe', '~', 'z', 'É', 'ab', '\uffee', 'Bo'];
  const statuses = ['available', 'pending', 'sold'] as const;
  const pets: { id: number; name: string; categoryId: number; status: string }[] = [];

  before(async () => {
    for (let index = 0; index < 60; index++) {
      const name = names[index % names.length]!;
      const reply = await post({ name, categoryId: (index % 4) + 1, status: statuses[(index * 7) % 3] });
      assert.equal(reply.status, 201);
      pets.push(reply.body);
    }
  });

  it('returns an array of twenty pets sorted by id, with exactly their fields, by default', async () => {
    const reply = await get('/pets');
    assertApiResponse(reply);
    assert.equal(reply.text, JSON.stringify(pets.slice(0, 20)));
  });

  it('finds animals by words, and what has changed since', async () => {
    const query = '/pets?q=ab&limit=100&status=available';
    const wanted = pets.filter(({ name, status }) => /^ab/i.test(name) && status === 'available');
    assert.deepEqual((await get(query)).body, wanted);
    const { body: added } = await post({ name: 'Abby', categoryId: 1 });
    assert.deepEqual((await get(query)).body, [...wanted, added]);
    const { key, urls } = use();
    assert.equal((await send(`${urls.production}/pets/${added.id}`, { method: 'DELETE', key })).status, 204);
    assert.deepEqual((await get(query)).body, wanted);
  });

  it('sorts the newest first, and by id from a random pet on', async () => {
    assert.deepEqual((await get('/pets?sort=recent')).body, (await get('/pets?sort=-id')).body);
    const firsts = new Set<number>();
    for (let round = 0; round < 20; round++) firsts.add((await get('/pets?sort=random&limit=1')).body[0].id);
    assert.ok(firsts.size > 1);
    const reply = await get('/pets?sort=random&limit=50');
    const next = await get(
      new URL(links(reply).next!).pathname.replace('/v1', '') + new URL(links(reply).next!).search,
    );
    assert.equal(new Set([...reply.body, ...next.body].map(({ id }: { id: number }) => id)).size, 60);
    assert.equal(links(next).prev, undefined);
  });

  it('rejects words with updatedSince, and an empty text', async () => {
    const reply = await get('/pets?q=ab&updatedSince=');
    assert.equal(reply.status, 200);
    const changes = await get('/pets?q=ab&updatedSince=2026-11-20T00:00:00Z');
    assert.deepEqual([changes.status, changes.body.errors[0].path], [400, 'q']);
    assert.deepEqual((await get('/pets?q=')).body.errors[0].path, 'q');
  });

  it('accepts limits from 1 to 100', async () => {
    for (const limit of [1, 2, 20, 99, 100]) {
      assert.deepEqual((await get(`/pets?limit=${limit}`)).body, pets.slice(0, limit));
    }
  });

  it('rejects every other limit instead of clamping it', async () => {
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=',
      'limit',
      'limit=1&limit=2',
      'limit=2&limit=2',
      'limit=1.5',
      'limit=1.0',
      'limit=1e1',
      'limit=+5',
      'limit=%2B5',
      'limit=0x10',
      'limit=05',
      'limit=%205',
      'limit=5%20',
      'limit=5,6',
      'limit=ten',
      'limit=%D9%A5',
      'limit=99999999999999999999',
      'limit=null',
      'limit=1%00',
    ]) {
      const reply = await get(`/pets?${query}`);
      assert.equal(reply.status, 400, query);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'invalid_parameter', query);
      assert.deepEqual(paths(reply), ['limit']);
    }
    assert.equal((await get('/pets?%6Cimit=1')).body.length, 1);
  });

  it('filters by one or several statuses, comma-separated or repeated', async () => {
    for (const status of statuses) {
      assert.deepEqual(
        (await get(`/pets?limit=100&status=${status}`)).body,
        pets.filter(pet => pet.status === status),
      );
    }
    const notSold = pets.filter(({ status }) => status !== 'sold');
    for (const query of [
      'status=available,pending',
      'status=pending&status=available',
      'status=available%2Cpending',
      'status=available,pending,available',
    ]) {
      assert.deepEqual((await get(`/pets?limit=100&${query}`)).body, notSold, query);
    }
    assert.deepEqual((await get('/pets?limit=100&status=available,pending,sold')).body, pets);
  });

  it('rejects an unknown status', async () => {
    for (const query of [
      'status=',
      'status=lost',
      'status=Sold',
      'status=sold,',
      'status=,',
      'status=sold&status=lost',
      'status=sold;pending',
      'status=null',
      'status[]=',
    ]) {
      const reply = await get(`/pets?${query}`);
      if (query === 'status[]=') assert.equal(reply.status, 200);
      else {
        assert.equal(reply.status, 400, query);
        assert.equal(reply.body.code, 'invalid_parameter');
      }
    }
  });

  it('filters by up to 100 ids, and by category', async () => {
    const some = [pets[3]!, pets[17]!, pets[40]!];
    const ids = some.map(({ id }) => id);
    assert.deepEqual((await get(`/pets?id=${ids.join()}`)).body, some);
    assert.deepEqual((await get(`/pets?${ids.map(id => `id=${id}`).join('&')}`)).body, some);
    assert.deepEqual((await get(`/pets?id=${ids.toReversed().join()}&sort=-id`)).body, some.toReversed());
    assert.deepEqual((await get(`/pets?id=999999,${ids[0]}`)).body, [some[0]]);
    assert.deepEqual((await get(`/pets?limit=100&id=${numbers(100)}`)).body, pets.slice(0, 100));
    assert.equal((await get(`/pets?id=${numbers(101)}`)).status, 400);
    for (const id of ['', '0', '-1', '1.0', '01', 'x', '1,', '9007199254740992']) {
      assert.equal((await get(`/pets?id=${id}`)).status, 400, id);
    }
    assert.deepEqual(
      (await get('/pets?limit=100&categoryId=3')).body,
      pets.filter(({ categoryId }) => categoryId === 3),
    );
    assert.deepEqual((await get('/pets?categoryId=77777')).body, []);
    for (const id of ['', '0', 'x', '1,2', '1&categoryId=2']) {
      assert.equal((await get(`/pets?categoryId=${id}`)).status, 400, id);
    }
  });

  it('sorts by id, or by name in code point order and then by id', async () => {
    const byName = pets.toSorted((a, b) => compareCodePoints(a.name, b.name) || a.id - b.id);
    assert.deepEqual((await get('/pets?limit=100&sort=name')).body, byName);
    assert.deepEqual((await get('/pets?limit=100&sort=-name')).body, byName.toReversed());
    assert.deepEqual((await get('/pets?limit=100&sort=id')).body, pets);
    assert.deepEqual((await get('/pets?limit=100&sort=-id')).body, pets.toReversed());
    for (const sort of ['', 'status', '+id', 'ID', 'id,name', '--id', 'id&sort=id']) {
      assert.equal((await get(`/pets?sort=${sort}`)).status, 400, sort);
    }
  });

  it('links the same pets forward and backward, for every filter and sort', async () => {
    const filters = [
      '',
      'status=available',
      'status=pending,sold',
      'status=available,pending,sold',
      'categoryId=2',
      'categoryId=2&status=sold',
      'categoryId=3&status=sold,available',
      `id=${numbers(60)}`,
      `id=${numbers(30)}&status=sold`,
      `id=${numbers(40)}&categoryId=1&status=sold,pending`,
    ];
    for (const filter of filters) {
      for (const sort of ['id', '-id', 'name', '-name']) {
        for (const limit of [1, 7, 100]) {
          if (limit === 1 && filter !== 'categoryId=2' && filter !== 'categoryId=2&status=sold') continue;
          const query = [filter, `sort=${sort}`, `limit=${limit}`].filter(Boolean).join('&');
          const expected = pets.filter(matches(filter)).toSorted(order(sort));

          const forward: unknown[] = [];
          const pages: Reply[] = [];
          let url: string | undefined = `${use().urls.production}/pets?${query}`;
          while (url !== undefined) {
            const page: Reply = await send(url, { key: use().key });
            assert.equal(page.status, 200, page.text);
            assert.ok(page.body.length <= limit);
            forward.push(...page.body);
            pages.push(page);
            url = links(page)['next'];
            assert.equal(page.headers['x-next'], url);
            assert.ok(pages.length <= 70);
          }
          assert.deepEqual(forward, expected, query);
          assert.equal(links(pages[0]!)['prev'], undefined);
          assert.equal(pages.at(-1)!.headers['x-next'], undefined);

          const backward: unknown[] = [];
          let back: string | undefined = links(pages.at(-1)!)['prev'];
          let steps = 0;
          backward.unshift(...pages.at(-1)!.body);
          while (back !== undefined) {
            const page: Reply = await send(back, { key: use().key });
            assert.equal(page.status, 200, page.text);
            backward.unshift(...page.body);
            back = links(page)['prev'];
            assert.ok(++steps <= 70);
          }
          assert.deepEqual(backward, expected, `back through ${query}`);

          for (const page of pages) {
            const first = await send(links(page)['first']!, { key: use().key });
            assert.deepEqual(first.body, pages[0]!.body);
          }
        }
      }
    }
  });

  it('keeps the parameters that it knows in its links, and no others', async () => {
    const page = await get('/pets?limit=2&status=available,sold&unknown=a%26b');
    const next = new URL(links(page)['next']!);
    assert.equal(next.origin + next.pathname, `${use().urls.production}/pets`);
    assert.equal(next.searchParams.get('status'), 'available,sold');
    assert.equal(next.searchParams.has('unknown'), false);
    assert.equal(next.searchParams.get('limit'), '2');
  });

  it('returns the same links for every spelling of the path', async () => {
    const plain = links(await get('/pets?limit=2'));
    for (const path of ['/%70ets?limit=2', '/pets/?limit=2', '/p%65t%73?limit=2']) {
      assert.deepEqual(links(await get(path)), plain, path);
    }
  });

  it('rejects a cursor with other filters or another sort', async () => {
    const cursor = new URL(
      (await get('/pets?limit=2&status=sold&sort=name')).headers['x-next'] as string,
    ).searchParams.get('cursor');
    assert.equal((await get(`/pets?limit=2&status=sold&sort=name&cursor=${cursor}`)).status, 200);
    assert.equal((await get(`/pets?limit=50&status=sold&sort=name&cursor=${cursor}`)).status, 200);
    for (const query of [
      'status=sold',
      'status=sold&sort=-name',
      'sort=name',
      'status=available&sort=name',
      'status=sold,pending&sort=name',
      'status=sold&sort=name&categoryId=1',
      'status=sold&sort=name&id=1',
    ]) {
      const reply = await get(`/pets?limit=2&${query}&cursor=${cursor}`);
      assert.equal(reply.status, 400, query);
      assert.equal(reply.body.code, 'invalid_parameter');
    }
  });

  it('rejects a forged cursor', async () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const cursor of [
      'abc',
      '%00',
      encode([]),
      encode(null),
      encode([1, 'x', 0, 1]),
      encode({}),
      '%F0%9F%90%88',
      'x'.repeat(4096),
    ]) {
      const reply = await get(`/pets?cursor=${cursor}`);
      assert.equal(reply.status, 400, cursor);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'invalid_parameter', cursor);
    }
    for (const query of ['cursor=a&cursor=b', `cursor=${'x'.repeat(4097)}`]) {
      assert.equal((await get(`/pets?${query}`)).body.code, 'invalid_parameter');
    }
  });

  it('returns the same for an empty cursor or updatedSince as without', async () => {
    const first = await get('/pets?limit=9');
    for (const query of ['limit=9&cursor=', 'limit=9&updatedSince=&sort=id', 'cursor=&limit=9&updatedSince=']) {
      const reply = await get(`/pets?${query}`);
      assert.equal(reply.status, 200, query);
      assert.deepEqual(reply.body, first.body, query);
      const next = await send(String(reply.headers['x-next']), { key: use().key });
      assert.equal(next.body[0].id, first.body.at(-1).id + 1, query);
    }
    assert.equal((await get('/pets?updatedSince=&includeRemoved=true')).body.code, 'invalid_parameter');
  });

  it('misses no pet that existed when paging started', async () => {
    const seen: number[] = [];
    let url: string | undefined = `${use().urls.production}/pets?limit=9`;
    while (url !== undefined) {
      const page: Reply = await send(url, { key: use().key });
      seen.push(...page.body.map((pet: { id: number }) => pet.id));
      url = page.headers['x-next'] as string | undefined;
      if (seen.length < 50) {
        const added = (await post({ name: 'New', categoryId: 1, status: 'sold' })).body;
        pets.push(added);
      }
    }
    assert.deepEqual(
      seen,
      pets.map(({ id }) => id),
    );
  });

  it('returns an exact count if there is a counter for the filter', async () => {
    const exact = { Prefer: 'count=exact' };
    for (const [query, count] of [
      ['', pets.length],
      ['limit=1', pets.length],
      ['status=sold', pets.filter(({ status }) => status === 'sold').length],
      ['categoryId=2', pets.filter(({ categoryId }) => categoryId === 2).length],
      ['categoryId=4711', 0],
      ['status=sold&sort=name', pets.filter(({ status }) => status === 'sold').length],
    ] as const) {
      const reply = await get(`/pets?${query}`, exact);
      assert.equal(reply.headers['x-total-count'], String(count), query);
      assert.equal(reply.headers['preference-applied'], 'count=exact');
      assert.equal((await get(`/pets?${query}`)).headers['x-total-count'], undefined);
    }
    for (const query of ['status=sold,pending', 'status=sold&categoryId=2', 'id=1']) {
      const reply = await get(`/pets?${query}`, exact);
      assert.equal(reply.status, 200);
      assert.equal(reply.headers['x-total-count'], undefined, query);
      assert.equal(reply.headers['preference-applied'], undefined, query);
    }
    const page = await get('/pets?limit=3', exact);
    const second = await send(page.headers['x-next'] as string, { key: use().key, headers: exact });
    assert.equal(second.headers['x-total-count'], String(pets.length));
  });

  it('ignores unknown parameters, and rejects them with handling=strict', async () => {
    assert.equal((await get('/pets?limit=1&colour=red&__proto__=1&constructor=x')).body.length, 1);
    const strict = { Prefer: 'handling=strict' };
    const reply = await get('/pets?limit=1&colour=red&__proto__=1', strict);
    assert.equal(reply.status, 400);
    assert.equal(reply.body.code, 'invalid_parameter');
    assert.deepEqual(paths(reply), ['__proto__', 'colour']);
    const applied = await get('/pets?limit=1', { Prefer: 'handling=strict, count=exact' });
    assert.deepEqual(applied.all['preference-applied']?.join(', ').split(', ').toSorted(), [
      'count=exact',
      'handling=strict',
    ]);
  });

  it('lists a pet immediately after it was created', async () => {
    await get('/pets?limit=1&sort=-id');
    const { body } = await post({ name: 'Newest', categoryId: 1 });
    assert.deepEqual((await get('/pets?limit=1&sort=-id')).body, [body]);
    pets.push(body);
  });

  it('shows changes of another process in the next response', async () => {
    const script = `
      import Database from 'better-sqlite3';
      const database = new Database(process.argv[1]);
      database.pragma('wal_autocheckpoint = 0');
      process.stdout.write('ready');
      process.stdin.on('data', name => {
        database.prepare("update pets set name = ? where id = 1").run(String(name));
        process.stdout.write('done');
      });`;
    const node = [process.execPath, '--input-type=module', '-e', script, use().serving.file] as const;
    const other = spawn(node[0], node.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    for (let round = 0; round < 50; round++) {
      await get('/pets?limit=1');
      other.stdin.write(`Changed ${round}`);
      await once(other.stdout, 'data');
      assert.equal((await get('/pets?limit=1')).body[0].name, `Changed ${round}`);
      assert.equal((await get('/pets/1')).body.name, `Changed ${round}`);
    }
    other.stdin.end();
    await once(other, 'exit');
    pets[0]!.name = 'Changed 49';
  });

  function matches(filter: string) {
    const wanted = new URLSearchParams(filter);
    const ids = wanted.get('id')?.split(',').map(Number);
    const among = wanted.get('status')?.split(',');
    const category = wanted.get('categoryId');
    return ({ id, status, categoryId }: (typeof pets)[number]) =>
      (ids === undefined || ids.includes(id)) &&
      (among === undefined || among.includes(status)) &&
      (category === null || categoryId === Number(category));
  }

  function order(sort: string) {
    const sign = sort.startsWith('-') ? -1 : 1;
    return (a: (typeof pets)[number], b: (typeof pets)[number]) =>
      sign * ((sort.endsWith('name') ? compareCodePoints(a.name, b.name) : 0) || a.id - b.id);
  }
});

function numbers(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join();
}

function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

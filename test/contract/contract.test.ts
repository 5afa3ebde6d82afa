import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { IssuedKey } from '../../src/keys/key.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import {
  assertApiResponse,
  assertError,
  type Reply,
  type Sending,
  type Serving,
  send,
  serve,
} from '../support/serving.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');

describe('createPet', () => {
  const { post, use } = service();

  it('returns 201 with exactly the fields of the pet, in order', async () => {
    const reply = await post({ name: 'Minka', categoryId: 2, status: 'pending' });
    assertApiResponse(reply);
    assert.equal(reply.status, 201);
    assert.equal(reply.text, `{"id":${reply.body.id},"name":"Minka","categoryId":2,"status":"pending"}`);
    assert.match(String(reply.headers['content-type']), /^application\/json(;|$)/);
    assert.equal(reply.headers.location, `${use().urls.production}/pets/${reply.body.id}`);
    assert.deepEqual((await send(reply.headers.location!, { key: use().key })).body, reply.body);
  });

  it('uses the status available by default', async () => {
    assert.equal((await post({ name: 'Minka', categoryId: 2 })).body.status, 'available');
  });

  it('assigns ascending ids and ignores an id in the body', async () => {
    const one = await post({ name: 'Minka', categoryId: 2 });
    const other = await post({ id: 1, name: 'Minka', categoryId: 2 });
    assert.equal(other.status, 201);
    assert.ok(other.body.id > one.body.id);
  });

  it('stores names unchanged', async () => {
    for (const name of [
      '  padded  ',
      'Ä',
      'A\u0308',
      '\u00a0x',
      '🐈‍⬛',
      '🐈'.repeat(255),
      'x'.repeat(255),
      '__proto__',
      '"\\/',
      'a\u2028b',
      '\ufeffx',
      "'; drop table pets; --",
      '\u202ertl',
    ]) {
      const reply = await post({ name, categoryId: 2 });
      assert.equal(reply.status, 201, JSON.stringify(name));
      assert.equal(reply.body.name, name);
      assert.equal((await send(reply.headers.location!, { key: use().key })).body.name, name);
    }
  });

  it('rejects invalid names', async () => {
    for (const name of [
      '',
      ' ',
      '\u3000 \t',
      'x'.repeat(256),
      '🐈'.repeat(256),
      'a\0b',
      'a\u0001',
      'a\n',
      'a\u007f',
      'a\u0085',
      'a\u009f',
      1,
      true,
      null,
      [],
      {},
      ['x'],
    ]) {
      const reply = await post({ name, categoryId: 2 });
      assert.equal(reply.status, 400, JSON.stringify(name));
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'invalid_body');
      assert.deepEqual(paths(reply), ['/name'], reply.text);
    }
    for (const lone of ['"\\ud800"', '"\\udc00x"', '"\\udc00\\ud800"']) {
      const reply = await post(`{"name":${lone},"categoryId":2}`);
      assert.equal(reply.status, 400, lone);
      assert.deepEqual(paths(reply), ['/name']);
    }
  });

  it('accepts category ids from 1 to 2^53 − 1, in every JSON number format', async () => {
    for (const [sent, stored] of [
      ['1', 1],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      ['1.0', 1],
      ['1e3', 1000],
      ['20E-1', 2],
      ['4711', 4711],
    ] as const) {
      const reply = await post(`{"name":"x","categoryId":${sent}}`);
      assert.equal(reply.status, 201, sent);
      assert.equal(reply.body.categoryId, stored);
      assert.match(reply.text, new RegExp(`"categoryId":${stored},`));
    }
  });

  it('rejects invalid categories and coerces nothing', async () => {
    for (const sent of [
      '0',
      '-1',
      '-0',
      '1.5',
      '9007199254740992',
      '9007199254740993',
      '1e400',
      '"1"',
      'true',
      'null',
      '[1]',
      '{}',
      '""',
      '1e-1',
    ]) {
      const reply = await post(`{"name":"x","categoryId":${sent}}`);
      assert.equal(reply.status, 400, sent);
      assert.equal(reply.body.code, 'invalid_body', sent);
      assert.deepEqual(paths(reply), ['/categoryId'], reply.text);
    }
  });

  it('rejects an unknown status, and null', async () => {
    for (const status of ['lost', 'Available', 'available ', '', null, 1, true, [], ['sold'], {}]) {
      const reply = await post({ name: 'x', categoryId: 2, status });
      assert.equal(reply.status, 400, JSON.stringify(status));
      assert.deepEqual(paths(reply), ['/status']);
    }
  });

  it('names every missing or invalid field', async () => {
    assert.deepEqual(paths(await post({})), ['/categoryId', '/name']);
    assert.deepEqual(paths(await post({ status: 'lost', categoryId: 'x' })), ['/categoryId', '/name', '/status']);
    for (const body of ['null', '[]', '1', '"x"', 'true', '[{"name":"x","categoryId":1}]']) {
      const reply = await post(body);
      assert.equal(reply.status, 400, body);
      assert.equal(reply.body.code, 'invalid_body', body);
    }
  });

  it('ignores unknown members, and rejects them with handling=strict', async () => {
    const pet = { name: 'x', categoryId: 2, colour: 'red', id: 7 };
    assert.equal((await post(pet)).status, 201);
    for (const prefer of [
      'handling=strict',
      'count=exact, handling=strict',
      'respond-async,handling="strict"',
      'Handling=strict',
    ]) {
      const reply = await post(pet, { Prefer: prefer });
      assert.equal(reply.status, 400, prefer);
      assert.equal(reply.body.code, 'invalid_body');
      assert.deepEqual(paths(reply), ['/colour', '/id']);
    }
    assert.equal((await post(pet, { Prefer: 'handling=lenient' })).status, 201);
    const applied = await post({ name: 'x', categoryId: 2 }, { Prefer: 'handling=strict' });
    assert.equal(applied.status, 201);
    assert.equal(applied.headers['preference-applied'], 'handling=strict');
  });

  it('uses the last of duplicate members, and treats __proto__ like any other', async () => {
    const reply = await post('{"name":"one","name":"other","categoryId":1,"categoryId":2}');
    assert.deepEqual([reply.body.name, reply.body.categoryId], ['other', 2]);
    const proto = '{"__proto__":{"status":"sold"},"constructor":1,"name":"x","categoryId":2}';
    assert.equal((await post(proto)).body.status, 'available');
    assert.equal((await post('{"__proto__":{"name":"x","categoryId":2}}')).status, 400);
    assert.deepEqual(paths(await post(proto, { Prefer: 'handling=strict' })), ['/__proto__', '/constructor']);
  });

  it('returns 400 invalid_json for malformed JSON', async () => {
    const good = '{"name":"x","categoryId":2}';
    for (const body of [
      '',
      ' ',
      '{',
      '{"name":"x","categoryId":2',
      `${good}x`,
      `${good},`,
      "{'name':'x'}",
      '{"name":"x",}',
      '{name:"x"}',
      'NaN',
      '{"name":"x","categoryId":02}',
      '{"name":"a\nb","categoryId":2}',
      `\ufeff${good}`,
      Buffer.from([0xff, 0xfe]),
      Buffer.from([...Buffer.from('{"name":"'), 0xc3, 0x28, ...Buffer.from('","categoryId":2}')]),
      Buffer.from(good, 'utf16le'),
      '// x\n1',
      '['.repeat(500_000),
    ]) {
      const reply = await post(body);
      assert.equal(reply.status, 400, String(body).slice(0, 40));
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'invalid_json', String(body).slice(0, 40));
    }
  });

  it('quotes nothing from malformed JSON', async () => {
    const reply = await post('{"password": hunter2, "x": 1}');
    assert.doesNotMatch(reply.text, /hunter2|password/);
  });

  it('accepts every spelling of application/json, and rejects other content types with 400', async () => {
    const body = '{"name":"x","categoryId":2}';
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json ; charset=utf8',
      'application/json; profile=x',
      'application/json;',
    ]) {
      assert.equal((await post(body, { 'Content-Type': type })).status, 201, type);
    }
    for (const type of [
      '',
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/vnd.api+json',
      'application/merge-patch+json',
      'application/problem+json',
      'application/jsonx',
      'application/json;;x',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json, application/json',
      'application',
      'application/',
      '/json',
      'application json',
      'application/json charset',
      '*/*',
    ]) {
      const reply = await post(body, { 'Content-Type': type });
      assert.equal(reply.status, 400, type);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'invalid_content_type', type);
    }
  });

  it('checks the API key before the body', async () => {
    const { urls } = use();
    const reply = await send(`${urls.production}/pets`, {
      method: 'POST',
      body: '{',
      headers: { 'Content-Type': 'text/plain' },
    });
    assert.equal(reply.status, 401);
  });

  it('rejects an unknown category if categories are strict, and creates none', async () => {
    const strict = await serve({ environment: { PETSTORE_CATEGORIES: 'strict' } });
    try {
      const key = await strict.newKey();
      const create = (categoryId: number) =>
        send(`${strict.urls.production}/pets`, { method: 'POST', key, body: { name: 'x', categoryId } });
      for (let id = 1; id <= 8; id++) assert.equal((await create(id)).status, 201);
      for (const id of [9, 1001, 9]) {
        const reply = await create(id);
        assert.equal(reply.status, 400);
        assert.equal(reply.body.code, 'category_not_found');
        assert.deepEqual(paths(reply), ['/categoryId']);
      }
    } finally {
      await strict.stop();
    }
  });
});

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

  it('keeps all parameters except the cursor in its links', async () => {
    const page = await get('/pets?limit=2&status=available,sold&unknown=a%26b');
    const next = new URL(links(page)['next']!);
    assert.equal(next.origin + next.pathname, `${use().urls.production}/pets`);
    assert.equal(next.searchParams.get('status'), 'available,sold');
    assert.equal(next.searchParams.get('unknown'), 'a&b');
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
    for (const query of ['cursor=', 'cursor=a&cursor=b', `cursor=${'x'.repeat(4097)}`]) {
      assert.equal((await get(`/pets?${query}`)).body.code, 'invalid_parameter');
    }
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

describe('getPet', () => {
  const { use, get, post } = service();
  let id: number;

  before(async () => {
    id = (await post({ name: 'Minka', categoryId: 2 })).body.id;
  });

  it('returns the pet with exactly its fields', async () => {
    const reply = await get(`/pets/${id}`);
    assertApiResponse(reply);
    assert.equal(reply.text, `{"id":${id},"name":"Minka","categoryId":2,"status":"available"}`);
    assert.equal((await get(`/pets/${id}/`)).text, reply.text);
  });

  it('returns 404 for an unknown id, and for anything but a plain decimal integer', async () => {
    for (const petId of [
      '999999',
      `0${id}`,
      '007',
      `${id}.0`,
      `+${id}`,
      `-${id}`,
      '0',
      '-0',
      `${id}e0`,
      `0x${id}`,
      'abc',
      '%20',
      `${id}%20`,
      `%20${id}`,
      '9'.repeat(200),
      '9007199254740991',
      '9007199254740992',
      '9223372036854775807',
      '9223372036854775808',
      `${id},${id}`,
      `${id};x`,
      `${id}%2F`,
      '%00',
      '\u0661',
      '..%2F1',
      '__proto__',
      'null',
      `${id}%0A`,
    ]) {
      const reply = await get(`/pets/${encodeURI(petId).replaceAll('%25', '%')}`);
      assert.equal(reply.status, 404, petId);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'pet_not_found', petId);
    }
  });

  it('announces its removal in every response: the date and the replacement', async () => {
    const { urls, key } = use();
    const good = await get(`/pets/${id}`);
    const limited = await use().serving.newKey({ scopes: ['orders:read'] });
    for (const reply of [
      good,
      await get('/pets/999999'),
      await get('/pets/abc'),
      await send(`${urls.production}/pets/${id}`),
      await send(`${urls.production}/pets/${id}`, { key: 'x' }),
      await send(`${urls.production}/pets/${id}`, { key: limited }),
      await send(`${urls.production}/pets/${id}`, { key, method: 'HEAD' }),
    ]) {
      assert.equal(reply.headers['deprecation'], '@1795132800');
      assert.equal(reply.headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT');
      const { deprecation, sunset, 'successor-version': successor } = links(reply);
      assert.ok(deprecation && sunset && successor);
      assert.match(successor, /\/v1\/pets\?id=/);
    }
    const { deprecation, sunset, 'successor-version': successor } = links(good);
    assert.deepEqual((await send(successor!, { key })).body, [good.body]);
    for (const page of [deprecation!, sunset!]) {
      const reply = await send(page);
      assert.equal(reply.status, 200);
      assert.match(reply.text, /2030-12-05/);
    }
    assert.equal((await get('/pets')).headers['deprecation'], undefined);
    assert.equal((await post({ name: 'x', categoryId: 1 })).headers['sunset'], undefined);
  });

  it('returns 410 from 5 December 2030 on; its replacements keep working', async () => {
    const clock = testClock(Date.parse('2030-12-04T23:59:59Z'));
    const serving = await serve({ clock });
    try {
      const { urls } = serving;
      const key = await serving.newKey();
      await send(`${urls.production}/pets`, { method: 'POST', key, body: { name: 'x', categoryId: 1 } });
      assert.equal((await send(`${urls.production}/pets/1`, { key })).status, 200);
      clock.advance(999);
      assert.equal((await send(`${urls.production}/pets/1`, { key })).status, 200);
      clock.advance(1);
      for (const petId of ['1', '999', 'abc']) {
        const reply = await send(`${urls.production}/pets/${petId}`, { key });
        assert.equal(reply.status, 410);
        assertApiResponse(reply);
        assert.equal(reply.body.code, 'operation_removed');
        assert.equal(reply.headers['deprecation'], '@1795132800');
        assert.equal(reply.headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT');
        assert.ok(links(reply)['successor-version']);
      }
      assert.equal((await send(`${urls.production}/pets/1`)).status, 401);
      assert.equal((await send(`${urls.production}/pets?id=1`, { key })).body.length, 1);
      assert.equal((await send(`${urls.production}/pets?status=available`, { key })).body.length, 1);
    } finally {
      await serving.stop();
    }
  });
});

describe('errors', () => {
  const { use, get, post } = service();

  it('are RFC 9457 problems on request; the type is the URL of a page that explains the error', async () => {
    for (const accept of [
      'application/problem+json',
      'application/json;q=0.5, Application/Problem+JSON',
      'application/problem+json;q=0.1',
    ]) {
      for (const reply of [
        await get('/pets?limit=0', { Accept: accept }),
        await get('/pets/0', { Accept: accept }),
        await post({}, { Accept: accept }),
        await send(`${use().urls.production}/pets`, { headers: { Accept: accept } }),
        await send(`${use().urls.production}/pets/%ZZ`, { headers: { Accept: accept } }),
        await get('/nothing', { Accept: accept }),
      ]) {
        assert.match(String(reply.headers['content-type']), /^application\/problem\+json/);
        const { type, title, detail, requestId, code, message, status, errors, ...rest } = reply.body;
        assert.deepEqual(rest, {});
        assert.equal(status, reply.status);
        assert.equal(detail, message);
        assert.equal(requestId, reply.headers['x-request-id']);
        assert.ok(typeof title === 'string' && typeof code === 'string');
        if (errors !== undefined) assert.ok(Array.isArray(errors));
        const page = await send(new URL(type, use().urls.production).href);
        assert.equal(page.status, 200);
        assert.match(page.text, new RegExp(code));
      }
    }
    for (const accept of [
      'application/problem+json;q=0',
      'application/json',
      '*/*',
      'text/html',
      'application/problem',
    ]) {
      const reply = await get('/pets?limit=0', { Accept: accept });
      assert.match(String(reply.headers['content-type']), /^application\/json/, accept);
      assertError(reply);
    }
  });

  it('name each field with a path, a code and a message', async () => {
    for (const reply of [await post({ status: 1 }), await get('/pets?limit=0&status=x&id=x')]) {
      assert.ok(reply.body.errors.length >= 3);
      for (const one of reply.body.errors) {
        assert.deepEqual(Object.keys(one), ['path', 'code', 'message']);
        assert.match(one.code, /^[a-z]+(_[a-z]+)*$/);
        assert.match(one.message, /\.$/);
      }
    }
  });

  it('are bounded in size, however many fields are invalid', async () => {
    const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`m${index}`, 1]));
    const reply = await post({ name: 'x', categoryId: 1, ...members }, { Prefer: 'handling=strict' });
    assert.equal(reply.status, 400);
    assert.ok(reply.text.length < 20_000);
    const parameters = Array.from({ length: 2000 }, (_, index) => `p${index}=1`).join('&');
    const query = await get(`/pets?${parameters}`, { Prefer: 'handling=strict' });
    assert.equal(query.status, 400);
    assert.ok(query.text.length < 40_000);
  });

  it('distinguish 404 from 405 for callers with a key', async () => {
    for (const path of [
      '/nothing',
      '/',
      '',
      '//pets',
      '/pets/1/2',
      '/Pets',
      '/PETS',
      '/pets;x=1',
      '/pets%2F1',
      '/store',
      '/pet',
      '/v1/pets',
      '/.',
      '/pets/..',
      '/pets/%2e%2e/pets',
    ]) {
      const reply = await get(path);
      if (path === '/pets/..') continue;
      assert.equal(reply.status, 404, path);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'route_not_found', path);
    }
    for (const [method, path, allowed] of [
      ...METHODS.filter(method => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method)).flatMap(method => [
        [method, '/pets', 'GET, HEAD, POST'] as const,
        [method, '/pets/', 'GET, HEAD, POST'] as const,
      ]),
      ...METHODS.filter(method => !['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'CONNECT'].includes(method)).flatMap(
        method => [[method, '/pets/1', 'GET, HEAD'] as const, [method, '/pets/abc', 'GET, HEAD'] as const],
      ),
    ] as const) {
      const reply = await send(use().urls.production + path, { method, key: use().key });
      assert.equal(reply.status, 405, `${method} ${path}`);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'method_not_allowed');
      assert.ok(String(reply.headers.allow).startsWith(allowed), String(reply.headers.allow));
      const withBody = await send(use().urls.production + path, { method, key: use().key, body: '{' });
      assert.equal(withBody.status, 405, `${method} ${path}`);
    }
  });
});

describe('API keys', () => {
  const { use } = service();
  const list = (sending: Sending, address: 'production' | 'staging' | 'messages' = 'production') =>
    send(`${use().urls[address]}${address === 'messages' ? '/messages' : '/pets'}`, sending);
  const withHeader = (authorization: string) => list({ headers: { Authorization: authorization } });

  async function assertRefused(reply: Reply, code: string, what = code) {
    assert.equal(reply.status, 401, what);
    assertApiResponse(reply, what);
    assert.equal(reply.body.code, code, what);
    assert.equal(reply.headers['www-authenticate'], 'Bearer');
    assert.equal(reply.headers['x-ratelimit-limit'], '60', 'the numbers of the address');
    use().clock.advance(2000);
  }

  it('follow the scheme, in any case, after one or more spaces', async () => {
    const { token } = use().key;
    for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR   ', 'Bearer      ']) {
      assert.equal((await withHeader(scheme + token)).status, 200, scheme);
    }
    assert.equal((await withHeader(`Bearer ${token} `)).status, 200);
  });

  it('return missing_api_key if they are missing', async () => {
    const { token } = use().key;
    await assertRefused(await list({}), 'missing_api_key');
    for (const header of [`Basic ${token}`, token, `Bearer${token}`, 'Bearer', 'Token x', ' ']) {
      await assertRefused(await withHeader(header), 'missing_api_key', header);
    }
    await assertRefused(
      await send(`${use().urls.production}/pets?api_key=${token}&access_token=${token}`),
      'missing_api_key',
    );
  });

  it('return malformed_api_key if they are truncated, mistyped or foreign', async () => {
    const { token } = use().key;
    const typo = token.slice(0, 30) + (token[30] === 'A' ? 'B' : 'A') + token.slice(31);
    for (const wrong of [
      'x',
      token.slice(0, -1),
      `${token}x`,
      typo,
      token.toUpperCase(),
      `${token} ${token}`,
      `"${token}"`,
      token.replace('live', 'test'),
      token.replace('petstore', 'petshop'),
      'x'.repeat(8000),
      `${token},${token}`,
    ]) {
      await assertRefused(await list({ key: wrong }), 'malformed_api_key', wrong);
    }
  });

  it('return invalid_api_key if they are unknown, even with the id of a real key', async () => {
    const foreign = await serve();
    try {
      await assertRefused(await list({ key: await foreign.newKey() }), 'invalid_api_key');
    } finally {
      await foreign.stop();
    }
    const { newToken } = await import('../../src/keys/token.ts');
    const { crc32 } = await import('node:zlib');
    const revoked = await use().serving.newKey();
    await revoke(revoked);
    for (const id of [use().key.id, revoked.id]) {
      const body = `petstore_live_${id}_${newToken('production').token.slice(27, -6)}`;
      await assertRefused(await list({ key: body + base62(crc32(body)) }), 'invalid_api_key');
    }
  });

  it('return expired_api_key or revoked_api_key from that millisecond', async () => {
    const { clock, serving } = use();
    const expiring = await serving.newKey({ expiresAt: clock.now() + 5000 });
    assert.equal((await list({ key: expiring })).status, 200);
    clock.advance(4999);
    assert.equal((await list({ key: expiring })).status, 200);
    clock.advance(1);
    await assertRefused(await list({ key: expiring }), 'expired_api_key');
    const revoked = await serving.newKey();
    assert.equal((await list({ key: revoked })).status, 200);
    await revoke(revoked);
    await assertRefused(await list({ key: revoked }), 'revoked_api_key');
  });

  it('return wrong_deployment with the right URL on the other deployment', async () => {
    const { serving, key, urls } = use();
    const staging = await serving.newKey({ deployment: 'staging' });
    const toProduction = await list({ key: staging });
    await assertRefused(toProduction, 'wrong_deployment');
    assert.ok(toProduction.body.message.includes(urls.staging), toProduction.body.message);
    const toStaging = await list({ key }, 'staging');
    await assertRefused(toStaging, 'wrong_deployment');
    assert.ok(toStaging.body.message.includes(urls.production), toStaging.body.message);
    assert.equal((await list({ key: staging }, 'staging')).status, 200);
    for (const either of [key, staging]) assert.equal((await list({ key: either }, 'messages')).status, 200);
  });

  it('allow what their scopes allow, and return 403 insufficient_scope otherwise', async () => {
    const { serving, urls } = use();
    const pet = { name: 'x', categoryId: 1 };
    const reader = await serving.newKey({ scopes: ['pets:read'] });
    const writer = await serving.newKey({ scopes: ['pets:write'] });
    const other = await serving.newKey({ scopes: ['orders:read', 'messages:write'] });
    const create = (key: IssuedKey, body: unknown = pet) =>
      send(`${urls.production}/pets`, { method: 'POST', key, body });
    assert.equal((await list({ key: reader })).status, 200);
    assert.equal((await create(writer)).status, 201);
    for (const reply of [
      await create(reader),
      await create(reader, '{'),
      await list({ key: writer }),
      await list({ key: other }),
    ]) {
      assert.equal(reply.status, 403);
      assertApiResponse(reply);
      assert.equal(reply.body.code, 'insufficient_scope');
      assert.match(reply.body.message, /pets:(read|write)/);
    }
    assert.equal((await send(`${urls.production}/pets/1`, { key: writer, method: 'HEAD' })).status, 403);
    assert.equal((await send(`${urls.production}/nothing`, { key: other })).status, 404);
  });

  it('separate production from staging', async () => {
    const { serving, urls, key } = use();
    const staging = await serving.newKey({ deployment: 'staging' });
    const { body } = await send(`${urls.staging}/pets`, {
      method: 'POST',
      key: staging,
      body: { name: 'Only here', categoryId: 1 },
    });
    assert.equal((await send(`${urls.staging}/pets?id=${body.id}`, { key: staging })).body[0].name, 'Only here');
    const elsewhere = await send(`${urls.production}/pets?id=${body.id}`, { key });
    assert.ok(elsewhere.body.every((pet: { name: string }) => pet.name !== 'Only here'));
  });

  async function revoke(key: IssuedKey) {
    const { revokeKey } = await import('../../src/keys/keys.ts');
    await use().serving.app.databases.production.write(tx => revokeKey(tx, key.id));
  }
});

describe('CORS', () => {
  const { use, get } = service();

  it('allows preflight requests without a key, free of charge', async () => {
    const { urls } = use();
    const remaining = async () => (await send(`${urls.production}/pets`)).headers['x-ratelimit-remaining'];
    const before = Number(await remaining());
    for (const url of ['/pets', '/pets/1', '/nothing']
      .map(path => urls.production + path)
      .concat(`${urls.messages}/messages`)) {
      const reply = await send(url, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization, content-type, prefer, x-request-id',
        },
      });
      assert.equal(reply.status, 204);
      assertApiResponse(reply);
      assert.equal(reply.text, '');
      assert.equal(reply.headers['x-ratelimit-remaining'], String(before));
      assert.equal(reply.headers['access-control-allow-origin'], '*');
      assert.equal(reply.headers['access-control-allow-credentials'], undefined);
      for (const method of ['GET', 'HEAD', 'POST'])
        assert.match(String(reply.headers['access-control-allow-methods']), new RegExp(method));
      for (const name of ['authorization', 'content-type', 'prefer']) {
        assert.match(String(reply.headers['access-control-allow-headers']).toLowerCase(), new RegExp(name));
      }
    }
    assert.equal(Number(await remaining()), before - 1);
  });

  it('exposes every header that a client needs to every origin, in every response', async () => {
    for (const reply of [
      await get('/pets', { Origin: 'https://app.example' }),
      await get('/pets/0', { Origin: 'null' }),
      await send(`${use().urls.production}/pets`, { headers: { Origin: 'https://app.example' } }),
      await send(`${use().urls.production}/pets/%ZZ`, { headers: { Origin: 'https://app.example' } }),
    ]) {
      assert.equal(reply.headers['access-control-allow-origin'], '*');
      assert.equal(reply.headers['set-cookie'], undefined);
      const exposed = String(reply.headers['access-control-expose-headers']).toLowerCase().split(', ');
      for (const name of [
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'ratelimit',
        'ratelimit-policy',
        'retry-after',
        'link',
        'x-next',
        'etag',
        'location',
        'x-request-id',
        'deprecation',
        'sunset',
        'x-total-count',
        'preference-applied',
      ]) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });

  it('requires a key for OPTIONS requests that are no preflight', async () => {
    const { urls, key } = use();
    assert.equal((await send(`${urls.production}/pets`, { method: 'OPTIONS' })).status, 401);
    assertApiResponse(await send(`${urls.production}/pets`, { method: 'OPTIONS', key }));
  });
});

/** The product for one suite, on a clock that stands at noon, with a key that nobody exhausts. */
function service() {
  let serving: Serving;
  let key: IssuedKey;
  const clock: TestClock = testClock(noon);
  before(async () => {
    serving = await serve({ clock });
    key = await serving.newKey();
  });
  after(() => serving.stop());
  return {
    use: () => ({ serving, key, clock, urls: serving.urls }),
    get: (path: string, headers = {}) => send(serving.urls.production + path, { key, headers }),
    post: (body: unknown, headers = {}) =>
      send(`${serving.urls.production}/pets`, { method: 'POST', key, body, headers }),
  };
}

/** The paths of the single errors, sorted. */
function paths(reply: Reply): string[] {
  return (reply.body.errors ?? []).map(({ path }: { path: string }) => path).toSorted();
}

/** The URLs of the `Link` headers by their relation. */
function links(reply: Reply): Record<string, string | undefined> {
  const found: Record<string, string> = {};
  for (const value of reply.all['link'] ?? []) {
    for (const [, url, rel] of value.matchAll(/<([^>]*)>; rel="([^"]*)"/g)) found[rel!] = url!;
  }
  return found;
}

function numbers(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join();
}

function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let text = '';
  for (let rest = value; text.length < 6; rest = Math.floor(rest / 62)) text = digits[rest % 62]! + text;
  return text;
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertApiResponse, send, serve } from '../support/serving.ts';
import { paths, service } from './service.ts';

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
      assert.match(reply.body.message, /\. The body must be an object\.$/, body);
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

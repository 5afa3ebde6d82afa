import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { assertApiResponse, send, serve } from '../support/serving.ts';
import { links, service } from './service.ts';

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

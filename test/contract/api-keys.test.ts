import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IssuedKey } from '../../src/model/key.ts';
import { assertApiResponse, type Reply, type SendOptions, send, serve } from '../support/serving.ts';
import { service } from './service.ts';

describe('API keys', () => {
  const { use } = service();
  const list = (sending: SendOptions, address: 'production' | 'staging' | 'messages' = 'production') =>
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
    const { newToken } = await import('../../src/access/keys/token.ts');
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

  it('return account_suspended, to a caller with the whole secret, until the account is resumed', async () => {
    const { serving, urls, key } = use();
    const production = await serving.newKey();
    const staging = await serving.newKey({ accountId: production.accountId, deployment: 'staging' });
    const { suspendAccount, resumeAccount } = await import('../../src/access/accounts/accounts.ts');
    const change = (work: typeof suspendAccount) =>
      serving.app.databases.production.write(tx => work(tx, production.accountId));
    assert.equal((await list({ key: production })).status, 200);
    await change(suspendAccount);
    for (const [address, suspended] of [
      ['production', production],
      ['staging', staging],
      ['messages', production],
    ] as const) {
      const reply = await list({ key: suspended }, address);
      assert.deepEqual([reply.status, reply.body.code], [403, 'account_suspended'], address);
      assertApiResponse(reply, address);
      assert.equal(reply.headers['www-authenticate'], undefined);
      assert.equal(reply.headers['x-ratelimit-limit'], '60', 'the numbers of the address');
    }
    const { newToken } = await import('../../src/access/keys/token.ts');
    const { crc32 } = await import('node:zlib');
    const guess = `petstore_live_${production.id}_${newToken('production').token.slice(27, -6)}`;
    await assertRefused(await list({ key: guess + base62(crc32(guess)) }), 'invalid_api_key');
    assert.equal((await list({ key })).status, 200);
    assert.equal((await send(`${urls.production}/pets`, { key })).status, 200);
    await change(resumeAccount);
    assert.equal((await list({ key: production })).status, 200);
    assert.equal((await list({ key: staging }, 'staging')).status, 200);
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
    const { revokeKey } = await import('../../src/access/keys/keys.ts');
    await use().serving.app.databases.production.write(tx => revokeKey(tx, key.id));
  }
});

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let text = '';
  for (let rest = value; text.length < 6; rest = Math.floor(rest / 62)) text = digits[rest % 62]! + text;
  return text;
}

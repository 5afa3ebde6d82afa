import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { testClock } from '../../lib/clock.ts';
import type { AuthenticationResult } from '../../lib/http/server/authenticator.ts';
import type { NewKey } from '../../model/key.ts';
import { addressPerMinute } from '../../model/plan.ts';
import { type Params, query } from '../../model/schema.ts';
import { createAccount } from '../accounts/accounts.ts';
import { openLimiter } from '../limits/open.ts';
import { KeyAuthenticator } from './authenticator.ts';
import { KeyCache } from './key-cache.ts';
import { createKey, revokeKey } from './keys.ts';
import { matchesHash, newToken } from './token.ts';

const renameKey = query((db, p: Params<{ id: string; to: string }>) =>
  db.updateTable('keys').set({ id: p.to }).where('id', '=', p.id),
);

onEachEngine(engine => {
  async function setUp() {
    const clock = testClock(Date.UTC(2026, 10, 20, 12));
    const database = await engine.open({ clock });
    const { id: accountId } = await database.write(tx =>
      createAccount(tx, { email: 'a@example.org', name: 'A', plan: 'business' }),
    );
    const limiter = await openLimiter({ database, clock, log: silent });
    const keys = new KeyCache(database, 1200);
    const [authenticator, ofStaging] = (['production', 'staging'] as const).map(
      name => new KeyAuthenticator({ keys, limiter, clock, deployments: [name], baseUrlOf: () => undefined }),
    ) as [KeyAuthenticator, KeyAuthenticator];
    return {
      ...{ clock, database, keys },
      sendToStaging: async (token: string) =>
        codeOf(await ofStaging.authenticate({ authorization: `Bearer ${token}`, address: () => '192.0.2.1' })),
      newKey: (options: Partial<NewKey> = {}) =>
        database.write(tx => createKey(tx, { accountId, deployment: 'production', ...options })),
      send: async (token: string, address = '192.0.2.1') =>
        codeOf(await authenticator.authenticate({ authorization: `Bearer ${token}`, address: () => address })),
      prove: async (id: string, token: string, address = '192.0.2.1', by = authenticator) =>
        codeOf(
          await by.authenticateBy({ authorization: undefined, address: () => address }, id, ({ hash }) =>
            matchesHash(token, hash),
          ),
        ),
      ofStaging,
      errorOf: async (authorization: string) => {
        const result = await authenticator.authenticate({ authorization, address: () => '192.0.2.1' });
        return result.authenticated ? 'accepted' : `${result.problem.code}: ${result.problem.message}`;
      },
      async close() {
        await keys.close();
        await limiter.close();
      },
    };
  }

  const unknownToken = () => newToken('production').token;
  const codeOf = (result: AuthenticationResult) => (result.authenticated ? 'accepted' : result.problem.code);

  describe('KeyAuthenticator', () => {
    it('rejects another secret, another deployment and an expired key right after the key was accepted', async () => {
      const { clock, send, sendToStaging, newKey, close } = await setUp();
      const { token, id } = await newKey({ expiresAt: clock.now() + 3_600_000 });
      for (let count = 0; count < 3; count++) assert.equal(await send(token), 'accepted');
      const { token: other, id: otherId } = newToken('production');
      assert.equal(await send(other.replace(otherId, id)), 'malformed_api_key');
      assert.equal(await send(`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`), 'malformed_api_key');
      assert.equal(await sendToStaging(token), 'wrong_deployment');
      clock.advance(3_600_000);
      assert.equal(await send(token), 'expired_api_key');
      await close();
    });

    it('hashes the token of a key once, until the key has not been used for a minute', async t => {
      t.mock.timers.enable({ apis: ['setInterval'] });
      const { keys, send, newKey, close } = await setUp();
      const { token } = await newKey();
      const find = t.mock.method(keys, 'find');
      await waitUntil(async () => {
        await send(token);
        return keys.findAccepted(`Bearer ${token}`) !== undefined;
      });
      const before = find.mock.callCount();
      for (let count = 0; count < 5; count++) assert.equal(await send(token), 'accepted');
      assert.equal(find.mock.callCount(), before);
      t.mock.timers.tick(30_000);
      assert.equal(await send(token), 'accepted');
      assert.equal(find.mock.callCount(), before);
      t.mock.timers.tick(60_000);
      assert.equal(await send(token), 'accepted');
      assert.equal(find.mock.callCount(), before + 1);
      await close();
    });

    it('rejects a key from another network right after it was accepted', async () => {
      const { send, newKey, close } = await setUp();
      const { token } = await newKey({ networks: ['192.0.2.0/24'] });
      for (let count = 0; count < 3; count++) assert.equal(await send(token), 'accepted');
      assert.equal(await send(token, '198.51.100.1'), 'address_not_allowed');
      await close();
    });

    it('rejects a key that was accepted and is then revoked', async () => {
      const { database, send, newKey, close } = await setUp();
      const { token, id } = await newKey();
      for (let count = 0; count < 3; count++) assert.equal(await send(token), 'accepted');
      await database.write(tx => revokeKey(tx, id));
      if (engine.name === 'sqlite') assert.equal(await send(token), 'revoked_api_key');
      else await waitUntil(async () => (await send(token)) === 'revoked_api_key');
      await close();
    });

    it('accepts a valid key from an address over its limit, cached or not', async () => {
      const { send, newKey, close } = await setUp();
      const [cached, other] = [await newKey(), await newKey()];
      assert.equal(await send(cached.token), 'accepted');
      const rejected = await Promise.all(Array.from({ length: addressPerMinute }, () => send(unknownToken())));
      assert.deepEqual(new Set(rejected), new Set(['invalid_api_key']));
      const responses = Array.from({ length: 20 }, () => send(unknownToken()));
      assert.equal(await send(other.token), 'accepted');
      assert.equal(await send(cached.token), 'accepted');
      assert.deepEqual(new Set(await Promise.all(responses)), new Set(['rate_limit_exceeded']));
      await close();
    });

    it('accepts requests that prove a key without its token, by the same rules', async () => {
      const { clock, database, prove, ofStaging, newKey, close } = await setUp();
      const { token, id } = await newKey({ networks: ['192.0.2.0/24'], expiresAt: clock.now() + 3_600_000 });
      assert.equal(await prove(id, token), 'accepted');
      assert.equal(await prove(id, unknownToken()), 'invalid_api_key');
      assert.equal(await prove('', token), 'invalid_api_key');
      assert.equal(await prove(id, token, '198.51.100.1'), 'address_not_allowed');
      assert.equal(await prove(id, token, '192.0.2.1', ofStaging), 'wrong_deployment');
      clock.advance(3_600_000);
      assert.equal(await prove(id, token), 'expired_api_key');
      const { token: revoked, id: revokedId } = await newKey();
      await database.write(tx => revokeKey(tx, revokedId));
      await waitUntil(async () => (await prove(revokedId, revoked)) === 'revoked_api_key');
      await close();
    });

    it('names the error of a header without repeating the key', async () => {
      const { newKey, errorOf, close } = await setUp();
      const { token } = await newKey();
      for (const [header, code, words] of [
        ['', 'missing', 'An API key is required'],
        ['Bearer ', 'missing', 'no key after "Bearer"'],
        [token, 'missing', 'no scheme before the key'],
        ['pk_123', 'missing', 'no scheme before the key'],
        [`Basic ${token}`, 'missing', 'is "Basic", not "Bearer"'],
        [`Bearer: ${token}`, 'missing', 'is "Bearer:", not "Bearer"'],
        [`"Bearer ${token}"`, 'missing', 'is in quotes'],
        [`Bearer "${token}"`, 'malformed', 'The API key is in quotes'],
        [`Bearer Bearer ${token}`, 'malformed', '"Bearer" twice'],
        [`Bearer ${token}\\n`, 'malformed', 'other characters before or after'],
        [`Bearer ${token},`, 'malformed', 'other characters before or after'],
        [`Bearer ${token.slice(0, 60)}`, 'malformed', 'has 60 characters, and a whole one has 66'],
        [`Bearer ${token.slice(0, -1)}!`, 'malformed', 'may have been cut or mistyped'],
        ['Bearer <API_KEY>', 'malformed', 'placeholder'],
        ['Bearer $KEY', 'malformed', 'placeholder'],
        ['Bearer undefined', 'malformed', 'placeholder'],
        ['Bearer sk_live_abc', 'malformed', 'begins with "petstore_live_"'],
      ] as const) {
        const error = await errorOf(header);
        assert.ok(error.startsWith(`${code}_api_key: `) && error.includes(words), `${header}: ${error}`);
        assert.ok(!error.includes(token.slice(15)), error);
      }
      assert.equal(await errorOf(`bearer  ${token} `), 'accepted');
      await close();
    });

    it('accepts a key that is created after its id was unknown', async () => {
      const { send, newKey, database, close } = await setUp();
      const { token, id } = await newKey();
      await database.write(tx => tx.run(renameKey, { id, to: 'elsewhere' }));
      await database.write(tx => tx.notify('registry'));
      assert.equal(await send(token), 'invalid_api_key');
      assert.equal(await send(token), 'invalid_api_key');
      await database.write(async tx => {
        await tx.run(renameKey, { id: 'elsewhere', to: id });
        await tx.notify('registry');
      });
      assert.equal(await send(token), 'accepted');
      await close();
    });

    if (engine.name === 'postgres') {
      it('looks up the unknown keys of an address over its limit in few queries', async t => {
        const { database, send, close } = await setUp();
        await Promise.all(Array.from({ length: addressPerMinute }, () => send(unknownToken())));
        const all = t.mock.method(database, 'all');
        const first = t.mock.method(database, 'first');
        const responses = await Promise.all(Array.from({ length: 1500 }, () => send(unknownToken())));
        assert.deepEqual(new Set(responses), new Set(['rate_limit_exceeded']));
        const queries = all.mock.callCount() + first.mock.callCount();
        assert.ok(queries <= 10, `${queries} queries`);
        await close();
      });

      it('looks up the unknown keys of an address below its limit in few queries', async t => {
        const { database, send, close } = await setUp();
        const all = t.mock.method(database, 'all');
        t.mock.timers.enable({ apis: ['setTimeout'] });
        for (let sent = 0; sent < addressPerMinute; sent += 10) {
          const responses = Promise.all(Array.from({ length: 10 }, () => send(unknownToken())));
          t.mock.timers.tick(50);
          assert.deepEqual(new Set(await responses), new Set(['invalid_api_key']));
        }
        t.mock.timers.reset();
        // Four look-ups start immediately, and then one for all others of 50 ms.
        const queries = all.mock.callCount();
        assert.ok(queries <= 4 + addressPerMinute / 10, `${queries} queries`);
        await close();
      });

      it('looks up a valid key at once, or with the next query if its address sends unknown ones', async t => {
        const { send, newKey, close } = await setUp();
        const keys = [await newKey(), await newKey(), await newKey()] as const;
        assert.equal(await send(keys[0].token), 'accepted');
        assert.equal(await send(unknownToken()), 'invalid_api_key');
        t.mock.timers.enable({ apis: ['setTimeout'] });
        const unknown = send(unknownToken());
        assert.equal(await send(keys[0].token), 'accepted');
        const shared = send(keys[1].token);
        t.mock.timers.tick(50);
        assert.equal(await shared, 'accepted');
        assert.equal(await unknown, 'invalid_api_key');
        assert.equal(await send(keys[2].token, '198.51.100.1'), 'accepted');
        t.mock.timers.reset();
        await close();
      });

      it('looks up an unknown key once', async t => {
        const { database, send, close } = await setUp();
        const token = unknownToken();
        assert.equal(await send(token), 'invalid_api_key');
        const all = t.mock.method(database, 'all');
        assert.equal(await send(token), 'invalid_api_key');
        assert.equal(all.mock.callCount(), 0);
        await close();
      });
    }
  });
});

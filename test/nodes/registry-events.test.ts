import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Process, send, spawnService } from '../support/serving.ts';

/** Longer than requests after a first rejection can be pending. */
const GRACE_MS = 2100;

overEachEngine(engine => {
  let server: Process;
  const accounts: Record<'owner' | 'stranger' | 'admin', { id: number; token: string }> = {} as never;
  before(async () => {
    server = await spawnService({ environment: await engine.settings() });
    for (const [name, ...options] of [['owner'], ['stranger'], ['admin', '--admin']] as const) {
      const { id } = await server.petstore('account', 'create', `--email=${name}@example.org`, '--name=A', ...options);
      const { token } = await server.petstore('key', 'create', '--account', String(id));
      accounts[name] = { id: Number(id), token: String(token) };
    }
  });
  after(async () => {
    await server.stop();
    await server.remove();
  });

  /** Returns the events of these types that a key can see on a deployment. */
  async function told(who: keyof typeof accounts, types: readonly string[]) {
    const query = types.map(type => `types=${type}`).join('&');
    const url = `${server.urls.production}/events?limit=100&${query}`;
    const { status, body } = await send(url, { key: accounts[who].token });
    assert.equal(status, 200);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
    return body as any[];
  }

  const newStagingKey = async (who: keyof typeof accounts, ...options: string[]) => {
    const account = String(accounts[who].id);
    return server.petstore('key', 'create', '--account', account, '--deployment', 'staging', ...options);
  };

  it('shows events of accounts and keys to their account and to admins, without secrets', async () => {
    const { id: accountId } = accounts.owner;
    const first = await newStagingKey('owner', '--scope', 'pets:read', '--expires', '90d');
    const second = await server.petstore('key', 'rotate', String(first['id']), '--overlap', '1h');
    await server.petstore('key', 'revoke', String(second['id']));

    const events = await told('owner', ['account.*', 'key.*']);
    assert.deepEqual(events.map(({ type, data }) => [type, data.id]).toSpliced(1, 1), [
      ['account.created', accountId],
      ['key.created', first['id']],
      ['key.rotated', first['id']],
      ['key.created', second['id']],
      ['key.revoked', second['id']],
    ]);
    assert.ok(
      events.every(event => !('accountId' in event)),
      'nobody’s account did it, but the operator',
    );
    const [account, , created, rotated, next, revoked] = events;
    assert.deepEqual(
      [account.data.name, account.data.plan, account.data.limits],
      ['A', 'free', { perMinute: 60, perDay: 1000 }],
    );
    assert.deepEqual(created.data, {
      id: first['id'],
      accountId,
      deployment: 'staging',
      scopes: ['pets:read'],
      createdAt: first['createdAt'],
      expiresAt: first['expiresAt'],
    });
    assert.deepEqual(rotated.changes, { expiresAt: { from: first['expiresAt'], to: rotated.data.expiresAt } });
    assert.deepEqual([rotated.cause, next.cause], [{ keyId: second['id'] }, { keyId: first['id'] }]);
    assert.deepEqual(revoked.changes, { revokedAt: { to: revoked.data.revokedAt } });

    const text = JSON.stringify(await told('admin', ['account.*', 'key.*', 'ban.*']));
    assert.ok(
      events.every(({ id }) => text.includes(`"${id}"`)),
      'an admin sees them',
    );
    for (const token of [accounts.owner.token, accounts.admin.token, String(first['token']), String(second['token'])]) {
      assert.ok(!text.includes(token.split('_')[3]!));
    }
    assert.doesNotMatch(text, /hash|@example\.org/);
    assert.deepEqual(
      (await told('stranger', ['account.*', 'key.*', 'ban.*'])).map(({ type, data }) => [
        type,
        data.accountId ?? data.id,
      ]),
      [
        ['account.created', accounts.stranger.id],
        ['key.created', accounts.stranger.id],
      ],
    );
  });

  it('shows the start and the lifting of a ban once, and not in staging', async () => {
    const { id, token } = await newStagingKey('owner');
    const ask = () => send(`${server.urls.staging}/pets?limit=1`, { key: String(token) });
    for (let asked = 0; asked < 60; asked++) assert.equal((await ask()).status, 200);
    assert.equal((await ask()).body.code, 'rate_limit_exceeded');
    await pause(GRACE_MS);
    const codes = new Set<string>();
    for (let asked = 0; asked < 30; asked++) codes.add((await ask()).body.code);
    assert.deepEqual([...codes], ['rate_limit_exceeded', 'api_key_banned']);

    const [imposed, ...more] = await told('owner', ['ban.*']);
    assert.deepEqual(more, []);
    assert.equal(imposed.type, 'ban.imposed');
    const [listed] = (await server.petstore('ban', 'list')) as unknown as Record<string, unknown>[];
    const { bannedAt, until } = listed!;
    const ban = { id, accountId: accounts.owner.id, deployment: 'staging', bannedAt, until };
    assert.deepEqual(imposed.data, ban);
    assert.deepEqual([imposed.time, imposed.accountId], [bannedAt, undefined]);
    assert.deepEqual(await told('stranger', ['ban.*']), []);
    assert.deepEqual(await told('admin', ['ban.*']), [imposed]);

    await server.petstore('ban', 'lift', String(id));
    const [, lifted, ...others] = await told('owner', ['ban.*']);
    assert.deepEqual(others, []);
    assert.deepEqual([lifted.type, lifted.changes], ['ban.lifted', { liftedAt: { to: lifted.data.liftedAt } }]);
    assert.deepEqual(lifted.data, { ...ban, liftedAt: lifted.data.liftedAt });

    const { token: admins } = await newStagingKey('admin');
    const url = `${server.urls.staging}/events?types=account.*&types=key.*&types=ban.*`;
    const onStaging = await send(url, { key: String(admins) });
    assert.deepEqual([onStaging.status, onStaging.body], [200, []]);
    assert.match(String(onStaging.headers['x-sync-token']), /^evt_/);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listBans } from '../../src/access/limits/bans.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { assertApiResponse, type Reply, send, serve, type TestService } from '../support/serving.ts';

overEachEngine(engine => {
  describe('the budget of a key over HTTP', () => {
    let serving: TestService;
    let clock: TestClock;

    before(async () => {
      clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
      serving = await serve({ clock, environment: await engine.settings() });
    });
    after(() => serving?.stop());

    const list = (key: { readonly token: string }): Promise<Reply> =>
      send(`${serving.urls.production}/pets?limit=1`, { key });

    it('rejects requests beyond it, says whose limit it is, and costs other keys of the account nothing', async () => {
      const sibling = await serving.newKey({ plan: 'free' });
      const { accountId } = sibling;
      const limited = await serving.newKey({ accountId, budget: { perMinute: 5, perDay: 100 } });
      const replies = await Promise.all(Array.from({ length: 40 }, () => list(limited)));
      for (const reply of replies) assertApiResponse(reply);
      assert.equal(replies.filter(({ status }) => status === 200).length, 5);
      const refused = await list(limited);
      assert.equal(refused.status, 429);
      assert.equal(refused.body.code, 'rate_limit_exceeded');
      assert.match(refused.body.message, /^This API key has used up its own budget, not the limits of its account;/);
      assert.equal(refused.headers['x-ratelimit-limit'], '5');
      assert.match(
        String(refused.headers['ratelimit']),
        /^"minute";r=55;.*"day";r=995;.*"key-minute";r=0;.*"key-day";r=95;/,
      );
      const other = await list(sibling);
      assert.equal(other.headers['x-ratelimit-remaining'], '54');
      assert.doesNotMatch(String(other.headers['ratelimit-policy']), /key/);
      clock.advance(Number(refused.headers['retry-after']) * 1000);
      assert.equal((await list(limited)).status, 200);
    });

    it('names the limits of the account if those reject a request', async () => {
      const sibling = await serving.newKey({ plan: 'free' });
      const limited = await serving.newKey({ accountId: sibling.accountId, budget: { perMinute: 50 } });
      for (let index = 0; index < 60; index++) assert.equal((await list(sibling)).status, 200);
      const refused = await list(limited);
      assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limit_exceeded']);
      assert.doesNotMatch(refused.body.message, /budget/);
      assert.equal(refused.headers['x-ratelimit-limit'], '60');
    });

    it('bans a leaked key that keeps sending, not its siblings, which keep working', async () => {
      const sibling = await serving.newKey({ plan: 'free' });
      const leaked = await serving.newKey({ accountId: sibling.accountId, budget: { perMinute: 10, perDay: 500 } });
      const seen = new Set<string>();
      for (let second = 0; second < 60; second++) {
        const replies = await Promise.all(Array.from({ length: 5 }, () => list(leaked)));
        for (const { status, body } of replies) seen.add(status === 200 ? '200' : body.code);
        if (second % 2 === 0) assert.equal((await list(sibling)).status, 200, `after ${second} seconds`);
        clock.advance(1000);
      }
      assert.deepEqual(seen, new Set(['200', 'rate_limit_exceeded', 'api_key_banned']));
      const bans = await listBans(serving.app.databases.production, clock.now());
      assert.deepEqual(
        bans.map(({ keyId }) => keyId),
        [leaked.id],
      );
    });
  });
});

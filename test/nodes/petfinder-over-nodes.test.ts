import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { withoutPostgres } from '../support/engines.ts';
import { overPostgres } from '../support/engines-over-http.ts';
import { askForToken, petfinderUrl } from '../support/petfinder.ts';
import { describeUnless } from '../support/selection.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

overPostgres(engine => {
  describeUnless(withoutPostgres ?? withoutValkey, 'access tokens of the Petfinder view over two nodes', () => {
    let nodes: readonly TestService[];
    before(async () => {
      const environment = { ...(await engine.settings()), PETSTORE_VALKEY_URL: valkeyUrl };
      nodes = [await serve({ environment }), await serve({ environment })];
    });
    after(() => Promise.all(nodes.map(node => node.stop())));

    it('are accepted, counted and ended by every node', async () => {
      const [one, other] = nodes as [TestService, TestService];
      const key = await one.newKey({ plan: 'free' });
      const token: string = (await askForToken(one.urls.production, key)).body.access_token;
      const read = (node: TestService) => send(`${petfinderUrl(node.urls.production)}/types/dog`, { key: token });
      const replies = [await read(other), await read(one)];
      assert.deepEqual(
        replies.map(({ status, headers }) => [status, headers['x-ratelimit-remaining']]),
        [
          [200, '58'],
          [200, '57'],
        ],
      );
      await one.app.databases.production.write(tx => revokeKey(tx, key.id));
      await waitUntil(async () => (await read(other)).status === 401);
      assert.equal((await read(one)).status, 401);
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beginKeyChange } from '../../src/access/secret-key.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import { jsonOf, refused } from '../support/commands.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { send, serve } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { verified } from '../support/webhooks-over-http.ts';

const [oldKey, newKey] = [1, 2].map(byte => Buffer.alloc(32, byte)) as [Buffer, Buffer];
const onlyOld = { PETSTORE_SECRET_KEY: oldKey.toString('base64') };
const onlyNew = { PETSTORE_SECRET_KEY: newKey.toString('base64') };
const both = { ...onlyNew, PETSTORE_SECRET_KEY_PREVIOUS: onlyOld.PETSTORE_SECRET_KEY };
const wrongKey = /The webhook secrets were encrypted with another key\. Set PETSTORE_SECRET_KEY to that key, /;

describe('petstore secret-key rotate', () => {
  overEachEngine(engine => {
    it('changes the key beside a server, which signs with the same secrets before, meanwhile and after', async t => {
      const store = { PETSTORE_DATA_DIR: temporaryDirectory(), ...(await engine.settings()) };
      const start = async (keys: Record<string, string>) => {
        const environment = { ...store, ...keys, PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8', PETSTORE_STAGING_PORT: '' };
        const started = await serve({ environment });
        t.after(() => started.stop());
        return started;
      };
      const rotate = (keys: Record<string, string>) => jsonOf({ ...store, ...keys }, 'secret-key', 'rotate');
      const rotateRefused = (keys: Record<string, string>, sentence: RegExp) =>
        refused({ ...store, ...keys }, sentence, 'secret-key', 'rotate');
      const webhooks: { receiver: Receiver; secret: string }[] = [];

      let serving = await start(onlyOld);
      const key = await serving.newKey();
      const post = async (path: string, body?: object) => {
        const reply = await send(serving.urls.production + path, { method: 'POST', key, ...(body && { body }) });
        assert.ok(reply.status < 300, reply.text);
        return reply.body;
      };
      async function addWebhook() {
        const receiver = await startReceiver();
        t.after(() => receiver.close());
        const { id, secret } = await post('/webhooks', { url: receiver.url });
        await post(`/webhooks/${id}/activation`);
        webhooks.push({ receiver, secret });
      }
      /** Asserts that each webhook receives an event with a valid signature. */
      async function assertDelivered(name: string) {
        await post('/pets', { name, categoryId: 2 });
        for (const { receiver, secret } of webhooks) {
          const delivery = () => receiver.received.find(({ body }) => body.includes(`"${name}"`));
          await waitUntil(delivery);
          assert.equal(verified(delivery()!, secret).data.name, name);
        }
      }

      await addWebhook();
      await serving.stop();
      await assert.rejects(start(onlyNew), wrongKey);
      serving = await start(both);
      await addWebhook();
      await assertDelivered('Before');
      await rotateRefused(onlyNew, wrongKey);

      // As a command does that is killed after its first transaction.
      const begin = createEncryptor(newKey, oldKey);
      assert.ok(await serving.app.databases.production.write(tx => beginKeyChange(tx, begin)));
      await addWebhook();
      await assertDelivered('Meanwhile');
      await rotateRefused(onlyNew, wrongKey);
      await rotateRefused(onlyOld, wrongKey);
      await serving.stop();
      for (const one of [onlyOld, onlyNew]) await assert.rejects(start(one), wrongKey);
      serving = await start(both);

      assert.equal((await rotate(both)).reencrypted.production, 3);
      await addWebhook();
      await assertDelivered('After');
      assert.equal((await rotate(onlyNew)).reencrypted.production, 0);
      await serving.stop();
      await assert.rejects(start(onlyOld), wrongKey);
      serving = await start(onlyNew);
      await assertDelivered('Finally');
    });
  });

  it('needs a new key', async () => {
    const store = { PETSTORE_DATA_DIR: temporaryDirectory() };
    await jsonOf(store, 'migrate');
    const command = ['secret-key', 'rotate'];
    await refused(
      { ...store, PETSTORE_SECRET_KEY_PREVIOUS: both.PETSTORE_SECRET_KEY },
      /Set PETSTORE_SECRET_KEY/,
      ...command,
    );
    const same = { ...both, PETSTORE_SECRET_KEY: both.PETSTORE_SECRET_KEY_PREVIOUS };
    await refused({ ...store, ...same }, /PETSTORE_SECRET_KEY_PREVIOUS is the current key/, ...command);
  });
});

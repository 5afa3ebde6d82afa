import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { checkKey } from '../../access/secret-key.ts';
import { createEncryptor, type Encryptor } from '../../lib/encryption.ts';
import { formatSecret } from '../../lib/signature.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Database } from '../../model/schema.ts';
import { reencryptSecrets } from './reencrypt-secrets.ts';
import { signingSecrets } from './secrets.ts';
import { createWebhook, deleteWebhook } from './webhooks.ts';

const WEBHOOKS = 205;
const [OLD, NEW, OTHER] = [1, 2, 3].map(byte => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const oldKey = createEncryptor(OLD);
const newKey = createEncryptor(NEW);
const both = createEncryptor(NEW, OLD);
const rules = { max: 1000, networks: [] };
const owner = { accountId: 1, admin: false };

onEachEngine(engine => {
  describe('reencryptSecrets', () => {
    it('changes the key of every secret, and continues after an interruption', async () => {
      const database = await engine.open();
      const secrets: Secret[] = [];
      while (secrets.length < WEBHOOKS) secrets.push(await newSecret(database, oldKey));
      secrets.push(await newSecret(database, both));
      await checkKey(database, oldKey);
      await checkKey(database, both);
      await assertRefused(checkKey(database, newKey));
      // New secrets are encrypted with the key that the database is bound to.
      await assertStored(database, oldKey, secrets);

      await assert.rejects(reencryptSecrets(database, interruptedAt('webhook 105')), /interrupted/);
      for (const one of [oldKey, newKey, createEncryptor(OTHER, OLD), createEncryptor(NEW, OTHER)]) {
        await assertRefused(checkKey(database, one));
        await assertRefused(newSecret(database, one));
      }
      await checkKey(database, both);
      await checkKey(database, createEncryptor(OLD, NEW));
      await assertStored(database, both, secrets);
      secrets.push(await newSecret(database, createEncryptor(OLD, NEW)));
      await assertStored(database, newKey, secrets.slice(-1));

      assert.equal(await reencryptSecrets(database, both), secrets.length);
      await assertStored(database, newKey, secrets);
      await checkKey(database, newKey);
      await assertRefused(checkKey(database, oldKey));
      assert.equal(await reencryptSecrets(database, both), 0);
      assert.equal(await reencryptSecrets(database, newKey), 0);
      await assertRefused(reencryptSecrets(database, createEncryptor(OTHER, OLD)));
    });

    it('changes the key back after an interruption', async () => {
      const database = await engine.open();
      const secrets: Secret[] = [];
      while (secrets.length < WEBHOOKS) secrets.push(await newSecret(database, oldKey));
      await assert.rejects(reencryptSecrets(database, interruptedAt('webhook 105')), /interrupted/);
      await reencryptSecrets(database, createEncryptor(OLD, NEW));
      await assertStored(database, oldKey, secrets);
      await checkKey(database, oldKey);
    });

    it('names the new key in a database without secrets, too', async () => {
      const database = await engine.open();
      const { id } = await newSecret(database, oldKey);
      await database.write(tx => deleteWebhook(tx, owner, id));
      assert.equal(await reencryptSecrets(database, both), 0);
      await newSecret(database, both);
      await checkKey(database, newKey);
    });
  });
});

/** A webhook and its secret. */
interface Secret {
  readonly id: number;
  readonly secret: string;
}

async function newSecret(database: Database, encryptor: Encryptor): Promise<Secret> {
  const newWebhook = { url: 'https://receiver.example/' };
  const { webhook, secret } = await database.write(tx => createWebhook(tx, owner, newWebhook, rules, encryptor));
  return { id: webhook.id, secret };
}

/** Asserts that an encryptor decrypts the secrets. */
async function assertStored(database: Database, encryptor: Encryptor, secrets: readonly Secret[]) {
  for (const { id, secret } of secrets) {
    assert.deepEqual((await signingSecrets(database, encryptor, id, 0)).map(formatSecret), [secret]);
  }
}

/** Returns an encryptor with both keys that fails for one owner. */
function interruptedAt(last: string): Encryptor {
  return {
    ...both,
    encrypt(secret, of) {
      if (of === last) throw new Error('interrupted');
      return both.encrypt(secret, of);
    },
  };
}

function assertRefused(result: Promise<unknown>) {
  return assert.rejects(
    result,
    (error: Error) => error instanceof UserError && /encrypted with another key/.test(error.message),
  );
}

import { beginKeyChange, completeKeyChange } from '../../access/secret-key.ts';
import { reencryptApps } from '../../access/sessions/authenticator-apps.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import { type Database, type Params, query, type Transaction } from '../../model/schema.ts';
import { decryptSecret, ownerOf } from './secrets.ts';

/** How many secrets one transaction encrypts again: few, because on the embedded engine other writes wait for it. */
const BATCH = 100;

/**
 * Encrypts every secret with the current key, so that the previous key is no longer needed. Safe while servers with
 * both keys run. After an interruption, both keys are needed until it has run again.
 * @returns the number of encrypted secrets: 0 if the current key already suffices
 * @throws {UserError} if the secrets in the database were encrypted with another key
 */
export async function reencryptSecrets(database: Database, encryptor: Encryptor): Promise<number> {
  if (!(await database.write(tx => beginKeyChange(tx, encryptor)))) return 0;
  let count = 0;
  for (let after = 0; ; ) {
    const batch = await database.write(tx => reencryptBatch(tx, encryptor, after));
    count += batch.length;
    if (batch.length < BATCH) break;
    after = batch.at(-1)!.id;
  }
  for (let after = 0; ; ) {
    const batch = await database.write(tx => reencryptApps(tx, encryptor, after, BATCH));
    count += batch.length;
    if (batch.length < BATCH) break;
    after = batch.at(-1)!;
  }
  await database.write(tx => completeKeyChange(tx, encryptor));
  return count;
}

/** Encrypts the next secrets after an id again. Returns them as they were before. */
async function reencryptBatch(tx: Transaction, encryptor: Encryptor, after: number) {
  const rows = await tx.all(secretsAfter, { after });
  for (const { id, webhookId, secret } of rows) {
    const plain = decryptSecret(encryptor, webhookId, secret);
    await tx.run(replaceSecret, { id, secret: encryptor.encrypt(plain, ownerOf(webhookId)) });
  }
  return rows;
}

const secretsAfter = query((db, p: Params<{ after: number }>) =>
  db
    .selectFrom('webhook_secrets')
    .select(['id', 'webhook_id as webhookId', 'secret'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(BATCH),
);

const replaceSecret = query((db, p: Params<{ id: number; secret: string }>) =>
  db.updateTable('webhook_secrets').set({ secret: p.secret }).where('id', '=', p.id),
);

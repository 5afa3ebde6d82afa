import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { checkKey, loadSecretKey } from '../../access/secret-key.ts';
import { createEncryptor } from '../../lib/encryption.ts';
import { UserError } from '../../lib/user-error.ts';
import { query } from '../../model/schema.ts';
import { signingSecrets } from './secrets.ts';
import { createWebhook, deleteWebhook } from './webhooks.ts';

const directories: string[] = [];
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  directories.push(directory);
  return directory;
}

describe('loadSecretKey', () => {
  it('creates a random key once, readable only by its owner, and reads it afterwards', () => {
    const directory = join(temporary(), 'a', 'b');
    const key = loadSecretKey(directory);
    assert.equal(key.length, 32);
    assert.deepEqual(readdirSync(directory), ['secret.key']);
    const file = join(directory, 'secret.key');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(file, 'utf8'), `${key.toString('base64')}\n`);
    assert.deepEqual(loadSecretKey(directory), key);
    assert.notDeepEqual(loadSecretKey(temporary()), key);
  });

  it('rejects a file without a key, and does not show its content', () => {
    for (const text of ['', 'short', `${'A'.repeat(44)}`, randomBytes(33).toString('base64'), '{"key":"canary"}']) {
      const directory = temporary();
      writeFileSync(join(directory, 'secret.key'), text, { mode: 0o600 });
      assert.throws(
        () => loadSecretKey(directory),
        (error: Error) =>
          error instanceof UserError && /32 bytes in base64/.test(error.message) && !/canary/.test(error.message),
        text,
      );
      assert.equal(readFileSync(join(directory, 'secret.key'), 'utf8'), text, 'the file is unchanged');
    }
  });

  it('explains what to do if the file can be neither read nor created', () => {
    const directory = temporary();
    writeFileSync(join(directory, 'file'), '');
    assert.throws(
      () => loadSecretKey(join(directory, 'file', 'data')),
      (error: Error) => error instanceof UserError && /PETSTORE_SECRET_KEY/.test(error.message),
    );
  });
});

onEachEngine(engine => {
  describe('checkKey and requireKey', () => {
    const encryptor = createEncryptor(Buffer.alloc(32, 1));
    const other = createEncryptor(Buffer.alloc(32, 2));
    const owner = { accountId: 1, admin: false };
    const newWebhook = { url: 'https://receiver.example/' };
    const rules = { max: 10, networks: [] };

    it('reject another key while the database has secrets, and accept any key when it has none', async () => {
      const database = await engine.open();
      const make = (by: typeof encryptor) => database.write(tx => createWebhook(tx, owner, newWebhook, rules, by));
      await checkKey(database, other);
      await make(encryptor);
      await checkKey(database, encryptor);
      const isWrongKey = (error: Error) => error instanceof UserError && /PETSTORE_SECRET_KEY/.test(error.message);
      await assert.rejects(checkKey(database, other), isWrongKey);
      await assert.rejects(make(other), isWrongKey);
      assert.equal((await signingSecrets(database, encryptor, 1, 0)).length, 1);
      assert.equal((await database.all(everyWebhook, {})).length, 1, 'nothing was stored');

      await database.write(tx => deleteWebhook(tx, owner, 1));
      await checkKey(database, other);
      await make(other);
      await checkKey(database, other);
      await assert.rejects(checkKey(database, encryptor), isWrongKey);
    });
  });
});

const everyWebhook = query(db => db.selectFrom('webhooks').select('id'));

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import type { Log } from '../lib/log.ts';
import { secretBox } from '../lib/secret-box.ts';
import { UserError } from '../lib/user-error.ts';
import { query } from '../schema.ts';
import { checkKey, secretKeyIn } from './secret-key.ts';
import { secretsOf } from './secrets.ts';
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

/** A log that keeps its warnings. */
function warnings(): { log: Log; told: string[] } {
  const told: string[] = [];
  const warn = (...words: [string] | [object, string]) => void told.push(words.at(-1) as string);
  return { log: { info() {}, warn, error: warn }, told };
}

describe('the secret key', () => {
  it('is made once, of random bytes, for its owner alone, and read again', () => {
    const directory = join(temporary(), 'a', 'b');
    const { log, told } = warnings();
    const key = secretKeyIn(directory, log);
    assert.equal(key.length, 32);
    assert.deepEqual(readdirSync(directory), ['secret.key']);
    const file = join(directory, 'secret.key');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(file, 'utf8'), `${key.toString('base64')}\n`);
    assert.deepEqual(secretKeyIn(directory, log), key);
    assert.notDeepEqual(secretKeyIn(temporary(), log), key);
    assert.deepEqual(told, []);
  });

  it('that others may read is used, and a warning logged without it', () => {
    const directory = temporary();
    const { log, told } = warnings();
    const key = secretKeyIn(directory, log);
    chmodSync(join(directory, 'secret.key'), 0o640);
    assert.deepEqual(secretKeyIn(directory, log), key);
    assert.equal(told.length, 1);
    assert.match(told[0]!, /chmod 600/);
    assert.ok(!told[0]!.includes(key.toString('base64')));
  });

  it('is refused where the file holds none, without a word of what it holds', () => {
    for (const text of ['', 'short', `${'A'.repeat(44)}`, randomBytes(33).toString('base64'), '{"key":"canary"}']) {
      const directory = temporary();
      writeFileSync(join(directory, 'secret.key'), text, { mode: 0o600 });
      assert.throws(
        () => secretKeyIn(directory, warnings().log),
        (error: Error) =>
          error instanceof UserError && /32 bytes in base64/.test(error.message) && !/canary/.test(error.message),
        text,
      );
      assert.equal(readFileSync(join(directory, 'secret.key'), 'utf8'), text, 'it is left as it is');
    }
  });

  it('is refused in one sentence where it can be neither read nor made', () => {
    const directory = temporary();
    writeFileSync(join(directory, 'file'), '');
    assert.throws(
      () => secretKeyIn(join(directory, 'file', 'data'), warnings().log),
      (error: Error) => error instanceof UserError && /PETSTORE_SECRET_KEY/.test(error.message),
    );
  });
});

onEachEngine(engine => {
  describe('a database', () => {
    const box = secretBox(Buffer.alloc(32, 1));
    const other = secretBox(Buffer.alloc(32, 2));
    const owner = { accountId: 1, admin: false };
    const wish = { url: 'https://receiver.example/' };
    const rules = { max: 10, networks: [] };

    it('whose secrets another key has sealed is refused, and so is a new secret; where none is left any key is good', async () => {
      const database = await engine.open();
      const make = (by: typeof box) => database.write(tx => createWebhook(tx, owner, wish, rules, by));
      await checkKey(database, other);
      await make(box);
      await checkKey(database, box);
      const refused = (error: Error) => error instanceof UserError && /PETSTORE_SECRET_KEY/.test(error.message);
      await assert.rejects(checkKey(database, other), refused);
      await assert.rejects(make(other), refused);
      assert.equal((await secretsOf(database, box, 1, 0)).length, 1);
      assert.equal((await database.all(everyWebhook, {})).length, 1, 'nothing of it was kept');

      await database.write(tx => deleteWebhook(tx, owner, 1));
      await checkKey(database, other);
      await make(other);
      await checkKey(database, other);
      await assert.rejects(checkKey(database, box), refused);
    });
  });
});

const everyWebhook = query(db => db.selectFrom('webhooks').select('id'));

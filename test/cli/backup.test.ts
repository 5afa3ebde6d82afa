import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadSecretKey } from '../../src/access/secret-key.ts';
import { signingSecrets } from '../../src/events/webhooks/secrets.ts';
import { createWebhook } from '../../src/events/webhooks/webhooks.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import { lockDataDirectory } from '../../src/lib/storage/sqlite/directory-lock.ts';
import { readConfig } from '../../src/model/config.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { findDocument, storeDocuments } from '../../src/store/classic/sandboxes.ts';
import { type Environment, jsonOf, refused, textOf } from '../support/commands.ts';
import { type EmptyPlace, emptyPlaces } from '../support/empty-places.ts';
import { createDatabase, withoutPostgres } from '../support/engines.ts';
import { describeUnless, skipFor } from '../support/selection.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { addPet, onData } from './store-commands.ts';

const KEY = Buffer.alloc(32, 7);
const settings = { PETSTORE_SECRET_KEY: KEY.toString('base64') };
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');

for (const { name, skip, create } of emptyPlaces) {
  describe(`a backup ${name}`, { skip }, () => {
    const opened: EmptyPlace[] = [];
    const newPlace = async () => {
      const place = await create();
      opened.push(place);
      return place.environment;
    };
    after(() => Promise.all(opened.map(place => place.close())));
    let here: Environment;
    let backup: string;
    let webhookId: number;
    before(async () => {
      here = { ...(await newPlace()), ...settings };
      await jsonOf(here, 'migrate');
      await jsonOf(here, 'account', 'create', '--email', 'owner@example.org', '--name', 'Owner');
      await addPet(here, { name: 'Minka' });
      await addPet(here, { name: 'Bella', deployment: 'staging' });
      webhookId = await newWebhook(here);
      backup = join(temporaryDirectory(), 'backups', 'one');
      await jsonOf(here, 'backup', backup);
    });

    it('has a manifest with the checksums, and only its owner may read it', async () => {
      const { files, version, engine, deployments } = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'));
      assert.deepEqual(
        [version, engine, Object.keys(deployments).sort()],
        ['1.0.0', 'PETSTORE_DATABASE_URL' in here ? 'postgres' : 'sqlite', ['production', 'staging']],
      );
      const names = [...files.map(({ path }: { path: string }) => path), 'manifest.json'].sort();
      assert.deepEqual(readdirSync(backup).sort(), names);
      assert.deepEqual(readdirSync(join(backup, '..')), ['one']);
      for (const path of ['', ...names]) assert.equal(statSync(join(backup, path)).mode & 0o077, 0, path);
    });

    it('restores both deployments into an empty place, where ids continue', async () => {
      const there = { ...(await newPlace()), ...settings };
      await jsonOf(there, 'restore', backup);
      assert.deepEqual(await jsonOf(there, 'pet', 'list'), await jsonOf(here, 'pet', 'list'));
      const [staged] = await jsonOf(there, 'pet', 'list', '--deployment', 'staging');
      assert.equal(staged.name, 'Bella');
      assert.equal((await addPet(there, { name: 'Next' })).id, 2);
    });

    it('leaves out the sandboxes of the classic Petstore, and says so', async () => {
      const from = { ...(await newPlace()), ...settings };
      await jsonOf(from, 'migrate');
      const sandbox = { name: 'name class', network: '192.0.2.1' };
      await onData(from, 'staging', database =>
        database.write(tx =>
          storeDocuments(tx, sandbox, async () => [{ kind: 'pet', id: '1', document: '{"name":"hidden-in-sandbox"}' }]),
        ),
      );
      const directory = join(temporaryDirectory(), 'two');
      assert.match(await textOf(from, 'backup', directory), /^left out +the sandboxes of the classic Petstore$/m);
      for (const path of readdirSync(directory)) {
        assert.ok(!readFileSync(join(directory, path)).includes('hidden-in-sandbox'), path);
      }
      const there = { ...(await newPlace()), ...settings };
      await jsonOf(there, 'restore', directory);
      const key = { kind: 'pet', id: '1' } as const;
      for (const [place, expected] of [
        [from, '{"name":"hidden-in-sandbox"}'],
        [there, undefined],
      ] as const) {
        const found = await onData(place, 'staging', async database => await findDocument(database, sandbox, key, 0));
        assert.equal(found, expected);
      }
    });

    it('is refused where another backup is', async () => {
      await refused(here, /one is not empty: use a new directory for each backup\.$/m, 'backup', backup);
      assert.deepEqual(readdirSync(join(backup, '..')), ['one']);
    });

    it('is not restored over data', async () => {
      await refused(here, /: restore into an empty (directory|database)\.$/m, 'restore', backup);
    });

    it('is not restored if a file was changed or truncated, or the manifest is missing', async () => {
      for (const damage of [flipByte, cutByte, removeManifest, editManifest]) {
        const copy = join(temporaryDirectory(), 'copy');
        await jsonOf(here, 'backup', copy);
        damage(copy);
        const environment = await newPlace();
        await refused({ ...environment, ...settings }, /^(The|There is no) backup in /, 'restore', copy);
        await refused(environment, /is not up to date|There is no pet store in/, 'pet', 'list');
      }
    });

    it('is restored with a new secret key, if the previous one belongs to it', async () => {
      const keys = { PETSTORE_SECRET_KEY: OTHER_KEY, PETSTORE_SECRET_KEY_PREVIOUS: settings.PETSTORE_SECRET_KEY };
      const there = { ...(await newPlace()), ...keys };
      await textOf(there, 'restore', backup);
      const { reencrypted } = await jsonOf(there, 'secret-key', 'rotate');
      assert.deepEqual(reencrypted, { production: 1, staging: 0 });
    });

    it('needs the secret key that belongs to it, or new webhook secrets', async () => {
      const there = await newPlace();
      await refused(there, /^There is no secret key, .*--new-webhook-secrets/, 'restore', backup);
      await refused(
        { ...there, PETSTORE_SECRET_KEY: OTHER_KEY },
        /^The secret key is not the key of the backup, /,
        'restore',
        backup,
      );
      const text = await textOf(there, 'restore', '--new-webhook-secrets', backup);
      assert.match(text, /^production +1 +1 +https:\/\/example\.org\/hook +active$/m);

      const webhook = await jsonOf(there, 'webhook', 'show', String(webhookId));
      assert.deepEqual([webhook.status, webhook.disabledReason], ['disabled', 'secret_replaced']);
      const encryptor = createEncryptor(loadSecretKey(readConfig(there).dataDir));
      const secrets = await onData(there, 'production', async database =>
        signingSecrets(database, encryptor, webhookId, Date.now()),
      );
      assert.equal(secrets.length, 1);
      const [message] = await jsonOf(there, 'message', 'list', '--account', 'store');
      assert.match(
        message.message,
        /^The signing secret of your webhook 1 was replaced .*POST \/v1\/webhooks\/1\/secrets/s,
      );
    });
  });
}

describe('a backup of the embedded engine', () => {
  let here: Environment;
  let backup: string;
  before(async () => {
    here = { PETSTORE_DATA_DIR: temporaryDirectory() };
    await jsonOf(here, 'migrate');
    await jsonOf(here, 'account', 'create', '--email', 'owner@example.org', '--name', 'Owner');
    backup = join(temporaryDirectory(), 'one');
    await jsonOf(here, 'backup', backup);
  });

  it('is not restored into a directory that is being served', async () => {
    const there = temporaryDirectory();
    const lock = lockDataDirectory(there);
    await refused({ PETSTORE_DATA_DIR: there }, /^Another process already serves /, 'restore', backup);
    lock.release();
    await jsonOf({ PETSTORE_DATA_DIR: there }, 'restore', backup);
  });

  it('is not made of a directory without a store', async () => {
    const target = join(temporaryDirectory(), 'two');
    await refused({ PETSTORE_DATA_DIR: temporaryDirectory() }, /^There is no pet store in /, 'backup', target);
    assert.ok(!existsSync(target));
  });

  it('has neither tokens nor the secret key', async () => {
    const key = await jsonOf(here, 'key', 'create', '--account', '1');
    const secretKey = loadSecretKey(readConfig(here).dataDir);
    const target = join(temporaryDirectory(), 'canary');
    await jsonOf(here, 'backup', target);
    const canaries = [key.token, key.token.split('_').at(-1)].flatMap(text => [
      Buffer.from(text),
      Buffer.from(Buffer.from(text).toString('base64').replace(/=+$/, '')),
    ]);
    canaries.push(secretKey, Buffer.from(secretKey.toString('base64url')), Buffer.from(secretKey.toString('hex')));
    for (const path of readdirSync(target)) {
      const content = readFileSync(join(target, path));
      for (const canary of canaries) assert.equal(content.indexOf(canary), -1, path);
    }
    assert.ok(readFileSync(join(target, 'production.db')).includes(key.id), 'the search finds what is there');
  });

  it('is restored by the second attempt if the first was interrupted, and nothing opens what that left', async () => {
    const there = temporaryDirectory();
    await jsonOf({ PETSTORE_DATA_DIR: there }, 'restore', backup);
    // As if it was killed before the last rename.
    renameSync(join(there, 'production.db'), join(there, 'production.db.restoring'));
    const environment = { PETSTORE_DATA_DIR: there };
    for (const command of [
      'account list',
      'migrate',
      'migrate --plan',
      'verify',
      'compact',
      `backup ${there}-backup`,
    ]) {
      const sentence = /^A restore of .* was interrupted: run "petstore restore" again/;
      await refused(environment, sentence, ...command.split(' '));
    }
    await jsonOf(environment, 'restore', backup);
    assert.equal((await jsonOf(environment, 'account', 'list')).length, 1);
    assert.deepEqual(readdirSync(there).sort(), ['production.db', 'serve.lock', 'staging.db']);
  });

  it('is not restored where only the database of staging is', async () => {
    const there = temporaryDirectory();
    writeFileSync(join(there, 'staging.db'), '');
    await refused(
      { PETSTORE_DATA_DIR: there },
      /staging\.db exists: restore into an empty directory\./,
      'restore',
      backup,
    );
    assert.deepEqual(readdirSync(there), ['staging.db']);
  });

  it('says which engine it is of', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none';
    await refused(
      { PETSTORE_DATABASE_URL: url },
      /of the embedded database: unset PETSTORE_DATABASE_URL/,
      'restore',
      backup,
    );
  });

  it('of a newer release is not restored', async () => {
    const copy = join(temporaryDirectory(), 'copy');
    await jsonOf(here, 'backup', copy);
    const file = join(copy, 'manifest.json');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/"schema": "\d+-[^"]+"/g, '"schema": "9999-later"'));
    await refused(
      { PETSTORE_DATA_DIR: temporaryDirectory() },
      /was made by a newer release, 1\.0\.0: use/,
      'restore',
      copy,
    );
  });

  it('is made without the programs of PostgreSQL, which a backup of PostgreSQL needs', {
    skip: skipFor(withoutPostgres),
  }, async t => {
    const { url, remove } = await createDatabase({ empty: true });
    const { PATH } = process.env;
    t.after(async () => {
      process.env.PATH = PATH;
      await remove();
    });
    await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
    process.env.PATH = '/nowhere';
    const target = join(temporaryDirectory(), 'x');
    await refused({ PETSTORE_DATABASE_URL: url }, /^pg_dump is not installed: install /, 'backup', target);
    await jsonOf(here, 'backup', join(temporaryDirectory(), 'y'));
  });
});

describeUnless(withoutPostgres, 'a backup with an older pg_dump than the server', () => {
  it('names both versions and the package, and writes nothing', async t => {
    const { url, remove } = await createDatabase({ empty: true });
    const { PATH } = process.env;
    t.after(async () => {
      process.env.PATH = PATH;
      await remove();
    });
    const here = { PETSTORE_DATABASE_URL: url };
    await jsonOf(here, 'migrate');
    const programs = temporaryDirectory();
    const program = "#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24 (Debian)'\n";
    writeFileSync(join(programs, 'pg_dump'), program, { mode: 0o755 });
    process.env.PATH = `${programs}:${PATH}`;
    const parent = temporaryDirectory();
    const sentence =
      /^pg_dump has version 9, and the server has version (\d+): .* on Debian the package postgresql-client-\1\.$/m;
    await refused(here, sentence, 'backup', join(parent, 'one'));
    assert.deepEqual(readdirSync(parent), []);
  });
});

/** Creates an active webhook of account 1 in production, and returns its id. */
function newWebhook(environment: Environment): Promise<number> {
  const actor = { accountId: 1, admin: false };
  const body = { url: 'https://example.org/hook' };
  const encryptor = createEncryptor(KEY);
  return onData(environment, 'production', database =>
    database.write(async tx => {
      const { webhook } = await createWebhook(tx, actor, body, { max: 9, networks: [] }, encryptor);
      await tx.run(activate, { id: webhook.id });
      return webhook.id;
    }),
  );
}

const activate = query((db, p: Params<{ id: number }>) =>
  db.updateTable('webhooks').set({ status: 'active' }).where('id', '=', p.id),
);

function firstFile(directory: string): string {
  return join(directory, readdirSync(directory).find(name => name !== 'manifest.json')!);
}

function flipByte(directory: string): void {
  const file = firstFile(directory);
  const content = readFileSync(file);
  content[Math.floor(content.length / 2)]! ^= 1;
  writeFileSync(file, content);
}

function cutByte(directory: string): void {
  const file = firstFile(directory);
  truncateSync(file, statSync(file).size - 1);
}

function removeManifest(directory: string): void {
  mkdirSync(join(directory, '..', 'elsewhere'));
  renameSync(join(directory, 'manifest.json'), join(directory, '..', 'elsewhere', 'manifest.json'));
}

function editManifest(directory: string): void {
  const file = join(directory, 'manifest.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"product": "petstore"', '"product": "other"'));
}

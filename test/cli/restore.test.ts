import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lockDataDirectory } from '../../src/lib/storage/sqlite/directory-lock.ts';
import { readConfig } from '../../src/model/config.ts';
import { type Environment, jsonOf, refused } from '../support/commands.ts';
import { type EmptyPlace, emptyPlaces } from '../support/empty-places.ts';
import { isAnalyzed } from '../support/engines.ts';
import { killedAt } from '../support/killed-command.ts';
import { hashOf, image, upload } from '../support/photos.ts';
import { send, serve } from '../support/serving.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NOT_RESTORED = /A restore of .* was interrupted: run "petstore restore" again\.$|is not restored completely/m;

// With two databases, a restore that is killed between them needs new databases.
for (const { name, skip, create } of emptyPlaces.slice(0, 2)) {
  describe(`a backup with photos ${name}`, { skip }, () => {
    const opened: EmptyPlace[] = [];
    const newPlace = async () => {
      const place = await create();
      opened.push(place);
      return place.environment;
    };
    after(() => Promise.all(opened.map(place => place.close())));
    let here: EmptyPlace['environment'];
    let backup: string;
    let photo: string;
    before(async () => {
      here = await newPlace();
      await jsonOf(here, 'migrate');
      const photos = await Promise.all([3, 4, 5].map(n => image('jpeg', { color: `#${n}79`, noise: true })));
      photo = hashOf(photos[0]!);
      const serving = await serve({ environment: { ...here, PETSTORE_STAGING_PORT: '' } });
      const { token: key } = await serving.newKey();
      const baseUrl = serving.urls.production;
      for (const bytes of photos) {
        const pet = await send(`${baseUrl}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } });
        assert.equal((await upload(baseUrl, key, pet.body.id, bytes)).status, 201);
      }
      await serving.app.close();
      backup = join(temporaryDirectory(), 'backup');
      await jsonOf(here, 'backup', backup);
    });
    const newBackup = async () => {
      const copy = join(temporaryDirectory(), 'copy');
      await jsonOf(here, 'backup', copy);
      return copy;
    };

    it('is not served until it is complete, whenever the restore is killed, and can be restored again', async () => {
      const there = await newPlace();
      const steps: string[] = [];
      for (let nth = 1; ; nth++) {
        const step = killedAt(nth, there, 'restore', backup);
        if (step === undefined) break;
        steps.push(step);
        if (step.startsWith('Verifying')) assert.deepEqual(filesOf(there), []);
        else {
          for (const command of ['migrate', 'migrate --plan', 'verify', `backup ${temporaryDirectory()}`]) {
            await refused(there, NOT_RESTORED, ...command.split(' '));
          }
          await assert.rejects(serve({ environment: there }), NOT_RESTORED);
        }
      }
      assert.ok(steps.includes('Restoring the photos of production 33 %'), steps.join());
      assert.deepEqual((await jsonOf(there, 'verify')).findings, []);
      assert.deepEqual(await jsonOf(there, 'pet', 'list'), await jsonOf(here, 'pet', 'list'));
      const url = there['PETSTORE_DATABASE_URL'];
      if (url !== undefined) assert.ok(await isAnalyzed(url));
    });

    it('is not restored over data, and changes nothing there', async () => {
      const there = await newPlace();
      await jsonOf(there, 'migrate');
      const files = filesOf(there);
      await refused(there, /: restore into an empty (directory|database)\.$/m, 'restore', backup);
      assert.deepEqual(filesOf(there), files);
    });

    it('is not restored if any file of a photo was changed, is missing or was added, and nothing is written', async () => {
      const path = join('photos', 'production', photo.slice(0, 2), photo);
      const damages: [RegExp, (copy: string) => void][] = [
        [/is damaged: photos\/.*\/600\.jpg is not/, copy => flipByte(join(copy, path, '600.jpg'))],
        [/is damaged: photos\/.*\/original is not/, copy => flipByte(join(copy, path, 'original'))],
        [/is incomplete: photos\/.*\/100\.jpg cannot be read \(ENOENT\)/, copy => rmSync(join(copy, path, '100.jpg'))],
        [/is damaged: photos\/production\.sha256 is not/, copy => flipByte(join(copy, 'photos/production.sha256'))],
        [/is damaged: photos\/production is not/, copy => copyPhoto(join(copy, path))],
      ];
      const there = await newPlace();
      for (const [sentence, damage] of damages) {
        const copy = await newBackup();
        damage(copy);
        await refused(there, sentence, 'restore', copy);
        assert.deepEqual(filesOf(there), []);
      }
    });

    it('is restored if an earlier release made it, which listed no files of photos', async () => {
      const copy = await newBackup();
      const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8'));
      for (const one of Object.values(manifest.photos) as { sums?: unknown }[]) delete one.sums;
      writeFileSync(join(copy, 'manifest.json'), JSON.stringify(manifest));
      rmSync(join(copy, 'photos', 'production.sha256'));
      const there = await newPlace();
      await jsonOf(there, 'restore', copy);
      assert.deepEqual((await jsonOf(there, 'verify')).findings, []);
    });

    it('is restored once the disk has space again, and not served before', async t => {
      const disk = smallDisk(t, 16);
      if (disk === undefined) return;
      const place = await newPlace();
      const directory = join(disk.directory, 'data');
      const inDatabase = 'PETSTORE_DATABASE_URL' in place;
      const there = { ...place, [inDatabase ? 'PETSTORE_PHOTOS_DIRECTORY' : 'PETSTORE_DATA_DIR']: directory };
      disk.fill();
      // Room for the first photos.
      const ballast = join(disk.directory, 'ballast');
      truncateSync(ballast, statSync(ballast).size - 64 * 1024);
      await refused(there, /^The disk of .* is full\.$/m, 'restore', backup);
      await refused(there, NOT_RESTORED, 'migrate');
      disk.empty();
      await jsonOf(there, 'restore', backup);
      assert.deepEqual((await jsonOf(there, 'verify')).findings, []);
    });
  });
}

describe('a restore into a directory that is being served', () => {
  it('writes nothing', async () => {
    const [here, there] = [temporaryDirectory(), temporaryDirectory()];
    await jsonOf({ PETSTORE_DATA_DIR: here }, 'migrate');
    const backup = join(temporaryDirectory(), 'backup');
    await jsonOf({ PETSTORE_DATA_DIR: here }, 'backup', backup);
    const lock = lockDataDirectory(there);
    await refused({ PETSTORE_DATA_DIR: there }, /^Another process already serves /, 'restore', backup);
    lock.release();
    assert.deepEqual(readdirSync(there), ['serve.lock']);
  });
});

/** Returns the files of a place, with their sizes and times of change. */
function filesOf(environment: Environment): string[] {
  const { dataDir, locations } = readConfig(environment);
  const directories = [dataDir, join(locations.production.photos.directory, '..')];
  return directories
    .filter(directory => existsSync(directory))
    .flatMap(directory => {
      const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map(name => join(directory, name));
      return paths.map(path => `${path} ${statSync(path).size} ${statSync(path).mtimeMs}`);
    })
    .sort();
}

/** Changes the byte in the middle of a file, which is not the live file: on one file system, a backup has links. */
function flipByte(file: string): void {
  const content = readFileSync(file);
  content[Math.floor(content.length / 2)]! ^= 1;
  rmSync(file);
  writeFileSync(file, content);
}

function copyPhoto(directory: string): void {
  cpSync(directory, `${directory.slice(0, -4)}abcd`, { recursive: true });
}

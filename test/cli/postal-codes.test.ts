import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { DeploymentName } from '../../src/model/schema.ts';
import { importedCountries, locationOfImportedCode } from '../../src/store/places/imported-codes.ts';
import { jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { onData, onEachEngine } from './store-commands.ts';

/** Returns a line of a file of GeoNames. */
const line = (country: string, code: string, latitude: number | string, longitude: number | string) =>
  [country, code, 'Bad Käse', 'Berlin', 'BE', '', '', '', '', latitude, longitude, 4].join('\t');

onEachEngine(environment => {
  const directory = temporaryDirectory();

  async function fileOf(...lines: string[]): Promise<string> {
    const file = join(directory, 'codes.txt');
    await writeFile(file, `${lines.join('\n')}\n`);
    return file;
  }
  const locate = (country: string, code: string, deployment: DeploymentName = 'production') =>
    onData(environment(), deployment, async database => locationOfImportedCode(database, country, code));
  const known = () => onData(environment(), 'production', importedCountries);

  it('imports the postal codes of several countries into both deployments, several lines of a code as their mean', async () => {
    const file = await fileOf(
      line('DE', '10115', 52.5323, 13.3846),
      line('GB', 'SW1A 1AA', 51.501, -0.1416),
      line('DE', '10115', 52.5325, 13.3848),
      line('LT', 'LT-01001', 54.6835, 25.2851),
      line('US', '90210', 34, -118),
    );
    const { deployments, ...imported } = await jsonOf(environment(), 'postal-codes', 'import', file);
    assert.deepEqual(imported, {
      countries: ['DE', 'GB', 'LT'].map(country => ({ country, codes: 1 })),
      ignored: ['US'],
      lines: 5,
      wrong: 0,
      errors: [],
    });
    assert.ok(deployments.includes('production'));
    for (const deployment of deployments) {
      assert.deepEqual(await locate('DE', '10115', deployment), { latitude: 52.5324, longitude: 13.3847 });
    }
    assert.deepEqual(await locate('GB', 'SW1A1AA'), { latitude: 51.501, longitude: -0.1416 });
    assert.deepEqual(await locate('LT', '01001'), { latitude: 54.6835, longitude: 25.2851 });
    assert.deepEqual(await known(), ['DE', 'GB', 'LT']);
  });

  it('replaces the codes of the countries in the file, and no others', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => line('DE', String(20000 + index), 53, index / 1000));
    const first = await fileOf(...lines, ...lines);
    assert.match(
      await textOf(environment(), 'postal-codes', 'import', first),
      /^DE: 3000 postal codes\.\nImported into/,
    );
    assert.deepEqual(await locate('DE', '22999'), { latitude: 53, longitude: 2.999 });
    assert.equal(await locate('DE', '10115'), undefined);
    const second = await fileOf(line('DE', '22999', 54, 10), line('DE', '10115', 52.5, 13.4));
    await jsonOf(environment(), 'postal-codes', 'import', second);
    assert.deepEqual(await locate('DE', '22999'), { latitude: 54, longitude: 10 });
    assert.deepEqual(await locate('DE', '10115'), { latitude: 52.5, longitude: 13.4 });
    assert.equal(await locate('DE', '20000'), undefined);
    assert.deepEqual(await known(), ['DE', 'GB', 'LT']);
  });

  it('skips and reports a few wrong lines, and imports nothing from a file that is no such file', async () => {
    const good = Array.from({ length: 30 }, (_, index) => line('FR', String(75001 + index), 48.9, 2.3));
    const { countries, wrong, errors } = await jsonOf(
      environment(),
      ...['postal-codes', 'import', await fileOf(line('FR', '75099', '', ''), '', ...good, 'FR\t75100')],
    );
    assert.deepEqual(countries, [{ country: 'FR', codes: 30 }]);
    assert.equal(wrong, 2);
    assert.deepEqual(errors, [
      { line: 1, message: 'has no latitude from -90 to 90 in column 10' },
      { line: 33, message: 'has 2 of 12 columns separated by tabs' },
    ]);

    const bad = [
      line('Germany', '1', 1, 1),
      line('DE', 'é', 1, 1),
      line('DE', '1', 91, 1),
      line('DE', '1', 1, 181),
      'x'.repeat(500_000),
    ];
    const file = await fileOf(...good, ...bad.flatMap(text => [text, text, text]));
    const { code, printed } = await petstore(environment(), 'postal-codes', 'import', file);
    assert.equal(code, 1);
    assert.match(printed, /^Line 31 does not begin with a country/);
    assert.match(printed, /Line 34 has a postal code that is not 1 to 20 letters/);
    assert.match(printed, /Line 37 has no latitude.*\n.*\n.*\nLine 40 has no longitude/);
    assert.match(printed, /\n5 more lines are wrong\.\n.*15 of 45 lines are wrong\. Nothing was imported\.\n$/);
    assert.deepEqual(await locate('DE', '10115'), { latitude: 52.5, longitude: 13.4 });
  });

  it('says which file it cannot import', async () => {
    const here = environment();
    const run = (path: string) => ['postal-codes', 'import', path] as const;
    await refused(here, /cannot be read/, ...run(join(directory, 'absent.txt')));
    await mkdir(join(directory, 'folder'), { recursive: true });
    await refused(here, /is not a file/, ...run(join(directory, 'folder')));
    await refused(here, /is empty/, ...run(await fileOf('')));
    await refused(
      here,
      /only postal codes of CA and US, which are part of the product/,
      ...run(await fileOf(line('US', '90210', 34, -118), line('CA', 'K1A', 45, -75))),
    );
    await refused(here, /ZIP archive: unzip it/, ...run(await fileOf('PK\u0003\u0004')));
    await refused({ PETSTORE_DATA_DIR: directory }, /no pet store/, ...run(await fileOf('')));
  });
});

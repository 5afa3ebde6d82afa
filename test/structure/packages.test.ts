import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

interface Package {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Record<string, string>;
  readonly resolved?: string;
  readonly integrity?: string;
  /** Whether it is a folder of this project. */
  readonly link?: boolean;
}

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Package>;
};
const { '': root, ...packages } = lock.packages;
const runtime = Object.entries(packages).filter(
  ([path, one]) => path.startsWith('node_modules/') && !one.dev && !one.link,
);

describe('runtime packages', () => {
  test('number at most 13 direct dependencies', () => {
    const direct = Object.keys(root?.dependencies ?? {});
    assert.ok(direct.length <= 13, `${direct.length}: ${direct.join(', ')}`);
  });

  test(`number at most 100 in all (${runtime.length} today)`, () => {
    assert.ok(runtime.length > 0);
    assert.ok(runtime.length <= 100, String(runtime.length));
  });

  test('are pinned to one version and its checksum', () => {
    const named = Object.entries({ ...root?.dependencies });
    assert.deepEqual(
      named.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)),
      [],
    );
    const loose = runtime.filter(([, one]) => !one.optional && !one.integrity?.startsWith('sha512-'));
    assert.deepEqual(
      loose.map(([path]) => path),
      [],
    );
  });
});

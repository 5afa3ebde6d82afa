import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

interface Package {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Record<string, string>;
  readonly resolved?: string;
  readonly integrity?: string;
}

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Package>;
};
const { '': root, ...packages } = lock.packages;
const runtime = Object.entries(packages).filter(([, one]) => !one.dev);

describe('the packages that the running product consists of', () => {
  test('are at most 12 that it names', () => {
    const direct = Object.keys(root?.dependencies ?? {});
    assert.ok(direct.length <= 12, `${direct.length}: ${direct.join(', ')}`);
  });

  test(`are at most 100 in all (${runtime.length} today)`, () => {
    assert.ok(runtime.length > 0);
    assert.ok(runtime.length <= 100, String(runtime.length));
  });

  test('are pinned to one version each, and to its contents', () => {
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

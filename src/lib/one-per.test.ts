import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoize, onePerVersion } from './one-per.ts';

describe('memoize', () => {
  it('reads once, and again after a read that failed', async () => {
    let reads = 0;
    const read = memoize(async () => {
      reads++;
      if (reads === 1) throw new Error('no value');
      return `value ${reads}`;
    });
    assert.deepEqual(
      (await Promise.allSettled([read(), read()])).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(await Promise.all([read(), read()]), ['value 2', 'value 2']);
    assert.equal(await read(), 'value 2');
  });
});

describe('onePerVersion', () => {
  it('reads again when the version changes, after a read that failed, and without a version', async () => {
    let version: number | undefined = 1;
    let reads = 0;
    let fails = false;
    const read = onePerVersion<object, string>(
      () => version,
      async () => {
        reads++;
        if (fails) throw new Error('no value');
        return `value ${reads}`;
      },
    );
    const [one, other] = [{}, {}];
    assert.deepEqual([await read(one), await read(one), await read(other)], ['value 1', 'value 1', 'value 2']);
    version = 2;
    fails = true;
    await assert.rejects(read(one), /no value/);
    fails = false;
    assert.deepEqual([await read(one), await read(one)], ['value 4', 'value 4']);
    version = undefined;
    assert.deepEqual([await read(one), await read(one)], ['value 5', 'value 6']);
  });
});

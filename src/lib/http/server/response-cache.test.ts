import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JsonText } from './json.ts';
import { ResponseCache } from './response-cache.ts';

describe('cached responses', () => {
  it('are good for the version that they were made from, and finished', () => {
    const kept = new ResponseCache<string>();
    const answer = kept.set(1, undefined, '/a', { body: ['a'], headers: ['X', 'y'] });
    const etag = answer.headers!.at(-1)!;
    assert.deepEqual(answer, { body: new JsonText('["a"]'), headers: ['X', 'y', 'ETag', etag] });
    assert.match(etag, /^"[\w-]{22}"$/);
    assert.equal(kept.get(1, 0, '/a'), answer);
    assert.equal(kept.get(1, 0, '/b'), undefined);
    assert.equal(kept.get(2, 0, '/a'), undefined);
  });

  it('keep the entity tag of their resource', () => {
    const { headers } = new ResponseCache<number>().set(1, undefined, 7, { body: {}, headers: ['ETag', '"7.1"'] });
    assert.deepEqual(headers, ['ETag', '"7.1"']);
  });

  it('are evicted by the first response of another version, even a late one', () => {
    const kept = new ResponseCache<string>();
    kept.set(1, undefined, '/a', { body: 1 });
    kept.set(2, undefined, '/b', { body: 2 });
    assert.equal(kept.get(1, 0, '/a'), undefined);
    assert.equal(kept.get(2, 0, '/a'), undefined);
    kept.set(1, undefined, '/c', { body: 'late' });
    assert.equal(kept.get(2, 0, '/c'), undefined);
  });

  it('are valid until the data changes by itself', () => {
    const kept = new ResponseCache<string>();
    const answer = kept.set(1, 100, '/a', { body: 1 });
    assert.equal(kept.get(1, 99, '/a'), answer);
    assert.equal(kept.get(1, 100, '/a'), undefined);
    kept.set(1, 200, '/b', { body: 2 });
    assert.equal(kept.get(1, 100, '/a'), undefined);
    assert.notEqual(kept.get(1, 100, '/b'), undefined);
  });

  it('are not stored if a response must not be cached', () => {
    const kept = new ResponseCache<string>();
    kept.set(undefined, undefined, '/a', { body: 1 });
    assert.equal(kept.get(undefined, 0, '/a'), undefined);
  });

  it('never use more than a few megabytes', () => {
    const kept = new ResponseCache<string>();
    const body = 'x'.repeat(100_000);
    let held = 0;
    for (let index = 0; index < 1000; index++) kept.set(1, undefined, `/${index}`, { body });
    for (let index = 0; index < 1000; index++) if (kept.get(1, 0, `/${index}`) !== undefined) held++;
    assert.ok(held > 0 && held < 100, `${held}`);
  });
});

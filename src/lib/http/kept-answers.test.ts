import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeptAnswers } from './kept-answers.ts';

describe('kept answers', () => {
  it('are good for the version that they were made from, and finished', () => {
    const kept = new KeptAnswers();
    const answer = kept.keep(1, '/a', { body: ['a'], headers: ['X', 'y'] });
    assert.deepEqual(answer, { body: Buffer.from('["a"]'), headers: ['X', 'y'] });
    assert.equal(kept.get(1, '/a'), answer);
    assert.equal(kept.get(1, '/b'), undefined);
    assert.equal(kept.get(2, '/a'), undefined);
  });

  it('go with the first answer of another version, also when it comes late', () => {
    const kept = new KeptAnswers();
    kept.keep(1, '/a', { body: 1 });
    kept.keep(2, '/b', { body: 2 });
    assert.equal(kept.get(1, '/a'), undefined);
    assert.equal(kept.get(2, '/a'), undefined);
    kept.keep(1, '/c', { body: 'late' });
    assert.equal(kept.get(2, '/c'), undefined);
  });

  it('are none where an answer must not be kept', () => {
    const kept = new KeptAnswers();
    kept.keep(undefined, '/a', { body: 1 });
    assert.equal(kept.get(undefined, '/a'), undefined);
  });

  it('never take more than a few megabytes', () => {
    const kept = new KeptAnswers();
    const body = 'x'.repeat(100_000);
    let held = 0;
    for (let index = 0; index < 1000; index++) kept.keep(1, `/${index}`, { body });
    for (let index = 0; index < 1000; index++) if (kept.get(1, `/${index}`) !== undefined) held++;
    assert.ok(held > 0 && held < 100, `${held}`);
  });
});

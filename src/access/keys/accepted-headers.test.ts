import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AcceptedHeaders } from './accepted-headers.ts';
import { newToken } from './token.ts';

const issue = () => {
  const { token, id } = newToken('production');
  return { header: `Bearer ${token}`, key: { keyId: id } };
};

describe('AcceptedHeaders', () => {
  it('finds a header that was accepted, and none that differs in any character', () => {
    const headers = new AcceptedHeaders();
    const { header, key } = issue();
    assert.equal(headers.find(header), undefined);
    headers.note(header, key);
    assert.equal(headers.find(header), key);
    for (let index = 0; index < header.length; index++) {
      const other = header.slice(0, index) + (header[index] === 'x' ? 'y' : 'x') + header.slice(index + 1);
      assert.equal(headers.find(other), undefined, other);
    }
    for (const other of [`${header}x`, header.slice(1), ` ${header.slice(1)}`, '']) {
      assert.equal(headers.find(other), undefined, other);
    }
  });

  it('does not keep a header in another form than the usual one', () => {
    const headers = new AcceptedHeaders();
    const { header, key } = issue();
    const spaced = header.replace(' ', '  ');
    headers.note(spaced, key);
    assert.equal(headers.find(spaced), undefined);
  });

  it('keeps a header that is used in each generation, and forgets it after one without a use', () => {
    const headers = new AcceptedHeaders();
    const [used, unused] = [issue(), issue()];
    for (const { header, key } of [used, unused]) headers.note(header, key);
    for (let generation = 0; generation < 5; generation++) {
      headers.beginGeneration();
      assert.equal(headers.find(used.header), used.key);
    }
    assert.equal(headers.find(unused.header), undefined);
    headers.beginGeneration();
    headers.beginGeneration();
    assert.equal(headers.find(used.header), undefined);
  });

  it('forgets a header that is not used, however often another secret is sent with its id', () => {
    const headers = new AcceptedHeaders();
    const { header, key } = issue();
    headers.note(header, key);
    for (let generation = 0; generation < 2; generation++) {
      headers.beginGeneration();
      assert.equal(headers.find(`${header.slice(0, -1)}-`), undefined);
    }
    assert.equal(headers.find(header), undefined);
  });

  it('finds a header again that it has just found, also at the end of a full generation', () => {
    for (const others of [4998, 4999, 5000, 5001]) {
      const headers = new AcceptedHeaders();
      const { header, key } = issue();
      headers.note(header, key);
      headers.beginGeneration();
      for (const other of Array.from({ length: others }, issue)) headers.note(other.header, other.key);
      const found = headers.find(header);
      assert.equal(headers.find(header), found, `after ${others} others`);
    }
  });

  it('forgets all headers at once', () => {
    const headers = new AcceptedHeaders();
    const { header, key } = issue();
    headers.note(header, key);
    headers.clear();
    assert.equal(headers.find(header), undefined);
  });

  it('keeps at most 10,000 headers', () => {
    const headers = new AcceptedHeaders();
    const all = Array.from({ length: 10_500 }, issue);
    for (const { header, key } of all) headers.note(header, key);
    const found = all.filter(({ header }) => headers.find(header) !== undefined);
    assert.ok(found.length <= 10_000, `${found.length}`);
    assert.equal(headers.find(all.at(-1)!.header), all.at(-1)!.key);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pageHeaders } from './page-links.ts';

const known = new Set(['limit', 'cursor', 'a', 'b', 'c']);

describe('pageHeaders', () => {
  it('links to the first page, and to the next and the previous one if they exist', () => {
    const url = 'https://x.example/v1/things?limit=5&cursor=here';
    const first = '<https://x.example/v1/things?limit=5>; rel="first"';
    const before = '<https://x.example/v1/things?limit=5&cursor=b>; rel="prev"';
    const next = 'https://x.example/v1/things?limit=5&cursor=n';
    assert.deepEqual(pageHeaders(url, known, { next: undefined, previous: undefined }), ['Link', first]);
    assert.deepEqual(pageHeaders(url, known, { next: undefined, previous: 'b' }), ['Link', `${first}, ${before}`]);
    assert.deepEqual(pageHeaders(url, known, { next: 'n', previous: 'b' }), [
      'Link',
      `${first}, ${before}, <${next}>; rel="next"`,
      'x-next',
      next,
    ]);
  });

  it('repeats known parameters only, and escapes characters that would end a link', () => {
    const [, link] = pageHeaders('https://x.example/things?a=1,2&a=3&b=>;"<%0D%0A&c&key=secret', known, {
      next: undefined,
      previous: undefined,
    });
    assert.equal(link, '<https://x.example/things?a=1,2&a=3&b=%3E%3B%22%3C%0D%0A&c=>; rel="first"');
    const [, plain] = pageHeaders('https://x.example/things', known, { next: undefined, previous: undefined });
    assert.equal(plain, '<https://x.example/things>; rel="first"');
  });
});

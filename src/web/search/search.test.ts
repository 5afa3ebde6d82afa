import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUERY_MAX, search } from './search-index.ts';
import { marked, snippet } from './snippet.ts';

describe('search', () => {
  const best: Record<string, string> = {
    pagination: '/guides/pagination',
    pagintaion: '/guides/pagination',
    pagin: '/guides/pagination',
    'create pet': '/reference/createPet',
    listWebhooks: '/reference/listWebhooks',
    pet_not_found: '/errors/pet_not_found',
    'exponential backoff': '/guides/backoff',
    'How do I rotate a key?': '/guides/authentication',
    PETSTORE_SECRET_KEY: '/guides/operating/configuration',
  };
  for (const [query, path] of Object.entries(best)) {
    it(`finds ${path} first for ${query}`, async () => {
      const [first] = await search(query);
      assert.equal(first?.path.split('#')[0], path);
    });
  }

  it('finds words by their first three letters, but not by two', async () => {
    assert.ok((await search('web')).some(({ terms }) => terms.includes('webhooks')));
    assert.ok((await search('we')).every(({ terms }) => !terms.includes('webhooks')));
  });

  it('leads to the section', async () => {
    const paths = (await search('rate limit bans')).map(({ path }) => path);
    assert.ok(paths.includes('/guides/rate-limits#bans'), paths.join());
  });

  it('finds any of the words if no text has them all', async () => {
    assert.ok((await search('pagination xylophone')).some(({ path }) => path.startsWith('/guides/pagination')));
  });

  it('returns at most 20 results, and none without words', async () => {
    assert.equal((await search('pet')).length, 20);
    for (const query of ['', '   ', 'the of', '!?', 'qqqqzzzz']) assert.deepEqual(await search(query), [], query);
  });

  it('ignores what is beyond the bound of a query', async () => {
    const padded = `${'pagination '.padEnd(QUERY_MAX)}xylophone`;
    assert.deepEqual(await search(padded), await search('pagination'));
    assert.deepEqual(await search('a b c '.repeat(100_000)), await search('a b c '.repeat(17)));
  });

  it('accepts every character', async () => {
    for (const query of ['\0', '%00', '<script>', '\ud800', '(', '[a-', '"', '🐈 cat', '__proto__ constructor']) {
      assert.ok(Array.isArray(await search(query)), query);
    }
  });
});

describe('snippets', () => {
  it('mark the matches and escape the rest', () => {
    assert.equal(marked('A <b> & Pets', ['pets']).text, 'A &#60;b&#62; &#38; <mark>Pets</mark>');
    assert.equal(marked('carpets', ['pets']).text, 'carpets');
    assert.equal(marked('a.b', ['.']).text, 'a.b');
  });

  it('show the text around the first match', () => {
    const text = `${'before '.repeat(40)}needle ${'after '.repeat(40)}`.trim();
    const { text: shown } = snippet(text, ['needle']);
    assert.match(shown, /^… before .*<mark>needle<\/mark> after .* …$/);
    assert.ok(shown.length < 230, shown);
    assert.equal(snippet('short', ['missing']).text, 'short');
  });
});

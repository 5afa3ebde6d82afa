import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SEARCH_MAX } from '../layout.ts';
import { search } from './search-index.ts';
import { marked, snippet } from './search-page.ts';

/** The required share of the questions in the list whose page is among the first three results. */
const ANSWERED_MIN = 0.98;
const questions = readFileSync(new URL('questions.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => line.split(' | ') as [question: string, pages: string]);

describe('search', () => {
  it('answers at least 98 % of 120 questions, as people type them, among the first three results', async t => {
    assert.equal(questions.length, 120);
    const missed: string[] = [];
    for (const [question, pages] of questions) {
      const first = (await search(question)).slice(0, 3).map(({ path }) => pageOf(path));
      if (!pages.split(' ').some(page => first.includes(page))) missed.push(`${question}: ${first.join(' ')}`);
    }
    t.diagnostic(`${questions.length - missed.length} of ${questions.length} are answered`);
    assert.ok(missed.length <= questions.length * (1 - ANSWERED_MIN), missed.join('\n'));
  });

  it('finds an operation by its method and path, with values or names in place of parameters', async () => {
    for (const [query, path] of [
      ['GET /pets', '/reference/listPets'],
      ['get /v1/pets/17?view=full', '/reference/getPet'],
      ['POST https://pets.example/v1/store/orders/', '/reference/placeOrder'],
      ['delete /webhooks/{id}', '/reference/deleteWebhook'],
    ] as const) {
      assert.equal((await search(query))[0]?.path, path, query);
    }
  });

  it('shows each page once, by its best section', async () => {
    const pages = (await search('webhooks')).map(({ path }) => pageOf(path));
    assert.equal(new Set(pages).size, pages.length);
  });

  it('puts explanations before error codes, unless the query is one', async () => {
    assert.notEqual((await search('api key'))[0]?.kind, 'error');
    assert.equal((await search('missing_api_key'))[0]?.kind, 'error');
  });

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
    assert.ok((await search('web')).some(({ terms }) => terms.includes('webhook')));
    assert.ok((await search('we')).every(({ terms }) => !terms.includes('webhook')));
  });

  it('leads to the section', async () => {
    const paths = (await search('rate limit bans')).map(({ path }) => path);
    assert.ok(paths.includes('/guides/rate-limits#bans'), paths.join());
  });

  it('finds any of the words if no text has them all', async () => {
    assert.ok((await search('pagination xylophone')).some(({ path }) => path.startsWith('/guides/pagination')));
  });

  it('completes few pages with all words by pages with any of them, below', async () => {
    const pages = await search('webhook retry backoff');
    const hasAll = pages.map(({ terms }) => ['webhook', 'retry', 'backoff'].every(word => terms.includes(word)));
    assert.equal(pages.length, 10);
    assert.deepEqual(
      hasAll,
      hasAll.toSorted((a, b) => Number(b) - Number(a)),
    );
    assert.ok(hasAll[0] && !hasAll[9]);
    assert.ok(pages.some(({ path }) => path.startsWith('/guides/backoff')));
  });

  it('returns at most 20 results, and none without words', async () => {
    assert.equal((await search('pet')).length, 20);
    for (const query of ['', '   ', 'the of', '!?', 'qqqqzzzz']) assert.deepEqual(await search(query), [], query);
  });

  it('ignores the part of a query beyond its maximum length', async () => {
    const padded = `${'pagination '.padEnd(SEARCH_MAX)}xylophone`;
    assert.deepEqual(await search(padded), await search('pagination'));
    assert.deepEqual(await search('a b c '.repeat(100_000)), await search('a b c '.repeat(17)));
  });

  it('accepts every character', async () => {
    for (const query of ['\0', '%00', '<script>', '\ud800', '(', '[a-', '"', '🐈 cat', '__proto__ constructor']) {
      assert.ok(Array.isArray(await search(query)), query);
    }
  });
});

/** Returns the page of a result. Each part of the front page counts as a page. */
function pageOf(path: string): string {
  return path.startsWith('/#') ? path : path.split('#')[0]!;
}

describe('snippets', () => {
  it('mark the matches and escape the rest', () => {
    assert.equal(marked('A <b> & Pets', ['pets']).text, 'A &#60;b&#62; &#38; <mark>Pets</mark>');
    assert.equal(marked('carpets', ['pets']).text, 'carpets');
    assert.equal(marked('retries, retry', ['retry']).text, '<mark>retries</mark>, <mark>retry</mark>');
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

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import type { FullPet } from '../../src/model/pet.ts';
import { seedStaging } from '../../src/operate/seeds/staging.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { send, serve, type TestService } from '../support/serving.ts';

/** One of so many first animals must be an expected one. */
const FIRST = 5;

/** What the API shows: an animal, a category or an organization. */
type Shown = FullPet & { readonly address?: { readonly city?: string } };

/** An animal as expectations see it: the values of each field, in lower case. */
type Facts = Readonly<Record<string, readonly string[]>>;

const searches = readFileSync(new URL('searches.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line.includes('|') && !line.startsWith('#'))
  .map(line => line.split(' | ') as [search: string, expectation: string]);

overEachEngine(engine => {
  let service: TestService;
  const animals = new Map<number, Facts>();
  before(async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    service = await serve({ environment });
    const { production } = service.app.databases;
    await seedStaging(production, production);
    const key = await service.newKey();
    const all = async (path: string) => {
      const found: Shown[] = [];
      for (let next: string | undefined = `${service.urls.production}${path}`; next; ) {
        const reply = await send(next, { key });
        assert.equal(reply.status, 200, reply.text);
        found.push(...reply.body);
        next = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link ?? ''))?.[1];
      }
      return found;
    };
    const categories = new Map((await all('/categories?limit=100')).map(({ id, name }) => [id, name]));
    const cities = new Map((await all('/organizations?limit=100')).map(({ id, address }) => [id, address?.city]));
    for (const pet of await all('/pets?limit=100&view=full&status=available')) {
      animals.set(pet.id, factsOf(pet, categories.get(pet.categoryId), cities.get(pet.accountId)));
    }
    assert.ok(animals.size > 200);
  });
  after(() => service?.stop());

  it('finds what people expect among the first animals', async () => {
    assert.ok(searches.length >= 250);
    const missed: string[] = [];
    for (const [search, expectation] of searches) {
      const origin = new URL(service.urls.production).origin;
      const page = await send(`${origin}/animals?q=${encodeURIComponent(search)}`);
      assert.equal(page.status, 200, search);
      const links = Array.from(page.text.matchAll(/<h2><a href="\/animals\/(\d+)"/g), ([, id]) => Number(id));
      const fits = (facts: Facts) => isExpected(facts, expectation);
      assert.ok([...animals.values()].some(fits), `no sample animal fits ${expectation}`);
      assert.ok(links.length > 0, `${search} finds nothing`);
      if (!links.slice(0, FIRST).some(id => fits(animals.get(id)!))) missed.push(search);
    }
    assert.deepEqual(missed, []);
  });
});

function factsOf(pet: Shown, category: string | undefined, city: string | undefined): Facts {
  const { breeds, colors = {}, goodWith = {}, traits = {} } = pet;
  const listed: Record<string, readonly unknown[]> = {
    category: [category],
    city: [city],
    breed: [breeds?.primary, breeds?.secondary],
    color: Object.values(colors),
    mixed: [breeds?.mixed && 'yes'],
    tag: pet.tags ?? [],
    ...Object.fromEntries(['name', 'sex', 'age', 'size', 'coat', 'pattern'].map(name => [name, [pet[name as 'name']]])),
    ...Object.fromEntries(Object.entries(traits).map(([name, value]) => [name, [value]])),
    ...Object.fromEntries(
      Object.entries(goodWith).map(([name, value]) => [`goodWith${name[0]!.toUpperCase()}${name.slice(1)}`, [value]]),
    ),
  };
  return Object.fromEntries(
    Object.entries(listed).map(([name, values]) => [
      name,
      values.filter(value => typeof value === 'string').map(value => value.toLowerCase()),
    ]),
  );
}

function isExpected(facts: Facts, expectation: string): boolean {
  // Values may have spaces: a condition begins with a name before = or ~.
  return expectation.split(/ (?=\w+[=~])/).every(condition => {
    const [, name = '', operator, alternatives = ''] = /^(\w+)([=~])(.*)$/.exec(condition) ?? [];
    const wanted = alternatives.toLowerCase().split('/');
    return facts[name]?.some(value => wanted.some(one => (operator === '=' ? value === one : value.includes(one))));
  });
}

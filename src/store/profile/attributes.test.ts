import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../../../test/support/engines-over-http.ts';
import { type SendOptions, send, serve, type TestService } from '../../../test/support/serving.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import type { IssuedKey } from '../../model/key.ts';
import { nearestKnown } from './attributes.ts';

describe('nearestKnown', () => {
  const known = [
    'Budgie / Budgerigar',
    'Labrador Retriever',
    'Golden Retriever',
    'Rex',
    'Tricolor (Brown, Black, & White)',
  ];
  it('finds a name with few other letters, in any case', () => {
    assert.equal(nearestKnown(known, 'labrador retreiver'), 'Labrador Retriever');
    assert.equal(nearestKnown(known, 'Tricolor (Brown, Black & White)'), 'Tricolor (Brown, Black, & White)');
  });
  it('finds a name by either of its names', () => {
    assert.equal(nearestKnown(known, 'budgerigar'), 'Budgie / Budgerigar');
    assert.equal(nearestKnown(known, 'Budgi'), 'Budgie / Budgerigar');
  });
  it('finds a name by its beginning', () => assert.equal(nearestKnown(known, 'labrador'), 'Labrador Retriever'));
  it('finds no value for a text that is not near any', () => assert.equal(nearestKnown(known, 'Axolotl'), undefined));
});

overEachEngine(engine => {
  let serving: TestService;
  let owner: IssuedKey;
  let admin: IssuedKey;
  before(async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    serving = await serve({ environment });
    owner = await serving.newKey();
    const { id: accountId } = await serving.app.databases.production.write(tx =>
      createAccount(tx, { email: 'c@example.org', name: 'c', plan: 'business', admin: true }),
    );
    admin = await serving.newKey({ accountId });
  });
  after(() => serving?.stop());

  const call = (method: string, path: string, options: SendOptions = {}) =>
    send(`${serving.urls.production}${path}`, { method, key: owner, ...options });
  const attributes = async (id: number) => (await call('GET', `/categories/${id}/attributes`)).body;

  describe('the values of a category', () => {
    it('are the built-in ones of its root, and what the profile can have', async () => {
      const dogs = await attributes(1);
      assert.equal(dogs.rootId, 1);
      assert.equal(dogs.breeds.length, 273);
      assert.ok(dogs.breeds.includes('West Highland White Terrier / Westie'));
      assert.equal(dogs.colors.length, 15);
      assert.ok(dogs.colors.includes('Tricolor (Brown, Black, & White)'));
      assert.deepEqual(dogs.coats, ['hairless', 'short', 'medium', 'long', 'wire', 'curly']);
      assert.deepEqual(dogs.energies, [1, 2, 3, 4, 5]);
      assert.deepEqual(dogs.sizes, ['small', 'medium', 'large', 'xlarge']);
      assert.ok(dogs.traits.includes('spayedNeutered'));
      const counts = [];
      for (const id of [2, 3, 4, 5, 6, 7, 8]) {
        const { breeds, colors, coats } = await attributes(id);
        counts.push([breeds.length, colors.length, coats.length]);
      }
      assert.deepEqual(counts, [
        [68, 30, 4],
        [44, 12, 2],
        [19, 16, 3],
        [34, 25, 0],
        [39, 15, 0],
        [58, 12, 0],
        [30, 12, 2],
      ]);
      assert.equal((await call('GET', '/categories/999999/attributes')).status, 404);
    });

    it('can be extended by an admin, also for the categories below', async () => {
      const below = (await call('POST', '/categories', { body: { name: 'Guinea pigs', parentId: 4 } })).body.id;
      const patch = { breeds: ['Coronet', 'Texel'], colors: ['Himalayan'] };
      assert.equal((await call('PATCH', '/categories/4', { body: patch })).body.code, 'not_owner');
      assert.equal((await call('PATCH', '/categories/4', { key: admin, body: patch })).status, 200);
      const added = await attributes(below);
      assert.equal(added.rootId, 4);
      assert.equal(added.breeds.length, 21);
      assert.ok(added.breeds.includes('Texel') && added.colors.includes('Himalayan'));
      assert.equal((await call('PATCH', `/categories/${below}`, { body: { breeds: ['Skinny'] } })).status, 200);
      assert.equal((await attributes(below)).breeds.length, 22);
      assert.equal((await attributes(4)).breeds.length, 21);
      await call('PATCH', '/categories/4', { key: admin, body: { breeds: null, colors: null } });
      assert.equal((await attributes(4)).breeds.length, 19);
    });

    it('of a category of its own are those that it adds, and every coat', async () => {
      const id = (await call('POST', '/categories', { body: { name: 'Bees', breeds: ['Buckfast'] } })).body.id;
      const { breeds, colors, coats } = await attributes(id);
      assert.deepEqual([breeds, colors, coats.length], [['Buckfast'], [], 6]);
    });
  });

  describe('an unknown value', () => {
    const create = (body: object, query = '?view=full') =>
      call('POST', `/pets${query}`, { body: { name: 'Rex', categoryId: 1, ...body } });

    it('is kept, and the response names the nearest known one', async () => {
      const breeds = { primary: 'Labrador Retreiver', secondary: 'Axolotl' };
      const colors = { primary: 'Tricolor (Brown, Black, & White)', secondary: 'Goldem' };
      const { status, body } = await create({ breeds, colors, coat: 'wire' });
      assert.equal(status, 201);
      assert.deepEqual([body.breeds, body.colors], [breeds, colors]);
      assert.deepEqual(body.warnings, [
        {
          path: '/breeds/primary',
          code: 'unknown_value',
          message: 'Labrador Retreiver is not a known value; did you mean Labrador Retriever?',
          value: 'Labrador Retreiver',
          suggestion: 'Labrador Retriever',
        },
        {
          path: '/breeds/secondary',
          code: 'unknown_value',
          message: 'Axolotl is not a known value.',
          value: 'Axolotl',
        },
        {
          path: '/colors/secondary',
          code: 'unknown_value',
          message: 'Goldem is not a known value; did you mean Golden?',
          value: 'Goldem',
          suggestion: 'Golden',
        },
      ]);
      const read = await call('GET', `/pets?id=${body.id}&view=full`);
      assert.deepEqual([read.body[0].breeds, read.body[0].warnings], [breeds, undefined]);
    });

    it('is reported by changes and replacements too, and not in the plain view', async () => {
      const plain = await create({ breeds: { primary: 'Labradr' } }, '');
      assert.deepEqual(Object.keys(plain.body), ['id', 'name', 'categoryId', 'status']);
      const path = `/pets/${plain.body.id}?view=full`;
      const patched = await call('PATCH', path, { body: { coat: 'long', categoryId: 3 } });
      assert.deepEqual(
        patched.body.warnings.map(({ path }: { path: string }) => path),
        ['/breeds/primary'],
      );
      const replaced = await call('PUT', path, { body: { name: 'x', categoryId: 3, coat: 'wire' } });
      assert.deepEqual(
        replaced.body.warnings.map(({ value }: { value: string }) => value),
        ['wire'],
      );
      const known = await call('PUT', path, { body: { name: 'x', categoryId: 3, coat: 'short' } });
      assert.equal('warnings' in known.body, false);
    });
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { testClock } from '../../src/lib/clock.ts';
import { type Reply, type SendOptions, send, serve, type TestService } from '../support/serving.ts';

describe('categories over HTTP', () => {
  const clock = testClock(Date.parse('2026-11-21T12:00:00.250Z'));
  let serving: TestService;
  let owner: string;
  let stranger: string;
  let admin: string;

  before(async () => {
    serving = await serve({ clock, environment: { PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' } });
    owner = (await serving.newKey()).token;
    stranger = (await serving.newKey()).token;
    const account = await serving.app.databases.production.write(tx =>
      createAccount(tx, {
        email: 'admin@example.org',
        name: 'An admin',
        admin: true,
        plan: 'enterprise',
        perMinute: 1_000_000,
        perDay: 1_000_000,
      }),
    );
    admin = (await serving.newKey({ accountId: account.id })).token;
  });
  after(() => serving.stop());

  const ask = (method: string, path: string, body?: unknown, sending: SendOptions = {}): Promise<Reply> =>
    send(serving.urls.production + path, { method, key: owner, ...(body !== undefined && { body }), ...sending });
  const add = async (body: object) => {
    const reply = await ask('POST', '/categories', body);
    assert.equal(reply.status, 201, reply.text);
    return reply.body as { id: number; slug: string };
  };
  const pet = async (categoryId: number) => {
    const reply = await ask('POST', '/pets', { name: 'x', categoryId });
    assert.equal(reply.status, 201, reply.text);
    return reply.body.id as number;
  };
  const refused = (reply: Reply, status: number, code: string, path?: string) => {
    assert.equal(reply.status, status, reply.text);
    assert.equal(reply.body.code, code);
    if (path !== undefined) assert.deepEqual(reply.body.errors?.[0]?.path, path, reply.text);
  };

  describe('the built-in categories', () => {
    it('exist from the start, on one page, and belong to no account', async () => {
      const reply = await ask('GET', '/categories');
      assert.deepEqual(
        reply.body
          .slice(0, 8)
          .map(({ id, name, slug, placeholder }: Record<string, unknown>) => [id, name, slug, placeholder]),
        [
          [1, 'Dog', 'dog', false],
          [2, 'Cat', 'cat', false],
          [3, 'Rabbit', 'rabbit', false],
          [4, 'Small & Furry', 'small-furry', false],
          [5, 'Horse', 'horse', false],
          [6, 'Bird', 'bird', false],
          [7, 'Scales, Fins & Other', 'scales-fins-other', false],
          [8, 'Barnyard', 'barnyard', false],
        ],
      );
      refused(await ask('PATCH', '/categories/1', { name: 'Hound' }), 403, 'not_owner');
      refused(await ask('DELETE', '/categories/8'), 403, 'not_owner');
    });
  });

  describe('createCategory', () => {
    it('returns 201 with the category, its URL and its entity tag', async () => {
      const reply = await ask('POST', '/categories', { id: 5, name: 'Maine Coon', parentId: 2 });
      assert.equal(reply.status, 201, reply.text);
      const { id } = reply.body;
      assert.ok(id > 1000);
      assert.deepEqual(reply.body, {
        id,
        name: 'Maine Coon',
        slug: 'maine-coon',
        parentId: 2,
        placeholder: false,
        createdAt: '2026-11-21T12:00:00.250Z',
        updatedAt: '2026-11-21T12:00:00.250Z',
      });
      assert.equal(reply.headers.location, `${serving.urls.production}/categories/${id}`);
      assert.equal(reply.headers.etag, `"${id}.1"`);
      const got = await ask('GET', `/categories/${id}`);
      assert.deepEqual(got.body, reply.body);
      assert.equal(got.headers.etag, reply.headers.etag);
    });

    it('creates one category for retries with one Idempotency-Key', async () => {
      const headers = { 'Idempotency-Key': 'add-persians' };
      const first = await ask('POST', '/categories', { name: 'Persians' }, { headers });
      const again = await ask('POST', '/categories', { name: 'Persians' }, { headers });
      assert.equal(again.status, 201);
      assert.equal(again.text, first.text);
      assert.equal(again.headers.location, first.headers.location);
      assert.equal(again.headers.etag, first.headers.etag);
      assert.equal(again.headers['idempotency-replayed'], 'true');
      refused(await ask('POST', '/categories', { name: 'Others' }, { headers }), 422, 'idempotency_key_reused');
    });

    for (const [what, body, path] of [
      ['no name', {}, '/name'],
      ['an empty name', { name: '' }, '/name'],
      ['a name of white space', { name: ' \u2003' }, '/name'],
      ['a name with a line break', { name: 'a\nb' }, '/name'],
      ['a name of 256 characters', { name: 'x'.repeat(256) }, '/name'],
      ['a name that is null', { name: null }, '/name'],
      ['an empty slug', { name: 'x', slug: '' }, '/slug'],
      ['a slug with capitals', { name: 'x', slug: 'Cats' }, '/slug'],
      ['a slug with two hyphens', { name: 'x', slug: 'a--b' }, '/slug'],
      ['a slug that ends in a line break', { name: 'x', slug: 'cats\n' }, '/slug'],
      ['a slug of 101 characters', { name: 'x', slug: 'x'.repeat(101) }, '/slug'],
      ['a parent that is text', { name: 'x', parentId: '2' }, '/parentId'],
      ['a parent that is null', { name: 'x', parentId: null }, '/parentId'],
      ['the parent 0', { name: 'x', parentId: 0 }, '/parentId'],
    ] as const) {
      it(`rejects ${what} with 400`, async () => {
        refused(await ask('POST', '/categories', body), 400, 'invalid_body', path);
      });
    }

    it('rejects an unknown parent and a taken slug', async () => {
      refused(await ask('POST', '/categories', { name: 'x', parentId: 4711 }), 400, 'category_not_found', '/parentId');
      refused(await ask('POST', '/categories', { name: 'x', slug: 'cat' }), 409, 'category_slug_taken', '/slug');
    });
  });

  describe('getCategory', () => {
    for (const id of ['0', '-1', '007', '1.0', 'x', '999999999', '9007199254740992']) {
      it(`returns 404 for ${id}`, async () => {
        refused(await ask('GET', `/categories/${id}`), 404, 'no_such_category');
      });
    }

    it('returns 304 if the category has not changed', async () => {
      const { headers } = await ask('GET', '/categories/3');
      const again = await ask('GET', '/categories/3', undefined, { headers: { 'If-None-Match': headers.etag! } });
      assert.equal(again.status, 304);
      assert.equal(again.text, '');
    });
  });

  describe('updateCategory', () => {
    it('changes the members sent, returns a new entity tag, and rejects the old one', async () => {
      const { id } = await add({ name: 'Hamsters', parentId: 4 });
      const headers = { 'If-Match': `"${id}.1"`, 'Content-Type': 'application/merge-patch+json' };
      const reply = await ask('PATCH', `/categories/${id}`, { name: 'Golden hamsters' }, { headers });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.name, 'Golden hamsters');
      assert.equal(reply.body.slug, 'hamsters');
      assert.equal(reply.body.parentId, 4);
      assert.equal(reply.headers.etag, `"${id}.2"`);
      refused(await ask('PATCH', `/categories/${id}`, { name: 'x' }, { headers }), 412, 'precondition_failed');

      const top = await ask('PATCH', `/categories/${id}`, { parentId: null });
      assert.equal('parentId' in top.body, false);
    });

    it('is allowed to the owner and to admins', async () => {
      const { id } = await add({ name: 'Guinea pigs' });
      refused(await ask('PATCH', `/categories/${id}`, { name: 'x' }, { key: stranger }), 403, 'not_owner');
      assert.equal((await ask('PATCH', `/categories/${id}`, { name: 'y' }, { key: admin })).status, 200);
      assert.equal((await ask('PATCH', `/categories/${id}`, { name: 'z' })).status, 200);
    });

    it('rejects null for required members, unknown members in strict handling, and cycles', async () => {
      const { id } = await add({ name: 'Chinchillas' });
      refused(await ask('PATCH', `/categories/${id}`, { name: null }), 400, 'invalid_body', '/name');
      refused(await ask('PATCH', `/categories/${id}`, { slug: null }), 400, 'invalid_body', '/slug');
      const headers = { Prefer: 'handling=strict' };
      refused(await ask('PATCH', `/categories/${id}`, { nam: 'x' }, { headers }), 400, 'invalid_body', '/nam');
      refused(await ask('PATCH', `/categories/${id}`, { parentId: id }), 409, 'category_cycle');
      refused(await ask('PATCH', `/categories/${id}`, { parentId: 4711 }), 400, 'category_not_found', '/parentId');
    });

    it('turns a placeholder that an admin names into a regular category', async () => {
      await pet(70_001);
      const before = await ask('GET', '/categories/70001');
      assert.equal(before.body.placeholder, true);
      assert.equal(before.body.name, 'Category 70001');
      refused(await ask('PATCH', '/categories/70001', { name: 'Llamas' }), 403, 'not_owner');
      const named = await ask('PATCH', '/categories/70001', { name: 'Llamas' }, { key: admin });
      assert.equal(named.body.placeholder, false);
      assert.equal(named.body.slug, 'category-70001');
    });
  });

  describe('deleteCategory', () => {
    it('returns 204 for an empty category, and 409 with advice for one in use', async () => {
      const { id } = await add({ name: 'Ferrets' });
      const first = await pet(id);
      await pet(id);
      await add({ name: 'Black ferrets', parentId: id });
      const reply = await ask('DELETE', `/categories/${id}`);
      refused(reply, 409, 'category_in_use');
      assert.match(reply.body.message, /contains 2 animals and 1 category\. Merge it/);
      assert.ok(first > 0);

      const empty = await add({ name: 'Unicorns' });
      refused(
        await ask('DELETE', `/categories/${empty.id}`, undefined, { headers: { 'If-Match': '"1.1"' } }),
        412,
        'precondition_failed',
      );
      refused(await ask('DELETE', `/categories/${empty.id}`, undefined, { key: stranger }), 403, 'not_owner');
      const gone = await ask('DELETE', `/categories/${empty.id}`, undefined, {
        headers: { 'If-Match': `"${empty.id}.1"` },
      });
      assert.equal(gone.status, 204);
      assert.equal(gone.text, '');
      refused(await ask('DELETE', `/categories/${empty.id}`), 404, 'no_such_category');
    });

    it('lets an admin delete a built-in category', async () => {
      assert.equal((await ask('DELETE', '/categories/8', undefined, { key: admin })).status, 204);
      refused(await ask('GET', '/categories/8'), 404, 'no_such_category');
    });
  });

  describe('mergeCategory', () => {
    it('returns the target, and the same for a retry', async () => {
      const from = await add({ name: 'Kittys' });
      const into = await add({ name: 'Kitties' });
      const id = await pet(from.id);
      const below = await add({ name: 'Small kittys', parentId: from.id });
      const headers = { 'Idempotency-Key': 'merge-kitties', 'If-Match': `"${from.id}.1"` };
      const body = { intoId: into.id };
      refused(
        await ask('POST', `/categories/${from.id}/merge`, body, { key: admin, headers: { 'If-Match': '"7.7"' } }),
        412,
        'precondition_failed',
      );
      const reply = await ask('POST', `/categories/${from.id}/merge`, body, { key: admin, headers });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.id, into.id);
      assert.equal(reply.headers.etag, `"${into.id}.1"`);
      refused(await ask('GET', `/categories/${from.id}`), 404, 'no_such_category');
      assert.equal((await ask('GET', `/pets?id=${id}`)).body[0].categoryId, into.id);
      assert.equal((await ask('GET', `/categories/${below.id}`)).body.parentId, into.id);

      // A retry moves no pet that names the deleted category again.
      const later = await pet(from.id);
      const again = await ask('POST', `/categories/${from.id}/merge`, body, { key: admin, headers });
      assert.equal(again.text, reply.text);
      assert.equal(again.headers['idempotency-replayed'], 'true');
      assert.equal((await ask('GET', `/pets?id=${later}`)).body[0].categoryId, from.id);
    });

    it('is allowed to admins only', async () => {
      const from = await add({ name: 'Mine' });
      const reply = await ask('POST', `/categories/${from.id}/merge`, { intoId: 1 });
      refused(reply, 403, 'not_owner');
      assert.match(reply.body.message, /[Oo]nly an admin can merge/);
    });

    it('rejects an unknown target and cycles', async () => {
      const from = await add({ name: 'Above' });
      const below = await add({ name: 'Below', parentId: from.id });
      const merge = (intoId: unknown) => ask('POST', `/categories/${from.id}/merge`, { intoId }, { key: admin });
      refused(await merge(4711), 400, 'category_not_found', '/intoId');
      refused(await merge('1'), 400, 'invalid_body', '/intoId');
      refused(await merge(from.id), 409, 'category_cycle');
      refused(await merge(below.id), 409, 'category_cycle');
      refused(await ask('POST', '/categories/4711/merge', { intoId: 1 }, { key: admin }), 404, 'no_such_category');
    });
  });

  describe('listCategories', () => {
    it('links all pages forward and backward', async () => {
      const ids: number[] = [];
      let url: string | undefined = `${serving.urls.production}/categories?limit=5`;
      let last = url;
      while (url !== undefined) {
        const { body, headers } = await send(url, { key: owner });
        ids.push(...body.map(({ id }: { id: number }) => id));
        last = url;
        url = headers['x-next'] as string | undefined;
      }
      assert.deepEqual(
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
      assert.ok(ids.length > 15);
      const { headers } = await send(last, { key: owner });
      const previous = /<([^>]+)>; rel="prev"/.exec(String(headers.link))![1]!;
      const page = await send(previous, { key: owner });
      assert.equal(page.body.length, 5);
    });

    it('filters by parent, slug and placeholder', async () => {
      const { id } = await add({ name: 'Owls', parentId: 6 });
      const idsOf = async (query: string) =>
        (await ask('GET', `/categories?${query}`)).body.map((one: { id: number }) => one.id);
      assert.deepEqual(await idsOf('parentId=6'), [id]);
      assert.deepEqual(await idsOf('slug=owls'), [id]);
      assert.deepEqual(await idsOf('slug=no-such-slug'), []);
      assert.deepEqual(await idsOf('parentId=6&placeholder=true'), []);
      assert.deepEqual(await idsOf('parentId=6&slug=owls&placeholder=false'), [id]);
      await pet(70_002);
      assert.ok((await idsOf('placeholder=true')).includes(70_002));
      assert.ok(!(await idsOf('placeholder=false&limit=100')).includes(70_002));
    });

    for (const query of ['parentId=0', 'parentId=x', 'placeholder=1', 'slug=', 'slug=A', 'limit=101', 'cursor=abc']) {
      it(`rejects ${query}`, async () => {
        refused(await ask('GET', `/categories?${query}`), 400, 'invalid_parameter', query.split('=')[0]!);
      });
    }

    it('rejects a cursor of another list', async () => {
      const { headers } = await ask('GET', '/categories?limit=1');
      const cursor = new URL(headers['x-next'] as string).searchParams.get('cursor');
      refused(await ask('GET', `/categories?limit=1&parentId=2&cursor=${cursor}`), 400, 'invalid_parameter', 'cursor');
    });
  });
});

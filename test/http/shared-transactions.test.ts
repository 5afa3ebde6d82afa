import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overPostgres } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

const CONCURRENT = 64;

overPostgres(engine => {
  describe('concurrent changes of one account, which share transactions', () => {
    let service: TestService;
    let key: { readonly token: string };
    before(async () => {
      const environment = { ...(await engine.settings()), PETSTORE_PETS_MAX: '1060', PETSTORE_ORDERS_MAX: '10' };
      service = await serve({ environment });
      key = await service.newKey({ plan: 'enterprise' });
    });
    after(() => service?.stop());

    /** Sends requests at the same time. */
    const postAll = (path: string, bodies: readonly object[]) =>
      Promise.all(
        bodies.map(body => send(service.urls.production + path, { key, method: 'POST', body }) as Promise<Reply>),
      );
    const repeat = (body: object) => Array.from({ length: CONCURRENT }, () => body);
    const newPets = async () =>
      (await postAll('/pets', repeat({ name: 'Minka', categoryId: 2 }))).map(({ body }) => body.id);

    it('accept all animals far below the maximum, with different ids', async () => {
      const replies = await postAll('/pets', repeat({ name: 'Minka', categoryId: 2 }));
      assert.deepEqual(outcomes(replies), { 201: CONCURRENT });
      assert.equal(new Set(replies.map(({ body }) => body.id)).size, CONCURRENT);
    });

    it('create a new category once', async () => {
      assert.deepEqual(outcomes(await postAll('/pets', repeat({ name: 'Minka', categoryId: 77 }))), {
        201: CONCURRENT,
      });
    });

    it('accept one animal with an externalId', async () => {
      const replies = await postAll('/pets', repeat({ name: 'Minka', categoryId: 2, externalId: 'same' }));
      assert.deepEqual(outcomes(replies), { 201: 1, external_id_taken: CONCURRENT - 1 });
    });

    it('accept one order of an animal', async () => {
      const [petId] = await newPets();
      const replies = await postAll('/store/orders', repeat({ petId }));
      assert.deepEqual(outcomes(replies), { 201: 1, pet_reserved: CONCURRENT - 1 });
    });

    it('accept no more open orders than the maximum', async () => {
      const replies = await postAll(
        '/store/orders',
        (await newPets()).map(petId => ({ petId })),
      );
      assert.deepEqual(outcomes(replies), { 201: 9, order_limit_exceeded: CONCURRENT - 9 });
    });

    it('accept no more animals than the maximum', async () => {
      const accepted: Reply[] = [];
      for (let round = 0; round < 16; round++) {
        const replies = await postAll('/pets', repeat({ name: 'Minka', categoryId: 2 }));
        accepted.push(...replies.filter(({ status }) => status === 201));
        const others = replies.filter(({ status }) => status !== 201);
        assert.ok(
          others.every(({ body }) => body.code === 'pet_limit_exceeded'),
          JSON.stringify(outcomes(replies)),
        );
      }
      // The other tests have added 4 × 64 animals, and one with an externalId.
      assert.equal(accepted.length, 1060 - 4 * CONCURRENT - 1);
    });
  });
});

/** Returns how many replies have each status, or error code. */
function outcomes(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const outcome = status < 300 ? String(status) : (body.code as string);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

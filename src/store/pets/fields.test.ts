import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type * as Commands from '../../../test/support/commands.ts';
import { assertCompiles, copyProduct } from '../../../test/support/product-copy.ts';
import { skipFor, withoutServers } from '../../../test/support/selection.ts';
import type {
  SendOptions,
  send as sendRequest,
  serve as serveProduct,
  TestService,
} from '../../../test/support/serving.ts';
import { testClock } from '../../lib/clock.ts';
import { nameRules } from '../../lib/text.ts';

/** The two edits that add an optional field to pets: one line each. */
const edits = [
  {
    file: 'src/model/pet.ts',
    before: '  accountId: field(',
    text: `  passport: field(lineSchema('The number of the passport.'), { column: 'passport', write: 'optional' }),\n`,
  },
  {
    file: 'src/model/migrations/index.ts',
    before: '];',
    text: `  addColumn('9999-passport', 'pets', 'passport', 'text'),\n`,
  },
];

/** Reads the new field, and fails to read one that does not exist. */
const uses = `
import type { FullPet, NewPet, PetPatch, PetRow, PetState } from './src/model/pet.ts';
import type { Tables } from './src/model/schema.ts';

export const read = (pet: FullPet, body: NewPet, patch: PetPatch, row: PetRow, state: PetState, columns: Tables['pets']) => {
  const values: (string | null | undefined)[] =
    [pet.passport, body.passport, patch.passport, row.passport, state.passport, columns.passport];
  // @ts-expect-error: a field that no entry defines
  return [...values, pet.nickname];
};
`;

describe('a new optional field of pets', () => {
  const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
  let copy: string;
  let serving: TestService;
  let ask: (path: string, sending?: SendOptions) => ReturnType<typeof sendRequest>;
  before(async () => {
    copy = copyProduct(edits);
    const { serve, send } = (await import(join(copy, 'test/support/serving.ts'))) as {
      serve: typeof serveProduct;
      send: typeof sendRequest;
    };
    serving = await serve({ clock, environment: { PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' } });
    const key = await serving.newKey();
    ask = (path, sending) => send(`${serving.urls.production}${path}`, { key, ...sending });
  });
  after(async () => {
    await serving?.stop();
    rmSync(copy, { recursive: true, force: true });
  });

  const create = async (pet: object = {}) =>
    (await ask('/pets', { method: 'POST', body: { name: 'Minka', categoryId: 2, passport: '276-1', ...pet } })).body.id;
  const change = async (method: 'PATCH' | 'PUT', id: number, body: object) =>
    assert.equal((await ask(`/pets/${id}`, { method, body })).status, 200);
  const get = async (id: number) => (await ask(`/pets/${id}?view=full`)).body;
  const lastEvent = async (id: number) => {
    const { body } = await ask('/events?types=pet.*&limit=100');
    return body.findLast((event: { data: { id: number } }) => event.data.id === id);
  };

  it('type-checks, and so do its uses', { skip: skipFor(withoutServers) }, () => assertCompiles(copy, uses));

  it('is stored by a create and shown in the full view only', async () => {
    const id = await create();
    assert.equal((await get(id)).passport, '276-1');
    assert.equal((await ask(`/pets/${id}`)).body.passport, undefined);
    const list = async (view: string) => (await ask(`/pets?id=${id}&view=${view}`)).body[0];
    assert.equal((await list('full')).passport, '276-1');
    assert.deepEqual(Object.keys(await list('plain')), ['id', 'name', 'categoryId', 'status']);
  });

  it('is absent if it has no value', async () => {
    const id = await create({ passport: undefined });
    assert.ok(!('passport' in (await get(id))));
    assert.ok(!('passport' in (await lastEvent(id)).data));
  });

  it('is changed by PATCH, with a new version and an event, and deleted by null', async () => {
    const id = await create();
    const { etag } = await get(id);
    await change('PATCH', id, { passport: '276-2' });
    assert.equal((await get(id)).passport, '276-2');
    assert.notEqual((await get(id)).etag, etag);
    assert.deepEqual((await lastEvent(id)).changes, { passport: { from: '276-1', to: '276-2' } });
    await change('PATCH', id, { name: 'Mimi' });
    assert.equal((await get(id)).passport, '276-2');
    await change('PATCH', id, { passport: null });
    assert.ok(!('passport' in (await get(id))));
    assert.deepEqual((await lastEvent(id)).changes, { passport: { from: '276-2' } });
  });

  it('is replaced or deleted by PUT', async () => {
    const id = await create();
    await change('PUT', id, { name: 'Minka', categoryId: 2, passport: '276-3' });
    assert.equal((await get(id)).passport, '276-3');
    await change('PUT', id, { name: 'Minka', categoryId: 2 });
    assert.ok(!('passport' in (await get(id))));
  });

  it('survives a hold', async () => {
    const id = await create();
    const hold = await ask('/holds', { method: 'POST', body: { petIds: [id], expiresAt: '2026-11-21T13:00:00Z' } });
    assert.equal(hold.status, 201);
    assert.equal((await get(id)).passport, '276-1');
    assert.equal((await lastEvent(id)).data.passport, '276-1');
  });

  it('is validated', async () => {
    const { status, body } = await ask('/pets', { method: 'POST', body: { name: 'x', categoryId: 2, passport: 7 } });
    assert.deepEqual([status, body.errors[0].path], [400, '/passport']);
  });

  it('is in the history, the list of changes and the last state of a deleted pet', async () => {
    const id = await create();
    await change('PATCH', id, { passport: '276-4' });
    const changed = (await ask('/pets?updatedSince=2026-11-21T00:00:00Z&view=full&limit=100')).body;
    assert.equal(changed.find((pet: { id: number }) => pet.id === id).passport, '276-4');
    assert.equal((await ask(`/pets/${id}`, { method: 'DELETE' })).status, 204);
    const { body } = await ask(`/pets/${id}/history`);
    assert.deepEqual(
      body.map((entry: { changes: { passport: object } }) => entry.changes.passport),
      [{ to: '276-1' }, { from: '276-1', to: '276-4' }, { from: '276-4' }],
    );
    assert.equal((await lastEvent(id)).data.passport, '276-4');
  });

  it('is in every schema of the OpenAPI document', async () => {
    const body = await (await fetch(new URL('/openapi.json', serving.urls.production))).json();
    const { NewPet, PetPatch, FullPet, Pet, PetHistoryEntry } = body.components.schemas;
    const { pattern } = nameRules;
    const text = { type: 'string', minLength: 1, maxLength: 255, description: 'The number of the passport.', pattern };
    assert.deepEqual(NewPet.properties.passport, text);
    assert.deepEqual(PetPatch.properties.passport, { anyOf: [text, { type: 'null' }] });
    assert.deepEqual(FullPet.properties.passport, text);
    assert.ok(![...NewPet.required, ...FullPet.required].includes('passport'));
    assert.deepEqual(PetHistoryEntry.properties.changes.properties.passport.properties, { from: text, to: text });
    assert.equal(Pet.properties.passport, undefined);
  });

  it('is a flag of the commands that create and update pets, and in what commands print', async () => {
    const { jsonOf, textOf }: typeof Commands = await import(join(copy, 'test/support/commands.ts'));
    const environment = { PETSTORE_DATA_DIR: dirname(serving.file) };
    const petstore = (...args: string[]) => textOf(environment, ...args);
    const json = (...args: string[]) => jsonOf(environment, ...args);
    const pet = ['--account', '1', '--name', 'Rex', '--category', '1'];
    const { id } = await json('pet', 'create', ...pet, '--passport', '276-5');
    assert.equal((await get(id)).passport, '276-5');
    await petstore('pet', 'update', String(id), '--passport', '276-6');
    assert.equal((await json('pet', 'show', String(id))).passport, '276-6');
    assert.match(await petstore('pet', 'show', String(id)), /passport\s+276-6/);
    await petstore('pet', 'update', String(id), '--passport', 'none');
    assert.ok(!('passport' in (await get(id))));
    assert.match(await petstore('pet', 'create', '--help'), /--passport PASSPORT\s+The number of the passport\./);
  });
});

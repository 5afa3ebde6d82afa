import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { petfinderUrl } from '../support/petfinder.ts';
import { type Process, spawnService } from '../support/serving.ts';
import { installTools, plentifulKey } from './tools.ts';

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
  readonly data: any;
}
type Call<Argument> = (argument?: Argument) => Promise<Answer>;
interface Client {
  readonly animal: { readonly search: Call<object>; readonly show: Call<number> };
  readonly animalData: { readonly types: Call<never>; readonly type: Call<string>; readonly breeds: Call<string> };
  readonly organization: { readonly search: Call<object>; readonly show: Call<string> };
}
interface Sdk {
  readonly Client: new (config: { apiKey: string; secret: string; baseUrl: string }) => Client;
}
interface Failure {
  readonly constructor: { readonly name: string };
  readonly status: number;
  readonly invalidParams?: unknown;
}

/** The calls of its own integration tests, with what they expect, against the sample data. */
describe('@petfinder/petfinder-js', () => {
  let service: Process;
  let client: Client;

  before(async () => {
    const require = createRequire(join(await installTools(), 'package.json'));
    const { Client } = require('@petfinder/petfinder-js') as Sdk;
    service = await spawnService();
    const secret = await plentifulKey(service, 'staging');
    const apiKey = secret.split('_')[2]!;
    client = new Client({ apiKey, secret, baseUrl: petfinderUrl(service.urls.staging) });
  });
  after(async () => {
    await service.stop();
    await service.remove();
  });

  async function fails(call: Promise<Answer>): Promise<Failure> {
    const failure = await call.then(
      () => assert.fail('Got a success response'),
      (error: Failure) => error,
    );
    assert.equal(failure.constructor.name, 'ProblemDetailsError');
    return failure;
  }

  test('can search animals', async () => {
    const { status, data } = await client.animal.search();
    assert.equal(status, 200);
    assert.ok(data.animals.length > 1);
    assert.notEqual(data.animals[0].name, null);
  });

  test('can search animals with parameters', async () => {
    const { status, data } = await client.animal.search({ type: 'Dog' });
    assert.equal(status, 200);
    assert.ok(data.animals.length > 1);
    assert.ok(data.animals.every(({ type }: { type: string }) => type === 'Dog'));
  });

  test('can search animals with several breeds', async () => {
    const { data: all } = await client.animal.search({ type: 'Dog', limit: 100 });
    const breeds = all.animals.map((animal: { breeds: { primary: string } }) => animal.breeds.primary);
    const wanted = [...new Set(breeds.filter((breed: string | null) => breed !== null))].slice(0, 2);
    const { data } = await client.animal.search({ type: 'Dog', breed: wanted });
    assert.ok(data.animals.length > 1);
  });

  test('throws an error on invalid search parameters', async () => {
    const failure = await fails(client.animal.search({ type: 'Unicorn' }));
    assert.equal(failure.status, 400);
    assert.notEqual(failure.invalidParams, undefined);
  });

  test('can get an animal', async () => {
    const { data } = await client.animal.search();
    const { id } = data.animals[0];
    const shown = await client.animal.show(id);
    assert.equal(shown.status, 200);
    assert.equal(shown.data.animal.id, id);
    assert.notEqual(shown.data.animal.type, undefined);
  });

  test('throws an error on a nonexistent animal', async () => {
    const failure = await fails(client.animal.show(1));
    assert.equal(failure.status, 404);
    assert.equal(failure.invalidParams, undefined);
  });

  test('can get animal types', async () => {
    const { status, data } = await client.animalData.types();
    const names = data.types.map(({ name }: { name: string }) => name);
    assert.equal(status, 200);
    assert.ok(names.length >= 2);
    assert.ok(names.includes('Dog'));
  });

  test('can get an animal type', async () => {
    const { status, data } = await client.animalData.type('Dog');
    assert.equal(status, 200);
    assert.equal(data.type.name, 'Dog');
    for (const member of ['coats', 'colors', 'genders']) assert.notEqual(data.type[member], undefined);
  });

  test('can get the breeds of an animal type', async () => {
    const { status, data } = await client.animalData.breeds('Dog');
    const breeds = data.breeds.map(({ name }: { name: string }) => name);
    assert.equal(status, 200);
    assert.ok(breeds.length > 1);
    assert.ok(breeds.includes('Corgi'));
  });

  test('can search organizations', async () => {
    const { status, data } = await client.organization.search();
    assert.equal(status, 200);
    assert.ok(data.organizations.length > 1);
    assert.notEqual(data.organizations[0].name, null);
  });

  test('can search organizations with parameters', async () => {
    const { status, data } = await client.organization.search({ country: 'US' });
    assert.equal(status, 200);
    assert.ok(data.organizations.length > 1);
    assert.ok(data.organizations.every(({ address }: { address: { country: string } }) => address.country === 'US'));
  });

  test('throws an error on invalid parameters of organizations', async () => {
    const failure = await fails(client.organization.search({ country: 'Neverland' }));
    assert.equal(failure.status, 400);
    assert.notEqual(failure.invalidParams, undefined);
  });

  test('can get an organization', async () => {
    const { data } = await client.organization.search();
    const { id } = data.organizations[0];
    const shown = await client.organization.show(id);
    assert.equal(shown.status, 200);
    assert.equal(shown.data.organization.id, id);
    assert.notEqual(shown.data.organization.name, undefined);
  });

  test('throws an error on a nonexistent organization', async () => {
    const failure = await fails(client.organization.show('ABC1234'));
    assert.equal(failure.status, 404);
    assert.equal(failure.invalidParams, undefined);
  });
});

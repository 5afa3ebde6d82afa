import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type ExampleStore, openExampleStore } from '../support/examples.ts';
import { installTools } from './tools.ts';

/** A program that uses every resource, and that compiles only if the types say what a caller may leave out. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.ts';

const [baseUrl, token] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });

function must<T>(answer: { data?: T; error?: unknown; response: Response }): NonNullable<T> {
  if (answer.data === undefined || answer.data === null) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const category = must(await client.POST('/categories', { body: { name: 'Maine Coon', parentId: 2 } }));
const price = { amount: 12_500, currency: 'EUR' };
const pet = must(await client.POST('/pets', { params: { query: { view: 'full' } }, body: { name: 'Nala', categoryId: category.id, price } }));
if (!('price' in pet) || pet.price?.amount !== 12_500) throw new Error('the price does not come back');
const path = { petId: pet.id };
must(await client.PATCH('/pets/{petId}', { params: { path }, body: { statusReason: 'in foster' } }));
must(await client.PUT('/pets/{petId}', { params: { path }, body: { name: 'Nala', categoryId: 2 } }));
const pets = must(await client.GET('/pets', { params: { query: { id: [pet.id], status: ['available'] } } }));
if (pets.length !== 1) throw new Error('the pet is not in the list');
must(await client.GET('/pets/{petId}/history', { params: { path } }));

const hold = must(await client.POST('/holds', { body: { petIds: [pet.id] } }));
const order = must(await client.POST('/store/orders', { body: { petId: pet.id, holdId: hold.id } }));
must(await client.POST('/store/orders/{orderId}/approval', { params: { path: { orderId: order.id } } }));
must(await client.POST('/store/orders/{orderId}/delivery', { params: { path: { orderId: order.id } }, body: { note: 'Fetched.' } }));
must(await client.POST('/store/orders/{orderId}/return', { params: { path: { orderId: order.id } }, body: { note: 'Allergies.' } }));
must(await client.GET('/store/orders', { params: { query: { role: 'owner' } } }));
must(await client.GET('/store/inventory'));

const webhook = must(await client.POST('/webhooks', { body: { url: 'https://example.org/hook', types: ['pet.*'] } }));
must(await client.POST('/webhooks/{webhookId}/secrets', { params: { path: { webhookId: webhook.id } }, body: {} }));
must(await client.GET('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } }));

const message = must(await client.POST('/messages', { body: { message: 'Hello, world!' } }));
must(await client.GET('/messages/{messageId}', { params: { path: { messageId: message.id } } }));
must(await client.GET('/messages', { params: { query: { box: 'inbox' } } }));

const isPetEvent = (event: components['schemas']['Event']): event is components['schemas']['PetEvent'] =>
  event.type.startsWith('pet.');
const events = must(await client.GET('/events', { params: { query: { types: ['pet.created'] } } }));
const named = events.filter(isPetEvent).map(event => event.data.name);
if (!named.includes('Nala')) throw new Error(\`no event of Nala in \${named}\`);
const account = must(await client.GET('/account'));
console.log(account.plan);

// @ts-expect-error categoryId is required
await client.POST('/pets', { body: { name: 'Nameless' } });
`;

const compiler = [
  ...[
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--allowImportingTsExtensions',
  ],
  ...['--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck'],
];

describe('a client with the types of openapi-typescript and openapi-fetch', () => {
  let store: ExampleStore;
  let directory: string;
  let bin: (name: string) => string;

  before(async () => {
    const tools = await installTools();
    bin = name => join(tools, 'node_modules', name);
    store = await openExampleStore();
    directory = await mkdtemp(join(tmpdir(), 'petstore-typed-'));
    await symlink(join(tools, 'node_modules'), join(directory, 'node_modules'));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    await writeFile(join(directory, 'client.ts'), program);
    const document = await (await fetch(new URL('/openapi.json', store.baseUrl))).text();
    await writeFile(join(directory, 'openapi.json'), document);
    execFileSync(process.execPath, [bin('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.ts'], {
      cwd: directory,
    });
  });
  after(async () => {
    await store.serving.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('compiles strictly', () => {
    execFileSync(process.execPath, [bin('typescript/bin/tsc'), ...compiler, 'client.ts'], {
      cwd: directory,
      stdio: 'inherit',
    });
  });

  test('uses every resource, messages included', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['client.ts', store.baseUrl, store.keys.owner], {
      cwd: directory,
    });
    assert.equal(stdout, 'enterprise\n');
  });
});

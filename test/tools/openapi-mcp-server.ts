import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { routes } from '../../src/views/api.ts';
import { type ExampleStore, openExampleStore } from '../support/examples.ts';
import { installTools } from './tools.ts';

interface Tool {
  readonly name: string;
  readonly inputSchema: {
    readonly type: string;
    readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
  };
}

describe('the MCP server @ivotoby/openapi-mcp-server', () => {
  let store: ExampleStore;
  // biome-ignore lint/suspicious/noExplicitAny: the package of the client is not installed in the project
  let client: any;

  before(async () => {
    const packages = join(await installTools(), 'node_modules');
    store = await openExampleStore();
    const load = (file: string) =>
      import(pathToFileURL(join(packages, '@modelcontextprotocol/sdk/dist/esm', file)).href);
    const { Client } = await load('client/index.js');
    const { StdioClientTransport } = await load('client/stdio.js');
    client = new Client({ name: 'test', version: '1.0.0' });
    const server = join(packages, '@ivotoby/openapi-mcp-server/bin/mcp-server.js');
    const document = new URL('/openapi.json', store.baseUrl).href;
    const args = [server, '--api-base-url', store.baseUrl, '--openapi-spec', document, '--tools', 'all'];
    args.push('--headers', `Authorization:Bearer ${store.keys.owner}`);
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  });
  after(async () => {
    await client?.close();
    await store?.serving.stop();
  });

  test('has a tool for every operation, which takes an object', async () => {
    const { tools } = (await client.listTools()) as { tools: readonly Tool[] };
    assert.equal(tools.length, routes.length);
    for (const { name, inputSchema } of tools) {
      assert.equal(inputSchema.type, 'object', name);
      for (const choice of ['oneOf', 'anyOf', 'allOf']) assert.ok(!(choice in inputSchema), `${name} ${choice}`);
    }
  });

  test('lists pets with the defaults of the document', async () => {
    const { tools } = (await client.listTools()) as { tools: readonly Tool[] };
    const { name, inputSchema } = tools.find(tool => tool.name === 'lst-pets')!;
    const defaults = Object.entries(inputSchema.properties).map(([name, schema]) => [name, schema.default]);
    const given = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
    assert.equal(given.limit, 20);
    const { content, isError } = await client.callTool({ name, arguments: given });
    assert.ok(!isError, content[0].text);
    assert.ok(JSON.parse(content[0].text).length > 0);
  });
});

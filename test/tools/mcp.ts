import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Route } from '../../src/lib/http/route.ts';
import { routes } from '../../src/views/api.ts';
import { anew, type ExampleStore, openExampleStore, prepare } from '../support/examples.ts';
import { queryOf } from './query.ts';
import { installTools } from './tools.ts';

interface McpClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: object }): Promise<{ content: { text: string }[]; isError?: boolean }>;
  close(): Promise<void>;
}

describe('an MCP server made by openapi-mcp-generator', () => {
  let store: ExampleStore;
  let directory: string;
  let connect: (token: string) => Promise<McpClient>;
  const clients = new Map<string, McpClient>();

  before(async () => {
    const tools = await installTools();
    const packages = join(tools, 'node_modules');
    store = await openExampleStore();
    directory = await mkdtemp(join(tmpdir(), 'petstore-mcp-'));
    const generator = join(packages, 'openapi-mcp-generator/bin/openapi-mcp-generator.js');
    const input = join(directory, 'openapi.json');
    await writeFile(input, await (await fetch(new URL('/openapi.json', store.baseUrl))).text());
    execFileSync(process.execPath, [generator, '--input', input, '--output', join(directory, 'server'), '--force'], {
      stdio: 'ignore',
    });
    await symlink(packages, join(directory, 'node_modules'));
    const load = (file: string) =>
      import(pathToFileURL(join(packages, '@modelcontextprotocol/sdk/dist/esm', file)).href);
    const { Client } = await load('client/index.js');
    const { StdioClientTransport } = await load('client/stdio.js');
    connect = async token => {
      const known = clients.get(token);
      if (known !== undefined) return known;
      const client: McpClient = new Client({ name: 'test', version: '1.0.0' });
      const env = { API_BASE_URL: store.baseUrl, BEARER_TOKEN_BEARERAUTH: token };
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: ['server/src/index.ts'],
          cwd: directory,
          env,
          stderr: 'ignore',
        }),
      );
      clients.set(token, client);
      return client;
    };
  });
  after(async () => {
    for (const client of clients.values()) await client.close();
    await store.serving.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('has a tool for every operation', async () => {
    const { tools } = await (await connect(store.keys.owner)).listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), routes.map(({ operationId }) => operationId).sort());
  });

  for (const route of (routes as readonly Route<never>[]).filter(({ streams }) => !streams)) {
    test(`calls ${route.operationId} as its first example says`, async () => {
      const example = route.examples.find(({ code }) => code === undefined)!;
      const shared = await anew(store);
      await prepare(example, shared);
      const { path, body, as = 'owner' } = shared.ids!.translate(example);
      const client = await connect(store.keys[as]);
      const numbers = Object.entries(path ?? {}).map(([name, text]) => [
        name,
        /^\d+$/.test(text) ? Number(text) : text,
      ]);
      const input = {
        ...Object.fromEntries(numbers),
        ...queryOf(route, example),
        ...(body !== undefined && { requestBody: body }),
      };
      const { content } = await client.callTool({ name: route.operationId, arguments: input });
      assert.match(content[0]!.text, new RegExp(`Status: ${example.status}`), JSON.stringify(input));
    });
  }
});

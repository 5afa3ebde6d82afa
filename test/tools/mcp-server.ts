import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { type ExampleStore, openExampleStore } from '../support/examples.ts';
import { installTools } from './tools.ts';

const run = promisify(execFile);
const TOOLS = 10;

/**
 * The scenarios of the conformance suite for a server with tools, and the checks in them that need more: prompts,
 * resources, or tools that only test servers have.
 */
const scenarios: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '2025-11-25': { 'server-initialize': [], ping: [], 'tools-list': [], 'dns-rebinding-protection': [] },
  '2026-07-28': {
    'server-stateless': [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ],
    'tools-list': [],
    caching: [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
    'http-header-validation': [],
    'dns-rebinding-protection': [],
  },
};

describe('the MCP server', () => {
  let store: ExampleStore;
  let packages: string;
  let url: string;

  /** Sends requests with a key, because the conformance suite has none. */
  const proxy = createServer((incoming, response) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${store.keys.owner}` };
    const sent = request(url, { method: incoming.method!, headers }, received => {
      response.writeHead(received.statusCode!, received.headers);
      received.pipe(response);
    });
    incoming.pipe(sent);
  });
  let proxyOrigin: string;

  before(async () => {
    packages = join(await installTools(), 'node_modules');
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    proxyOrigin = `http://localhost:${(proxy.address() as AddressInfo).port}`;
    store = await openExampleStore({ environment: { PETSTORE_MCP_ORIGINS: proxyOrigin } });
    url = new URL('/mcp', store.baseUrl).href;
  });
  after(async () => {
    proxy.close();
    await store?.serving.stop();
  });

  for (const [generation, versionNegotiation] of Object.entries({
    '2026-07-28': { mode: { pin: '2026-07-28' } },
    '2025-11-25': { mode: 'legacy' },
    'whichever it offers': { mode: 'auto' },
  })) {
    test(`serves the official client in the revision ${generation}`, async () => {
      const path = join(packages, '@modelcontextprotocol/client/dist/index.mjs');
      const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(path).href);
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation });
      const headers = { Authorization: `Bearer ${store.keys.owner}` };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      try {
        const revision = client.getNegotiatedProtocolVersion();
        assert.equal(revision, generation.startsWith('2025') ? generation : '2026-07-28');
        assert.equal((await client.listTools()).tools.length, TOOLS);
        const found = await client.callTool({ name: 'search_pets', arguments: { q: 'Minka' } });
        const [minka] = found.structuredContent.items;
        assert.equal(minka.name, 'Minka');
        const full = await client.callTool({ name: 'get_pet', arguments: { petId: minka.id } });
        assert.equal(full.structuredContent.price.amount, 12_500);
        const unknown = await client.callTool({ name: 'get_pet', arguments: { petId: 999_999 } });
        assert.deepEqual([unknown.isError, unknown.structuredContent.code], [true, 'pet_not_found']);
      } finally {
        await client.close();
      }
    });
  }

  test('serves the command line of the inspector', async t => {
    const inspector = join(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const inspect = async (...args: string[]) => {
      const header = ['--header', `Authorization: Bearer ${store.keys.owner}`];
      const { stdout } = await run(process.execPath, [inspector, '--cli', url, ...header, ...args]);
      return JSON.parse(stdout);
    };
    const { tools } = await inspect('--method', 'tools/list', '--strict');
    assert.equal(tools.length, TOOLS);
    const call = ['--method', 'tools/call', '--tool-name', 'search_pets', '--tool-arg', 'q=Minka'];
    const { structuredContent } = await inspect(...call);
    t.diagnostic(JSON.stringify(structuredContent));
    assert.equal(structuredContent.items[0].name, 'Minka');
  });

  for (const [revision, named] of Object.entries(scenarios)) {
    for (const [scenario, impossible] of Object.entries(named)) {
      test(`passes ${scenario} of the conformance suite for ${revision}`, async t => {
        const suite = join(packages, '@modelcontextprotocol/conformance/dist/index.js');
        const args = ['--url', `${proxyOrigin}/mcp`, '--scenario', scenario, '--spec-version', revision];
        // The suite ends with 1 if a check failed.
        const { stdout } = await run(process.execPath, [suite, 'server', ...args], { cwd: packages }).catch(e => e);
        const lines = stripVTControlCharacters(stdout).split('\n');
        t.diagnostic(lines.find(line => line.startsWith('Passed:')) ?? stdout);
        const failed = lines.map(line => /\[([\w-]+) *\] FAILURE/.exec(line)?.[1]).filter(id => id !== undefined);
        assert.deepEqual(failed, impossible);
        assert.ok(lines.some(line => line.includes('] SUCCESS')));
      });
    }
  }
});

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Process } from '../support/serving.ts';

/** Other people's tools, at the versions that were tried. */
const versions = {
  '@arethetypeswrong/cli': '0.18.5',
  '@hey-api/openapi-ts': '0.99.0',
  '@types/node': '26.6.6',
  '@ivotoby/openapi-mcp-server': '1.16.1',
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@modelcontextprotocol/sdk': '1.32.2',
  '@petfinder/petfinder-js': '1.0.6',
  '@redocly/cli': '2.77.0',
  '@stoplight/prism-cli': '5.14.2',
  axios: '1.21.1',
  dotenv: '17.4.2',
  'json-schema-to-zod': '2.8.1',
  'openapi-fetch': '0.17.0',
  'openapi-mcp-generator': '4.0.1',
  'openapi-to-postmanv2': '6.3.3',
  'openapi-typescript': '7.13.0',
  orval: '8.38.0',
  'postman-collection': '5.3.1',
  publint: '0.3.25',
  'swagger-ui-dist': '5.35.0',
  // The generator needs the compiler's JavaScript interface, which TypeScript 7 no longer has.
  typescript: '5.9.3',
  zod: '3.25.76',
};

/** Where the tools are installed, outside of the project; installs them where they are not there yet. */
export async function installTools(): Promise<string> {
  const directory = join(tmpdir(), 'petstore-tools');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: directory });
  return directory;
}

/** A key of a new account whose limits no tool exhausts. */
export async function plentifulKey(service: Process, deployment: 'production' | 'staging'): Promise<string> {
  const plan = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
  const email = `${randomUUID()}@example.org`;
  const account = await service.petstore('account', 'create', '--email', email, '--name', 'A tool', ...plan);
  const key = await service.petstore('key', 'create', '--account', String(account['id']), '--deployment', deployment);
  return String(key['token']);
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** A service of its own, as a user runs it: real processes, free ports, a data directory that goes away with it. */
export interface RunningService {
  /** Base addresses, as `petstore serve --json` tells them. */
  readonly urls: Readonly<Record<'production' | 'staging' | 'messages', string>>;
  /** Runs a `petstore` command on the same data; the value that it prints. */
  petstore(...args: string[]): Promise<Record<string, unknown>>;
  /** A key with every scope, of a new account whose plan is of no concern. */
  newKey(deployment: 'production' | 'staging'): Promise<string>;
  /** Stops the service and tells its exit code. */
  stop(): Promise<number | null>;
}

const launcher = new URL('../bin/petstore', import.meta.url).pathname;

/** Starts a service, ready to answer. The caller stops it. */
export async function startService(environment: Record<string, string> = {}): Promise<RunningService> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-'));
  const env = {
    ...process.env,
    PETSTORE_DATA_DIR: directory,
    PETSTORE_PORT: '0',
    PETSTORE_STAGING_PORT: '0',
    PETSTORE_MESSAGES_PORT: '0',
    ...environment,
  };
  const child: ChildProcess = spawn(launcher, ['serve', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const line = await Promise.race([
    once(createInterface(child.stdout!), 'line').then(([text]) => text as string),
    ended.then(([code]) => Promise.reject(new Error(`the service ended with ${code} before it listened`))),
  ]);
  let accounts = 0;

  const petstore: RunningService['petstore'] = async (...args) => {
    const { stdout } = await promisify(execFile)(launcher, [...args, '--json'], { env });
    return JSON.parse(stdout);
  };

  return {
    urls: JSON.parse(line),
    petstore,
    async newKey(deployment) {
      const email = `caller-${++accounts}@example.org`;
      const plan = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
      const account = await petstore('account', 'create', '--email', email, '--name', 'A caller', ...plan);
      const key = await petstore('key', 'create', '--account', String(account['id']), '--deployment', deployment);
      return String(key['token']);
    },
    async stop() {
      child.kill('SIGTERM');
      const [code] = await ended;
      await rm(directory, { recursive: true, force: true });
      return code;
    },
  };
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { connectValkey } from '../../src/access/limits/valkey.ts';
import { freePort } from './free-port.ts';
import { reasonWithout, withoutServers } from './selection.ts';

/** The Valkey or Redis for tests. Each service has its own key prefix. */
export const valkeyUrl = process.env.PETSTORE_TEST_VALKEY_URL ?? 'redis://127.0.0.1:6379';

/** Why suites on Valkey are skipped; `undefined` if they run. */
export const withoutValkey: string | undefined =
  withoutServers ??
  (await reasonWithout(async () => (await connectValkey(valkeyUrl, () => {})).close(), 'PETSTORE_TEST_VALKEY_URL'));

const program = ['valkey-server', 'redis-server'].find(name => spawnSync(name, ['--version']).status === 0);

/** Why suites that start their own server are skipped; `undefined` if they run. */
export const withoutValkeyServer =
  withoutServers ?? (program === undefined ? 'left out: no valkey-server or redis-server' : undefined);

/** A server of a single test. It is empty at each start. */
export class ValkeyServer {
  readonly #port: number;
  readonly #environment: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;

  private constructor(port: number, environment: Readonly<Record<string, string>> = {}) {
    this.#port = port;
    this.#environment = environment;
  }

  /** @param options further options of its command line */
  static async start(...options: readonly string[]): Promise<ValkeyServer> {
    const server = new ValkeyServer(await freePort());
    await server.start(...options);
    return server;
  }

  /** Starts a server with more variables in its environment. */
  static async startWith(environment: Readonly<Record<string, string>>): Promise<ValkeyServer> {
    const server = new ValkeyServer(await freePort(), environment);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  async start(...further: readonly string[]): Promise<void> {
    const options = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    this.#process = spawn(program!, [...options, ...further], {
      stdio: 'ignore',
      env: { ...process.env, ...this.#environment },
    });
    for (;;) {
      const valkey = await connectValkey(this.url, () => {}).catch(() => undefined);
      if (valkey !== undefined) return valkey.close();
      await pause(20);
    }
  }

  /** Kills the server. Idempotent. */
  async kill(): Promise<void> {
    if (this.#process!.signalCode !== null) return;
    const ended = once(this.#process!, 'exit');
    this.#process!.kill('SIGKILL');
    await ended;
  }

  /** Stops the process without closing its connections. */
  freeze(): void {
    this.#process!.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process!.kill('SIGCONT');
  }
}

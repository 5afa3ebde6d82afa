import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The directory of the project. */
export const root = new URL('../..', import.meta.url).pathname;

const { error: withoutCurl } = spawnSync('curl', ['--version']);

/** Why suites that run pages are left out, where they are. */
export const skip = withoutCurl !== undefined && process.env.CI !== 'true' ? 'left out: there is no curl' : false;

/** A page of the project, by its path below it. */
export function readPage(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8');
}

/** The command lines of a page: every line of its ```sh blocks, in their order. */
export function commandsOf(page: string): string[] {
  return [...page.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, lines]) => lines!.trim().split('\n'));
}

/** A server that was started for the first time, as a newcomer has it. */
export interface FirstServer {
  /** What it printed. */
  readonly printed: string;
  /** Where its data is, and where lines are run. */
  readonly directory: string;
  /**
   * Runs a line of a page as it stands, but for the key and the ports that this server has; what it printed.
   * @param more further variables of the shell's environment
   */
  run(line: string, more?: Readonly<Record<string, string>>): Promise<string>;
  /** Ends it, and takes its data away; how it left: code and signal. */
  stop(): Promise<readonly unknown[]>;
}

/**
 * Starts the service in an empty directory, on free ports, and waits until it says that all is there.
 * @param settings further variables of its environment, also of the lines that are run
 */
export async function startFirstServer(settings: Readonly<Record<string, string>> = {}): Promise<FirstServer> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-start-'));
  const env = {
    ...process.env,
    ...settings,
    PETSTORE_PORT: '0',
    PETSTORE_STAGING_PORT: '0',
    PETSTORE_MESSAGES_PORT: '0',
    PETSTORE_DATA_DIR: join(directory, 'data'),
  };
  const server = spawn(join(root, 'bin/petstore'), ['serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(server, 'exit');
  let printed = '';
  for await (const line of createInterface(server.stdout)) {
    printed += `${line}\n`;
    if (line.startsWith('Ctrl-C')) break;
  }
  server.stdout.resume();
  const [key] = /petstore_test_\w+/.exec(printed) ?? [];
  if (key === undefined) throw new Error(`The start gave no key. It printed:\n${printed}`);
  const address = (name: string) => new RegExp(`${name} +http://(\\S+?)(?:/v1)?\\n`).exec(printed)![1]!;

  return {
    printed,
    directory,

    async run(line, more = {}) {
      const script = line
        .replaceAll('localhost:8080', address('Production'))
        .replaceAll('localhost:8081', address('Staging'))
        .replaceAll('localhost:8082', address('Messages'))
        .replaceAll('bin/petstore', join(root, 'bin/petstore'));
      const options = { cwd: directory, env: { ...env, ...more } };
      const { stdout } = await promisify(execFile)('sh', ['-euc', `KEY=${key}\n${script}`], options);
      return stdout;
    },

    async stop() {
      server.kill();
      const left = await ended;
      await rm(directory, { recursive: true, force: true });
      return left;
    },
  };
}

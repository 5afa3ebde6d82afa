import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The project directory. */
export const root = new URL('../..', import.meta.url).pathname;

const { error: withoutCurl } = spawnSync('curl', ['--version']);

/** The reason for skipping tests that run pages, or `false`. */
export const skip = withoutCurl !== undefined && process.env.CI !== 'true' ? 'left out: there is no curl' : false;

/** Returns the text of a page, given its path below the project directory. */
export function readPage(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8');
}

/** A fenced block of a page. */
export interface Block {
  /** The word after the fence: `sh`, `json`, `http`, … */
  readonly language: string;
  readonly text: string;
}

/** Returns the fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({
    language: language!,
    text: text!.trimEnd(),
  }));
}

/** Returns every line of a page's ```sh blocks, in order. */
export function commandsOf(page: string): string[] {
  return blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n'));
}

/** A server on its first start in an empty directory, with a shell to run commands against it. */
export interface FirstServer {
  /** What the server printed at its start. */
  readonly printed: string;
  /** The directory that holds its data and in which commands run. */
  readonly directory: string;
  /**
   * Runs shell commands and returns what they print on stdout. `KEY` is the key of the first start. The documented ports
   * stand for the real ones, in commands and in their output. Variables that a command sets are kept for the next one.
   * @param more variables of the shell's environment
   */
  run(script: string, more?: Readonly<Record<string, string>>): Promise<string>;
  /** Stops the server and deletes its data; returns its exit code and signal. */
  stop(): Promise<readonly unknown[]>;
}

/**
 * Starts the service in an empty directory on free ports and waits until it is ready.
 * @param settings environment variables of the server and of the commands
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
    if (line.includes('Ctrl-C')) break;
  }
  server.stdout.resume();
  const [key] = /petstore_test_\w+/.exec(printed) ?? [];
  if (key === undefined) throw new Error(`The server printed no key:\n${printed}`);
  const addresses = [
    ['localhost:8080', addressIn(printed, 'Production')],
    ['localhost:8081', addressIn(printed, 'Staging')],
    ['localhost:8082', addressIn(printed, 'Messages')],
    ['localhost:9464', addressIn(printed, 'Metrics') ?? 'localhost:9464'],
  ] as const;
  const state = join(directory, '.shell-state');

  return {
    printed,
    directory,

    async run(script, more = {}) {
      let real = script;
      for (const [documented, address] of addresses) real = real.replaceAll(documented, address!);
      real = real.replaceAll(/(?<![\w/.-])(?:bin\/)?petstore (?=[a-z])/g, `${join(root, 'bin/petstore')} `);
      const restore = existsSync(state) ? `. ${state}` : `KEY=${key}`;
      const options = { cwd: directory, env: { ...env, ...more }, maxBuffer: 1e8 };
      const { stdout } = await promisify(execFile)(
        'sh',
        ['-euc', `set -a\n${restore}\n${real}\nexport -p >${state}`],
        options,
      );
      let output = stdout;
      for (const [documented, address] of addresses) output = output.replaceAll(address!, documented);
      return output;
    },

    async stop() {
      server.kill();
      const left = await ended;
      await rm(directory, { recursive: true, force: true });
      return left;
    },
  };
}

/** Returns host and port of an address that the start printed. */
function addressIn(printed: string, name: string): string | undefined {
  return new RegExp(`${name} +http://([^/\\s]+)`).exec(printed)?.[1];
}

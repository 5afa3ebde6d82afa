import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The core of the measured server, and the core of the load generator and this process. */
export const cores = { server: 0, load: 1 } as const;

/** A child process. It ends with its owner, at the latest with this process. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  /** The first line of its output; rejects if it exits before. */
  readonly firstLine: Promise<string>;
  /** Sends SIGTERM, and SIGKILL after 10 s; returns the exit code. */
  stop(): Promise<number | null>;
}

const alive = new Set<ChildProcess>();

let killed = false;

/** Kills every process that was started here and prevents further starts. Pending promises reject. */
export function killAll(): void {
  killed = true;
  for (const child of alive) child.kill('SIGKILL');
}

function assertNotKilled(): void {
  if (killed) throw new Error('The benchmark is ending and starts no more processes.');
}

/** Starts a program on one core. A program that replaces it by `exec` keeps the process id and the core. */
export function start(
  core: number,
  command: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Running {
  assertNotKilled();
  const child = spawn('taskset', ['-c', String(core), ...command], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  alive.add(child);
  let errorOutput = '';
  child.stderr.on('data', data => {
    errorOutput = (errorOutput + data).slice(-2000);
  });
  const exit = once(child, 'exit').then(([code]) => {
    alive.delete(child);
    return code as number | null;
  });
  const firstLine = Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => line as string),
    exit.then(code => Promise.reject(new Error(`${command.join(' ')} exited with ${code}. ${errorOutput.trim()}`))),
  ]);
  firstLine.catch(() => {});

  async function stop() {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const code = await exit;
    clearTimeout(late);
    return code;
  }
  return { pid: child.pid!, firstLine, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

/** Runs a program on one core and returns its standard output. Rejects if it fails or takes longer than 90 s. */
export async function run(
  core: number,
  command: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  assertNotKilled();
  const started = promisify(execFile)('taskset', ['-c', String(core), ...command], { ...options, timeout: 90_000 });
  alive.add(started.child);
  try {
    return (await started).stdout;
  } finally {
    alive.delete(started.child);
  }
}

/** Returns a port of 127.0.0.1 that was just free. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves when a server responds at the URL; rejects after 10 s. */
export async function waitUntilReachable(url: string): Promise<void> {
  const endMs = performance.now() + 10_000;
  for (;;) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  }
}

/** Returns the seconds of processor time that a process has used, all threads included. */
export async function processorTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) / TICKS_PER_SECOND;
}

/** Linux reports processor time in this unit. */
const TICKS_PER_SECOND = 100;

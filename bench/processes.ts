import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The core of what is measured, and the core of what measures. */
export const cores = { server: 0, load: 1 } as const;

/** A process that ends with its holder, at the latest with this one. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  /** The first line that it prints; rejects when it ends before. */
  readonly firstLine: Promise<string>;
  /** Ends it with SIGTERM, and with SIGKILL after 10 s; its exit code. */
  stop(): Promise<number | null>;
}

const alive = new Set<ChildProcess>();

let ended = false;

/** Ends every process that was started here, at once, and starts no more: what waits for one is rejected. */
export function endAll(): void {
  ended = true;
  for (const child of alive) child.kill('SIGKILL');
}

function demandOpen(): void {
  if (ended) throw new Error('No more processes are started.');
}

/**
 * Starts a program on one core.
 *
 * What it starts in its place (`exec`) keeps its id and its core.
 */
export function start(
  core: number,
  command: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Running {
  demandOpen();
  const child = spawn('taskset', ['-c', String(core), ...command], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  alive.add(child);
  let complaints = '';
  child.stderr.on('data', data => {
    complaints = (complaints + data).slice(-2000);
  });
  const exit = once(child, 'exit').then(([code]) => {
    alive.delete(child);
    return code as number | null;
  });
  const firstLine = Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => line as string),
    exit.then(code => Promise.reject(new Error(`${command.join(' ')} ended with ${code}. ${complaints.trim()}`))),
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

/** Runs a program to its end on one core; what it printed. Rejects when it fails, or takes longer than a minute and a half. */
export async function run(
  core: number,
  command: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  demandOpen();
  const started = promisify(execFile)('taskset', ['-c', String(core), ...command], { ...options, timeout: 90_000 });
  alive.add(started.child);
  try {
    return (await started).stdout;
  } finally {
    alive.delete(started.child);
  }
}

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves once something listens on a port of 127.0.0.1; rejects after 10 s. */
export async function listening(url: string): Promise<void> {
  const until = performance.now() + 10_000;
  for (;;) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
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
  return (Number(user) + Number(system)) / TICKS_A_SECOND;
}

/** Linux reports processor time in this unit. */
const TICKS_A_SECOND = 100;

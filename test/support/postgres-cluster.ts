import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresServer } from '../../src/lib/storage/postgres/connection.ts';
import { freePort } from './free-port.ts';

/** A PostgreSQL server of a single test, which may kill it. */
export interface Cluster {
  readonly url: string;
  readonly port: number;
  /** Starts the server and waits until it accepts connections. */
  start(): Promise<void>;
  /** Kills all processes of the server at once (`kill -9`). */
  kill(): Promise<void>;
  /** Stops the server and deletes its files. */
  remove(): Promise<void>;
}

const binaries = globSync('/usr/lib/postgresql/*/bin/postgres')
  .sort()
  .at(-1)
  ?.replace(/postgres$/, '');

/** Why tests with their own server are skipped; `undefined` if they run. */
export const withoutCluster: string | undefined =
  binaries === undefined
    ? 'left out: there are no PostgreSQL server binaries in /usr/lib/postgresql'
    : existsSync('/proc/self/stat')
      ? undefined
      : 'left out: killing a whole PostgreSQL needs /proc';

/**
 * Starts a server in a temporary directory, which flushes to disk.
 * @param primary what it is a standby of, with streaming replication
 */
export async function startCluster(primary?: Cluster): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-cluster-'));
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (user.uid !== undefined && user.gid !== undefined) await chown(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  const create =
    primary === undefined
      ? ['initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
      : ['pg_basebackup', '-D', data, '-d', primary.url, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  execFileSync(`${binaries}${create[0]}`, create.slice(1), { ...user, cwd: directory, stdio: 'pipe' });
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let postmaster: ReturnType<typeof spawn> | undefined;

  async function kill() {
    if (postmaster?.pid === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null) return;
    const children = childrenOf(postmaster.pid);
    const gone = once(postmaster, 'exit');
    for (const pid of [postmaster.pid, ...children]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    await gone;
  }

  const cluster: Cluster = {
    url,
    port,
    async start() {
      const options = ['-D', data, '-p', `${port}`, '-c', 'listen_addresses=127.0.0.1', '-k', directory];
      for (let attempt = 1; attempt <= 200; attempt++) {
        // After a kill, shared memory may stay in use for a moment. A new server then exits immediately.
        if (postmaster === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null) {
          postmaster = spawn(`${binaries}postgres`, options, { ...user, cwd: directory, stdio: 'ignore' });
        }
        const connection = await postgresServer(url)
          .connect('petstore test')
          .catch(() => undefined);
        if (connection !== undefined) return connection.release();
        await pause(50);
      }
      throw new Error('the PostgreSQL server of the test does not start');
    },
    kill,
    async remove() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
  await cluster.start();
  return cluster;
}

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }));
}

function childrenOf(parent: number): number[] {
  return globSync('/proc/[0-9]*/stat').flatMap(file => {
    try {
      const [, pid, ppid] = /^(\d+) \(.*\) \S (\d+)/s.exec(readFileSync(file, 'utf8')) ?? [];
      return Number(ppid) === parent ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

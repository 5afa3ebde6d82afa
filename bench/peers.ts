import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cores, freePort, start, waitUntilReachable } from './processes.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A server to compare with. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Serves lists and single pets. */
  readonly baseUrl: string;
  /** Serves the response to `POST /pets`. */
  readonly createUrl: string;
}

/** The bodies that most peers serve, copied from the product's responses. */
export interface ResponseBodies {
  readonly list: string;
  readonly pets: ReadonlyMap<number, string>;
  readonly created: string;
}

/**
 * Starts nginx with one worker. It serves the list and each pet from files, with `sendfile` and `tcp_nopush` as on
 * Debian, no access log and unlimited keep-alive. It ignores the body of a POST and responds 201 with a file, which
 * replaces its own 405.
 */
export async function startNginx({ list, pets, created }: ResponseBodies): Promise<Peer> {
  const files = temporaryDirectory();
  const directory = files.path;
  const root = join(directory, 'root', 'v1', 'pets');
  await mkdir(root, { recursive: true });
  await writeFile(join(directory, 'list.json'), list);
  // nginx responds 405 to a POST only where a file exists, otherwise 404.
  await mkdir(join(directory, 'created', 'v1'), { recursive: true });
  for (const name of ['pet', 'v1/pets']) await writeFile(join(directory, 'created', name), created);
  for (const [id, bytes] of pets) await writeFile(join(root, String(id)), bytes);
  const [port, createPort] = [await freePort(), await freePort()];
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `
    daemon off; master_process off; worker_processes 1; pid ${directory}/pid; error_log stderr crit;
    events { worker_connections 1024; }
    http {
      access_log off; sendfile on; tcp_nopush on; default_type application/json;
      keepalive_requests 1000000000; keepalive_timeout 1h;
      ${temporary.map(name => `${name}_temp_path ${directory}/${name};`).join(' ')}
      server { listen 127.0.0.1:${port}; root ${directory}/root; location = /v1/pets { alias ${directory}/list.json; } }
      server {
        listen 127.0.0.1:${createPort}; root ${directory}/created; location = /v1/pets { error_page 405 =201 /pet; }
      }
    }`;
  await writeFile(join(directory, 'nginx.conf'), config);
  const nginx = start(cores.server, ['nginx', '-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')]);
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  try {
    await Promise.race([waitUntilReachable(`${baseUrl}/pets`), nginx.firstLine]);
  } catch (error) {
    await nginx.stop();
    files[Symbol.dispose]();
    throw error;
  }
  return {
    name: 'nginx',
    pid: nginx.pid,
    baseUrl,
    createUrl: `http://127.0.0.1:${createPort}/v1`,
    async [Symbol.asyncDispose]() {
      await nginx.stop();
      files[Symbol.dispose]();
    },
  };
}

/** Starts Fastify without authentication, limits, validation or storage. Every pet has the same bytes. */
export function startFastify(bytes: ResponseBodies): Promise<Peer> {
  return startScript('Fastify', 'peer-fastify.ts', bytes);
}

/** Starts a bare `node:http` server. Every pet has the same bytes. */
export function startNode(bytes: ResponseBodies): Promise<Peer> {
  return startScript('node:http', 'peer-node.ts', bytes);
}

/**
 * Starts what an engineer would write in an afternoon: Fastify with better-sqlite3, keys, limits, validation, and an event
 * for each change.
 */
export function startAfternoon(token: string, pets: number): Promise<Peer> {
  return startProgram('afternoon', 'peer-afternoon.ts', [token, String(pets)]);
}

function startScript(name: string, script: string, { list, pets, created }: ResponseBodies): Promise<Peer> {
  const [pet = ''] = pets.values();
  return startProgram(name, script, [list, pet, created]);
}

async function startProgram(name: string, script: string, args: readonly string[]): Promise<Peer> {
  const file = new URL(script, import.meta.url).pathname;
  const server = start(cores.server, [process.execPath, file, ...args]);
  const baseUrl = await server.firstLine;
  const dispose = () => server[Symbol.asyncDispose]();
  return { name, baseUrl, createUrl: baseUrl, pid: server.pid, [Symbol.asyncDispose]: dispose };
}

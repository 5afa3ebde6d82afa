import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cores, freePort, listening, start } from './processes.ts';
import { scratch } from './scratch.ts';

/** A server to compare with, serving the bytes that the product serves. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Serves lists and single animals. */
  readonly baseUrl: string;
  /** Serves what a POST is answered with. */
  readonly createUrl: string;
}

/** The bytes that peers serve: bodies of the product's own answers. */
export interface Bytes {
  readonly list: string;
  readonly animals: ReadonlyMap<number, string>;
  readonly created: string;
}

/**
 * nginx with one worker, serving files: the list, each animal, and for a POST, whose body it does not look at, the
 * answer 201 (what it would answer, 405, leads to the file). `sendfile` and `tcp_nopush` as Debian ships it, no access
 * log, connections that live for ever.
 */
export async function startNginx({ list, animals, created }: Bytes): Promise<Peer> {
  const files = scratch();
  const directory = files.path;
  const root = join(directory, 'root', 'v1', 'pets');
  await mkdir(root, { recursive: true });
  await writeFile(join(directory, 'list.json'), list);
  // A POST to a file is 405, to no file 404.
  await mkdir(join(directory, 'created', 'v1'), { recursive: true });
  for (const name of ['animal', 'v1/pets']) await writeFile(join(directory, 'created', name), created);
  for (const [id, bytes] of animals) await writeFile(join(root, String(id)), bytes);
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
        listen 127.0.0.1:${createPort}; root ${directory}/created; location = /v1/pets { error_page 405 =201 /animal; }
      }
    }`;
  await writeFile(join(directory, 'nginx.conf'), config);
  const nginx = start(cores.server, ['nginx', '-p', directory, '-e', 'stderr', '-c', join(directory, 'nginx.conf')]);
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  try {
    await Promise.race([listening(`${baseUrl}/pets`), nginx.firstLine]);
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
export function startFastify(bytes: Bytes): Promise<Peer> {
  return startScript('Fastify', 'bare-fastify.ts', bytes);
}

/** Starts a bare `node:http` server. Every pet has the same bytes. */
export function startNode(bytes: Bytes): Promise<Peer> {
  return startScript('node:http', 'bare-node.ts', bytes);
}

async function startScript(name: string, script: string, { list, animals, created }: Bytes): Promise<Peer> {
  const [animal = ''] = animals.values();
  const file = new URL(script, import.meta.url).pathname;
  const server = start(cores.server, [process.execPath, file, list, animal, created]);
  const baseUrl = await server.firstLine;
  const dispose = () => server[Symbol.asyncDispose]();
  return { name, baseUrl, createUrl: baseUrl, pid: server.pid, [Symbol.asyncDispose]: dispose };
}

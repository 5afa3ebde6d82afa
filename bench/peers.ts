import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cores, freePort, listening, start } from './processes.ts';
import { scratch } from './scratch.ts';

/** A server to compare with, serving the bytes that the product serves. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
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
 * nginx with one worker: the list is a file, each animal is a file (packaged settings: `sendfile`, `tcp_nopush`), and a
 * POST is answered 201 from memory without looking at its body. No access log; connections live for ever.
 */
export async function startNginx({ list, animals, created }: Bytes): Promise<Peer> {
  const files = scratch();
  const directory = files.path;
  const root = join(directory, 'root', 'v1', 'pets');
  await mkdir(root, { recursive: true });
  await writeFile(join(directory, 'list.json'), list);
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
      server { listen 127.0.0.1:${createPort}; location / { return 201 '${created}'; } }
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
    baseUrl,
    createUrl: `http://127.0.0.1:${createPort}/v1`,
    async [Symbol.asyncDispose]() {
      await nginx.stop();
      files[Symbol.dispose]();
    },
  };
}

/** Fastify without key, limits, validation or storage; every animal has the same bytes. */
export async function startFastify({ list, animals, created }: Bytes): Promise<Peer> {
  const script = new URL('bare-fastify.ts', import.meta.url).pathname;
  const [animal = ''] = animals.values();
  const fastify = start(cores.server, [process.execPath, script, list, animal, created]);
  const baseUrl = await fastify.firstLine;
  return { name: 'Fastify', baseUrl, createUrl: baseUrl, [Symbol.asyncDispose]: () => fastify[Symbol.asyncDispose]() };
}

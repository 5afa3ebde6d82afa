import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { withoutProgram } from './programs.ts';

const run = promisify(execFile);

/** A proxy that runs with its configuration of `deploy/`. */
export interface RunningProxy {
  /** The port on 127.0.0.1 that serves HTTPS for `api.example.org`. */
  readonly port: number;
  /** The certificate to trust. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** A configuration of `deploy/`: how it is adapted to this machine, checked and run. */
interface ShippedProxy {
  readonly file: string;
  /** Replaces what the comments of the file tell operators to change, apart from the nodes; `directory` has the certificate. */
  adapt(text: string, port: number, directory: string): string;
  /** The arguments of the program that check the file, and those that run it in the foreground. */
  check(path: string): readonly string[];
  run(path: string): readonly string[];
}

const shipped = {
  nginx: {
    file: 'nginx.conf',
    adapt: (text, port, directory) => `
      daemon off;
      pid ${directory}/nginx.pid;
      error_log ${directory}/error.log;
      events {}
      http {
        access_log off;
        ${replace(text, {
          'listen 443': `listen 127.0.0.1:${port}`,
          '/etc/ssl/petstore.pem': join(directory, 'cert.pem'),
          '/etc/ssl/petstore.key': join(directory, 'key.pem'),
          // The shipped nodes serve on for longer than that when they stop, those of the tests for 3 seconds.
          'keepalive_timeout 15s': 'keepalive_timeout 1s',
        })}
      }`,
    check: path => ['-e', 'stderr', '-t', '-c', path],
    run: path => ['-e', 'stderr', '-c', path],
  },
  caddy: {
    file: 'Caddyfile',
    adapt: (text, port, directory) => `{
        admin off
        auto_https disable_redirects
      }
      ${replace(text, { 'keepalive 15s': 'keepalive 1s' }).replaceAll(
        /^(\w+\.example\.org) \{$/gm,
        `$1:${port} {\n\ttls ${join(directory, 'cert.pem')} ${join(directory, 'key.pem')}`,
      )}`,
    check: path => ['validate', '--adapter', 'caddyfile', '--config', path],
    run: path => ['run', '--adapter', 'caddyfile', '--config', path],
  },
  haproxy: {
    file: 'haproxy.cfg',
    adapt: (text, port, directory) =>
      replace(text, { 'bind :443': `bind 127.0.0.1:${port}`, '/etc/ssl/petstore.pem': join(directory, 'both.pem') }),
    check: path => ['-c', '-f', path],
    run: path => ['-db', '-f', path],
  },
} satisfies Readonly<Record<string, ShippedProxy>>;

export type ProxyName = keyof typeof shipped;

export const proxyNames = Object.keys(shipped) as readonly ProxyName[];

/** Returns why tests with a proxy are skipped; `undefined` if they run. */
export function withoutProxy(name: ProxyName): string | undefined {
  return withoutProgram(name, 'openssl') || undefined;
}

/**
 * Checks a configuration of `deploy/` with the proxy's own check, and starts the proxy in front of two nodes.
 * @param nodes the ports of the two nodes on 127.0.0.1
 * @throws {Error} when the check fails
 */
export async function startShippedProxy(name: ProxyName, nodes: readonly [number, number]): Promise<RunningProxy> {
  const proxy: ShippedProxy = shipped[name];
  const directory = await mkdtemp(join(tmpdir(), `petstore-${name}-`));
  const ca = await createCertificate(directory);
  const text = await readFile(new URL(`../../deploy/${proxy.file}`, import.meta.url), 'utf8');
  const port = await freePort();
  const ofNodes = text.replaceAll(/\b10\.0\.0\.1([12]):808\d\b/g, (_, node) => `127.0.0.1:${nodes[Number(node) - 1]}`);
  const path = join(directory, proxy.file);
  await writeFile(path, proxy.adapt(ofNodes, port, directory));
  const env = { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
  await run(name, [...proxy.check(path)], { env });
  const child = spawn(name, [...proxy.run(path)], { env, stdio: 'ignore' });
  const exited = once(child, 'exit');
  // If a test fails, its proxy ends with it.
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  return {
    port,
    ca,
    async stop() {
      process.off('exit', end);
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}

/** Creates `cert.pem`, `key.pem`, and both in `both.pem`, for the three names of the files. Returns the certificate. */
async function createCertificate(directory: string): Promise<string> {
  const [cert, key] = ['cert.pem', 'key.pem'].map(name => join(directory, name)) as [string, string];
  const names = ['api', 'staging', 'messages'].map(name => `DNS:${name}.example.org`).join();
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', '/CN=api.example.org', '-addext', `subjectAltName=${names}`];
  await run('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert]);
  const certificate = await readFile(cert, 'utf8');
  await writeFile(join(directory, 'both.pem'), certificate + (await readFile(key, 'utf8')));
  return certificate;
}

/** Replaces texts that must occur. */
function replace(text: string, replacements: Readonly<Record<string, string>>): string {
  let replaced = text;
  for (const [from, to] of Object.entries(replacements)) {
    if (!replaced.includes(from)) throw new Error(`There is no ${from} in the file.`);
    replaced = replaced.replaceAll(from, to);
  }
  return replaced;
}

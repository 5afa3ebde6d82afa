import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UserError } from '../../lib/user-error.ts';

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The number of bytes read from a program's standard error. */
const ERROR_BYTES_MAX = 16 * 1024;

/** The number of characters kept of a program's output. */
const PRINTED_MAX = 200;

interface ProgramOptions {
  /** The database to connect to. */
  readonly url?: string;
  readonly environment: Environment;
  /** Ends the program; its reason is then the error of the call. */
  readonly signal?: AbortSignal;
}

/**
 * Requires that `pg_dump` is at least of the server's major version: an older version refuses to dump.
 * @param server the version of the server as `server_version_num`: 170004 is 17.4
 * @throws {UserError} naming the package to install
 */
export async function requireDumpVersion(server: number, environment: Environment): Promise<void> {
  const needed = Math.floor(server / 10_000);
  const found = /\d+/.exec(await runOnPostgres('pg_dump', ['--version'], { environment }))?.[0];
  if (found === undefined || Number(found) >= needed) return;
  throw new UserError(
    `pg_dump has version ${found}, and the server has version ${needed}: install the client programs of version ${needed}, on Debian the package postgresql-client-${needed}.`,
  );
}

/**
 * Runs a client program of PostgreSQL until it ends. A password is passed only in the environment of the program.
 * @returns the beginning of the program's output
 * @throws {UserError} if the program is not installed or fails, with the last line that it wrote
 */
export async function runOnPostgres(
  program: 'pg_dump' | 'pg_restore',
  args: readonly string[],
  { url, environment, signal: stopping }: ProgramOptions,
): Promise<string> {
  const { options, password } = url === undefined ? { options: [] } : connectionOf(url);
  const inherited = Object.entries(environment).filter(([name]) => !name.startsWith('PETSTORE_'));
  const env = { ...Object.fromEntries(inherited), ...(password !== undefined && { PGPASSWORD: password }) };
  const child = spawn(program, [...options, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(stopping && { signal: stopping }),
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (printed.length < PRINTED_MAX) printed += text.slice(0, PRINTED_MAX);
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-ERROR_BYTES_MAX);
  });
  const [code, signal] = await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    if (stopping?.aborted) throw stopping.reason;
    if (error.code !== 'ENOENT') throw error;
    throw new UserError(
      `${program} is not installed: install PostgreSQL's client programs in the version of the server or a later one.`,
    );
  });
  if (code === 0) return printed;
  const lines = errors.split('\n').filter(line => line !== '');
  const line =
    lines.find(text => /error:/.test(text)) ??
    lines.at(-1) ??
    (signal === null ? `exit code ${code}` : `${signal} ended it`);
  throw new UserError(`${program} failed: ${line.replace(/^pg_\w+: (error: )?/, '')}`);
}

/** Returns the options that connect a program to a database, and the password, which must not be on a command line. */
function connectionOf(url: string): { readonly options: readonly string[]; readonly password?: string | undefined } {
  const parts = new URL(url);
  const password = parts.searchParams.get('password') ?? (decodeURIComponent(parts.password) || undefined);
  parts.password = '';
  // A password must not be on a command line, and only the driver knows `uselibpqcompat`.
  for (const name of ['password', 'uselibpqcompat']) parts.searchParams.delete(name);
  // The programs do not decode a plus sign as a space.
  parts.search = parts.search.replaceAll('+', '%20');
  return { options: ['--no-password', `--dbname=${parts.href}`], password };
}

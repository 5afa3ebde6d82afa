import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { cores } from './processes.ts';

/** The required programs, with the option that prints the version and the Debian package of each. */
const required: Readonly<Record<string, { readonly version: string; readonly debianPackage: string }>> = {
  taskset: { version: '--version', debianPackage: 'util-linux' },
  wrk: { version: '-v', debianPackage: 'wrk' },
  nginx: { version: '-v', debianPackage: 'nginx-light' },
};

/**
 * Returns the versions of the programs used, and a description of the machine.
 * @throws when the machine lacks a core or a program
 */
export function describeMachine(): { versions: Record<string, string>; machine: string } {
  if (cpus().length <= Math.max(...Object.values(cores))) {
    throw new Error('The benchmark needs two cores: one for the server, one for the load.');
  }
  const versions: Record<string, string> = { node: process.version };
  for (const [program, { version, debianPackage }] of Object.entries(required)) {
    const { error, stdout, stderr } = spawnSync(program, [version], { encoding: 'utf8' });
    if (error !== undefined) {
      throw new Error(`The benchmark needs ${program}. On Debian: apt-get install ${debianPackage}`);
    }
    versions[program] = /\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? 'of unknown version';
  }
  const [, kind, source] = execFileSync('df', ['--output=fstype,source', tmpdir()], { encoding: 'utf8' })
    .trim()
    .match(/\n(\S+)\s+(\S+)/)!;
  const memory = Math.round(totalmem() / 2 ** 30);
  const machine =
    `${cpus().length} cores (${cpus()[0]!.model.trim()}), ${memory} GiB of memory, data on ${kind} (${source}), ` +
    `${type()} ${release()}`;
  return { versions, machine };
}

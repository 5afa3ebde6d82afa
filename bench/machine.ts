import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { cores } from './processes.ts';

/** The programs that the measurement needs, and the package that brings each on Debian. */
const needed: Readonly<Record<string, { readonly version: readonly string[]; readonly from: string }>> = {
  taskset: { version: ['--version'], from: 'util-linux' },
  wrk: { version: ['-v'], from: 'wrk' },
  nginx: { version: ['-v'], from: 'nginx-light' },
};

/**
 * What there is to measure with and on, in words: program → version, and the machine as a sentence.
 * @throws with a sentence for a person, when this machine cannot measure
 */
export function lookAtMachine(): { versions: Record<string, string>; machine: string } {
  if (cpus().length <= Math.max(...Object.values(cores))) {
    throw new Error('The measurement needs two cores: one for the server, one for the load.');
  }
  const versions: Record<string, string> = { node: process.version };
  for (const [program, { version, from }] of Object.entries(needed)) {
    const { error, stdout, stderr } = spawnSync(program, version, { encoding: 'utf8' });
    if (error !== undefined) {
      throw new Error(`The measurement needs ${program}, which is not here. On Debian: apt-get install ${from}`);
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

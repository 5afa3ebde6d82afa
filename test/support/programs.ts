import { spawnSync } from 'node:child_process';

/** Returns the reason for skipping a test that needs these programs, or `false`. */
export function withoutProgram(...names: string[]): string | false {
  const missing = names.find(name => spawnSync('which', [name]).status !== 0);
  return missing === undefined ? false : `left out: there is no ${missing}`;
}

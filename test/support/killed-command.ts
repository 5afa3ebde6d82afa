import { spawnSync } from 'node:child_process';
import process from 'node:process';
import type { Terminal } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { plain } from '../../src/cli/terminal.ts';
import type { Environment } from './commands.ts';

/**
 * Runs a command in a process that is killed at its nth report of progress.
 * @returns what it reported last; `undefined` if it succeeded without so many reports
 */
export function killedAt(nth: number, environment: Environment, ...args: string[]): string | undefined {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { signal, status, stderr } = spawnSync(process.execPath, [import.meta.filename, String(nth), ...args], {
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    encoding: 'utf8',
  });
  if (signal === 'SIGKILL') return stderr.trim();
  if (status !== 0) throw new Error(`petstore ${args.join(' ')}: ${stderr}`);
  return undefined;
}

if (process.argv[1] === import.meta.filename) {
  const [nth, ...args] = process.argv.slice(2);
  let reports = 0;
  const terminal: Terminal = {
    print() {},
    printError: text => void process.stderr.write(`${text}\n`),
    async write() {},
    showProgress(step, share) {
      if (++reports < Number(nth)) return;
      process.stderr.write(`${step} ${Math.floor(share * 100)} %`);
      process.kill(process.pid, 'SIGKILL');
    },
    style: plain,
  };
  process.exitCode = await main(args, process.env, terminal);
}

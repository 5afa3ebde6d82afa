import { readFileSync } from 'node:fs';
import type { Log } from './log.ts';

/**
 * Logs a warning if this process may open fewer files than `needed`. Node itself raises the soft limit to the hard one
 * when it starts. Does nothing on systems without `/proc`.
 */
export function warnOfFewOpenFiles(needed: number, log: Log): void {
  const limit = openFilesMax();
  if (limit >= needed) return;
  log.warn(
    `The process may open ${limit} files, but needs up to ${needed}, one for each connection: raise the hard limit with \`ulimit -Hn ${needed}\`, or LimitNOFILE=${needed} of systemd.`,
  );
}

function openFilesMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

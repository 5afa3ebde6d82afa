import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { UserError } from '../../lib/user-error.ts';
import type { BackupReport, BackupRequest } from './make-backup.ts';
import type { BackupReply } from './worker.ts';

/** Runs a process for each line, with the line as its input, and prints its exit code after what it printed. */
const SHELL_SCRIPT = `while read -r request; do printf '%s\\n' "$request" | "$@"; echo $?; done`;

/** How much of what a process writes to standard error is read. */
const ERROR_CHARACTERS_MAX = 4096;

/**
 * Runs `makeBackup` in processes of their own, so that no request waits: neither for a copy on the event loop, nor for one of
 * the threads that flush the log while a disk or a network file system hangs.
 *
 * A shell that waits since the start of the server starts them. To start a process, the kernel copies the page tables of the
 * one that asks for it, which would stop a server with 370 MB of memory for 40 to 80 ms.
 */
export class BackupProcesses {
  #shell: Shell | undefined = new Shell();

  /**
   * Runs one backup at a time.
   * @param stopping ends the process and the programs that it runs
   * @throws {UserError} as `makeBackup` does
   */
  async run(request: BackupRequest, stopping: AbortSignal): Promise<BackupReport> {
    stopping.throwIfAborted();
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const onAbort = () => {
      this.close();
      reject(stopping.reason);
    };
    stopping.addEventListener('abort', onAbort);
    try {
      if (this.#shell?.ended !== false) this.#shell = new Shell();
      const reply = await Promise.race([this.#shell.run(JSON.stringify(request)), stopped]);
      if ('report' in reply) return reply.report;
      const { reason, stack } = reply;
      throw stack === undefined ? new UserError(reason) : Object.assign(new Error(reason), { stack });
    } finally {
      stopping.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the shell, and the process of a backup if there is one. */
  close(): void {
    this.#shell?.kill();
    this.#shell = undefined;
  }
}

class Shell {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  ended = false;
  #errors = '';

  constructor() {
    const worker = new URL('./worker.ts', import.meta.url).pathname;
    this.#child = spawn('/bin/sh', ['-c', SHELL_SCRIPT, 'sh', process.execPath, worker], {
      // A process group, which is ended as a whole, and which Ctrl-C in a terminal does not reach.
      detached: true,
      // The worker reads from the last one until the server has ended.
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    const { stdin, stdout, stderr } = this.#child;
    this.#lines = createInterface(stdout!);
    stderr!.setEncoding('utf8').on('data', text => {
      this.#errors = (this.#errors + text).slice(-ERROR_CHARACTERS_MAX);
    });
    const end = () => {
      this.ended = true;
    };
    this.#child.once('error', end).once('close', end);
    // The shell has ended, which is an event of its own.
    stdin!.on('error', () => {});
  }

  async run(request: string): Promise<BackupReply> {
    this.#errors = '';
    const { promise, resolve, reject } = Promise.withResolvers<BackupReply>();
    let reply: BackupReply | undefined;
    const onLine = (line: string) => {
      if (line.startsWith('{')) reply = JSON.parse(line);
      else if (reply !== undefined) resolve(reply);
      else reject(new Error(`The process of a backup failed: exit code ${line}. ${this.#errors}`.trim()));
    };
    const onEnd = () => reject(new Error('The shell that starts the processes of backups has ended.'));
    this.#lines.on('line', onLine);
    this.#child.once('error', onEnd).once('close', onEnd);
    try {
      this.#child.stdin!.write(`${request}\n`);
      return await promise;
    } finally {
      this.#lines.off('line', onLine);
      this.#child.off('error', onEnd).off('close', onEnd);
    }
  }

  kill(): void {
    const { pid } = this.#child;
    if (pid === undefined || this.ended) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended just now.
    }
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { UserError } from '../../../lib/user-error.ts';
import type { BackupReport, BackupRequest } from './make-backup.ts';
import type { BackupReply } from './worker.ts';

/** For each line, runs a process with the line as its input. After the output of the process, prints its exit code. */
const SHELL_SCRIPT = `while read -r request; do printf '%s\\n' "$request" | "$@"; echo $?; done`;

/** The number of characters read from a process's standard error. */
const ERROR_CHARACTERS_MAX = 4096;

/**
 * Runs `makeBackup` in separate processes. So requests wait neither for a copy on the event loop, nor for a flush on a
 * thread pool whose threads hang on a slow disk or network file system.
 *
 * A shell that runs since the start of the server starts them. To start a process, the kernel copies the page tables of
 * its parent, which would stop a server with 370 MB of memory for 40 to 80 ms.
 */
export class BackupProcesses {
  #shell: Shell | undefined = new Shell();

  /**
   * Runs one backup at a time.
   * @param stopping ends the process and the programs that it runs
   * @throws {UserError} like `makeBackup`
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
      // A process group, so that it can be ended as a whole and Ctrl-C in a terminal does not reach it.
      detached: true,
      // The worker reads from the last pipe until the server has ended.
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
    // The event `close` reports that the shell has ended.
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
      // The process has just ended.
    }
  }
}

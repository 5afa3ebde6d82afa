import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the recorder is asked for beside recording; see `recorder.c`. */
export type RecorderSettings = Readonly<Record<`RECORD_${string}`, string>>;

let built: string | undefined;

/** Why nothing can be recorded on this machine; `undefined` where it can. Under CI it must be possible. */
export const withoutRecorder: string | undefined = findOut();

/** Starts a script of this folder under the recorder. Whoever starts it waits for its end. */
export function startRecorded(
  directory: string,
  script: string,
  args: readonly string[],
  settings: RecorderSettings & Readonly<Record<string, string>>,
): ChildProcess {
  return startScript(script, args, { ...settings, ...recorded(directory) });
}

/** What a process needs in its environment, beside its settings, so that the recorder stands between it and `directory`. */
export function recorded(directory: string): Readonly<Record<string, string>> {
  return { RECORD_DIRECTORY: directory, LD_PRELOAD: library() };
}

/** Starts a script of this folder as it is. */
export function startScript(
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url)), ...args], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** How a process ended: its exit code, or the name of the signal. */
export async function ended(child: ChildProcess): Promise<number | string> {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? await once(child, 'exit')
      : [child.exitCode, child.signalCode];
  return code ?? signal;
}

function library(): string {
  if (built === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'petstore-recorder-'));
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    built = join(directory, 'recorder.so');
    const source = fileURLToPath(new URL('./recorder.c', import.meta.url));
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', built, source, '-ldl', '-lpthread'], { stdio: 'pipe' });
  }
  return built;
}

function findOut(): string | undefined {
  if (process.platform !== 'linux') return 'left out: the recorder needs Linux';
  try {
    library();
    return undefined;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    return 'left out: no C compiler (cc) to build the recorder';
  }
}

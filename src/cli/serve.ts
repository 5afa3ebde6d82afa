import { flushCompileCache } from 'node:module';
import { relative } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Addresses, App } from '../app.ts';
import { type AddressName, type Config, settings } from '../config.ts';
import type { IssuedKey } from '../keys/key.ts';
import type { Log } from '../lib/log.ts';
import { type Database, StorageError } from '../lib/storage/database.ts';
import { UserError } from '../lib/user-error.ts';
import type { Command, Style } from './command.ts';
import { list } from './terminal.ts';

/** How long a stop may take before the process ends anyway: what the application allows itself, and a little more. */
const STOP_MS = 12_000;
/** How long, after storage has failed for good, those who wait are given to hear of it. */
const FAILED_MS = 500;

/** `petstore serve` */
export const command: Command = {
  name: 'serve',
  sentence: 'Serves production, staging and the message address until SIGTERM or Ctrl-C.',
  details:
    'Finishes what is in flight before it ends. With --json it prints one line once everything listens, with the real addresses.',
  settings: true,
  examples: [
    { line: 'petstore serve', sentence: 'with the embedded engine, its files in ./data' },
    {
      line: 'PETSTORE_PORT=80 PETSTORE_HOST=0.0.0.0 petstore serve',
      sentence: 'for everyone who can reach the machine',
    },
  ],
  async run({ config, clock, json, terminal }) {
    if (Object.keys(config.ports).length === 0) {
      throw new UserError(
        'There is nothing to serve: PETSTORE_PORT, PETSTORE_STAGING_PORT and PETSTORE_MESSAGES_PORT are all empty.',
      );
    }
    const stop = stopSignal();
    const [{ createApp }, { openLog }] = await Promise.all([import('../app.ts'), import('../lib/log.ts')]);
    const log = openLog();
    process.prependListener('uncaughtException', error =>
      log.error({ err: error }, 'The process ends: an error that nothing was ready for.'),
    );

    const failed = Promise.withResolvers<Error>();
    try {
      const accept = async (database: Database) => {
        if (config.startAtMs === undefined) return;
        const { catchUp } = await import('./test-clock.ts');
        await catchUp(clock, database);
      };
      const app = await createApp({ config, clock, log, onFailed: failed.resolve, accept });
      try {
        const { ownerId, urls } = await start(app, config);
        const firstKey = json || urls.staging === undefined ? undefined : await firstKeyOf(app, ownerId);
        terminal.print(json ? JSON.stringify(urls) : greeting(terminal.style, urls, ownerId, firstKey));
        // What this start had to compile is kept for the next one, however this process ends.
        flushCompileCache();
        const failure = await Promise.race([stop, failed.promise]);
        if (failure !== undefined) throw failure;
      } finally {
        await closeInTime(app, failed.promise, log);
      }
    } catch (error) {
      if (!(error instanceof UserError || error instanceof StorageError)) log.error({ err: error }, 'The server ends.');
      throw error;
    }
    return undefined;
  },
};

/** Fulfilled by the first SIGTERM or SIGINT; later ones are not a second wish. */
function stopSignal(): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => resolve(undefined));
  return promise;
}

async function start(app: App, config: Config): Promise<{ ownerId: number; urls: Addresses }> {
  const { production, staging } = app.databases;
  const { ensureOwner } = await import('../seeds/accounts.ts');
  const ownerId = await ensureOwner(production);
  if (staging !== undefined) {
    const { fillSamples } = await import('../seeds/seeds.ts');
    await fillSamples(production, staging);
  }
  try {
    return { ownerId, urls: await app.listen() };
  } catch (error) {
    throw listenRefusal(error, config);
  }
}

/** Why an address cannot be listened on, as one sentence that names the setting; other errors as they are. */
function listenRefusal(error: unknown, config: Config): unknown {
  const { code, port } = error as { code?: string; port?: number };
  const reason = {
    EADDRINUSE: 'is in use',
    EACCES: 'is not open to this user',
    EADDRNOTAVAIL: 'is not an address of this machine',
    ENOTFOUND: 'is not an address that can be found',
  }[code ?? ''];
  if (reason === undefined) return error;
  const names: Record<AddressName, string> = {
    production: settings.port.name,
    staging: settings.stagingPort.name,
    messages: settings.messagesPort.name,
  };
  const [address] = Object.entries(config.ports).find(([, wanted]) => wanted === port) ?? [];
  const setting = address === undefined ? settings.host.name : names[address as AddressName];
  return new UserError(
    `${config.host}${port === undefined ? '' : ` port ${port}`} ${reason}; set ${setting} to another, or end what holds it.`,
    {
      cause: error,
    },
  );
}

async function firstKeyOf(app: App, ownerId: number): Promise<IssuedKey | undefined> {
  const { giveFirstKey } = await import('../seeds/first-key.ts');
  return giveFirstKey(app.databases.production, ownerId);
}

async function closeInTime(app: App, failed: Promise<Error>, log: Log): Promise<void> {
  const late = async (ms: number) => {
    await pause(ms, undefined, { ref: false });
    return 'late';
  };
  const end = await Promise.race([app.close(), late(STOP_MS), failed.then(() => late(FAILED_MS))]);
  if (end !== 'late') return;
  log.warn('Stopping took too long; the process ends before everything was finished.');
  process.once('exit', leaveThreads);
}

/** Node waits for its threads in the end, and one that waits for a disk may never come back: another program ends for it. */
function leaveThreads(code: number): void {
  process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`]);
}

function greeting(style: Style, urls: Addresses, ownerId: number, firstKey: IssuedKey | undefined): string {
  const titles: Record<keyof Addresses, string> = {
    production: 'Production',
    staging: 'Staging',
    messages: 'Messages',
    portal: 'Pages',
    metrics: 'Metrics',
  };
  const where = list(
    Object.entries(urls).map(([name, url]) => [`  ${titles[name as keyof Addresses]}`, style.bold(url)]),
  );
  const keyCreate = `  ${launcher()} key create --account ${ownerId}`;
  const paragraphs = ['The Pet Store Service is running.', where];
  if (firstKey !== undefined) {
    paragraphs.push(
      'Your first API key is for staging, where sample animals live. It is shown this once:',
      `  ${style.bold(firstKey.token)}`,
      'Try it, in another terminal:',
      `  curl -H "Authorization: Bearer ${firstKey.token}" "${urls.staging}/pets?limit=3"`,
    );
    if (urls.production !== undefined) paragraphs.push('Get a key for production:', keyCreate);
  } else {
    paragraphs.push(
      'Get an API key:',
      `${keyCreate} --deployment ${urls.production === undefined ? 'staging' : 'production'}`,
    );
  }
  paragraphs.push('Ctrl-C ends it.');
  return paragraphs.join('\n\n');
}

/** The launcher as it is called from the current directory. */
function launcher(): string {
  const path = `${import.meta.dirname}/../../bin/petstore`;
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? relative('/', path).replace(/^/, '/') : near;
}

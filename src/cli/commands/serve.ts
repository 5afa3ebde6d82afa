import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedLineWriter } from '../../lib/line-writer.ts';
import type { Log } from '../../lib/log.ts';
import { type Database, StorageError } from '../../lib/storage/database.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Addresses, App } from '../../main/app.ts';
import type { AddressName, Config } from '../../model/config.ts';
import { PORTAL_FACT, storeFact } from '../../model/facts.ts';
import type { IssuedKey } from '../../model/key.ts';
import { openPhotoStore } from '../../model/photo-files/open.ts';
import { settingTree } from '../../model/settings.ts';
import type { Command, Style } from '../command.ts';
import { list } from '../terminal.ts';
import { launcher } from '../text.ts';
import { whileSlow } from '../while-slow.ts';

/** The time that a stop may take after its delay before the process exits anyway: the app's own limit, and a margin. */
export const STOP_MS = 12_000;
/** How long the process waits for pending requests to get their errors after storage has failed permanently. */
const FAILED_MS = 500;

export const serve: Command = {
  name: 'serve',
  summary: 'Serve production, staging and the message address until SIGTERM or Ctrl-C.',
  details:
    'When stopped, keeps serving for PETSTORE_STOP_DELAY, and finishes requests in flight before it exits. With --json, prints one line with the real addresses once all of them accept connections.',
  settings: true,
  examples: {
    'petstore serve': 'with the embedded database, whose files are in ./data',
    'PETSTORE_PORT=80 PETSTORE_HOST=0.0.0.0 petstore serve': 'for everyone who can reach the machine',
  },
  async run({ config, clock, json, terminal }) {
    if (Object.keys(config.ports).length === 0) {
      throw new UserError(
        'There is nothing to serve: PETSTORE_PORT, PETSTORE_STAGING_PORT and PETSTORE_MESSAGES_PORT are all empty.',
      );
    }
    const stopped = stopSignal();
    const [{ createApp }, { openLog }] = await Promise.all([import('../../main/app.ts'), import('../../lib/log.ts')]);
    const log = openLog({ level: config.logLevel });
    logWarnings(log);
    const accessLog = config.accessLog ? new BoundedLineWriter(process.stdout.fd) : undefined;
    process.prependListener('uncaughtException', error =>
      log.error({ err: error }, 'The process exits after an unexpected error.'),
    );
    const failed = Promise.withResolvers<Error>();
    const accept = async (database: Database) => {
      if (config.startAtMs === undefined) return;
      const { catchUp } = await import('../databases.ts');
      await catchUp(clock, database);
    };
    try {
      const options = { config, clock, log, accessLog, environment: process.env, onFailed: failed.resolve, accept };
      const { app, text } = await whileSlow(log, stopped, async () => {
        const created = await createApp(options);
        try {
          return { app: created, text: await start(created, config, json ? undefined : terminal.style) };
        } catch (error) {
          await closeInTime(created, failed.promise, log);
          throw error;
        }
      });
      try {
        terminal.print(text);
        // Keep the code that this start compiled for the next start, even if this process is killed.
        flushCompileCache();
        const failure = await Promise.race([stopped.then(() => app.drain()), failed.promise]);
        if (failure !== undefined) throw failure;
      } finally {
        await closeInTime(app, failed.promise, log);
        await accessLog?.close();
      }
    } catch (error) {
      if (!(error instanceof UserError || error instanceof StorageError))
        log.error({ err: error }, 'The server exits.');
      throw error;
    }
    return undefined;
  },
};

/** Logs the warnings of Node.js, which Node would print as text. */
function logWarnings(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', warning => log.warn({ warning: warning.name, err: warning }, warning.message));
}

/** Returns a promise that resolves at the first SIGTERM or SIGINT. Later signals have no effect. */
function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => resolve());
  return promise;
}

/** Prepares the data, listens on every address, and returns the text to print: a greeting, or JSON without a style. */
async function start(app: App, config: Config, style: Style | undefined): Promise<string> {
  const { production, staging } = app.databases;
  const { createFirstKey, ensureOwner } = await import('../../operate/seeds/accounts.ts');
  const ownerId = await ensureOwner(production);
  if (staging !== undefined) {
    const { seedStaging } = await import('../../operate/seeds/staging.ts');
    await seedStaging(production, staging, await openPhotoStore(config.locations.staging.photos));
  }
  const urls = await app.listen().catch(error => {
    throw listenError(error, config);
  });
  const portal = urls.portal ?? (urls.staging && new URL(urls.staging).origin);
  if (portal !== undefined) await production.write(tx => tx.run(storeFact, { name: PORTAL_FACT, value: portal }));
  if (style === undefined) return JSON.stringify(urls);
  const firstKey =
    urls.staging === undefined ? undefined : await createFirstKey(production, ownerId, config.keyLifetimeDays);
  return greeting(style, urls, ownerId, firstKey);
}

const listenErrors: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'is not permitted to this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'cannot be resolved',
};

/** Returns an error that names the setting of an address that cannot be listened on; any other error unchanged. */
function listenError(error: unknown, config: Config): unknown {
  const { code = '', port } = error as { code?: string; port?: number };
  const reason = listenErrors[code];
  if (reason === undefined) return error;
  const [address] = Object.entries(config.ports).find(([, configured]) => configured === port) ?? [];
  const setting = address === undefined ? settingTree.host : settingTree.ports[address as AddressName];
  const location = `${config.host}${port === undefined ? '' : ` port ${port}`}`;
  return new UserError(
    `${location} ${reason}; set ${setting.name} to another value, or stop the process that uses this address.`,
    {
      cause: error,
    },
  );
}

async function closeInTime(app: App, failed: Promise<Error>, log: Log): Promise<void> {
  const late = (ms: number) => sleep(ms, 'late', { ref: false });
  const outcome = await Promise.race([app.close(), late(STOP_MS), failed.then(() => late(FAILED_MS))]);
  if (outcome !== 'late') return;
  log.warn('Stopping took too long; the process exits before everything was finished.');
  process.once('exit', abandonThreads);
}

/**
 * Ends the process immediately at its exit: Node would wait for its threads, and a thread that waits for a disk may
 * never return.
 */
function abandonThreads(code: number): void {
  process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`]);
}

const titles: Record<keyof Addresses, string> = {
  production: 'Production',
  staging: 'Staging',
  messages: 'Messages',
  portal: 'Pages',
  metrics: 'Metrics',
};

function greeting(style: Style, urls: Addresses, ownerId: number, firstKey: IssuedKey | undefined): string {
  const addresses = Object.entries(urls).map(
    ([name, url]) => [`  ${titles[name as keyof Addresses]}`, style.bold(url)] as const,
  );
  const accountLink = `Open the pages as the first account: ${launcher()} account link ${ownerId}`;
  const keyCreate = `  ${launcher()} key create --account ${ownerId}`;
  const paragraphs = ['The Pet Store Service is running.', list(addresses)];
  if (firstKey !== undefined) {
    paragraphs.push(
      'Your first API key is for staging, which has sample animals. It is shown only once:',
      `  ${style.bold(firstKey.token)}`,
      'Try it in another terminal:',
      `  curl -H "Authorization: Bearer ${firstKey.token}" "${urls.staging}/pets?limit=3"`,
    );
    if (urls.production !== undefined) paragraphs.push('Create a key for production:', keyCreate);
  } else {
    if (urls.staging !== undefined) {
      paragraphs.push('Create an API key for staging, which has sample animals:', `${keyCreate} --deployment staging`);
    }
    if (urls.production !== undefined) paragraphs.push('Create a key for production:', keyCreate);
  }
  return [...paragraphs, accountLink, 'Ctrl-C stops it.'].join('\n\n');
}

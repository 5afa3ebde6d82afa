import { Address, type AddressDeps, type Service } from './address.ts';
import { messageRoutes, routes } from './api.ts';
import { RefusalCounter } from './audit/refusal-counter.ts';
import type { AddressName, Config } from './config.ts';
import type { Deployment, Webhooks } from './deployment.ts';
import { EventBus } from './events/event-bus.ts';
import { type JobName, startJobs } from './jobs.ts';
import { KeyAuthenticator } from './keys/authenticator.ts';
import { KeyCache } from './keys/key-cache.ts';
import type { Clock } from './lib/clock.ts';
import { createEncryptor } from './lib/encryption.ts';
import { openOutgoingClient } from './lib/http/client/client.ts';
import { ScanQueue } from './lib/http/pagination/scan-queue.ts';
import type { Caller } from './lib/http/route.ts';
import { BodyBudget } from './lib/http/server/body-budget.ts';
import { trustedProxies } from './lib/http/server/client-address.ts';
import { MetricsServer } from './lib/http/server/metrics-server.ts';
import type { JobLoop } from './lib/jobs/job-loop.ts';
import type { Log } from './lib/log.ts';
import { openDatabase } from './lib/storage/open.ts';
import { warnOfSharedAccess } from './lib/storage/sqlite/data-directory.ts';
import { DAY_MS } from './lib/time.ts';
import { openLimiter } from './limits/open.ts';
import { openEmailSender } from './messages/email-sender.ts';
import { observe } from './metrics.ts';
import { migrations } from './migrations/index.ts';
import { pages } from './pages.ts';
import { boundOf } from './plans/plan.ts';
import type { Database, DeploymentName } from './schema.ts';
import { PasswordHasher } from './sessions/password-hasher.ts';
import { PREFIX, urlOf } from './urls.ts';
import { ALERT_FROM } from './usage/alerts.ts';
import { UsageRecorder } from './usage/recorder.ts';
import { PageHandler } from './web/serve.ts';
import type { Site } from './web/site.ts';
import { checkKey, loadSecretKey } from './webhooks/secret-key.ts';

/** Everything that one process serves. */
export interface App {
  readonly databases: Databases;
  /** Counts and logs the requests of accounts. */
  readonly usage: UsageRecorder;
  /**
   * Starts listening on every configured address, and starts the jobs. Returns the URLs with their actual ports.
   * @throws {Error} when an address cannot be listened on; then the app listens on none
   */
  listen(): Promise<Addresses>;
  /** Waits at most 10 s for requests in flight, saves the counts, and releases everything. May be called again. */
  close(): Promise<void>;
}

/** The databases that are open. Staging has one only if it is served. */
export interface Databases {
  readonly production: Database;
  readonly staging?: Database;
}

/** URLs for clients on this machine: the base URLs of the API, the origin of the pages, and the metrics. */
export type Addresses = Readonly<Partial<Record<AddressName | 'portal' | 'metrics', string>>>;

/** What an app is created with. */
export interface AppOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once if storage fails for good: no request succeeds any more, and the process should end. */
  onFailed(error: Error): void;
  /** Rejects if a database must not be used. Until it resolves the app has written nothing to that database. */
  accept?(database: Database): Promise<void>;
}

const CLOSE_TIMEOUT_MS = 10_000;
/** How long to wait for running jobs. Unfinished ones stay due. */
const JOBS_TIMEOUT_MS = 5000;

/**
 * Opens storage and the rate limiter and assembles the addresses. Nothing listens before `listen` is called.
 * @throws {UserError} when something cannot be opened
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, clock, log } = options;
  // Releases everything if the rest cannot be opened.
  await using opened = new AsyncDisposableStack();
  const databases = await openDatabases(options, opened);
  const webhooks = await openWebhooks(options, databases, opened);
  warnOfSharedAccess(config.dataDir, log);
  const limiter = await openLimiter({
    database: databases.production,
    clock,
    log,
    ...(config.valkeyUrl !== undefined && { valkeyUrl: config.valkeyUrl }),
  });
  opened.defer(() => limiter.close());
  const jobs = new Map<DeploymentName, JobLoop<JobName>>();
  const deployments = createDeployments(options, databases, webhooks, jobs, opened);
  const emailSender = config.mail && (await openEmailSender(config.mail));
  const usage = new UsageRecorder({ database: databases.production, clock, log });
  opened.defer(() => usage.close());
  const emailQueued = () => {
    jobs.get('production')?.wake('account_emails');
    jobs.get('production')?.wake('visitor_emails');
  };
  const parts = { deployments, limiter, emailSender, emailQueued, usage };
  const { addresses, metrics } = createAddresses(options, parts, opened);
  const resources = opened.move();

  return {
    databases,
    usage,
    async listen() {
      const metricsPort = await listenOnAll(config, addresses, metrics);
      for (const { name, database, eventsKeptMs } of deployments.values()) {
        const worker = startJobs({
          database,
          clock,
          log,
          // Staging sends no e-mail.
          emailSender: name === 'production' ? emailSender : undefined,
          webhooks: { ...webhooks, scheduleMs: config.webhookScheduleMs },
          eventsKeptMs,
          messagesKeptMs: config.messagesDays * DAY_MS,
          auditKeptMs: config.auditDays * DAY_MS,
          keysIdleMs: config.keyIdleDays && config.keyIdleDays * DAY_MS,
          deletion: name === 'production' ? { staging: databases.staging } : undefined,
        });
        jobs.set(name, worker);
        resources.defer(() => worker.close(JOBS_TIMEOUT_MS));
      }
      return urlsOf(config, addresses, metricsPort);
    },
    async close() {
      await Promise.all([...addresses.values()].map(address => address.close(CLOSE_TIMEOUT_MS)));
      await resources.disposeAsync();
    },
  };
}

async function openDatabases(
  { config, clock, log, onFailed, accept }: AppOptions,
  resources: AsyncDisposableStack,
): Promise<Databases> {
  if ('file' in config.locations.production) {
    const { lockDataDirectory } = await import('./lib/storage/sqlite/directory-lock.ts');
    const lock = lockDataDirectory(config.dataDir);
    resources.defer(() => lock.release());
  }
  const open = async (name: DeploymentName) => {
    const database = await openDatabase(config.locations[name], { migrations, clock, role: 'server', log, onFailed });
    resources.defer(() => database.close());
    return database;
  };
  const production = await open('production');
  const staging = config.ports.staging === undefined ? undefined : await open('staging');
  await accept?.(production);
  if (staging === undefined) return { production };
  await accept?.(staging);
  return { production, staging };
}

/** Opens what webhooks need, and checks that the key which encrypts their secrets is the one that the data needs. */
async function openWebhooks(
  { config, clock }: AppOptions,
  databases: Databases,
  resources: AsyncDisposableStack,
): Promise<Webhooks> {
  const encryptor = createEncryptor(config.secretKey ?? loadSecretKey(config.dataDir));
  for (const database of Object.values(databases)) await checkKey(database, encryptor);
  const networks = config.webhookNetworks;
  const outgoing = openOutgoingClient({ networks }, { now: () => clock.wallTime?.() ?? clock.now() });
  resources.defer(() => outgoing.close());
  return { outgoing, encryptor, networks, accounts: databases.production };
}

/** @param jobs the job loops of the deployments, once they run */
function createDeployments(
  { config, clock, log }: AppOptions,
  databases: Databases,
  webhooks: Webhooks,
  jobs: ReadonlyMap<DeploymentName, JobLoop<JobName>>,
  resources: AsyncDisposableStack,
): ReadonlyMap<string, Deployment> {
  const { categories, bounds, eventsDays } = config;
  const deployments = new Map<string, Deployment>();
  const scans = new ScanQueue({
    // Reads of SQLite block the event loop; so does decoding the rows of PostgreSQL, while its other connections stay free.
    atOnce: databases.production.engine === 'sqlite' ? 1 : 2,
    maxOf: caller => boundOf(bounds, caller, 'scans'),
  });
  for (const [name, database] of Object.entries(databases) as [DeploymentName, Database][]) {
    const eventBus = new EventBus({ database, log });
    resources.defer(() => eventBus.close());
    const wake = (job: JobName) => jobs.get(name)?.wake(job);
    deployments.set(name, {
      ...{ name, database, clock, categories, bounds, scans, eventBus },
      eventsKeptMs: eventsDays * DAY_MS,
      messageQueued: () => wake('messages'),
      webhooks: {
        ...webhooks,
        wake() {
          wake('events');
          wake('deliveries');
        },
      },
    });
  }
  return deployments;
}

/** What the addresses are created from. */
type Parts = Pick<Site, 'deployments' | 'limiter' | 'emailSender' | 'emailQueued'> & { readonly usage: UsageRecorder };

type AddressMap = ReadonlyMap<AddressName, Address>;

/** Creates an address for each deployment that is served, one for messages, and the metrics server. */
function createAddresses(
  { config, clock, log }: AppOptions,
  { deployments, limiter, usage, ...email }: Parts,
  resources: AsyncDisposableStack,
): { readonly addresses: AddressMap; readonly metrics: MetricsServer | undefined } {
  const { database: production } = deployments.get('production')!;
  const keys = new KeyCache(production);
  resources.defer(() => keys.close());
  const refusals = new RefusalCounter({ database: production, clock, log });
  resources.defer(() => refusals.close());
  const bodies = new BodyBudget(config.bodies);
  const observation =
    config.metricsPort === undefined ? undefined : observe([...deployments.values()], limiter, bodies);
  const metrics = observation && new MetricsServer(observation.metrics);
  resources.defer(() => metrics?.close());
  const dayAlerts = { from: ALERT_FROM, note: usage.alerts.note.bind(usage.alerts) };
  const addresses = new Map<AddressName, Address>();
  const add = (service: Omit<Service, 'authenticator'>, accepted: readonly DeploymentName[]) => {
    const baseUrlOf = (name: DeploymentName) => {
      const publicUrl = addresses.get(name)?.publicUrl() ?? config.publicUrls[name];
      return publicUrl && publicUrl + PREFIX;
    };
    const authenticator = new KeyAuthenticator({ keys, limiter, clock, deployments: accepted, dayAlerts, baseUrlOf });
    addresses.set(service.name, new Address({ ...service, authenticator }, deps));
  };
  const deps: AddressDeps = {
    ...{ config, clock, log, limiter, bodies, observation, refusals, usage },
    proxies: trustedProxies(config.trustedProxies),
    pagesUrl: tls => (addresses.get('production') ?? addresses.get('staging'))?.publicUrl(tls),
  };
  const site: Site = {
    ...{ config, clock, log, limiter, deployments, ...email },
    accounts: production,
    passwords: new PasswordHasher(),
    portal: config.ports.production === undefined ? 'staging' : 'production',
    urlOf: (name, tls) => addresses.get(name)?.publicUrl(tls),
  };
  for (const deployment of deployments.values()) {
    const { name, database } = deployment;
    if (config.ports[name] === undefined) continue;
    add({ name, routes, database, deploymentOf: () => deployment, pages: new PageHandler(site, deployment, pages) }, [
      name,
    ]);
  }
  if (config.ports.messages !== undefined) {
    // The message address accepts the keys of all deployments: a key decides to which one a message belongs.
    const names = Array.from(deployments.values(), ({ name }) => name);
    const deploymentOf = (caller: Caller) => deployments.get(caller.deployment)!;
    add({ name: 'messages', routes: messageRoutes, database: production, deploymentOf }, names);
  }
  return { addresses, metrics };
}

/** Starts listening, and returns the port of the metrics. If that fails anywhere, nothing listens afterwards. */
async function listenOnAll(
  config: Config,
  addresses: AddressMap,
  metrics: MetricsServer | undefined,
): Promise<number | undefined> {
  try {
    for (const address of addresses.values()) await address.listen();
    return await metrics?.listen(config.metricsHost, config.metricsPort!);
  } catch (error) {
    await Promise.all([...addresses.values()].map(address => address.close(0)));
    throw error;
  }
}

function urlsOf(config: Config, addresses: AddressMap, metricsPort: number | undefined): Addresses {
  const portal = addresses.get('production')?.localUrl;
  return {
    ...Object.fromEntries(Array.from(addresses, ([name, { localUrl, prefix }]) => [name, localUrl + prefix])),
    ...(portal !== undefined && { portal }),
    ...(metricsPort !== undefined && { metrics: `${urlOf(config.metricsHost, metricsPort)}/metrics` }),
  };
}

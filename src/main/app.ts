import { setTimeout as sleep } from 'node:timers/promises';
import { RefusalCounter } from '../access/audit/refusal-counter.ts';
import type { Deployment } from '../access/deployment.ts';
import { KeyAuthenticator } from '../access/keys/authenticator.ts';
import { KeyCache } from '../access/keys/key-cache.ts';
import { canonicalAddress } from '../access/limits/address.ts';
import { sandboxDatabase } from '../access/plans/sandbox.ts';
import { PasswordHasher } from '../access/sessions/password-hasher.ts';
import { ScanQueue } from '../lib/http/pagination/scan-queue.ts';
import { adds, type Caller } from '../lib/http/route.ts';
import { trustedProxies } from '../lib/http/server/client-address.ts';
import { MetricsServer } from '../lib/http/server/metrics-server.ts';
import { defaultLimits } from '../lib/http/server/options.ts';
import { UploadSlots } from '../lib/http/server/upload-slots.ts';
import type { JobLoop } from '../lib/jobs/job-loop.ts';
import { metricsText } from '../lib/metrics.ts';
import { warnOfFewOpenFiles } from '../lib/open-files.ts';
import { SharedBudget } from '../lib/shared-budget.ts';
import { warnOfSharedAccess } from '../lib/storage/sqlite/data-directory.ts';
import { DAY_MS } from '../lib/time.ts';
import type { AddressName, Config } from '../model/config.ts';
import { EventBus } from '../model/log/event-bus.ts';
import { PhotoEncoder } from '../model/photo-files/encoder.ts';
import { PhotoFiles } from '../model/photo-files/photo-files.ts';
import { boundOf } from '../model/plan.ts';
import type { Database, DeploymentName } from '../model/schema.ts';
import { type JobName, startJobs } from '../operate/jobs.ts';
import { metrics as allMetrics } from '../operate/metrics/metrics.ts';
import { Monitor } from '../operate/metrics/monitor.ts';
import type { Tracing } from '../operate/tracing/tracing.ts';
import { AccessLog } from '../operate/usage/access-log.ts';
import { ALERT_FROM } from '../operate/usage/alerts.ts';
import { UsageRecorder } from '../operate/usage/recorder.ts';
import { messageRoutes, routes } from '../views/api.ts';
import { PREFIX, urlOf } from '../views/urls.ts';
import { PageLimiter } from '../web/page-limiter.ts';
import { photoPages } from '../web/photos/pages.ts';
import type { Site } from '../web/site.ts';
import { Address, type AddressDeps, type Service } from './address.ts';
import { type AppOptions, type Databases, openResources, type Resources } from './resources.ts';
import { viewsOf } from './views.ts';

/** The services of one process. */
export interface App {
  readonly databases: Databases;
  /** Counts and logs the requests of accounts. */
  readonly usage: UsageRecorder;
  /**
   * Starts listening on every configured address, and starts the jobs. Returns the URLs with their actual ports.
   * @throws {Error} when an address cannot be listened on; then the app listens on none
   */
  listen(): Promise<Addresses>;
  /**
   * Continues to serve for the stop delay, while `/readyz` returns 503, and then stops listening. Call `close`
   * afterwards.
   */
  drain(): Promise<void>;
  /** Waits at most 10 s for requests in flight, saves the counts, and releases all resources. Idempotent. */
  close(): Promise<void>;
}

/** URLs for clients on this machine: the base URLs of the API, the origin of the pages, and the metrics. */
export type Addresses = Readonly<Partial<Record<AddressName | 'portal' | 'metrics', string>>>;

const CLOSE_TIMEOUT_MS = 10_000;
/**
 * The file descriptors besides connections to an address: databases, the log, and outgoing connections of webhooks and
 * e-mail.
 */
const OTHER_FILES = 1000;
/** The maximum number of files that a node receives at the same time, by kind. */
const UPLOADS_MAX = { imports: 32, photos: 64 };
/** How long to wait for running jobs. Unfinished ones stay due. */
const JOBS_TIMEOUT_MS = 5000;

/**
 * Opens storage and the rate limiter, and creates the addresses. They listen only after `listen` is called.
 * @throws {UserError} when a resource cannot be opened
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, clock, log } = options;
  // Releases all resources if one of them cannot be opened.
  await using opened = new AsyncDisposableStack();
  const opening = await openResources(options, opened);
  const { databases, webhooks, limiter, isUpgraded, emailSender, backups, tracing } = opening;
  const uploads = new UploadSlots({
    totals: UPLOADS_MAX,
    maxOf: account => boundOf(config.bounds, account, 'uploads'),
    networkOf: address => canonicalAddress(address) ?? address,
  });
  warnOfSharedAccess(config.dataDir, log);
  warnOfFewOpenFiles(defaultLimits.connectionsMax + OTHER_FILES, log);
  const jobs = new Map<DeploymentName, JobLoop<JobName>>();
  const deployments = createDeployments(options, { ...opening, uploads }, jobs, opened);
  const usage = new UsageRecorder({ database: databases.production, clock, log });
  opened.defer(() => usage.close());
  const emailQueued = () => {
    jobs.get('production')?.wake('account_emails');
    jobs.get('production')?.wake('visitor_emails');
    jobs.get('production')?.wake('reply_emails');
  };
  const parts = { deployments, uploads, limiter, isUpgraded, emailSender, emailQueued, usage, tracing, backups };
  const { addresses, metrics } = createAddresses(options, parts, opened);
  const resources = opened.move();

  return {
    databases,
    usage,
    async listen() {
      const metricsPort = await listenOnAll(config, addresses, metrics);
      for (const deployment of deployments.values()) {
        const { name, database, eventsKeptMs, photos } = deployment;
        const worker = startJobs({
          database,
          clock,
          log,
          accounts: databases.production,
          // Staging sends no e-mail.
          emailSender: name === 'production' ? emailSender : undefined,
          pagesUrl: pagesUrlOf(addresses) ?? config.publicUrls.production,
          webhooks: { ...webhooks, scheduleMs: config.webhookScheduleMs },
          eventsKeptMs,
          photos: photos.files,
          importRules: config,
          isServing: () => [...addresses.values()].some(address => address.isServing),
          photoFetches: { deployment, outgoing: webhooks.outgoing },
          messagesKeptMs: config.messagesDays * DAY_MS,
          auditKeptMs: config.auditDays * DAY_MS,
          keysIdleMs: config.keyIdleDays && config.keyIdleDays * DAY_MS,
          searchDescriptions: config.searchDescriptions,
          traceJob: tracing && (type => tracing.job(name, type)),
          ...(name === 'production' && { deletion: { staging: databases.staging }, backups }),
        });
        jobs.set(name, worker);
        resources.defer(() => worker.close(JOBS_TIMEOUT_MS));
      }
      return urlsOf(config, addresses, metricsPort);
    },
    async drain() {
      if (config.stopDelayMs === 0) return;
      const delay = sleep(config.stopDelayMs);
      await Promise.all([...addresses.values()].map(address => address.drain(delay)));
    },
    async close() {
      await Promise.all([...addresses.values()].map(address => address.close(CLOSE_TIMEOUT_MS)));
      await resources.disposeAsync();
    },
  };
}

/** @param jobs the job loops of the deployments; empty until they run */
function createDeployments(
  { config, clock, log }: AppOptions,
  { databases, photoStores, webhooks, uploads }: Resources & { readonly uploads: UploadSlots },
  jobs: ReadonlyMap<DeploymentName, JobLoop<JobName>>,
  resources: AsyncDisposableStack,
): ReadonlyMap<string, Deployment> {
  const { categories, bounds, sandbox, eventsDays } = config;
  const deployments = new Map<string, Deployment>();
  const scans = new ScanQueue({
    // Reading from SQLite blocks the event loop. With PostgreSQL only decoding the rows does, so two scans can read.
    atOnce: databases.production.engine === 'sqlite' ? 1 : 2,
    maxOf: caller => boundOf(bounds, caller, 'scans'),
  });
  const encoder = new PhotoEncoder({ log });
  resources.defer(() => encoder.close());
  for (const [name, database] of Object.entries(databases) as [DeploymentName, Database][]) {
    const files = new PhotoFiles(photoStores[name], encoder);
    const eventBus = new EventBus({ database, log });
    resources.defer(() => eventBus.close());
    const wake = (job: JobName) => jobs.get(name)?.wake(job);
    deployments.set(name, {
      ...{ name, database, clock, categories, bounds, sandbox, scans, uploads, eventBus },
      eventsKeptMs: eventsDays * DAY_MS,
      messageQueued: () => wake('messages'),
      importQueued: () => wake('imports'),
      photos: { files },
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

/** The parts from which the addresses are created. */
type Parts = Pick<Site, 'deployments' | 'limiter' | 'isUpgraded' | 'emailSender' | 'emailQueued' | 'backups'> & {
  readonly uploads: UploadSlots;
  readonly usage: UsageRecorder;
  readonly tracing: Tracing | undefined;
};

type AddressMap = ReadonlyMap<AddressName, Address>;

/** Creates an address for each deployment that is served, one for messages, and the metrics server. */
function createAddresses(
  { config, clock, log, accessLog: lines }: AppOptions,
  { deployments, uploads, limiter, isUpgraded, usage, tracing, backups, ...email }: Parts,
  resources: AsyncDisposableStack,
): { readonly addresses: AddressMap; readonly metrics: MetricsServer | undefined } {
  const { database: production } = deployments.get('production')!;
  const keys = new KeyCache(production, config.sandbox.perMinute);
  resources.defer(() => keys.close());
  const refusals = new RefusalCounter({ database: production, clock, log });
  resources.defer(() => refusals.close());
  const bodies = new SharedBudget<number>({ total: config.bodies.total, perClient: config.bodies.perAccount });
  // All visitors without an account share the bound of one account.
  const forms = new SharedBudget<string>({ total: Math.min(config.bodies.perAccount, config.bodies.total / 2) });
  const accessLog = lines && new AccessLog(lines, clock);
  const monitor =
    config.metricsPort === undefined
      ? undefined
      : createMonitor({ deployments, limiter, bodies, accessLog, tracing, backups });
  const metrics = monitor && new MetricsServer(async () => metricsText(allMetrics, await monitor.read()));
  resources.defer(() => metrics?.close());
  resources.defer(() => monitor?.close());
  const dayAlerts = { from: ALERT_FROM, note: usage.alerts.note.bind(usage.alerts) };
  const addresses = new Map<AddressName, Address>();
  const knownUrlOf = (name: AddressName, tls = false) => addresses.get(name)?.publicUrl(tls) ?? config.publicUrls[name];
  const add = (
    service: Omit<Service, 'authenticator' | 'views'>,
    accepted: readonly DeploymentName[],
    deployment?: Deployment,
  ) => {
    const baseUrlOf = (name: DeploymentName) => knownUrlOf(name)?.concat(PREFIX);
    const authenticator = new KeyAuthenticator({ keys, limiter, clock, deployments: accepted, dayAlerts, baseUrlOf });
    const views = deployment === undefined ? [] : viewsOf({ config, deployment, authenticator, limiter, knownUrlOf });
    addresses.set(service.name, new Address({ ...service, authenticator, views }, deps));
  };
  const deps: AddressDeps = {
    ...{ config, clock, log, limiter, bodies, forms, uploads, monitor, accessLog, refusals, usage, knownUrlOf },
    requestSpans: tracing?.requests,
    proxies: trustedProxies(config.trustedProxies),
    pagesUrl: tls => pagesUrlOf(addresses, tls),
  };
  const site: Site = {
    ...{ config, clock, log, limiter, isUpgraded, deployments, backups, knownUrlOf, ...email },
    accounts: production,
    passwords: new PasswordHasher(),
    pageLimiter: new PageLimiter(config.pagesPerMinute, clock),
    portal: config.ports.production === undefined ? 'staging' : 'production',
    urlOf: (name, tls) => addresses.get(name)?.publicUrl(tls),
  };
  for (const deployment of deployments.values()) {
    const { name, database } = deployment;
    if (config.ports[name] === undefined) continue;
    // Import the pages on demand, because the API does not need them.
    const loadPages = async () => {
      const [{ pages }, { PageHandler }] = await Promise.all([import('./pages.ts'), import('../web/serve.ts')]);
      return new PageHandler(site, deployment, pages);
    };
    const documents = photoPages(deployment.photos.files);
    const bounded = { ...deployment, database: sandboxDatabase(database, config.sandbox) };
    const deploymentOf: Service['deploymentOf'] = (caller, route) =>
      caller.sandbox && adds(route) ? bounded : deployment;
    add({ name, routes, database, deploymentOf, documents, loadPages }, [name], deployment);
  }
  if (config.ports.messages !== undefined) {
    // The message address accepts the keys of all deployments: the key determines the deployment of a message.
    const names = Array.from(deployments.values(), ({ name }) => name);
    const deploymentOf = (caller: Caller) => deployments.get(caller.deployment)!;
    add({ name: 'messages', routes: messageRoutes, database: production, deploymentOf }, names);
  }
  return { addresses, metrics };
}

/** Returns the public URL of the pages of accounts; `undefined` if this process does not serve them. */
function pagesUrlOf(addresses: AddressMap, tls = false): string | undefined {
  return (addresses.get('production') ?? addresses.get('staging'))?.publicUrl(tls);
}

function createMonitor({
  deployments,
  tracing,
  ...parts
}: Pick<Parts, 'deployments' | 'limiter' | 'tracing' | 'backups'> &
  Pick<AddressDeps, 'bodies' | 'accessLog'>): Monitor {
  return new Monitor({ deployments: [...deployments.values()], spans: tracing?.spans, ...parts });
}

/** Starts listening, and returns the port of the metrics. If one address fails, no address listens afterwards. */
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

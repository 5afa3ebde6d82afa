import { messageRoutes, operations, routes } from './api.ts';
import type { AddressName, Config } from './config.ts';
import type { Deployment } from './deployment.ts';
import { errors, problemOf } from './errors.ts';
import { EventBus } from './events/event-bus.ts';
import { rejectReusedKey } from './idempotency/idempotency.ts';
import { workThatWaits } from './jobs.ts';
import { createAuthenticator } from './keys/authenticator.ts';
import { KeyCache } from './keys/key-cache.ts';
import { LastUsedTracker } from './keys/last-used.ts';
import type { Clock } from './lib/clock.ts';
import { createEncryptor } from './lib/encryption.ts';
import { openOutgoingClient } from './lib/http/client/client.ts';
import type { Problem } from './lib/http/problem.ts';
import type { Caller, Route } from './lib/http/route.ts';
import type { Authenticator } from './lib/http/server/authenticator.ts';
import { type TrustedProxies, trustedProxies } from './lib/http/server/client-address.ts';
import { MetricsServer } from './lib/http/server/metrics-server.ts';
import type { Page } from './lib/http/server/router.ts';
import { HttpServer } from './lib/http/server/server.ts';
import type { Worker } from './lib/jobs/job-loop.ts';
import type { Log } from './lib/log.ts';
import { LogThrottle } from './lib/log-throttle.ts';
import { StorageError } from './lib/storage/database.ts';
import { openDatabase } from './lib/storage/open.ts';
import { type Limiter, openLimiter } from './limits/limiter.ts';
import { openEmailSender } from './messages/email-sender.ts';
import { type Observation, observe } from './metrics.ts';
import { migrations } from './migrations/index.ts';
import { deprecationPage, errorPage, errorsPage, homePage, lostPage } from './pages.ts';
import type { Database, DeploymentName } from './schema.ts';
import { checkKey, loadSecretKey } from './webhooks/secret-key.ts';

/** Everything that one process serves, put together. */
export interface App {
  /** The databases that are open, for what happens beside the interface (sample data). */
  readonly databases: { readonly production: Database; readonly staging?: Database };
  /**
   * Starts listening on every address that is not left out; where each really listens, with its real port.
   * @throws when one cannot be listened on; then nothing is left listening
   */
  listen(): Promise<Addresses>;
  /** Finishes what is in flight (10 s at most), keeps what must be kept, and lets go of everything. Safe to repeat. */
  close(): Promise<void>;
}

/** Where everything is, as called from this machine: the interface's base addresses, and the origin of the pages. */
export type Addresses = Readonly<Partial<Record<AddressName | 'portal' | 'metrics', string>>>;

const PREFIX = '/v1';
const CLOSE_BOUND_MS = 10_000;
/** How long work that is in hand is waited for; what is not done then is due again. */
const WORK_BOUND_MS = 5000;
const DAY_MS = 86_400_000;

/**
 * Opens storage and counts and puts the deployments together; listens only when told to.
 * @param options.onFailed told once when storage has failed for good: nothing is a success any more, and the process
 *   should end
 * @param options.accept rejects where a database is not to be used; until then nothing in it has been touched
 * @throws {Refusal} with a sentence for a person, when something cannot be opened
 */
export async function createApp(options: {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  onFailed(error: Error): void;
  accept?(database: Database): Promise<void>;
}): Promise<App> {
  const { config, clock, log, onFailed, accept } = options;
  const open = (name: DeploymentName) =>
    openDatabase(config.locations[name], { migrations, clock, role: 'server', log, onFailed });

  const opened: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    opened.unshift(part);
    return part;
  };
  const closeAll = async () => {
    for (const part of opened.splice(0)) await part.close();
  };

  try {
    if ('file' in config.locations.production) {
      const { lockDataDirectory } = await import('./lib/storage/sqlite/directory-lock.ts');
      const lock = lockDataDirectory(config.dataDir);
      keep({ close: async () => lock.release() });
    }
    const production = keep(await open('production'));
    const staging = config.ports.staging === undefined ? undefined : keep(await open('staging'));
    const encryptor = createEncryptor(config.secretKey ?? loadSecretKey(config.dataDir, log));
    for (const database of [production, staging]) {
      if (database === undefined) continue;
      await accept?.(database);
      await checkKey(database, encryptor);
    }
    const outgoing = keep(
      openOutgoingClient({ networks: config.webhookNetworks }, { now: () => clock.wallTime?.() ?? clock.now() }),
    );
    const limiter = keep(await openLimiter({ database: production, clock, log, ...valkey(config) }));
    const lastUsed = keep(new LastUsedTracker(production));
    const keys = new KeyCache(production);

    const addresses = new Map<AddressName, Address>();
    const gateOf = (...takes: DeploymentName[]): Authenticator =>
      createAuthenticator({ keys, lastUsed, limiter, clock, deployments: takes, baseUrlOf: name => baseUrlOf(name) });
    const baseUrlOf = (name: DeploymentName) => {
      const publicUrl = addresses.get(name)?.publicUrl() ?? config.publicUrls[name];
      return publicUrl === undefined ? undefined : publicUrl + PREFIX;
    };
    const deployments = { production, ...(staging && { staging }) };
    const observation = config.metricsPort === undefined ? undefined : observe(deployments, limiter);
    const metrics = observation && keep(new MetricsServer(observation.metrics));
    const proxies = trustedProxies(config.trustedProxies);
    const pagesUrl = (tls: boolean) => (addresses.get('production') ?? addresses.get('staging'))?.publicUrl(tls);
    const messagesUrl = () => addresses.get('messages')?.publicUrl();
    const shared = { config, clock, log, limiter, proxies, observation, pagesUrl, messagesUrl };
    const webhooks = {
      outgoing,
      encryptor,
      networks: config.webhookNetworks,
      max: config.webhooksMax,
      accounts: production,
    };
    const workers = new Map<DeploymentName, Worker>();
    const contexts = new Map<string, Deployment>();
    for (const [name, database] of Object.entries(deployments) as [DeploymentName, Database][]) {
      const { categories, heldMax } = config;
      const wake = () => {
        for (const kind of ['events', 'deliveries']) workers.get(name)?.nudge(kind);
      };
      const messageQueued = () => workers.get(name)?.nudge('messages');
      const context: Deployment = {
        name,
        database,
        clock,
        categories,
        heldMax,
        eventsKeptMs: config.eventsDays * DAY_MS,
        streamsMax: config.streamsMax,
        eventBus: keep(new EventBus({ database, log })),
        messageQueued,
        webhooks: { ...webhooks, wake },
      };
      contexts.set(name, context);
      if (config.ports[name] === undefined) continue;
      const gate = gateOf(name);
      addresses.set(name, new Address(name, PREFIX, database, routes, () => context, gate, shared));
    }
    if (config.ports.messages !== undefined) {
      // What is sent with a key of staging is a thing of staging.
      const gate = gateOf(...(Object.keys(deployments) as DeploymentName[]));
      const contextOf = ({ deployment }: Caller) => contexts.get(deployment)!;
      addresses.set('messages', new Address('messages', '', production, messageRoutes, contextOf, gate, shared));
    }
    // Nothing leaves staging.
    const emailSenders = { production: config.mail && (await openEmailSender(config.mail)), staging: undefined };

    return {
      databases: deployments,
      async listen() {
        let metricsPort: number | undefined;
        try {
          for (const address of addresses.values()) await address.listen();
          metricsPort = await metrics?.listen(config.host, config.metricsPort!);
        } catch (error) {
          await Promise.all([...addresses.values()].map(address => address.close(0)));
          throw error;
        }
        for (const [name, database] of Object.entries(deployments) as [DeploymentName, Database][]) {
          const { eventsKeptMs } = contexts.get(name)!;
          const sending = { ...webhooks, scheduleMs: config.webhookScheduleMs };
          const worker = workThatWaits({
            database,
            clock,
            log,
            emailSender: emailSenders[name],
            webhooks: sending,
            eventsKeptMs,
          });
          workers.set(name, worker);
          keep({ close: () => worker.close(WORK_BOUND_MS) });
        }
        const urls: [string, string][] = Array.from(addresses, ([name, { localUrl, prefix }]) => [
          name,
          localUrl + prefix,
        ]);
        const portal = addresses.get('production')?.localUrl;
        if (portal !== undefined) urls.push(['portal', portal]);
        if (metricsPort !== undefined) urls.push(['metrics', `${urlOf(config.host, metricsPort)}/metrics`]);
        return Object.fromEntries(urls);
      },
      async close() {
        await Promise.all([...addresses.values()].map(address => address.close(CLOSE_BOUND_MS)));
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function valkey({ valkeyUrl }: Config): { valkeyUrl?: string } {
  return valkeyUrl === undefined ? {} : { valkeyUrl };
}

/** One address that the process listens on, with what it serves. */
class Address {
  readonly #name: AddressName;
  readonly prefix: string;
  readonly #database: Database;
  readonly #config: Config;
  readonly #limiter: Limiter;
  readonly #log: Log;
  readonly #messagesUrl: () => string | undefined;
  readonly #pagesUrl: (tls?: boolean) => string;
  readonly #refusals = new LogThrottle();
  readonly #server: HttpServer<Deployment>;
  #port: number | undefined;
  #closing = false;
  #document: Promise<Page> | undefined;

  constructor(
    name: AddressName,
    prefix: string,
    database: Database,
    routes: readonly Route<Deployment>[],
    contextOf: (caller: Caller) => Deployment,
    gate: Authenticator,
    shared: {
      config: Config;
      clock: Clock;
      log: Log;
      limiter: Limiter;
      proxies: TrustedProxies;
      observation: Observation | undefined;
      /** Where the pages are that the message address has no room for. */
      pagesUrl(tls: boolean): string | undefined;
      /** The message address, where it is served. */
      messagesUrl(): string | undefined;
    },
  ) {
    const { config, clock, log, limiter, proxies, observation, pagesUrl, messagesUrl } = shared;
    this.#name = name;
    this.prefix = prefix;
    this.#database = database;
    this.#config = config;
    this.#limiter = limiter;
    this.#log = log;
    this.#messagesUrl = messagesUrl;
    this.#pagesUrl = (tls = false) => (prefix === '' ? pagesUrl(tls) : undefined) ?? this.publicUrl(tls);
    this.#server = new HttpServer<Deployment>({
      routes,
      prefix,
      contextOf,
      requireIfMatch: config.requireIfMatch,
      beforeInvalidBody: rejectReusedKey,
      authenticator: gate,
      errors,
      problemOf: (error, requestId) => {
        const problem = problemOf(error);
        if (problem.status >= 500) this.#tell(problem, requestId);
        return problem;
      },
      onResponse: observation && ((...answer) => observation.answered(name, ...answer)),
      proxies,
      publicUrl: (port, tls) => publicUrlOf(config, name, port, tls),
      pagesUrl: this.#pagesUrl,
      now: clock.now,
      pages: {
        '/openapi.json': () => this.#openApi(),
        '/livez': () => json({ status: 'ok' }),
        '/readyz': () => this.#readiness(),
        // Where the whole address is the interface there is room for nothing else.
        ...(prefix !== '' && {
          '/': () => html(homePage(this.#root, name, this.publicUrl() + prefix)),
          '/errors': () => html(errorsPage(this.#root)),
          '/errors/*': rest => html(errorPage(this.#root, rest)),
          '/deprecations/*': rest => html(deprecationPage(this.#root, routes, rest)),
        }),
      },
      notFoundPage: () => lostPage(this.#root),
    });
  }

  /** What links and documents say: without the prefix, without a slash at the end. */
  publicUrl(tls = false): string {
    return publicUrlOf(this.#config, this.#name, this.#port, tls);
  }

  /** The path at which callers find the root of it. */
  get #root(): string {
    return `${new URL(this.publicUrl()).pathname.replace(/\/$/, '')}/`;
  }

  /** Where it really listens. */
  get localUrl(): string {
    return urlOf(this.#config.host, this.#port ?? this.#config.ports[this.#name]);
  }

  async listen(): Promise<void> {
    this.#port = await this.#server.listen(this.#config.host, this.#config.ports[this.#name]!);
  }

  async close(boundMs: number): Promise<void> {
    this.#closing = true;
    await this.#server.close(boundMs);
  }

  /** Faults one by one; that storage refuses everybody for a while, once. */
  #tell({ code, message, cause }: Problem, requestId: string): void {
    const refused = cause instanceof StorageError;
    if (refused && !this.#refusals.shouldLog(code)) return;
    const more = refused ? ' Others that are refused for this are not logged.' : '';
    this.#log.error({ requestId, code, err: cause }, message + more);
  }

  /** Made once, also for those who ask while it is being made; anew where that failed. */
  #openApi(): Promise<Page> {
    const urls = { own: this.publicUrl(), messages: this.#messagesUrl(), pages: this.#pagesUrl() };
    this.#document ??= documentOf(this.#name, urls).then(json, error => {
      this.#document = undefined;
      throw error;
    });
    return this.#document;
  }

  async #readiness(): Promise<Page> {
    const { ok, writes, detail } = await this.#database.health();
    const { counts, day } = this.#limiter.health();
    const ready = ok && !this.#closing;
    const status = this.#closing ? 'stopping' : ok ? 'ready' : 'unavailable';
    return json({ status, storage: { ok, writes, detail }, counts, day }, ready ? 200 : 503);
  }
}

const descriptions: Record<AddressName, string> = {
  production: 'Production',
  staging: 'Staging: animals, keys and counts of its own, to try things with',
  messages: 'Messages',
};

/** The OpenAPI document of an address, as it serves it where it listens on the ports that the configuration says. */
export function openApiOf(config: Config, name: AddressName) {
  const { ports } = config;
  const messages = ports.messages === undefined ? undefined : publicUrlOf(config, 'messages', ports.messages);
  const own = publicUrlOf(config, name, ports[name]);
  const withPages = (['production', 'staging'] as const).find(one => ports[one] !== undefined);
  const pages = name === 'messages' && withPages !== undefined ? publicUrlOf(config, withPages, ports[withPages]) : own;
  return documentOf(name, { own, messages, pages });
}

/**
 * The OpenAPI document of an address; that of a deployment has the operations of the message address too, where that is
 * served. What it takes is loaded when it is first asked for: the start has no need of it.
 */
async function documentOf(
  name: AddressName,
  { own, messages, pages }: { own: string; messages: string | undefined; pages: string },
) {
  const { openApiDocument } = await import('./openapi.ts');
  if (name === 'messages')
    return openApiDocument(messageRoutes, [{ url: own, description: descriptions[name] }], pages);
  const servers = [{ url: own + PREFIX, description: descriptions[name] }];
  if (messages === undefined) return openApiDocument(routes, servers, pages);
  const server = { url: messages, description: descriptions.messages };
  return openApiDocument(operations, servers, pages, route => (isOfMessages(route) ? server : undefined));
}

function isOfMessages(route: Route<never>): boolean {
  return (messageRoutes as readonly Route<never>[]).includes(route);
}

function publicUrlOf({ publicUrls, host }: Config, name: AddressName, port: number | undefined, tls = false): string {
  return publicUrls[name] ?? urlOf(host, port, tls ? 'https' : 'http');
}

/** An address to listen on as a URL to call. */
function urlOf(host: string, port: number | undefined, scheme = 'http'): string {
  const everywhere = ['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host);
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${name}${port === undefined ? '' : `:${port}`}`;
}

function json(value: unknown, status = 200): Page {
  return { status, contentType: 'application/json; charset=utf-8', bytes: Buffer.from(JSON.stringify(value)) };
}

function html(text: string): Page;
function html(text: string | undefined): Page | undefined;
function html(text: string | undefined): Page | undefined {
  return text === undefined ? undefined : { status: 200, contentType: 'text/html; charset=utf-8', bytes: text };
}

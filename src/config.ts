import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isEmail } from './lib/email.ts';
import { parseDuration, parseTime } from './lib/time.ts';
import { UserError } from './lib/user-error.ts';
import type { DeploymentName } from './schema.ts';

/** A setting: an environment variable, and how its text is parsed. */
export interface Setting<T> {
  readonly name: `PETSTORE_${string}`;
  /** A sentence for `petstore serve --help`. */
  readonly description: string;
  /** The text that applies when the variable is not set, or is empty without `emptyDisables`. */
  readonly default?: string;
  /** The default as help describes it, if it is not a text. */
  readonly defaultText?: string;
  /** Whether an empty value disables the setting instead of selecting the default. */
  readonly emptyDisables?: true;
  /** The valid values, as the end of the sentence "PETSTORE_X must be …". */
  readonly valid: string;
  /** Returns the value, or `undefined` if the text is invalid. */
  parse(text: string): T | undefined;
}

/** All settings, in the order of help. */
export const settings = {
  host: setting({
    name: 'PETSTORE_HOST',
    description: 'The address that the server listens on.',
    default: '127.0.0.1',
    valid: 'an IP address or a host name',
    parse: text => (isIP(text) !== 0 || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text) ? text : undefined),
  }),
  port: port('PETSTORE_PORT', 'The port of production', '8080'),
  stagingPort: port('PETSTORE_STAGING_PORT', 'The port of staging', '8081'),
  messagesPort: port('PETSTORE_MESSAGES_PORT', 'The port of the message address', '8082'),
  metricsPort: setting({
    name: 'PETSTORE_METRICS_PORT',
    description: 'The port of GET /metrics.',
    defaultText: 'off',
    ...portNumber(),
  }),
  dataDir: setting({
    name: 'PETSTORE_DATA_DIR',
    description: 'The directory for the files of the embedded engine.',
    default: './data',
    valid: 'a path',
    parse: text => (text.includes('\0') ? undefined : resolve(text)),
  }),
  databaseUrl: databaseUrl(
    'PETSTORE_DATABASE_URL',
    'A PostgreSQL database to use instead of the embedded engine; staging uses its schema petstore_staging.',
  ),
  stagingDatabaseUrl: databaseUrl('PETSTORE_STAGING_DATABASE_URL', 'A separate PostgreSQL database for staging.'),
  valkeyUrl: setting({
    name: 'PETSTORE_VALKEY_URL',
    description: 'The Valkey or Redis server in which several nodes share their rate limit counts.',
    valid: 'a URL like redis://127.0.0.1:6379',
    parse: text => (urlOf(text, ['redis:', 'rediss:', 'valkey:', 'valkeys:']) ? text : undefined),
  }),
  publicUrl: publicUrl('PETSTORE_PUBLIC_URL', 'production'),
  stagingPublicUrl: publicUrl('PETSTORE_STAGING_PUBLIC_URL', 'staging'),
  messagesPublicUrl: publicUrl('PETSTORE_MESSAGES_PUBLIC_URL', 'the message address'),
  trustedProxies: setting<readonly string[]>({
    name: 'PETSTORE_TRUSTED_PROXIES',
    description:
      'The networks of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto headers are used; comma-separated.',
    defaultText: 'none',
    valid: 'IP addresses or networks like 10.0.0.0/8, separated by commas',
    parse: parseNetworks,
  }),
  webhookNetworks: setting<readonly string[]>({
    name: 'PETSTORE_WEBHOOK_NETWORKS',
    description:
      'The networks to which webhooks may be sent besides the public internet, also over http and to any port; comma-separated.',
    defaultText: 'none',
    valid: 'IP addresses or networks like 10.0.0.0/8, separated by commas',
    parse: parseNetworks,
  }),
  categories: setting<'open' | 'strict'>({
    name: 'PETSTORE_CATEGORIES',
    description:
      'Whether an animal may name an unknown category: open creates a placeholder, strict rejects the request.',
    default: 'open',
    valid: 'open or strict',
    parse: text => (text === 'open' || text === 'strict' ? text : undefined),
  }),
  requireIfMatch: setting<boolean>({
    name: 'PETSTORE_REQUIRE_IF_MATCH',
    description: 'Whether PUT, PATCH and DELETE require If-Match with the version to change (otherwise 428).',
    default: 'false',
    valid: 'true or false',
    parse: text => (text === 'true' ? true : text === 'false' ? false : undefined),
  }),
  heldMax: setting<number>({
    name: 'PETSTORE_HELD_MAX',
    description: 'The maximum number of animals in all active holds of an account.',
    default: '100',
    valid: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  webhooksMax: setting<number>({
    name: 'PETSTORE_WEBHOOKS_MAX',
    description: 'The maximum number of webhooks of an account.',
    default: '10',
    valid: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  eventsDays: setting<number>({
    name: 'PETSTORE_EVENTS_DAYS',
    description: 'The number of days that events are kept; the history of each animal stays.',
    default: '30',
    valid: 'a whole number from 1 to 3650',
    parse: text => (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 3650 ? Number(text) : undefined),
  }),
  streamsMax: setting<number>({
    name: 'PETSTORE_STREAMS_MAX',
    description: 'The maximum number of open event streams of an account on one node.',
    default: '5',
    valid: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  smtpUrl: setting({
    name: 'PETSTORE_SMTP_URL',
    description:
      'The mail server, with user and password, through which messages are also sent as e-mail; never from staging.',
    defaultText: 'no e-mail',
    valid: 'a URL like smtp://user:password@127.0.0.1:587, or smtps://…, with special characters percent-encoded',
    parse: parseSmtpUrl,
  }),
  mailFrom: setting({
    name: 'PETSTORE_MAIL_FROM',
    description: 'The sender address of e-mail; required with PETSTORE_SMTP_URL.',
    valid: 'an e-mail address like store@example.org',
    parse: text => (isEmail(text) ? text : undefined),
  }),
  webhookScheduleMs: setting<readonly number[]>({
    name: 'PETSTORE_WEBHOOK_SCHEDULE',
    description:
      'The retry schedule of webhook deliveries: the wait after each failed attempt, varied by a tenth; after the last one the delivery has failed.',
    default: '5s,5m,30m,2h,5h,10h,10h',
    valid: 'up to 50 durations from 1s to 7d, like 30s, 15m or 24h, separated by commas',
    parse: parseSchedule,
  }),
  startAtMs: setting({
    name: 'PETSTORE_NOW',
    description: 'For tests: the start time of the clock; accepted only with NODE_ENV=test.',
    defaultText: 'the current time',
    valid: 'an RFC 3339 time in UTC, like 2026-11-20T12:00:00Z',
    parse: parseUtc,
  }),
  secretKey: setting<Buffer>({
    name: 'PETSTORE_SECRET_KEY',
    description:
      'The key that encrypts webhook secrets. All nodes of a deployment need the same one; a new key cannot decrypt existing secrets.',
    defaultText: 'secret.key in the data directory',
    valid: '32 random bytes in base64, as `openssl rand -base64 32` prints them',
    parse: text => (/^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined),
  }),
} as const;

/** The addresses that one process serves. */
export type AddressName = DeploymentName | 'messages';

/**
 * Where the data of a deployment is stored: a file of the embedded engine (absolute path), or a PostgreSQL database, by
 * default in the schema that its own settings select.
 */
export type DatabaseLocation = { readonly file: string } | { readonly url: string; readonly schema?: string };

/** The validated settings of one process. */
export interface Config {
  readonly host: string;
  /** The port of each address, 0 for any free one; an address without a port is disabled. */
  readonly ports: Readonly<Partial<Record<AddressName, number>>>;
  readonly metricsPort?: number;
  /** An absolute path. */
  readonly dataDir: string;
  /** Both deployments, even if one is disabled: accounts and keys are stored with production. */
  readonly locations: Readonly<Record<DeploymentName, DatabaseLocation>>;
  readonly valkeyUrl?: string;
  /** The base of links: an origin, with the path that a proxy adds if any, without `/v1` and a trailing slash. */
  readonly publicUrls: Readonly<Partial<Record<AddressName, string>>>;
  /** IP addresses and networks. */
  readonly trustedProxies: readonly string[];
  /** IP addresses and networks. */
  readonly webhookNetworks: readonly string[];
  readonly categories: 'open' | 'strict';
  readonly requireIfMatch: boolean;
  /** 1 to 1,000,000. */
  readonly heldMax: number;
  /** 1 to 1,000,000. */
  readonly webhooksMax: number;
  /** 1 to 3650. */
  readonly eventsDays: number;
  /** 1 to 1,000,000. */
  readonly streamsMax: number;
  /** The mail server for messages, and the sender address. */
  readonly mail?: { readonly url: string; readonly from: string };
  /** The wait after each failed attempt of a webhook delivery. */
  readonly webhookScheduleMs: readonly number[];
  /** The start time of the clock in tests (milliseconds since the Unix epoch). */
  readonly startAtMs?: number;
  /** 32 bytes. */
  readonly secretKey?: Buffer;
}

/**
 * Reads the settings from an environment; returns a warning for each unknown `PETSTORE_` variable.
 * @throws {UserError} when a value is invalid or two conflict; it names the setting and never contains a secret
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): {
  config: Config;
  warnings: string[];
} {
  const read = <T>(setting: Setting<T>): T | undefined => settingValue(setting, environment[setting.name]);

  const startAtMs = read(settings.startAtMs);
  if (startAtMs !== undefined && environment.NODE_ENV !== 'test') {
    throw new UserError('PETSTORE_NOW is for tests and requires NODE_ENV=test; remove it.');
  }
  requireDistinctPorts([settings.port, settings.stagingPort, settings.messagesPort, settings.metricsPort], read);
  const dataDir = read(settings.dataDir)!;
  const config = {
    host: read(settings.host)!,
    ports: defined({
      production: read(settings.port),
      staging: read(settings.stagingPort),
      messages: read(settings.messagesPort),
    }),
    dataDir,
    locations: locationsOf(dataDir, read(settings.databaseUrl), read(settings.stagingDatabaseUrl)),
    publicUrls: defined({
      production: read(settings.publicUrl),
      staging: read(settings.stagingPublicUrl),
      messages: read(settings.messagesPublicUrl),
    }),
    trustedProxies: read(settings.trustedProxies) ?? [],
    webhookNetworks: read(settings.webhookNetworks) ?? [],
    webhookScheduleMs: read(settings.webhookScheduleMs)!,
    categories: read(settings.categories)!,
    requireIfMatch: read(settings.requireIfMatch)!,
    heldMax: read(settings.heldMax)!,
    webhooksMax: read(settings.webhooksMax)!,
    eventsDays: read(settings.eventsDays)!,
    streamsMax: read(settings.streamsMax)!,
    ...defined({
      metricsPort: read(settings.metricsPort),
      valkeyUrl: read(settings.valkeyUrl),
      mail: mailOf(read(settings.smtpUrl), read(settings.mailFrom)),
      startAtMs,
      secretKey: read(settings.secretKey),
    }),
  };
  return { config, warnings: unknownSettings(environment) };
}

function settingValue<T>(setting: Setting<T>, text: string | undefined): T | undefined {
  if (text === '' && setting.emptyDisables === true) return undefined;
  const wanted = text === undefined || text.trim() === '' ? setting.default : text.trim();
  if (wanted === undefined) return undefined;
  const value = setting.parse(wanted);
  if (value === undefined) throw new UserError(`${setting.name} must be ${setting.valid}.`);
  return value;
}

function locationsOf(dataDir: string, url: string | undefined, stagingUrl: string | undefined): Config['locations'] {
  if (url === undefined) {
    if (stagingUrl !== undefined) {
      throw new UserError(
        'PETSTORE_STAGING_DATABASE_URL requires PETSTORE_DATABASE_URL: either both deployments use PostgreSQL, or neither.',
      );
    }
    return {
      production: { file: resolve(dataDir, 'production.db') },
      staging: { file: resolve(dataDir, 'staging.db') },
    };
  }
  if (stagingUrl !== undefined && sameDatabase(url, stagingUrl)) {
    throw new UserError(
      'PETSTORE_STAGING_DATABASE_URL must name a different database than PETSTORE_DATABASE_URL; remove it to use one database for both.',
    );
  }
  return {
    production: { url },
    staging: stagingUrl === undefined ? { url, schema: 'petstore_staging' } : { url: stagingUrl },
  };
}

function mailOf(url: string | undefined, from: string | undefined): Config['mail'] {
  if (url !== undefined && from !== undefined) return { url, from };
  if (url !== undefined) {
    throw new UserError('PETSTORE_SMTP_URL requires PETSTORE_MAIL_FROM, the sender address of e-mail.');
  }
  if (from !== undefined) {
    throw new UserError('PETSTORE_MAIL_FROM requires PETSTORE_SMTP_URL, the mail server.');
  }
  return undefined;
}

function sameDatabase(one: string, other: string): boolean {
  const location = (text: string) => {
    const { hostname, port, pathname, search } = new URL(text);
    return JSON.stringify([hostname, port || '5432', pathname, search]);
  };
  return location(one) === location(other);
}

function unknownSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>(Object.values(settings).map(setting => setting.name));
  return Object.keys(environment)
    .filter(name => name.startsWith('PETSTORE_') && !name.startsWith('PETSTORE_TEST_') && !known.has(name))
    .map(name => `Unknown setting ${name}; \`petstore serve --help\` lists all settings.`);
}

function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}

function port(name: Setting<number>['name'], what: string, usual: string) {
  return setting({
    name,
    description: `${what}; 0 selects a free port, an empty value disables it.`,
    default: usual,
    emptyDisables: true,
    ...portNumber(),
  });
}

function databaseUrl(name: Setting<string>['name'], description: string) {
  return setting({
    name,
    description,
    valid: 'a URL like postgres://user@127.0.0.1:5432/petstore',
    parse: text => (urlOf(text, ['postgres:', 'postgresql:']) ? text : undefined),
  });
}

function publicUrl(name: Setting<string>['name'], what: string) {
  return setting({
    name,
    description: `The public URL of ${what}, used in links.`,
    defaultText: 'derived from host and port',
    valid: 'a URL like https://api.example.org, without query, fragment or credentials',
    parse: text => {
      const url = urlOf(text, ['http:', 'https:']);
      if (url === undefined || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
        return undefined;
      }
      return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
    },
  });
}

/** Throws if two addresses have the same port. */
function requireDistinctPorts(
  all: readonly Setting<number | undefined>[],
  read: (setting: Setting<number | undefined>) => number | undefined,
): void {
  const taken = new Map<number, string>();
  for (const setting of all) {
    const port = read(setting) ?? 0;
    const other = taken.get(port);
    if (port !== 0 && other !== undefined) {
      throw new UserError(`${other} and ${setting.name} are both ${port}; change one of them.`);
    }
    taken.set(port, setting.name);
  }
}

function portNumber() {
  return {
    valid: 'a port from 0 to 65535',
    parse: (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  };
}

function parseSmtpUrl(text: string): string | undefined {
  const url = urlOf(text, ['smtp:', 'smtps:']);
  if (url === undefined || !/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') return undefined;
  if ((url.username === '') !== (url.password === '')) return undefined;
  try {
    decodeURIComponent(url.username + url.password);
    return text;
  } catch {
    return undefined;
  }
}

function parseNetworks(text: string): string[] | undefined {
  const networks = text.split(',').map(network => network.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

function parseSchedule(text: string): number[] | undefined {
  const waits = text.split(',').map(wait => parseDuration(wait.trim()));
  const isValid = (ms: number | undefined) => ms !== undefined && ms >= 1000 && ms <= parseDuration('7d')!;
  return waits.length <= 50 && waits.every(isValid) ? (waits as number[]) : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 0 || more.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

function parseUtc(text: string): number | undefined {
  return /(Z|[+-]00:00)$/i.test(text) ? parseTime(text) : undefined;
}

function urlOf(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.parse(text);
  return url !== null && protocols.includes(url.protocol) && url.host !== '' ? url : undefined;
}

/** Returns the members that have a value. */
function defined<T extends object>(members: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

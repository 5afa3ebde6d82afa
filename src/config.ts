import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isEmail } from './accounts/account.ts';
import { parseDuration, parseTime } from './lib/time.ts';
import { UserError } from './lib/user-error.ts';
import type { DeploymentName } from './schema.ts';

/** A setting: an environment variable, and how its text becomes a value. */
export interface Setting<T> {
  readonly name: `PETSTORE_${string}`;
  /** What it does, as a sentence for `petstore serve --help`. */
  readonly sentence: string;
  /** Its text where the variable is not set, or empty and `emptyLeavesOut` is not said; `undefined`: there is none. */
  readonly default?: string;
  /** What is said in place of a default. */
  readonly otherwise?: string;
  /** An empty text means: without it, rather than: the default. */
  readonly emptyLeavesOut?: true;
  /** What a right value is, as the end of the sentence "PETSTORE_X must be …". */
  readonly right: string;
  /** The value, or `undefined` when the text is wrong. */
  parse(text: string): T | undefined;
}

/** Every setting, in the order in which help shows them. */
export const settings = {
  host: setting({
    name: 'PETSTORE_HOST',
    sentence: 'The address to listen on.',
    default: '127.0.0.1',
    right: 'an IP address or a host name',
    parse: text => (isIP(text) !== 0 || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text) ? text : undefined),
  }),
  port: port('PETSTORE_PORT', 'The port of production', '8080'),
  stagingPort: port('PETSTORE_STAGING_PORT', 'The port of staging', '8081'),
  messagesPort: port('PETSTORE_MESSAGES_PORT', 'The port of the message address', '8082'),
  metricsPort: setting({
    name: 'PETSTORE_METRICS_PORT',
    sentence: 'The port of GET /metrics.',
    otherwise: 'off',
    ...portNumber(),
  }),
  dataDir: setting({
    name: 'PETSTORE_DATA_DIR',
    sentence: 'The directory with the files of the embedded engine.',
    default: './data',
    right: 'a path',
    parse: text => (text.includes('\0') ? undefined : resolve(text)),
  }),
  databaseUrl: databaseUrl(
    'PETSTORE_DATABASE_URL',
    'PostgreSQL instead of the embedded engine; staging then lives in its schema petstore_staging.',
  ),
  stagingDatabaseUrl: databaseUrl('PETSTORE_STAGING_DATABASE_URL', 'A PostgreSQL database of its own for staging.'),
  valkeyUrl: setting({
    name: 'PETSTORE_VALKEY_URL',
    sentence: 'Valkey or Redis for shared counts, when several nodes serve one deployment.',
    right: 'a URL like redis://127.0.0.1:6379',
    parse: text => (urlOf(text, ['redis:', 'rediss:', 'valkey:', 'valkeys:']) ? text : undefined),
  }),
  publicUrl: publicUrl('PETSTORE_PUBLIC_URL', 'production'),
  stagingPublicUrl: publicUrl('PETSTORE_STAGING_PUBLIC_URL', 'staging'),
  messagesPublicUrl: publicUrl('PETSTORE_MESSAGES_PUBLIC_URL', 'the message address'),
  trustedProxies: setting<readonly string[]>({
    name: 'PETSTORE_TRUSTED_PROXIES',
    sentence: 'The networks whose X-Forwarded-For and X-Forwarded-Proto count, with commas between them.',
    otherwise: 'none',
    right: 'IP addresses or networks like 10.0.0.0/8, with commas between them',
    parse: parseNetworks,
  }),
  webhookNetworks: setting<readonly string[]>({
    name: 'PETSTORE_WEBHOOK_NETWORKS',
    sentence:
      'The networks to which webhooks may go besides the public internet, there also over http and to any port, with commas between them.',
    otherwise: 'none',
    right: 'IP addresses or networks like 10.0.0.0/8, with commas between them',
    parse: parseNetworks,
  }),
  categories: setting<'open' | 'strict'>({
    name: 'PETSTORE_CATEGORIES',
    sentence: 'Whether an animal may name a category never seen before: open makes one for it, strict refuses.',
    default: 'open',
    right: 'open or strict',
    parse: text => (text === 'open' || text === 'strict' ? text : undefined),
  }),
  requireIfMatch: setting<boolean>({
    name: 'PETSTORE_REQUIRE_IF_MATCH',
    sentence:
      'Whether PUT, PATCH and DELETE are refused (428) where they do not name the version to change in If-Match.',
    default: 'false',
    right: 'true or false',
    parse: text => (text === 'true' ? true : text === 'false' ? false : undefined),
  }),
  heldMax: setting<number>({
    name: 'PETSTORE_HELD_MAX',
    sentence: 'How many animals the active holds of one account have together at most.',
    default: '100',
    right: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  webhooksMax: setting<number>({
    name: 'PETSTORE_WEBHOOKS_MAX',
    sentence: 'How many webhooks one account has at most.',
    default: '10',
    right: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  eventsDays: setting<number>({
    name: 'PETSTORE_EVENTS_DAYS',
    sentence: 'For how many days events are told; the history of each animal stays.',
    default: '30',
    right: 'a whole number from 1 to 3650',
    parse: text => (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 3650 ? Number(text) : undefined),
  }),
  streamsMax: setting<number>({
    name: 'PETSTORE_STREAMS_MAX',
    sentence: 'How many event streams one account may have open on a node at the same time.',
    default: '5',
    right: 'a whole number from 1 to 1000000',
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  }),
  smtpUrl: setting({
    name: 'PETSTORE_SMTP_URL',
    sentence:
      'The mail server through which messages also go out as e-mail, with its name and password; never from staging.',
    otherwise: 'no e-mail',
    right:
      'a URL like smtp://user:password@127.0.0.1:587, or smtps://…, with what is special in the password percent-encoded',
    parse: parseSmtpUrl,
  }),
  mailFrom: setting({
    name: 'PETSTORE_MAIL_FROM',
    sentence: 'The address that e-mail comes from; it goes with PETSTORE_SMTP_URL.',
    right: 'an e-mail address like store@example.org',
    parse: text => (isEmail(text) ? text : undefined),
  }),
  webhookScheduleMs: setting<readonly number[]>({
    name: 'PETSTORE_WEBHOOK_SCHEDULE',
    sentence:
      'How long to wait after each attempt at a delivery that failed, a tenth more or less; behind the last one it has failed for good.',
    default: '5s,5m,30m,2h,5h,10h,10h',
    right: 'up to 50 durations from 1s to 7d like 30s, 15m, 24h or 7d, with commas between them',
    parse: parseSchedule,
  }),
  startAtMs: setting({
    name: 'PETSTORE_NOW',
    sentence: 'For tests: the time at which the clock starts; refused unless NODE_ENV=test.',
    otherwise: 'the time it is',
    right: 'an RFC 3339 time in UTC, like 2026-11-20T12:00:00Z',
    parse: parseUtc,
  }),
  secretKey: setting<Buffer>({
    name: 'PETSTORE_SECRET_KEY',
    sentence:
      'Encrypts what must be readable again: the secrets of webhooks. All nodes of a deployment have the same one, and a new one opens nothing that another has sealed.',
    otherwise: 'secret.key in the data directory',
    right: '32 random bytes in base64, as `openssl rand -base64 32` prints them',
    parse: text => (/^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined),
  }),
} as const;

/** The three addresses that one process serves. */
export type AddressName = DeploymentName | 'messages';

/**
 * Where a deployment's data lives: a file of the embedded engine (absolute), or a PostgreSQL database, in the schema that
 * its own settings say where none is named.
 */
export type Place = { readonly file: string } | { readonly url: string; readonly schema?: string };

/** The settings of one process, checked. */
export interface Config {
  readonly host: string;
  /** Ports to listen on, 0 for a free one; an address without one is left out. */
  readonly ports: Readonly<Partial<Record<AddressName, number>>>;
  readonly metricsPort?: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Both, also where a deployment is left out: accounts and keys live beside production's data. */
  readonly places: Readonly<Record<DeploymentName, Place>>;
  readonly valkeyUrl?: string;
  /** What links and documents say: an origin, with a path where a proxy adds one, without `/v1` and slash at the end. */
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
  /** Where messages go out as e-mail, and from which address. */
  readonly mail?: { readonly url: string; readonly from: string };
  /** How long to wait after each attempt at a delivery that failed. */
  readonly webhookScheduleMs: readonly number[];
  /** Where the clock starts (milliseconds since the Unix epoch), in tests. */
  readonly startAtMs?: number;
  /** 32 bytes. */
  readonly secretKey?: Buffer;
}

/**
 * The settings that an environment says, and a sentence for each variable that looks like one of ours but is not.
 * @throws {UserError} when a value is wrong or two do not go together; it names the setting, never a secret value
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): {
  config: Config;
  warnings: string[];
} {
  const read = <T>(setting: Setting<T>): T | undefined => settingOf(setting, environment[setting.name]);

  const startAtMs = read(settings.startAtMs);
  if (startAtMs !== undefined && environment.NODE_ENV !== 'test') {
    throw new UserError('PETSTORE_NOW is for tests and taken only with NODE_ENV=test; leave it out.');
  }
  refuseSamePorts([settings.port, settings.stagingPort, settings.messagesPort, settings.metricsPort], read);
  const dataDir = read(settings.dataDir)!;
  const config = {
    host: read(settings.host)!,
    ports: defined({
      production: read(settings.port),
      staging: read(settings.stagingPort),
      messages: read(settings.messagesPort),
    }),
    dataDir,
    places: placesOf(dataDir, read(settings.databaseUrl), read(settings.stagingDatabaseUrl)),
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

function settingOf<T>(setting: Setting<T>, text: string | undefined): T | undefined {
  if (text === '' && setting.emptyLeavesOut === true) return undefined;
  const wanted = text === undefined || text.trim() === '' ? setting.default : text.trim();
  if (wanted === undefined) return undefined;
  const value = setting.parse(wanted);
  if (value === undefined) throw new UserError(`${setting.name} must be ${setting.right}.`);
  return value;
}

function placesOf(dataDir: string, url: string | undefined, stagingUrl: string | undefined): Config['places'] {
  if (url === undefined) {
    if (stagingUrl !== undefined) {
      throw new UserError(
        'PETSTORE_STAGING_DATABASE_URL needs PETSTORE_DATABASE_URL beside it: both deployments use PostgreSQL, or neither.',
      );
    }
    return {
      production: { file: resolve(dataDir, 'production.db') },
      staging: { file: resolve(dataDir, 'staging.db') },
    };
  }
  if (stagingUrl !== undefined && sameDatabase(url, stagingUrl)) {
    throw new UserError(
      'PETSTORE_STAGING_DATABASE_URL must name another database than PETSTORE_DATABASE_URL; leave it out to keep both in one.',
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
    throw new UserError('PETSTORE_SMTP_URL needs PETSTORE_MAIL_FROM beside it: the address that e-mail comes from.');
  }
  if (from !== undefined) {
    throw new UserError(
      'PETSTORE_MAIL_FROM needs PETSTORE_SMTP_URL beside it: the mail server that e-mail goes out through.',
    );
  }
  return undefined;
}

function sameDatabase(one: string, other: string): boolean {
  const place = (text: string) => {
    const { hostname, port, pathname, search } = new URL(text);
    return JSON.stringify([hostname, port || '5432', pathname, search]);
  };
  return place(one) === place(other);
}

function unknownSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>(Object.values(settings).map(setting => setting.name));
  return Object.keys(environment)
    .filter(name => name.startsWith('PETSTORE_') && !name.startsWith('PETSTORE_TEST_') && !known.has(name))
    .map(name => `There is no setting ${name}; \`petstore serve --help\` lists them all.`);
}

function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}

function port(name: Setting<number>['name'], what: string, usual: string) {
  return setting({
    name,
    sentence: `${what}; 0 takes a free one, an empty value leaves it out.`,
    default: usual,
    emptyLeavesOut: true,
    ...portNumber(),
  });
}

function databaseUrl(name: Setting<string>['name'], sentence: string) {
  return setting({
    name,
    sentence,
    right: 'a URL like postgres://user@127.0.0.1:5432/petstore',
    parse: text => (urlOf(text, ['postgres:', 'postgresql:']) ? text : undefined),
  });
}

function publicUrl(name: Setting<string>['name'], what: string) {
  return setting({
    name,
    sentence: `What links and documents say is the address of ${what}.`,
    otherwise: 'made from host and port',
    right: 'a URL like https://api.example.org, without query, fragment and password',
    parse: text => {
      const url = urlOf(text, ['http:', 'https:']);
      if (url === undefined || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
        return undefined;
      }
      return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
    },
  });
}

/** Each address needs a port of its own. */
function refuseSamePorts(
  all: readonly Setting<number | undefined>[],
  read: (setting: Setting<number | undefined>) => number | undefined,
): void {
  const taken = new Map<number, string>();
  for (const setting of all) {
    const port = read(setting) ?? 0;
    const other = taken.get(port);
    if (port !== 0 && other !== undefined) {
      throw new UserError(`${other} and ${setting.name} are both ${port}; set one of them to another port.`);
    }
    taken.set(port, setting.name);
  }
}

function portNumber() {
  return {
    right: 'a port from 0 to 65535',
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
  const right = (ms: number | undefined) => ms !== undefined && ms >= 1000 && ms <= parseDuration('7d')!;
  return waits.length <= 50 && waits.every(right) ? (waits as number[]) : undefined;
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

/** The members that have a value. */
function defined<T extends object>(members: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

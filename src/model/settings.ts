import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isEmail } from '../lib/email.ts';
import type { LogLevel } from '../lib/log.ts';
import { durationIn, HOUR_MS, parseDuration, parseTime } from '../lib/time.ts';
import type { SandboxBounds } from './plan.ts';
import { BOUND_MAX, type Bounds, EVENT_BYTES, MEBIBYTE, PHOTO_QUOTA_MAX } from './plan.ts';
import { EVENT_BYTES_DAYS, MESSAGES_WINDOW_MS } from './rules.ts';

/** A setting: an environment variable, and the parser of its text. */
export interface Setting<T = unknown> {
  readonly name: `PETSTORE_${string}`;
  /** A sentence for `petstore serve --help`. */
  readonly description: string;
  /** The text of the default, which applies when the variable is not set, or is empty without `emptyDisables`. */
  readonly default?: string;
  /** The default in help, if it is not a text. */
  readonly defaultText?: string;
  /** Whether an empty value disables the setting instead of selecting the default. */
  readonly emptyDisables?: true;
  /** Whether the value is a secret, which can also be in a file named by the variable with `_FILE` appended. */
  readonly isSecret?: true;
  /** The valid values, as the end of the sentence "PETSTORE_X must be …". */
  readonly valid: string;
  /** Returns the value, or `undefined` if the text is invalid. */
  parse(text: string): T | undefined;
}

/** The interfaces of other pet services. */
export const viewNames = ['petfinder', 'classic'] as const;

type Group = Readonly<Record<string, Setting>>;

const SERVICE_NAME_LENGTH_MAX = 100;
const SCHEDULE_MAX = 50;
/** The minimum and the maximum duration. */
const SCHEDULE_RANGE = ['1s', '7d'] as const;
const BACKUP_INTERVAL_RANGE = ['15m', '30d'] as const;
const STOP_DELAY_RANGE = ['0s', '5m'] as const;

/** All settings in the order of help, by their names in the configuration. */
export const settingTree = {
  host: host('PETSTORE_HOST', 'The address that the server listens on.'),
  /** 0 for any free port; an address without a port is disabled. */
  ports: {
    production: port('PETSTORE_PORT', 'The port of production', '8080'),
    staging: port('PETSTORE_STAGING_PORT', 'The port of staging', '8081'),
    messages: port('PETSTORE_MESSAGES_PORT', 'The port of the message address (POST /messages)', '8082'),
  },
  metricsPort: {
    name: 'PETSTORE_METRICS_PORT',
    description: 'The port of GET /metrics.',
    defaultText: 'off',
    ...portNumber(),
  },
  metricsHost: host('PETSTORE_METRICS_HOST', 'The address that GET /metrics listens on.'),
  logLevel: {
    name: 'PETSTORE_LOG_LEVEL',
    description: 'The least severe lines of the log on stderr.',
    default: 'info',
    valid: 'error, warn or info',
    parse: (text): LogLevel | undefined => (['error', 'warn', 'info'] as const).find(level => level === text),
  },
  accessLog: flag('PETSTORE_ACCESS_LOG', 'Whether to log every request, as a line of JSON on stdout.'),
  traces: {
    url: {
      name: 'PETSTORE_OTLP_URL',
      description:
        'The OpenTelemetry collector that receives the traces, over OTLP/HTTP. The server adds /v1/traces to this URL.',
      defaultText: 'no traces',
      valid: 'a URL like http://127.0.0.1:4318, without query, fragment or credentials',
      parse: text => parseBaseUrl(text)?.replace(/\/v1\/traces$/, ''),
    },
    headers: {
      name: 'PETSTORE_OTLP_HEADERS',
      description: 'Headers for the collector, such as a key; comma-separated, with values percent-encoded.',
      isSecret: true,
      valid: 'a list like api-key=secret,x-tenant=store, with special characters percent-encoded',
      parse: parseHeaders,
    },
    serviceName: {
      name: 'PETSTORE_OTLP_SERVICE_NAME',
      description: 'The name of this service in traces.',
      default: 'petstore',
      valid: `up to ${SERVICE_NAME_LENGTH_MAX} characters`,
      parse: text => (text.length <= SERVICE_NAME_LENGTH_MAX ? text : undefined),
    },
    ratio: {
      name: 'PETSTORE_TRACE_RATIO',
      description:
        'The share of requests and jobs that are traced, unless their caller decides it with a traceparent header.',
      default: '1',
      valid: 'a number from 0 to 1, like 0.1',
      parse: text => (/^(0|1|[01]?\.\d{1,9})$/.test(text) && Number(text) <= 1 ? Number(text) : undefined),
    },
  },
  views: {
    name: 'PETSTORE_VIEWS',
    description: 'The interfaces of other pet services that the server offers; an empty value offers none.',
    default: viewNames.join(','),
    emptyDisables: true,
    valid: `a list of ${viewNames.join(' and ')}, separated by commas`,
    parse: parseViews,
  },
  mcp: {
    isServed: {
      name: 'PETSTORE_MCP',
      description: 'Whether production and staging serve their tools for AI agents at /mcp.',
      default: 'on',
      valid: 'on or off',
      parse: (text): boolean | undefined => (text === 'on' ? true : text === 'off' ? false : undefined),
    },
    origins: {
      name: 'PETSTORE_MCP_ORIGINS',
      description: 'The origins of web pages that may call /mcp, besides those of this service; comma-separated.',
      defaultText: 'none',
      valid: 'origins like https://chat.example.org, separated by commas',
      parse: parseOrigins,
    },
  },
  securityContact: {
    name: 'PETSTORE_SECURITY_CONTACT',
    description: 'Where to report a vulnerability, in /.well-known/security.txt.',
    defaultText: 'the guide on messages to the store',
    valid: 'a URL like https://store.example/security or mailto:security@store.example',
    parse: parseContact,
  },
  dataDir: {
    name: 'PETSTORE_DATA_DIR',
    description: 'The directory for the files of the embedded database.',
    default: './data',
    valid: 'a path',
    parse: parsePath,
  },
  photos: {
    directory: {
      name: 'PETSTORE_PHOTOS_DIRECTORY',
      description: 'The directory for the photos of animals. All nodes that serve one database need the same one.',
      defaultText: 'photos in the data directory',
      valid: 'a path',
      parse: parsePath,
    },
    url: {
      name: 'PETSTORE_PHOTOS_S3_URL',
      description: 'The bucket of S3-compatible storage for the photos, instead of a directory.',
      defaultText: 'none',
      valid: 'the URL of a bucket, like https://s3.eu-central-1.amazonaws.com/photos, without query or credentials',
      parse: parseBaseUrl,
    },
    region: {
      name: 'PETSTORE_PHOTOS_S3_REGION',
      description: 'The region of the bucket.',
      default: 'us-east-1',
      valid: 'a region like eu-central-1',
      parse: text => (/^[\w-]{1,64}$/.test(text) ? text : undefined),
    },
    accessKeyId: {
      name: 'PETSTORE_PHOTOS_S3_ACCESS_KEY_ID',
      description: 'The id of the access key for the bucket.',
      valid: 'the id of an access key',
      parse: parseAccessKey,
    },
    secretAccessKey: {
      name: 'PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY',
      description: 'The secret of that access key.',
      isSecret: true,
      valid: 'the secret of an access key',
      parse: parseAccessKey,
    },
  },
  databaseUrls: {
    production: databaseUrl(
      'PETSTORE_DATABASE_URL',
      'A PostgreSQL database to use instead of the embedded one; staging uses its schema petstore_staging.',
    ),
    staging: databaseUrl('PETSTORE_STAGING_DATABASE_URL', 'A separate PostgreSQL database for staging.'),
  },
  databaseConnections: {
    name: 'PETSTORE_DATABASE_CONNECTIONS',
    description: 'The maximum number of connections of each deployment to PostgreSQL, besides one for notifications.',
    default: '16',
    ...wholeNumber(1000, 2),
  },
  valkeyUrl: {
    name: 'PETSTORE_VALKEY_URL',
    description: 'The Valkey or Redis server in which several nodes share their rate limit counts.',
    isSecret: true,
    valid: 'a URL like redis://127.0.0.1:6379',
    parse: text => (urlOf(text, ['redis:', 'rediss:', 'valkey:', 'valkeys:']) ? text : undefined),
  },
  /** The base of links: an origin, with the path of a proxy if any, without `/v1` and a trailing slash. */
  publicUrls: {
    production: publicUrl('PETSTORE_PUBLIC_URL', 'production'),
    staging: publicUrl('PETSTORE_STAGING_PUBLIC_URL', 'staging'),
    messages: publicUrl('PETSTORE_MESSAGES_PUBLIC_URL', 'the message address'),
  },
  trustedProxies: networks(
    'PETSTORE_TRUSTED_PROXIES',
    'The networks of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto headers are used; comma-separated.',
  ),
  webhookNetworks: networks(
    'PETSTORE_WEBHOOK_NETWORKS',
    'The networks to which webhooks may be sent, and photos of imports fetched from, besides the public internet; there, http and any port are allowed too; comma-separated.',
  ),
  categories: {
    name: 'PETSTORE_CATEGORIES',
    description:
      'Whether an animal may name an unknown category: open creates a placeholder, strict rejects the request.',
    default: 'open',
    valid: 'open or strict',
    parse: (text): 'open' | 'strict' | undefined => (text === 'open' || text === 'strict' ? text : undefined),
  },
  searchDescriptions: flag(
    'PETSTORE_SEARCH_DESCRIPTIONS',
    'Whether searches find the words of descriptions too; their index is then about ten times as large.',
  ),
  requireIfMatch: flag(
    'PETSTORE_REQUIRE_IF_MATCH',
    'Whether PUT, PATCH and DELETE require If-Match with the version to change (otherwise 428).',
  ),
  /** Each setting overrides the bound of every plan. */
  bounds: {
    pets: bound('PETSTORE_PETS_MAX', 'The maximum number of animals of an account.'),
    importedRows: {
      ...bound(
        'PETSTORE_IMPORTED_ROWS_MAX',
        'The maximum number of rows that the imports of an account change on a UTC day.',
      ),
      defaultText: 'twice the animals',
    },
    eventBytes: {
      ...bound(
        'PETSTORE_EVENTS_QUOTA_MIB',
        `The maximum size of the events that an account causes in ${EVENT_BYTES_DAYS} days, in MiB; this bound stops only imports.`,
      ),
      defaultText: `${EVENT_BYTES_DAYS} times the daily rows, at ${EVENT_BYTES / 1024} KiB each`,
      parse: parseMebibytes,
    },
    openOrders: bound('PETSTORE_ORDERS_MAX', 'The maximum number of placed and approved orders of an account.'),
    heldPets: bound('PETSTORE_HELD_MAX', 'The maximum number of animals in all active holds of an account.'),
    categories: bound(
      'PETSTORE_CATEGORIES_MAX',
      'The maximum number of categories that an account has created, with the placeholders that its animals created.',
    ),
    webhooks: bound('PETSTORE_WEBHOOKS_MAX', 'The maximum number of webhooks of an account.'),
    streams: bound('PETSTORE_STREAMS_MAX', 'The maximum number of open event streams of an account on one node.'),
    messagesPerRecipient: bound(
      'PETSTORE_MESSAGES_PER_RECIPIENT',
      `The maximum number of messages from an account to one recipient in any ${durationIn('second', MESSAGES_WINDOW_MS)}.`,
    ),
    emailReplies: bound(
      'PETSTORE_REPLIES_PER_DAY',
      'The maximum number of replies to visitors that an account sends by e-mail on a UTC day.',
    ),
    storedBytes: {
      ...bound(
        'PETSTORE_STORAGE_QUOTA_MIB',
        'The maximum size of the texts that an account stores, in MiB: its messages, replies and notes, the responses to its requests with Idempotency-Key, and rows that wait to be imported.',
      ),
      parse: parseMebibytes,
    },
    photoBytes: {
      ...bound(
        'PETSTORE_PHOTO_QUOTA_MIB',
        'The maximum size of the photos that an account stores, in MiB: originals and sizes.',
        PHOTO_QUOTA_MAX,
      ),
      parse: text => parseMebibytes(text, PHOTO_QUOTA_MAX),
    },
    scans: bound(
      'PETSTORE_SCANS_MAX',
      'The maximum number of lists that scan many rows and that an account has in progress on one node.',
    ),
    uploads: bound(
      'PETSTORE_UPLOADS_MAX',
      'The maximum number of files that one node receives from an account at the same time.',
    ),
  } satisfies Record<keyof Bounds, Setting<number>>,
  /** The bounds of all sandbox accounts together. */
  sandbox: {
    pets: count(
      'PETSTORE_SANDBOX_PETS_MAX',
      'The maximum number of animals of all trial keys together.',
      '5000',
      BOUND_MAX,
    ),
    bytes: mebibytes(
      'PETSTORE_SANDBOX_QUOTA_MIB',
      'The maximum size of the events and stored responses of all trial keys together, in MiB.',
      '64',
    ),
    perMinute: count(
      'PETSTORE_SANDBOX_PER_MINUTE',
      'The maximum number of requests of all trial keys together in any 60 seconds.',
      '1200',
      1_000_000,
    ),
  } satisfies Record<keyof SandboxBounds, Setting<number>>,
  eventsDays: count(
    'PETSTORE_EVENTS_DAYS',
    'The number of days that events and finished webhook deliveries are readable; the history of each animal stays.',
    '30',
    3650,
  ),
  messagesDays: count(
    'PETSTORE_MESSAGES_DAYS',
    'The number of days after which messages are deleted, with their delivery attempts.',
    '365',
    36_500,
  ),
  keyLifetimeDays: optionalDays(
    'PETSTORE_KEY_LIFETIME_DAYS',
    'The number of days after which new API keys expire at the latest.',
  ),
  keyIdleDays: optionalDays(
    'PETSTORE_KEY_IDLE_DAYS',
    'The number of days without a request after which API keys expire.',
  ),
  auditDays: count(
    'PETSTORE_AUDIT_DAYS',
    'The number of days that the audit log is kept: the key, request id and address of each change, and refused requests.',
    '365',
    36_500,
  ),
  /** In bytes. */
  bodies: {
    total: mebibytes('PETSTORE_BODIES_MIB', 'The memory for all request bodies in progress, in MiB.', '128'),
    perAccount: mebibytes(
      'PETSTORE_ACCOUNT_BODIES_MIB',
      'The memory for the request bodies in progress of an account, in MiB; the limit is lower while little of this memory is free.',
      '16',
    ),
  },
  pagesPerMinute: count(
    'PETSTORE_PAGES_PER_MINUTE',
    'The number of pages that one network, or one account that is signed in, makes a node render in any 60 seconds; a search that reads many animals counts as several.',
    '600',
    1_000_000,
  ),
  /** For a network without a key. */
  classic: {
    perMinute: count(
      'PETSTORE_CLASSIC_PER_MINUTE',
      'The number of requests to the classic Swagger Petstore that one network may send without a key in any 60 seconds.',
      '600',
      1_000_000,
    ),
    perDay: count(
      'PETSTORE_CLASSIC_PER_DAY',
      'The number of requests to the classic Swagger Petstore that one network may send without a key per UTC day.',
      '20000',
      1_000_000,
    ),
  },
  mail: {
    url: {
      name: 'PETSTORE_SMTP_URL',
      description:
        'The mail server, with user and password, through which messages are also sent as e-mail; never from staging.',
      defaultText: 'no e-mail',
      isSecret: true,
      valid: 'a URL like smtp://user:password@127.0.0.1:587, or smtps://…, with special characters percent-encoded',
      parse: parseSmtpUrl,
    },
    from: {
      name: 'PETSTORE_MAIL_FROM',
      description: 'The sender address of e-mail; required with PETSTORE_SMTP_URL.',
      valid: 'an e-mail address like store@example.org',
      parse: text => (isEmail(text) ? text : undefined),
    },
  },
  webhookScheduleMs: {
    name: 'PETSTORE_WEBHOOK_SCHEDULE',
    description:
      'The retry schedule of webhook deliveries: the wait after each failed attempt, varied by a tenth; after the last one the delivery has failed.',
    default: '5s,5m,30m,2h,5h,10h,10h',
    valid: `up to ${SCHEDULE_MAX} durations from ${SCHEDULE_RANGE.join(' to ')}, like 30s, 15m or 24h, separated by commas`,
    parse: parseSchedule,
  },
  backups: {
    directory: {
      name: 'PETSTORE_BACKUP_DIRECTORY',
      description:
        'The directory for scheduled backups, which only this store uses. Nodes of one store name the same directory.',
      defaultText: 'no scheduled backups',
      valid: 'a path',
      parse: parsePath,
    },
    intervalMs: {
      name: 'PETSTORE_BACKUP_INTERVAL',
      description: 'The time between scheduled backups.',
      default: '24h',
      valid: `a duration from ${BACKUP_INTERVAL_RANGE.join(' to ')}, like 6h`,
      parse: durationWithin(BACKUP_INTERVAL_RANGE),
    },
    /** The time from midnight. */
    timeMs: {
      name: 'PETSTORE_BACKUP_TIME',
      description: 'The time of day, in UTC, of a scheduled backup; further ones follow at the interval.',
      default: '02:00',
      valid: 'a time of day like 02:00',
      parse: parseTimeOfDay,
    },
    keep: count('PETSTORE_BACKUP_KEEP', 'The number of scheduled backups that are kept.', '7', 1000),
  },
  stopDelayMs: {
    name: 'PETSTORE_STOP_DELAY',
    description:
      'How long the server continues to serve after SIGTERM or SIGINT, while /readyz returns 503 and load balancers choose other nodes.',
    default: '0s',
    valid: `a duration from ${STOP_DELAY_RANGE.join(' to ')}, like 20s`,
    parse: durationWithin(STOP_DELAY_RANGE),
  },
  startAtMs: {
    name: 'PETSTORE_NOW',
    description: 'For tests: the start time of the clock; accepted only with NODE_ENV=test.',
    defaultText: 'the current time',
    valid: 'an RFC 3339 time in UTC, like 2026-11-20T12:00:00Z',
    parse: parseUtc,
  },
  secretKey: {
    ...encryptionKey(
      'PETSTORE_SECRET_KEY',
      'The key that encrypts the secrets of webhooks and authenticator apps. All nodes need the same one.',
    ),
    defaultText: 'secret.key in the data directory',
  },
  previousSecretKey: encryptionKey(
    'PETSTORE_SECRET_KEY_PREVIOUS',
    'The key that encrypted these secrets before, until `petstore secret-key rotate` has encrypted them again.',
  ),
} as const satisfies Readonly<Record<string, Setting | Group>>;

export const settings: readonly Setting[] = Object.values(settingTree).flatMap(entry =>
  isSetting(entry) ? [entry] : Object.values(entry),
);

/** The values of all settings, by name. A setting is absent if it has no default, or if it is disabled. */
export type SettingValues = ValuesOf<typeof settingTree>;

type ValuesOf<T> = { readonly [Name in Present<T>]: ValueOf<T[Name]> } & {
  readonly [Name in Exclude<keyof T, Present<T>>]?: ValueOf<T[Name]>;
};
type ValueOf<T> = T extends Setting<infer Value> ? Value : ValuesOf<T>;
type Present<T> = {
  [Name in keyof T]: T[Name] extends Group | { default: string; emptyDisables?: never } ? Name : never;
}[keyof T];

/** Returns the variable that can name a file with the value of a secret setting. */
export function fileVariable({ name }: Setting): string {
  return `${name}_FILE`;
}

/** Reports whether an entry is a setting, not a group of settings. */
export function isSetting(entry: object): entry is Setting {
  return 'parse' in entry;
}

function host(name: Setting['name'], description: string) {
  return {
    name,
    description,
    default: '127.0.0.1',
    valid: 'an IP address or a host name',
    parse: (text: string) => (isIP(text) !== 0 || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text) ? text : undefined),
  };
}

function port(name: Setting['name'], what: string, usual: string) {
  return {
    name,
    description: `${what}; 0 selects a free port, an empty value disables it.`,
    default: usual,
    emptyDisables: true as const,
    ...portNumber(),
  };
}

function portNumber() {
  return {
    valid: 'a port from 0 to 65535',
    parse: (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  };
}

function networks(name: Setting['name'], description: string) {
  return {
    name,
    description,
    defaultText: 'none',
    valid: 'IP addresses or networks like 10.0.0.0/8, separated by commas',
    parse(text: string): readonly string[] | undefined {
      const parts = text.split(',').map(network => network.trim());
      return parts.every(isNetwork) ? parts : undefined;
    },
  };
}

/** A setting that is off by default. */
function flag(name: Setting['name'], description: string) {
  return {
    name,
    description,
    default: 'false',
    valid: 'true or false',
    parse: (text: string) => (text === 'true' ? true : text === 'false' ? false : undefined),
  };
}

function count(name: Setting['name'], description: string, usual: string, max: number) {
  return { name, description, default: usual, ...wholeNumber(max) };
}

function optionalDays(name: Setting['name'], description: string) {
  return { name, description, defaultText: 'off', ...wholeNumber(36_500) };
}

function bound(name: Setting['name'], description: string, max = BOUND_MAX) {
  return { name, description, defaultText: 'by plan', ...wholeNumber(max) };
}

function wholeNumber(max: number, min = 1) {
  return {
    valid: `a whole number from ${min} to ${max}`,
    parse(text: string) {
      const number = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0;
      return number >= min && number <= max ? number : undefined;
    },
  };
}

function encryptionKey(name: Setting['name'], description: string) {
  return {
    name,
    description,
    isSecret: true as const,
    valid: '32 random bytes in base64, as `openssl rand -base64 32` prints them',
    parse: (text: string) => (/^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined),
  };
}

/** A setting in MiB whose value is in bytes. */
function mebibytes(name: Setting['name'], description: string, usual: string) {
  return { ...count(name, description, usual, BOUND_MAX), parse: parseMebibytes };
}

function parseMebibytes(text: string, max = BOUND_MAX): number | undefined {
  const mebibytes = wholeNumber(max).parse(text);
  return mebibytes && mebibytes * MEBIBYTE;
}

function databaseUrl(name: Setting['name'], description: string) {
  return {
    name,
    description,
    isSecret: true as const,
    valid: 'a URL like postgres://user@127.0.0.1:5432/petstore',
    parse: (text: string) => (urlOf(text, ['postgres:', 'postgresql:']) ? text : undefined),
  };
}

function publicUrl(name: Setting['name'], what: string) {
  return {
    name,
    description: `The public URL of ${what}, used in links.`,
    defaultText: 'derived from host and port',
    valid: 'a URL like https://api.example.org, without query, fragment or credentials',
    parse: (text: string) => parseBaseUrl(text)?.replace(/\/v1$/, ''),
  };
}

/** Returns the id or the secret of an access key, which become parts of headers. */
function parseAccessKey(text: string): string | undefined {
  return /^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined;
}

/** Returns a URL to which paths are added, without a trailing slash. */
function parseBaseUrl(text: string): string | undefined {
  const url = urlOf(text, ['http:', 'https:']);
  if (url === undefined || url.search + url.hash + url.username + url.password !== '') return undefined;
  return url.href.replace(/\/+$/, '');
}

function parseContact(text: string): string | undefined {
  const [, address] = /^mailto:(.+)$/.exec(text) ?? [];
  if (address !== undefined) return isEmail(address) ? text : undefined;
  return urlOf(text, ['https:'])?.href;
}

/** Returns headers by their lower-case names. */
function parseViews(text: string): readonly (typeof viewNames)[number][] | undefined {
  const names = text.split(',').map(name => name.trim());
  return names.every(name => (viewNames as readonly string[]).includes(name))
    ? viewNames.filter(name => names.includes(name))
    : undefined;
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(',').map(origin => origin.trim());
  return origins.every(origin => urlOf(origin, ['http:', 'https:'])?.origin === origin) ? origins : undefined;
}

function parseHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const [, name, encoded] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([\x21-\x2b\x2d-\x7e ]*?)\s*$/.exec(pair) ?? [];
    try {
      const value = decodeURIComponent(encoded!);
      if (name === undefined || !/^[\x20-\x7e]*$/.test(value)) return undefined;
      headers[name.toLowerCase()] = value;
    } catch {
      return undefined;
    }
  }
  return headers;
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

function parseSchedule(text: string): number[] | undefined {
  const waits = text.split(',').map(wait => parseDuration(wait.trim()));
  return waits.length <= SCHEDULE_MAX && waits.every(ms => isIn(SCHEDULE_RANGE, ms)) ? (waits as number[]) : undefined;
}

function isIn([min, max]: readonly [string, string], ms: number | undefined): boolean {
  return ms !== undefined && ms >= parseDuration(min)! && ms <= parseDuration(max)!;
}

function parsePath(text: string): string | undefined {
  return text.includes('\0') ? undefined : resolve(text);
}

function parseTimeOfDay(text: string): number | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return match === null ? undefined : Number(match[1]) * HOUR_MS + Number(match[2]) * 60_000;
}

/** Returns the parser of a duration in a range. */
function durationWithin(range: readonly [string, string]) {
  return (text: string): number | undefined => {
    const ms = parseDuration(text);
    return isIn(range, ms) ? ms : undefined;
  };
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

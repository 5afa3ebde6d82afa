import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isEmail } from './lib/email.ts';
import { parseDuration, parseTime } from './lib/time.ts';

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
  trustedProxies: networks(
    'PETSTORE_TRUSTED_PROXIES',
    'The networks of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto headers are used; comma-separated.',
  ),
  webhookNetworks: networks(
    'PETSTORE_WEBHOOK_NETWORKS',
    'The networks to which webhooks may be sent besides the public internet, also over http and to any port; comma-separated.',
  ),
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
  heldMax: count(
    'PETSTORE_HELD_MAX',
    'The maximum number of animals in all active holds of an account.',
    '100',
    1_000_000,
  ),
  webhooksMax: count('PETSTORE_WEBHOOKS_MAX', 'The maximum number of webhooks of an account.', '10', 1_000_000),
  eventsDays: count(
    'PETSTORE_EVENTS_DAYS',
    'The number of days that events are kept; the history of each animal stays.',
    '30',
    3650,
  ),
  streamsMax: count(
    'PETSTORE_STREAMS_MAX',
    'The maximum number of open event streams of an account on one node.',
    '5',
    1_000_000,
  ),
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

function networks(name: Setting<unknown>['name'], description: string) {
  return setting<readonly string[]>({
    name,
    description,
    defaultText: 'none',
    valid: 'IP addresses or networks like 10.0.0.0/8, separated by commas',
    parse(text) {
      const parts = text.split(',').map(network => network.trim());
      return parts.every(isNetwork) ? parts : undefined;
    },
  });
}

function count(name: Setting<number>['name'], description: string, usual: string, max: number) {
  return setting({
    name,
    description,
    default: usual,
    valid: `a whole number from 1 to ${max}`,
    parse: text => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= max ? Number(text) : undefined),
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

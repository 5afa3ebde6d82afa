import { resolve } from 'node:path';
import type { DatabaseLocation } from './lib/storage/open.ts';
import { UserError } from './lib/user-error.ts';
import type { DeploymentName } from './schema.ts';
import { type Setting, settings } from './settings.ts';

/** The addresses that one process serves. */
export type AddressName = DeploymentName | 'messages';

export type { DatabaseLocation };

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

/** Returns the members that have a value. */
function defined<T extends object>(members: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

import { resolve } from 'node:path';
import type { DatabaseLocation } from './lib/storage/open.ts';
import { UserError } from './lib/user-error.ts';
import type { DeploymentName } from './schema.ts';
import { isSetting, type Setting, type SettingValues, settings, settingTree } from './settings.ts';

/** The addresses that one process serves. */
export type AddressName = DeploymentName | 'messages';

export type { DatabaseLocation };

/** The validated settings of one process. */
export interface Config extends Omit<SettingValues, 'databaseUrls' | 'mail'> {
  /** Both deployments, even if one is disabled: accounts and keys are stored with production. */
  readonly locations: Readonly<Record<DeploymentName, DatabaseLocation>>;
  readonly trustedProxies: readonly string[];
  readonly webhookNetworks: readonly string[];
  /** The mail server for messages, and the sender address. */
  readonly mail?: { readonly url: string; readonly from: string };
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings from an environment; returns a warning for each unknown `PETSTORE_` variable.
 * @throws {UserError} when a value is invalid or two conflict; it names the setting and never contains a secret
 */
export function readConfig(environment: Environment): { config: Config; warnings: string[] } {
  const { databaseUrls, mail, ...values } = readSettings(settingTree, environment) as SettingValues;
  if (values.startAtMs !== undefined && environment['NODE_ENV'] !== 'test') {
    throw new UserError('PETSTORE_NOW is for tests and requires NODE_ENV=test; remove it.');
  }
  requireDistinctPorts(values);
  const { trustedProxies = [], webhookNetworks = [], dataDir } = values;
  const config = {
    ...values,
    trustedProxies,
    webhookNetworks,
    locations: locationsOf(dataDir, databaseUrls),
    ...mailOf(mail),
  };
  return { config, warnings: unknownSettings(environment) };
}

/** Reads a group of settings; those without a value are left out. */
function readSettings(group: object, environment: Environment): object {
  const values = Object.entries(group).map(([name, entry]) => [
    name,
    isSetting(entry) ? readSetting(entry, environment[entry.name]) : readSettings(entry, environment),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function readSetting(setting: Setting, text: string | undefined): unknown {
  if (text === '' && setting.emptyDisables === true) return undefined;
  const wanted = text === undefined || text.trim() === '' ? setting.default : text.trim();
  if (wanted === undefined) return undefined;
  const value = setting.parse(wanted);
  if (value === undefined) throw new UserError(`${setting.name} must be ${setting.valid}.`);
  return value;
}

function locationsOf(
  dataDir: string,
  { production: url, staging: stagingUrl }: SettingValues['databaseUrls'],
): Config['locations'] {
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

function mailOf({ url, from }: SettingValues['mail']): Pick<Config, 'mail'> {
  if (url !== undefined && from !== undefined) return { mail: { url, from } };
  if (url !== undefined) {
    throw new UserError('PETSTORE_SMTP_URL requires PETSTORE_MAIL_FROM, the sender address of e-mail.');
  }
  if (from !== undefined) throw new UserError('PETSTORE_MAIL_FROM requires PETSTORE_SMTP_URL, the mail server.');
  return {};
}

function sameDatabase(one: string, other: string): boolean {
  const location = (text: string) => {
    const { hostname, port, pathname, search } = new URL(text);
    return JSON.stringify([hostname, port || '5432', pathname, search]);
  };
  return location(one) === location(other);
}

function unknownSettings(environment: Environment): string[] {
  const known = new Set<string>(settings.map(({ name }) => name));
  return Object.keys(environment)
    .filter(name => name.startsWith('PETSTORE_') && !name.startsWith('PETSTORE_TEST_') && !known.has(name))
    .map(name => `Unknown setting ${name}; \`petstore serve --help\` lists all settings.`);
}

/** Throws if two addresses have the same port. */
function requireDistinctPorts({ ports, metricsPort }: Pick<SettingValues, 'ports' | 'metricsPort'>): void {
  const { production, staging, messages } = settingTree.ports;
  const used = [
    [production, ports.production],
    [staging, ports.staging],
    [messages, ports.messages],
    [settingTree.metricsPort, metricsPort],
  ] as const;
  const taken = new Map<number, string>();
  for (const [{ name }, port = 0] of used) {
    const other = taken.get(port);
    if (port !== 0 && other !== undefined) {
      throw new UserError(`${other} and ${name} are both ${port}; change one of them.`);
    }
    taken.set(port, name);
  }
}

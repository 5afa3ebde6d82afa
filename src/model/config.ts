import { readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type { DatabaseLocation } from '../lib/storage/open.ts';
import { suggestion } from '../lib/suggestion.ts';
import { UserError } from '../lib/user-error.ts';
import type { PhotoLocation } from './photo-files/photo-store.ts';
import type { DeploymentName } from './schema.ts';
import { fileVariable, isSetting, type Setting, type SettingValues, settings, settingTree } from './settings.ts';

/** The addresses that one process serves. */
export type AddressName = DeploymentName | 'messages';

export type { DatabaseLocation };

/** The location of a deployment: its database and its photos. */
export type DeploymentLocation = DatabaseLocation & { readonly photos: PhotoLocation };

/** Returns the location of a deployment's photos. */
export type PhotoLocations = (name: DeploymentName) => PhotoLocation;

/** The validated settings of one process. */
export interface Config extends Omit<SettingValues, 'databaseUrls' | 'mail' | 'photos'> {
  /** Both deployments, even if one is disabled: accounts and keys are stored with production. */
  readonly locations: Readonly<Record<DeploymentName, DeploymentLocation>>;
  readonly trustedProxies: readonly string[];
  readonly webhookNetworks: readonly string[];
  /** The mail server for messages, and the sender address. */
  readonly mail?: { readonly url: string; readonly from: string };
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings from environment variables, and from the files that they name for secrets.
 * @throws {UserError} when a `PETSTORE_` variable is unknown, a value is invalid, or two settings conflict; the message
 *   names the setting and never contains a secret
 */
export function readConfig(environment: Environment): Config {
  rejectUnknown(environment);
  const { databaseUrls, mail, photos, ...values } = readSettings(settingTree, environment) as SettingValues;
  if (values.startAtMs !== undefined && environment['NODE_ENV'] !== 'test') {
    throw new UserError('PETSTORE_NOW is for tests and requires NODE_ENV=test; remove it.');
  }
  requireDistinctPorts(values);
  if (values.traces.headers !== undefined && values.traces.url === undefined) {
    throw new UserError('PETSTORE_OTLP_HEADERS requires PETSTORE_OTLP_URL, the collector of traces.');
  }
  const { trustedProxies = [], webhookNetworks = [], dataDir } = values;
  requireBackupsOutside(dataDir, values.backups.directory);
  return {
    ...values,
    trustedProxies,
    webhookNetworks,
    locations: locationsOf(dataDir, photoLocationsOf(dataDir, photos), databaseUrls),
    ...mailOf(mail),
  };
}

/** Reads a group of settings. Omits settings without a value. */
function readSettings(group: object, environment: Environment): object {
  const values = Object.entries(group).map(([name, entry]) => [
    name,
    isSetting(entry) ? readSetting(entry, textOf(entry, environment)) : readSettings(entry, environment),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Returns the text of a setting: from its variable, or from the file that the variable with `_FILE` names. */
function textOf(setting: Setting, environment: Environment): string | undefined {
  const text = environment[setting.name];
  const variable = fileVariable(setting);
  const path = setting.isSecret && environment[variable];
  if (!path) return text;
  if (text) throw new UserError(`${setting.name} and ${variable} are both set; remove one of them.`);
  try {
    const content = readFileSync(path, 'utf8').trim();
    if (content !== '') return content;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(`${variable} names ${path}, which cannot be read (${code}).`, { cause: error });
  }
  throw new UserError(`${variable} names ${path}, which is empty.`);
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
  photos: PhotoLocations,
  { production: url, staging: stagingUrl }: SettingValues['databaseUrls'],
): Config['locations'] {
  if (url === undefined) {
    if (stagingUrl !== undefined) {
      throw new UserError(
        'PETSTORE_STAGING_DATABASE_URL requires PETSTORE_DATABASE_URL: either both deployments use PostgreSQL, or neither.',
      );
    }
    return locationsIn(dataDir, photos);
  }
  if (stagingUrl !== undefined && sameDatabase(url, stagingUrl)) {
    throw new UserError(
      'PETSTORE_STAGING_DATABASE_URL must name a different database than PETSTORE_DATABASE_URL; remove it to use one database for both.',
    );
  }
  return locationsAt(url, stagingUrl, photos);
}

/** Returns the locations of photos in a directory, one subdirectory per deployment. */
export function photosUnder(directory: string): PhotoLocations {
  return name => ({ directory: join(directory, name) });
}

/** @throws {UserError} if the settings of a bucket are incomplete, or a directory is also set */
function photoLocationsOf(
  dataDir: string,
  { directory, url, region, ...key }: SettingValues['photos'],
): PhotoLocations {
  const { accessKeyId, secretAccessKey } = key;
  if (url === undefined) {
    if (accessKeyId !== undefined || secretAccessKey !== undefined) {
      throw new UserError(
        'The access key PETSTORE_PHOTOS_S3_ACCESS_KEY_ID requires PETSTORE_PHOTOS_S3_URL, the bucket.',
      );
    }
    return photosUnder(directory ?? join(dataDir, 'photos'));
  }
  if (directory !== undefined) {
    throw new UserError(
      'PETSTORE_PHOTOS_DIRECTORY and PETSTORE_PHOTOS_S3_URL are both set: photos are in a directory or in a bucket; remove one of them.',
    );
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new UserError(
      'PETSTORE_PHOTOS_S3_URL requires an access key: PETSTORE_PHOTOS_S3_ACCESS_KEY_ID and PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY.',
    );
  }
  return name => ({
    directory: join(dataDir, 'photos', name),
    bucket: { url, region, accessKeyId, secretAccessKey, prefix: `${name}/` },
  });
}

/** Returns the locations of the embedded engine in a data directory. */
export function locationsIn(
  dataDir: string,
  photos: PhotoLocations = photosUnder(join(dataDir, 'photos')),
): Config['locations'] {
  const locationOf = (name: DeploymentName) => ({ file: resolve(dataDir, `${name}.db`), photos: photos(name) });
  return { production: locationOf('production'), staging: locationOf('staging') };
}

/**
 * Returns the locations on PostgreSQL: staging uses a schema of production's database, unless it has a separate one.
 */
export function locationsAt(url: string, stagingUrl: string | undefined, photos: PhotoLocations): Config['locations'] {
  const staging = stagingUrl === undefined ? { url, schema: 'petstore_staging' } : { url: stagingUrl };
  return {
    production: { url, photos: photos('production') },
    staging: { ...staging, photos: photos('staging') },
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

/** Reports whether two URLs of PostgreSQL name the same database. */
export function sameDatabase(one: string, other: string): boolean {
  const location = (text: string) => {
    const { hostname, port, pathname, search } = new URL(text);
    return JSON.stringify([hostname, port || '5432', pathname, search]);
  };
  return location(one) === location(other);
}

/** The variables of `petstore listen`, which needs no server on this machine. */
export const listenVariables = ['PETSTORE_API_KEY', 'PETSTORE_API_KEY_FILE', 'PETSTORE_WEBHOOK_SECRET'];

/**
 * Rejects misspelled settings, which would otherwise silently have their defaults. Variables of the tests begin with
 * `PETSTORE_TEST_`.
 */
function rejectUnknown(environment: Environment): void {
  const known = settings.flatMap(setting =>
    setting.isSecret ? [setting.name, fileVariable(setting)] : [setting.name],
  );
  for (const name of Object.keys(environment)) {
    if (listenVariables.includes(name)) continue;
    if (!name.startsWith('PETSTORE_') || name.startsWith('PETSTORE_TEST_') || known.includes(name)) continue;
    const plain = settings.find(setting => fileVariable(setting) === name);
    const hint =
      plain === undefined
        ? suggestion(name, known)
        : `: ${plain.name} is not a secret, so it is not read from a file. Set ${plain.name}.`;
    throw new UserError(`There is no setting ${name}${hint} \`petstore serve --help\` lists all settings.`);
  }
}

/**
 * Throws if the scheduled backups would be in the data directory, where they would be lost with the data and be beside
 * the secret key.
 */
function requireBackupsOutside(dataDir: string, directory: string | undefined): void {
  if (directory === undefined || relative(dataDir, directory).split(sep)[0] === '..') return;
  throw new UserError(
    `PETSTORE_BACKUP_DIRECTORY is in the data directory, ${dataDir}: choose a directory outside of it, preferably on another disk.`,
  );
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

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { locationsAt, locationsIn, type PhotoLocations, photosUnder, sameDatabase } from '../../model/config.ts';
import type { Copied, StoreLocations } from '../../operate/copy/copy.ts';
import { type Command, type Invocation, type Option, UsageError } from '../command.ts';
import { table } from '../terminal.ts';

const STORE = 'sqlite:DIRECTORY, a data directory, or postgres://user@host/database';

const options: Readonly<Record<string, Option>> = {
  from: { description: `The store to copy: ${STORE}.`, value: 'URL', required: true },
  to: { description: `The empty store to copy to: ${STORE}.`, value: 'URL', required: true },
  'from-staging': { description: "The source's separate PostgreSQL database of staging.", value: 'URL' },
  'to-staging': { description: "The target's separate PostgreSQL database of staging.", value: 'URL' },
  'from-photos': {
    description:
      "The directory of the source's photos. By default the directory photos in the data directory of the source, or else the directory in the settings.",
    value: 'DIRECTORY',
  },
  'to-photos': {
    description:
      "The directory for the target's photos. By default the directory in the settings, or else the directory photos in the data directory of the target.",
    value: 'DIRECTORY',
  },
};

export const copy: Command = {
  name: 'copy',
  summary: 'Copy production and staging between the embedded database and PostgreSQL.',
  details:
    'Stop the servers of both stores first. Copies everything: ids, keys, events with their positions, encrypted webhook secrets, and photos that the target does not have yet; not the sandboxes of the classic Petstore. First checks that the files of all photos exist. Finally compares every table. Changes nothing in the source. If the command is interrupted, run it again. Without --from-staging or --to-staging, the schema petstore_staging of a PostgreSQL database is staging. A password can be in PGPASSWORD or ~/.pgpass.',
  options,
  examples: {
    'petstore copy --from sqlite:./data --to postgres://petstore@db.example.org/petstore':
      'from the data directory to PostgreSQL',
  },
  async run({ options, config, clock, json, terminal }) {
    const from = storeOf('from', options, config);
    const to = storeOf('to', options, config);
    const { copyStore } = await import('../../operate/copy/copy.ts');
    const onProgress = json ? undefined : terminal.showProgress;
    const { rows, photos, needsSecretKey } = await copyStore(from, to, { clock, ...(onProgress && { onProgress }) });
    return {
      value: { ...rows, photos },
      text: style => table(style, ['TABLE', 'PRODUCTION', 'STAGING'], [...linesOf(rows), photoLine(photos)], ''),
      ...(needsSecretKey && {
        hint: 'The webhook secrets are still encrypted with the secret key of the source: set PETSTORE_SECRET_KEY to it, or copy secret.key into the data directory of the new server.',
      }),
    };
  },
};

/** @throws {UsageError} if a value is not a location of a store */
function storeOf(option: 'from' | 'to', options: Invocation['options'], config: Invocation['config']): StoreLocations {
  const { photos: kept } = config.locations.production;
  const named = options[`${option}-photos`];
  const photos: PhotoLocations =
    named === undefined ? name => config.locations[name].photos : photosUnder(resolve(named));
  const url = options[option]!;
  const staging = options[`${option}-staging`];
  if (isPostgres(url)) {
    if (staging === undefined) return locationsAt(url, undefined, photos);
    if (isPostgres(staging) && !sameDatabase(url, staging)) return locationsAt(url, staging, photos);
    throw new UsageError(`--${option}-staging must be the URL of another PostgreSQL database than --${option}.`);
  }
  if (staging !== undefined) throw new UsageError(`--${option}-staging requires PostgreSQL in --${option}.`);
  const path = url.replace(/^sqlite:(\/\/(?=\/))?/, '');
  if (path === '' || /^[a-z][a-z\d+.-]+:/i.test(path)) throw new UsageError(`--${option} must be ${STORE}.`);
  if (named !== undefined) return locationsIn(resolve(path), photos);
  // By default, photos are in each data directory, and the copied store may have been served without the setting.
  const isDefault = kept.bucket === undefined && dirname(kept.directory) === join(config.dataDir, 'photos');
  const hasPhotos = option === 'from' && existsSync(join(path, 'photos'));
  return isDefault || hasPhotos ? locationsIn(resolve(path)) : locationsIn(resolve(path), photos);
}

function isPostgres(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text);
}

function photoLine({ production, staging }: Copied['photos']): string[] {
  return ['files of photos', String(production), String(staging ?? '')];
}

function linesOf({ production, staging }: Copied['rows']): string[][] {
  return Object.entries(production)
    .filter(([name, rows]) => rows + (staging?.[name] ?? 0) > 0)
    .map(([name, rows]) => [name, String(rows), String(staging?.[name] ?? '')]);
}

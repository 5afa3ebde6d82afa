import { accessSync, constants, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../../../package.json' with { type: 'json' };
import { systemClock } from '../../../lib/clock.ts';
import { createDirectory } from '../../../lib/storage/sqlite/data-directory.ts';
import { formatTime } from '../../../lib/time.ts';
import { UserError } from '../../../lib/user-error.ts';
import type { Config } from '../../../model/config.ts';
import { createBackup, writingError } from '../backup.ts';
import { parseManifest } from '../manifest.ts';
import { sumsOf } from '../photo-sums.ts';
import { type Environment, runOnPostgres } from '../postgres-programs.ts';

/** A scheduled backup that is due. Times are in milliseconds since the Unix epoch. */
export interface BackupRequest {
  readonly locations: Config['locations'];
  /** For the client programs of PostgreSQL. */
  readonly environment: Environment;
  /** The directory that contains the backups. */
  readonly directory: string;
  /** The id of the store, in the names of its backups. */
  readonly storeId: string;
  /** A backup that began at this time or later is recent enough. */
  readonly since: number;
  readonly now: number;
  /** How many backups to keep, at least 1. */
  readonly keep: number;
}

/** A complete backup. */
export interface GoodBackup {
  readonly name: string;
  /** When the backup began, in milliseconds since the Unix epoch, rounded to seconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly bytes: number;
}

export interface BackupReport {
  /** The latest good backup. */
  readonly last: GoodBackup;
  /** Whether this call made it. */
  readonly made: boolean;
  /** The names of the backups that were deleted. */
  readonly deleted: readonly string[];
  /** The reason why an expired backup, or the remains of an interrupted one, could not be deleted. */
  readonly problem?: string;
}

/** The name of a scheduled backup, or of its temporary directory. */
const NAME = /^scheduled-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z-(\w+)(\.partial-\w+)?$/;

/**
 * Makes a scheduled backup unless there is a recent one, and deletes expired backups. Deletes only directories with the
 * name of a scheduled backup of this store, and never the latest good ones. Also deletes the remains of interrupted
 * calls, so only one process may call it at a time.
 * @throws {UserError} if the directory cannot be written, or the backup fails; then no other backup was deleted
 */
export async function makeBackup(request: BackupRequest): Promise<BackupReport> {
  const { directory, since, now, locations, environment } = request;
  const problems: string[] = [];
  const deleting = (name: string) => {
    try {
      deleteBackup(directory, name);
      return true;
    } catch (error) {
      problems.push(`${name} cannot be deleted (${(error as NodeJS.ErrnoException).code}).`);
      return false;
    }
  };
  try {
    createDirectory(directory);
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw writingError(error, directory);
  }
  for (const { name, isDraft } of backupsIn(request)) if (isDraft) deleting(name);

  const made = !hasRecent(request);
  if (made) {
    const deps = { config: { locations }, clock: systemClock(now), version: packageJson.version, environment };
    await createBackup(deps, join(directory, nameOf(request)));
  } else if ('url' in locations.production) {
    // Check now that the next backup will find its program.
    await runOnPostgres('pg_dump', ['--version'], { environment });
  }
  const [last, ...others] = goodBackups(request);
  if (last === undefined || last.startedAt < since) {
    throw new UserError(`The backup that was written to ${directory} is missing or incomplete.`);
  }
  return { last, made, deleted: expired(request, [last, ...others]).filter(deleting), ...problemOf(problems) };
}

function problemOf([problem]: readonly string[]): Pick<BackupReport, 'problem'> {
  return problem === undefined ? {} : { problem };
}

function hasRecent(request: BackupRequest): boolean {
  const [last] = goodBackups(request);
  return last !== undefined && last.startedAt >= request.since;
}

/** Returns the names of backups that are older than all backups to keep. */
function expired(request: BackupRequest, good: readonly GoodBackup[]): string[] {
  const oldest = good[request.keep - 1];
  if (oldest === undefined) return [];
  return backupsIn(request)
    .filter(({ startedAt }) => startedAt < oldest.startedAt)
    .map(({ name }) => name);
}

/** Returns the good backups of this store, the latest first. */
function goodBackups(request: BackupRequest): GoodBackup[] {
  return backupsIn(request)
    .filter(({ isDraft }) => !isDraft)
    .flatMap(({ name, startedAt }) => goodBackup(request.directory, name, startedAt) ?? [])
    .sort((one, other) => other.startedAt - one.startedAt);
}

/** Returns a backup if its manifest is complete, and each of its files has the size in the manifest. */
function goodBackup(directory: string, name: string, startedAt: number): GoodBackup | undefined {
  const path = join(directory, name);
  try {
    const { files, photos = {}, finishedAt, startedAt: began } = parseManifest(path);
    const lists = Object.entries(photos).flatMap(([of, { sums }]) => (sums ? [{ path: sumsOf(of), ...sums }] : []));
    if ([...files, ...lists].some(file => statSync(join(path, file.path)).size !== file.bytes)) return undefined;
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return { name, startedAt, durationMs: Date.parse(finishedAt) - Date.parse(began), bytes };
  } catch {
    return undefined;
  }
}

/**
 * Returns the times and names of the backups in the directory. Ignores names with a future time: their clock was wrong.
 */
function backupsIn({ directory, storeId, now }: BackupRequest) {
  return readdirSync(directory).flatMap(name => {
    const [, day, hours, minutes, seconds, id, draft] = NAME.exec(name) ?? [];
    const startedAt = Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
    return id === storeId && startedAt <= now ? [{ name, startedAt, isDraft: draft !== undefined }] : [];
  });
}

function nameOf({ now, storeId }: BackupRequest): string {
  return `scheduled-${formatTime(now).slice(0, 19).replaceAll(':', '-')}Z-${storeId}`;
}

/** Deletes a backup. If it is interrupted, a temporary directory remains. */
function deleteBackup(directory: string, name: string): void {
  const draft = name.includes('.partial-') ? name : `${name}.partial-deleted`;
  if (draft !== name) renameSync(join(directory, name), join(directory, draft));
  rmSync(join(directory, draft), { recursive: true, force: true });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { requireComplete } from '../../lib/storage/open.ts';
import { withPostgresSnapshots } from '../../lib/storage/postgres/snapshots.ts';
import { copySqlite, openCopy } from '../../lib/storage/sqlite/copy.ts';
import type { Config, DeploymentLocation } from '../../model/config.ts';
import { CLOCK_TOLERANCE_MS } from '../../model/log/ordering.ts';
import { migrations } from '../../model/migrations/index.ts';
import { openPhotoStore } from '../../model/photo-files/open.ts';
import { damageOf } from '../../model/photo-files/photo-copies.ts';
import type { PhotoStore } from '../../model/photo-files/photo-store.ts';
import { type DeploymentName, type Params, query, type Reader, selectJsonNumbers } from '../../model/schema.ts';
import { storedPhotos } from '../../store/photo-references.ts';
import type { Check } from './checks.ts';
import { checks, namedAccounts, postgresCheck } from './checks.ts';
import { wrongWords } from './words.ts';

/** A violation of an invariant. */
interface Finding {
  readonly deployment: DeploymentName;
  /** The name of the check that found it. */
  readonly check: string;
  /** One sentence. */
  readonly finding: string;
}

interface VerifyOptions {
  readonly config: Pick<Config, 'dataDir'>;
  readonly clock: Clock;
  /** The databases that exist. */
  readonly locations: readonly (readonly [DeploymentName, DeploymentLocation])[];
  /** Called before each check with its name and the completed share of the work. */
  onProgress?(step: string, share: number): void;
}

/** The maximum number of reported findings of each check. */
export const FINDINGS_MAX = 20;
/** The finding about a row whose values cannot be read. */
const DAMAGED = 'A row is damaged.';
/** How many accounts are looked up at a time. */
const ACCOUNTS_AT_ONCE = 1000;

/**
 * Checks the integrity of the databases and every invariant of the product, while a server may run. Both deployments
 * are checked as of one moment. The embedded engine's are copied into the data directory first: a long check would
 * prevent the server from shortening its write-ahead log.
 * @returns at most FINDINGS_MAX findings of each check, in the order of checks
 * @throws {UserError} if a database is not complete, or not of this program's version
 */
export async function verify(options: VerifyOptions): Promise<Finding[]> {
  // Staging first: production has every account that staging names.
  const locations = options.locations.toSorted(([one]) => (one === 'staging' ? -1 : 1));
  for (const [, location] of options.locations) await requireComplete(location, migrations, { current: true });
  const [first] = locations;
  return first !== undefined && 'file' in first[1]
    ? verifyCopies(options, locations)
    : verifyPostgres(options, locations);
}

async function verifyCopies(options: VerifyOptions, locations: VerifyOptions['locations']): Promise<Finding[]> {
  const directory = mkdtempSync(join(options.config.dataDir, 'verify-'));
  const copies = locations.map(([name, location]) => {
    const { file: from } = location as { file: string };
    return { name, from, to: join(directory, basename(from)) };
  });
  const opened: ReturnType<typeof openCopy>[] = [];
  try {
    await copySqlite(copies, share => options.onProgress?.('Copying', share));
    const findings: Finding[] = [];
    const readers = new Map<DeploymentName, Reader>();
    for (const { name, to } of copies) {
      const copy = openCopy(to);
      opened.push(copy);
      readers.set(name, copy.reader);
      options.onProgress?.(`Checking the file of ${name}`, 0);
      const damage = [...copy.damage('full', FINDINGS_MAX), ...copy.brokenReferences(FINDINGS_MAX)];
      findings.push(...damage.map(finding => ({ deployment: name, check: 'file', finding })));
    }
    findings.push(...(await runAll(options, readers, checks)));
    return findings;
  } finally {
    for (const copy of opened) copy.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function verifyPostgres(options: VerifyOptions, locations: VerifyOptions['locations']): Promise<Finding[]> {
  const places = locations.map(([, location]) => location as { url: string });
  const shared = new Set(places.map(({ url }) => url)).size === 1;
  return withPostgresSnapshots(places, shared ? undefined : 'accounts', async snapshots => {
    const readers = new Map(locations.map(([name], index) => [name, snapshots[index]! as Reader]));
    return runAll(options, readers, [postgresCheck, ...checks]);
  });
}

async function runAll(
  { clock, locations, onProgress }: VerifyOptions,
  readers: ReadonlyMap<DeploymentName, Reader>,
  all: readonly Check[],
): Promise<Finding[]> {
  // A time after the snapshots by the clock of any node.
  const now = Math.ceil(clock.now()) + CLOCK_TOLERANCE_MS;
  const findings: Finding[] = [];
  for (const [deployment, reader] of readers) {
    const photos = await openPhotoStore(locations.find(([name]) => name === deployment)![1].photos);
    onProgress?.(`Checking ${deployment}: files of photos`, 0);
    const damaged = await findingsOf(() => damagedPhotos(reader, photos));
    findings.push(...damaged.map(({ finding }) => ({ deployment, check: 'files of photos', finding })));
    for (const [index, { name, query }] of all.entries()) {
      onProgress?.(`Checking ${deployment}: ${name}`, index / all.length);
      const found = await findingsOf(() => reader.all(query, { now, limit: FINDINGS_MAX }));
      findings.push(...found.map(({ finding }) => ({ deployment, check: name, finding: finding ?? DAMAGED })));
    }
    const accounts = readers.get('production')!;
    onProgress?.(`Checking ${deployment}: words`, 1);
    for (const [name, run] of [
      ['words of animals', () => wrongWords(reader, FINDINGS_MAX)],
      ['accounts', () => missingAccounts(reader, accounts)],
    ] as const) {
      const found = await findingsOf(run);
      findings.push(...found.map(({ finding }) => ({ deployment, check: name, finding })));
    }
  }
  return findings;
}

/** Returns the findings of a check. If a damaged file makes the check fail, that is a finding too. */
async function findingsOf<Row extends { finding: string | null }>(run: () => Promise<Row[]> | Row[]) {
  try {
    return await run();
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string };
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(code) && !/^XX00/.test(code)) throw error;
    return [{ finding: `The check failed: ${message}.` }] as Row[];
  }
}

/** Reads all photo files of animals and organizations. Returns the damaged photos. */
async function damagedPhotos(reader: Reader, store: PhotoStore): Promise<{ finding: string }[]> {
  const damaged: { finding: string }[] = [];
  for await (const hash of storedPhotos(reader)) {
    const damage = await damageOf(store, hash);
    if (damage !== undefined) damaged.push({ finding: `The photo ${hash} ${damage}.` });
    if (damaged.length === FINDINGS_MAX) break;
  }
  return damaged;
}

/** Finds rows that refer to accounts that production does not have. */
async function missingAccounts(reader: Reader, accounts: Reader): Promise<{ finding: string }[]> {
  const missing: { finding: string }[] = [];
  let after = 0;
  while (missing.length < FINDINGS_MAX) {
    const ids = (await reader.all(namedAccounts, { after, limit: ACCOUNTS_AT_ONCE })).map(({ id }) => id);
    if (ids.length === 0) break;
    const rows = await accounts.all(accountsAmong, { ids: JSON.stringify(ids) });
    const existing = new Set(rows.map(({ id }) => id));
    for (const id of ids)
      if (!existing.has(id)) missing.push({ finding: `Account ${id} does not exist, but rows refer to it.` });
    after = ids.at(-1)!;
  }
  return missing.slice(0, FINDINGS_MAX);
}

const accountsAmong = query((db, p: Params<{ ids: string }>, engine) =>
  db.selectFrom('accounts').select('id').where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

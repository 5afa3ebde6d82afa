import type { Log } from '../log.ts';
import { countText } from '../text.ts';
import { dialects, type Migration } from './migration.ts';
import type { EngineName } from './query.ts';

/** The migrations that a database has, with the table sizes from which the time of the missing ones is estimated. */
export interface MigrationState {
  readonly engine: EngineName;
  /** The location of the database for messages, without a password. */
  readonly location: string;
  /** The names of the applied migrations, in order; empty for an empty or a missing database. */
  readonly applied: readonly string[];
  readonly missing: readonly Migration[];
  /** The number of rows of each existing table that determines the time of a missing migration. */
  readonly rows: ReadonlyMap<string, number>;
}

/** Migrations that take longer are announced. Also the interval of progress reports. */
const NOTICEABLE_MS = 1000;
const INTERVAL_MS = 5000;

/** Returns the tables that determine the time of these migrations. */
export function workedTables(missing: readonly Migration[]): ReadonlySet<string> {
  return new Set(missing.flatMap(({ work }) => (work === undefined ? [] : [work.table])));
}

/** Returns the estimated time of the missing migrations, in milliseconds. */
export function expectedMs(state: MigrationState): number {
  return state.missing.reduce((sum, migration) => sum + expectedMsOf(migration, state), 0);
}

function expectedMsOf({ work }: Migration, { engine, rows }: MigrationState): number {
  return work === undefined ? 0 : (work.rowUs[engine] * (rows.get(work.table) ?? 0)) / 1000;
}

/** Returns a duration as people read it: `0.3 s`, `23 s`, and from two minutes `2 min`. */
export function durationText(ms: number): string {
  if (ms >= 120_000) return `${Math.round(ms / 60_000)} min`;
  return `${ms < 1000 ? Math.ceil(ms / 100) / 10 : Math.round(ms / 1000)} s`;
}

/** Reports the migrations of an upgrade, their progress and their time. Reports nothing for a new database. */
export class MigrationReport {
  readonly #log: Pick<Log, 'info'> | undefined;
  readonly #state: MigrationState;
  readonly #startMs = performance.now();

  constructor(state: MigrationState, log: Pick<Log, 'info'> | undefined) {
    this.#state = state;
    this.#log = state.applied.length === 0 ? undefined : log;
    const ms = expectedMs(state);
    if (ms < NOTICEABLE_MS) return;
    const { location, missing } = state;
    this.#log?.info(
      { migrations: missing.length, expectedMs: Math.round(ms) },
      `Upgrading the database ${location} from ${state.applied.at(-1)} to ${missing.at(-1)!.name}, which takes about ${durationText(ms)}. Nothing is served meanwhile.`,
    );
  }

  /** Yields the statements of a migration, and reports progress while the caller runs them. */
  *statements(migration: Migration): Generator<string> {
    const { engine, missing, rows } = this.#state;
    const { name, work } = migration;
    const statements = migration.up(dialects[engine]);
    const ms = expectedMsOf(migration, this.#state);
    const title = `Migration ${missing.indexOf(migration) + 1} of ${missing.length}`;
    if (work !== undefined && ms >= NOTICEABLE_MS) {
      const covered = rows.get(work.table)!;
      this.#log?.info(
        { migration: name, rows: covered, expectedMs: Math.round(ms) },
        `${title} ${work.title}: ${countText(covered)} rows, about ${durationText(ms)}.`,
      );
    }
    const startMs = performance.now();
    const reports = Math.ceil(ms / INTERVAL_MS);
    let reported = 0;
    for (const [index, statement] of statements.entries()) {
      const share = index / statements.length;
      if (Math.floor(share * reports) > reported) {
        reported = Math.floor(share * reports);
        const percent = Math.floor(share * 100);
        const leftMs = ((performance.now() - startMs) * (1 - share)) / share;
        this.#log?.info({ migration: name, percent }, `${title}: ${percent} %, about ${durationText(leftMs)} left.`);
      }
      yield statement;
    }
  }

  /** Reports that all missing migrations have run. */
  end(): void {
    const { location, missing } = this.#state;
    const ms = performance.now() - this.#startMs;
    this.#log?.info(
      { migrations: missing.length, durationMs: Math.round(ms) },
      `Upgraded the database ${location} to ${missing.at(-1)!.name} in ${durationText(ms)}.`,
    );
  }
}

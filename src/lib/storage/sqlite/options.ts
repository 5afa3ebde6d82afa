import type { OpenOptions } from '../open-options.ts';

export interface SqliteOptions extends OpenOptions {
  /** The database file. SQLite puts `-wal` and `-shm` files beside it. Its directory is created if necessary. */
  readonly file: string;
  /** The size of the WAL that starts a checkpoint; 16 MiB by default. */
  readonly checkpointBytes?: number;
}

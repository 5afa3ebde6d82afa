import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Migration } from './migration.ts';

/** Options for opening a database on either engine. */
export interface OpenOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** `server` for the process that serves the database; `cli` for a command that may run beside it. */
  readonly role: 'server' | 'cli';
  readonly log: Log;
  /** SQLite: called when a flush has failed. The process must exit, and recovers at its next start. */
  onFailed?(error: Error): void;
}

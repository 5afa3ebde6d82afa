import type { MaybePromise, Reader, Transaction } from './database.ts';
import type { Migration } from './migration.ts';

/** A database that no server serves: one connection, for work that takes long. Its statements have no time limit. */
export interface OfflineDatabase extends Reader, Pick<Transaction, 'run'> {
  /** The location of the database for messages, without a password. */
  readonly location: string;
  /**
   * Runs a statement that is not a defined query.
   * @param statement with parameters `?` on SQLite, `$1` on PostgreSQL
   */
  rows(statement: string, ...values: readonly unknown[]): MaybePromise<Row[]>;
  /** Returns the names of the applied migrations, in order; none for an empty database. */
  applied(): MaybePromise<readonly string[]>;
  /** Runs the missing migrations. */
  migrate(migrations: readonly Migration[], now: number): MaybePromise<void>;
  /** Begins a transaction during which no other process changes these tables. */
  begin(tables: readonly string[]): MaybePromise<void>;
  commit(): MaybePromise<void>;
  /** Runs `work` in the open transaction, and checks foreign keys after `work` instead of after each statement. */
  deferForeignKeys(work: () => Promise<void>): Promise<void>;
  /** Returns the last id that a table of `Table.assignsIds` has assigned; 0 if none. */
  lastId(table: string): MaybePromise<number>;
  setLastId(table: string, id: number): MaybePromise<void>;
  /** PostgreSQL only: tries to take an advisory lock that lasts until `close`. */
  tryAdvisoryLock?(name: string): Promise<boolean>;
  /** Rolls back the open transaction, if any. */
  close(): MaybePromise<void>;
}

export type Row = Readonly<Record<string, unknown>>;

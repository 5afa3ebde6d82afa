import { dirname } from 'node:path';
import { StorageError } from '../database.ts';
import type { Migration } from '../migration.ts';
import type { OfflineDatabase, Row } from '../offline.ts';
import type { Query } from '../query.ts';
import { LOCK_TIMEOUT_MS, requireSqlite, SqliteConnection } from './connection.ts';
import { createDirectory, createPrivateFile, requireRestored } from './data-directory.ts';
import { busyError, isBusy, isDiskFull, openingError } from './errors.ts';
import { appliedNames, migrateSqlite } from './migrate.ts';

const CACHE_KIB = 8 * 1024;

/** A SQLite file that no server serves. */
export class OfflineSqlite implements OfflineDatabase {
  readonly engine = 'sqlite';
  readonly location: string;
  readonly #connection: SqliteConnection;

  /** @throws {UserError} if the file cannot be used */
  constructor(file: string) {
    requireSqlite();
    requireRestored(file);
    this.location = file;
    try {
      createDirectory(dirname(file));
      createPrivateFile(file);
      this.#connection = new SqliteConnection(file, {
        synchronous: 'full',
        cacheKiB: CACHE_KIB,
        busyMs: LOCK_TIMEOUT_MS,
      });
    } catch (error) {
      throw openingError(error, file);
    }
  }

  all<P, R>(query: Query<P, R>, params: P): R[] {
    return this.#run(query, params) as R[];
  }

  first<P, R>(query: Query<P, R>, params: P): R | undefined {
    return this.all(query, params)[0];
  }

  run<P, R>(query: Query<P, R>, params: P): number {
    this.#run(query, params);
    return (this.rows('select changes() as changes')[0] as { changes: number }).changes;
  }

  rows(statement: string, ...values: readonly unknown[]): Row[] {
    return this.#attempt(() => this.#connection.rows(statement, ...values)) as Row[];
  }

  applied(): readonly string[] {
    return this.#attempt(() => appliedNames(sql => this.#connection.rows(sql), this.location));
  }

  migrate(migrations: readonly Migration[], now: number): void {
    this.#attempt(() => migrateSqlite(this.#connection, this.location, migrations, now));
  }

  /** Takes the write lock of the whole file. */
  begin(): void {
    this.#attempt(() => this.#connection.beginWrite());
  }

  commit(): void {
    this.#attempt(() => this.#connection.commit());
  }

  /** SQLite checks foreign keys at the commit. */
  async deferForeignKeys(work: () => Promise<void>): Promise<void> {
    this.#connection.exec('pragma defer_foreign_keys = on');
    await work();
  }

  lastId(table: string): number {
    const [row] = this.rows('select seq from sqlite_sequence where name = ?', table) as { seq: number }[];
    return row?.seq ?? 0;
  }

  setLastId(table: string, id: number): void {
    this.rows('delete from sqlite_sequence where name = ?', table);
    this.rows('insert into sqlite_sequence (name, seq) values (?, ?)', table, id);
  }

  close(): void {
    this.#connection.rollback();
    this.#connection.close();
  }

  #run<P, R>(query: Query<P, R>, params: P): unknown[] {
    const { sql, values } = query.compiledFor('sqlite');
    return this.rows(sql, ...values(params));
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isBusy(error)) throw busyError();
      if (!isDiskFull(error)) throw openingError(error, this.location);
      throw new StorageError('full', `The disk of ${this.location} is full.`, { cause: error });
    }
  }
}

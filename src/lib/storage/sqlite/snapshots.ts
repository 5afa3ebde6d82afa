import type { SqliteConnection } from './connection.ts';

/**
 * The read side: two connections, each with an open read transaction. Reads use the front one. The back one takes its
 * snapshot when a flush starts and becomes the front when that flush completes, so that reads never return data that a
 * power cut could remove. One of them always holds a read lock, which prevents commits from restarting the WAL.
 */
export class Snapshots {
  /** The connection to read from. Only `advance` changes it. */
  front: SqliteConnection;
  #back: SqliteConnection;

  constructor(front: SqliteConnection, back: SqliteConnection) {
    this.front = front;
    this.#back = back;
    front.beginRead();
    back.beginRead();
  }

  /** Call it when a flush starts: takes a snapshot of what that flush makes durable. */
  prepare(): void {
    reopen(this.#back);
  }

  /** Call it when the flush has completed: reads now use the snapshot taken when it started. */
  advance(): void {
    [this.front, this.#back] = [this.#back, this.front];
  }

  /** Makes reads use the latest commit. Everything committed must be flushed. */
  renew(): void {
    reopen(this.front);
    reopen(this.#back);
  }

  close(): void {
    this.front.close();
    this.#back.close();
  }
}

function reopen(connection: SqliteConnection): void {
  connection.rollback();
  connection.beginRead();
}

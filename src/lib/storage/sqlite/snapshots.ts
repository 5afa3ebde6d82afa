import type { SqliteConnection } from './connection.ts';

/**
 * Two read connections, each with an open read transaction. Reads use the front one. The back one takes its snapshot
 * when a flush starts and becomes the front one when that flush completes, so that reads never return data that a power
 * cut could remove. One of them always holds a read lock, which prevents commits from restarting the WAL.
 */
export class Snapshots {
  /** The connection to read from. Only `advance` changes it. */
  front: SqliteConnection;
  /** Call `beginRead` when a flush starts: it takes a snapshot of the data that the flush makes durable. */
  back: SqliteConnection;

  constructor(front: SqliteConnection, back: SqliteConnection) {
    this.front = front;
    this.back = back;
    front.beginRead();
    back.beginRead();
  }

  /** Makes reads use the snapshot that was taken when the flush started. Call it when the flush has completed. */
  advance(): void {
    [this.front, this.back] = [this.back, this.front];
  }

  /** Makes reads use the latest commit. Everything committed must be flushed. */
  renew(): void {
    this.front.beginRead();
    this.back.beginRead();
  }

  close(): void {
    this.front.close();
    this.back.close();
  }
}

import type { SqliteConnection } from './connection.ts';

/**
 * What readers see: two connections with an open read transaction each. The front one is read from. The back one is
 * opened at the moment at which a flush begins, and takes the front one's place when that flush has ended, so that
 * nothing is ever read that a power cut could still take back.
 *
 * Between them they hold a read lock at every moment, which keeps the WAL from being begun anew behind our back.
 */
export class Snapshots {
  #front: SqliteConnection;
  #back: SqliteConnection;

  constructor(front: SqliteConnection, back: SqliteConnection) {
    this.#front = front;
    this.#back = back;
    front.beginRead();
    back.beginRead();
  }

  /** The connection to read from. */
  get front(): SqliteConnection {
    return this.#front;
  }

  /** A flush begins: what is committed now may be shown once it has ended. */
  prepare(): void {
    reopen(this.#back);
  }

  /** The flush has ended: shows what was committed when it began. */
  advance(): void {
    [this.#front, this.#back] = [this.#back, this.#front];
  }

  /** Shows what is committed now, all of which is on disk already. */
  renew(): void {
    reopen(this.#front);
    reopen(this.#back);
  }

  close(): void {
    this.#front.close();
    this.#back.close();
  }
}

function reopen(connection: SqliteConnection): void {
  connection.rollback();
  connection.beginRead();
}

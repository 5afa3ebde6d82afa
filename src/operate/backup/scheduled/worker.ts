import { Socket } from 'node:net';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { StorageError } from '../../../lib/storage/database.ts';
import { UserError } from '../../../lib/user-error.ts';
import { type BackupReport, makeBackup } from './make-backup.ts';

/** This descriptor is closed when the server ends. */
const SERVER_FD = 3;

/** The output of a backup process: a report or an error. */
export type BackupReply =
  | { readonly report: BackupReport }
  | { readonly reason: string; readonly stack?: string | undefined };

// When the server has ended, end this process with its whole group.
new Socket({ fd: SERVER_FD }).resume().once('close', () => process.kill(0, 'SIGKILL'));

const reply = await makeBackup(JSON.parse(await text(process.stdin))).then(
  (report): BackupReply => ({ report }),
  replyTo,
);
process.stdout.write(`${JSON.stringify(reply)}\n`, () => process.exit());

function replyTo(error: unknown): BackupReply {
  const { message, stack } = error as Error;
  return error instanceof UserError || error instanceof StorageError ? { reason: message } : { reason: message, stack };
}

import { Socket } from 'node:net';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { StorageError } from '../../lib/storage/database.ts';
import { UserError } from '../../lib/user-error.ts';
import { type BackupReport, makeBackup } from './make-backup.ts';

/** Is closed when the server ends. */
const SERVER_FD = 3;

/** What the process of a backup answers: a report, or why there is none. */
export type BackupReply =
  | { readonly report: BackupReport }
  | { readonly reason: string; readonly stack?: string | undefined };

// The server has ended: so does this process, with all of its group.
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

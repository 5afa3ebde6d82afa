import { type Params, query, type Transaction } from '../../model/schema.ts';
import { deleteEmails } from './emails.ts';
import { deleteLinks } from './links.ts';
import { endSessions } from './sessions.ts';

/** Deletes all means to open an account: its password, sessions, links, and queued e-mails with links. */
export async function deleteCredentials(tx: Transaction, accountId: number): Promise<void> {
  await tx.run(deletePassword, { accountId });
  await endSessions(tx, accountId);
  await deleteLinks(tx, accountId);
  await deleteEmails(tx, accountId);
}

const deletePassword = query((db, p: Params<{ accountId: number }>) =>
  db.deleteFrom('passwords').where('account_id', '=', p.accountId),
);

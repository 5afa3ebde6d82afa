import { type Params, query, type Transaction } from '../../model/schema.ts';
import { deleteEmails } from './emails.ts';
import { deleteLinks } from './links.ts';
import { deleteSecondFactors } from './second-factors.ts';
import { endSessions } from './sessions.ts';

/**
 * Deletes all means by which a person signs in: the password, second factors, sessions, links, and queued e-mails with
 * links. The address becomes free; the name stays for the history of the accounts that the person has left.
 */
export async function eraseCredentials(tx: Transaction, { id }: { readonly id: number }): Promise<void> {
  await tx.run(deletePassword, { id });
  await deleteSecondFactors(tx, id);
  await endSessions(tx, id);
  await deleteLinks(tx, id);
  await deleteEmails(tx, id);
  await tx.run(freeAddress, { id, email: `former-${id}@person.invalid` });
}

const deletePassword = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('passwords').where('account_id', '=', p.id),
);

const freeAddress = query((db, p: Params<{ id: number; email: string }>) =>
  db.updateTable('people').set({ email: p.email, email_confirmed_at: null }).where('id', '=', p.id),
);

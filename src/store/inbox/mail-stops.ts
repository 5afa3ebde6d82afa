import { mailboxSubject } from '../../access/sessions/attempts.ts';
import { hashSecret, newSecret } from '../../access/sessions/session.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/** Returns the path of the page on which the recipient of an e-mail stops further ones. */
export function mailStopPath(secret: string): string {
  return `/mail/stop/${secret}`;
}

/** Creates a link by which an address stops further replies. Returns its secret; the database stores only hashes. */
export async function createMailStop(tx: Transaction, email: string): Promise<string> {
  const secret = newSecret();
  await tx.run(insertStop, { hash: hashSecret(secret), recipient: mailboxSubject(email), now: tx.now });
  return secret;
}

/** Returns whether the link was used; `undefined` if it does not exist. */
export async function findMailStop(reader: Reader, secret: string): Promise<boolean | undefined> {
  const stop = await reader.first(stopByHash, { hash: hashSecret(secret) });
  return stop && stop.stoppedAt !== null;
}

/** Stops all further replies to the address of a link. Returns false if the link does not exist. */
export async function stopMail(tx: Transaction, secret: string): Promise<boolean> {
  const hash = hashSecret(secret);
  await tx.run(useStop, { hash, now: tx.now });
  return (await findMailStop(tx, secret)) !== undefined;
}

/** Reports whether an address has stopped replies. */
export async function isMailStopped(reader: Reader, email: string): Promise<boolean> {
  return (await reader.first(usedStop, { recipient: mailboxSubject(email) })) !== undefined;
}

/** Deletes links that were created longer ago than `keptMs` and not used; a retention rule. */
export function deleteOldMailStops(tx: Transaction, keptMs: number, limit: number): Promise<number> | number {
  return tx.run(deleteUnused, { before: tx.now - keptMs, limit });
}

const insertStop = query((db, p: Params<{ hash: string; recipient: string; now: number }>) =>
  db.insertInto('mail_stops').values({ hash: p.hash, recipient: p.recipient, created_at: p.now }),
);

const stopByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('mail_stops').select('stopped_at as stoppedAt').where('hash', '=', p.hash),
);

const useStop = query((db, p: Params<{ hash: string; now: number }>) =>
  db.updateTable('mail_stops').set({ stopped_at: p.now }).where('hash', '=', p.hash).where('stopped_at', 'is', null),
);

const usedStop = query((db, p: Params<{ recipient: string }>) =>
  db
    .selectFrom('mail_stops')
    .select('id')
    .where('recipient', '=', p.recipient)
    .where('stopped_at', 'is not', null)
    .limit(1),
);

const deleteUnused = query((db, p: Params<{ before: number; limit: number }>, engine) =>
  db.deleteFrom('mail_stops').where('id', 'in', ({ selectFrom }) =>
    selectFrom('mail_stops')
      .select('id')
      .where('stopped_at', 'is', null)
      .where('created_at', '<', p.before)
      .orderBy('created_at')
      .limit(p.limit)
      .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
  ),
);

import { chooseNotices, type MemberKey } from '../../access/people/notices.ts';
import { mailboxSubject } from '../../access/sessions/attempts.ts';
import { hashSecret, newSecret } from '../../access/sessions/session.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/** Returns the path of the page on which the recipient of an e-mail stops further ones. */
export function mailStopPath(secret: string): string {
  return `/mail/stop/${secret}`;
}

/** A link that stops e-mails. */
export interface MailStop {
  readonly isStopped: boolean;
  /** The member who gets no more e-mail about messages to the account; absent for a link that stops replies. */
  readonly member?: MemberKey;
}

/**
 * Creates a link by which an address stops further replies, or a member further e-mail about messages to the account.
 * Returns its secret; the database stores only hashes.
 */
export async function createMailStop(tx: Transaction, holder: string | MemberKey): Promise<string> {
  const secret = newSecret();
  const [recipient, member] = typeof holder === 'string' ? [mailboxSubject(holder)] : ['', holder];
  const { accountId = null, personId = null } = member ?? {};
  await tx.run(insertStop, { hash: hashSecret(secret), recipient, accountId, personId, now: tx.now });
  return secret;
}

/** Returns the link with a secret; `undefined` if it does not exist, or its member has left the account. */
export async function findMailStop(reader: Reader, secret: string): Promise<MailStop | undefined> {
  const stop = await reader.first(stopByHash, { hash: hashSecret(secret) });
  if (stop === undefined) return undefined;
  const { accountId, personId, stoppedAt, memberId, notices } = stop;
  if (accountId === null || personId === null) return { isStopped: stoppedAt !== null };
  return memberId === null ? undefined : { isStopped: notices === 'none', member: { accountId, personId } };
}

/** Stops what a link stops. Returns the link; `undefined` if it does not exist. */
export async function stopMail(tx: Transaction, secret: string): Promise<MailStop | undefined> {
  const { member } = (await findMailStop(tx, secret)) ?? {};
  if (member !== undefined) await chooseNotices(tx, member, 'none');
  else await tx.run(useStop, { hash: hashSecret(secret), now: tx.now });
  return findMailStop(tx, secret);
}

/** Reports whether an address has stopped replies. */
export async function isMailStopped(reader: Reader, email: string): Promise<boolean> {
  return (await reader.first(usedStop, { recipient: mailboxSubject(email) })) !== undefined;
}

/** Deletes links that were created longer ago than `keptMs` and not used; a retention rule. */
export function deleteOldMailStops(tx: Transaction, keptMs: number, limit: number): Promise<number> | number {
  return tx.run(deleteUnused, { before: tx.now - keptMs, limit });
}

type NewStop = { hash: string; recipient: string; accountId: number | null; personId: number | null; now: number };

const insertStop = query((db, p: Params<NewStop>) =>
  db.insertInto('mail_stops').values({
    hash: p.hash,
    recipient: p.recipient,
    account_id: p.accountId,
    person_id: p.personId,
    created_at: p.now,
  }),
);

const stopByHash = query((db, p: Params<{ hash: string }>) =>
  db
    .selectFrom('mail_stops')
    .leftJoin('members', join =>
      join
        .onRef('members.account_id', '=', 'mail_stops.account_id')
        .onRef('members.person_id', '=', 'mail_stops.person_id')
        .on('left_at', 'is', null),
    )
    .select([
      'mail_stops.account_id as accountId',
      'mail_stops.person_id as personId',
      'stopped_at as stoppedAt',
      'members.person_id as memberId',
      'notices',
    ])
    .where('hash', '=', p.hash),
);

const useStop = query((db, p: Params<{ hash: string; now: number }>) =>
  db
    .updateTable('mail_stops')
    .set({ stopped_at: p.now })
    .where('hash', '=', p.hash)
    .where('person_id', 'is', null)
    .where('stopped_at', 'is', null),
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

import type { Account } from '../../model/account.ts';
import type { NoticeChoice } from '../../model/notices.ts';
import type { Member } from '../../model/person.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { backfillOwner } from '../accounts/people.ts';

/** A person in an account. */
export interface MemberKey {
  readonly accountId: number;
  readonly personId: number;
}

/**
 * Returns how a member learns of new messages to the account. Without a choice, the member with the address of the
 * account gets each, and the others get none.
 */
export function noticesOf({ email }: Pick<Account, 'email'>, member: Pick<Member, 'email' | 'notices'>): NoticeChoice {
  return member.notices ?? (member.email === email ? 'each' : 'none');
}

/** Stores how a member learns of new messages to the account. Does nothing for a person who has left it. */
export async function chooseNotices(tx: Transaction, member: MemberKey, notices: NoticeChoice): Promise<void> {
  await backfillOwner(tx, member.accountId);
  await tx.run(setNotices, { ...member, notices });
  if (notices === 'none') await deleteNotices(tx, member);
}

/** Deletes the e-mails about messages that wait for a member. */
export async function deleteNotices(tx: Transaction, member: MemberKey): Promise<void> {
  await tx.run(deleteOfMember, member);
}

const setNotices = query((db, p: Params<MemberKey & { notices: NoticeChoice }>) =>
  db
    .updateTable('members')
    .set({ notices: p.notices })
    .where('account_id', '=', p.accountId)
    .where('person_id', '=', p.personId)
    .where('left_at', 'is', null),
);

const deleteOfMember = query((db, p: Params<MemberKey>) =>
  db.deleteFrom('message_notices').where('account_id', '=', p.accountId).where('person_id', '=', p.personId),
);

import { deleteFact } from '../../model/facts.ts';
import { FOUNDERS_FACT } from '../../model/migrations/0047-people.ts';
import type { Person } from '../../model/person.ts';
import { type Database, query, sql, type Transaction } from '../../model/schema.ts';
import { lockAccount } from '../accounts/accounts.ts';
import { findPersonByEmail, lockPerson, updatePerson } from '../accounts/people.ts';
import { deleteMembers } from './members.ts';

/**
 * Gives people what nodes of the previous release changed only in accounts since the migration `0047-people`: the
 * addresses of their founders and the confirmations, and the deletion of accounts. Runs once per database, over all
 * nodes. Call it when no node of the previous release is left.
 */
export async function carryOverFounders(database: Database): Promise<void> {
  await database.write(async tx => {
    if ((await tx.run(deleteFact, { name: FOUNDERS_FACT })) === 0) return;
    for (const { accountId } of await tx.all(deletedAccounts, {})) await deleteMembers(tx, accountId);
    await carryOverAddresses(tx);
  });
}

async function carryOverAddresses(tx: Transaction): Promise<void> {
  const changes: { person: Person; now: Person }[] = [];
  for (const { id } of await tx.all(changedFounders, {})) {
    const { email, emailConfirmedAt } = await lockAccount(tx, id);
    const { emailConfirmedAt: _, ...person } = (await lockPerson(tx, id))!;
    const now = { ...person, email, ...(emailConfirmedAt !== undefined && { emailConfirmedAt }) };
    changes.push({ person, now });
  }
  // Two founders may have exchanged their addresses.
  for (const { person } of changes) await updatePerson(tx, { ...person, email: `moving-${person.id}@person.invalid` });
  for (const { person, now } of changes) {
    const isFree = (await findPersonByEmail(tx, now.email)) === undefined;
    await updatePerson(tx, isFree ? now : person);
  }
}

/** Selects the accounts that have members and are deleted, with or without their row. */
const deletedAccounts = query(db =>
  db
    .selectFrom('members')
    .leftJoin('accounts', 'accounts.id', 'members.account_id')
    .select('account_id as accountId')
    .distinct()
    .where(({ eb, or }) => or([eb('accounts.id', 'is', null), eb('deleted_at', 'is not', null)])),
);

/** Selects the founders, who have the id of their account, whose address or confirmation differs from the account's. */
const changedFounders = query(db =>
  db
    .selectFrom('people')
    .innerJoin('accounts', 'accounts.id', 'people.id')
    .select('people.id')
    .where('deleted_at', 'is', null)
    .where('sandbox', 'is', null)
    .where(({ eb, or }) =>
      or([
        eb('people.email', '!=', eb.ref('accounts.email')),
        sql<boolean>`people.email_confirmed_at is distinct from accounts.email_confirmed_at`,
      ]),
    )
    .orderBy('people.id'),
);

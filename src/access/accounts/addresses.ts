import { isUniqueViolation } from '../../lib/storage/database.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Person } from '../../model/person.ts';
import type { Transaction } from '../../model/schema.ts';
import { confirmEmail, recordFactorChange, recordPasswordChange, updateAccount } from './accounts.ts';
import { listMemberships, updatePerson } from './people.ts';

/**
 * Records that a person receives e-mail at the address, or has opened a link of the operator; also for the accounts of
 * the person whose address it is. Idempotent.
 */
export async function confirmAddress(tx: Transaction, person: Person): Promise<void> {
  if (person.emailConfirmedAt === undefined) await updatePerson(tx, { ...person, emailConfirmedAt: tx.now });
  for (const account of await accountsWithAddress(tx, person)) await confirmEmail(tx, account);
}

/**
 * Replaces the address with which a person signs in, and that of the person's accounts that have the same one.
 * @throws {UserError} when another person or account has it
 */
export async function changeAddress(tx: Transaction, person: Person, email: string): Promise<Person> {
  const accounts = await accountsWithAddress(tx, person);
  const { emailConfirmedAt: _, ...changed } = { ...person, email };
  try {
    await updatePerson(tx, changed);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new UserError(`A person with the e-mail address ${email} already exists.`);
  }
  for (const { id } of accounts) await updateAccount(tx, id, { email });
  return changed;
}

/** Records in every account of a person that the password was changed. */
export async function recordPasswordChanges(tx: Transaction, { id }: Person): Promise<void> {
  for (const { account } of await listMemberships(tx, id)) await recordPasswordChange(tx, account);
}

/** Records in every account of a person that a second factor was added or removed. */
export async function recordFactorChanges(tx: Transaction, { id }: Person): Promise<void> {
  for (const { account } of await listMemberships(tx, id)) await recordFactorChange(tx, account, id);
}

async function accountsWithAddress(tx: Transaction, { id, email }: Person) {
  const memberships = await listMemberships(tx, id);
  return memberships.filter(({ role, account }) => role === 'owner' && account.email === email).map(one => one.account);
}

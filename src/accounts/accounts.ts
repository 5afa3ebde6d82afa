import { isDeepStrictEqual } from 'node:util';
import { record } from '../events/log.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import { formatTime } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import type { Query, Reader, Transaction } from '../schema.ts';
import { type Account, type AccountChange, changedProperties, checkNewAccount, type NewAccount } from './account.ts';
import { type AccountAction, accountEvent } from './events.ts';
import {
  type AccountRow,
  accountByEmail,
  accountById,
  accountOf,
  allAccounts,
  insertAccount,
  lockedAccount,
  type Properties,
  updateLife,
  updateProperties,
} from './rows.ts';

/**
 * Creates an account and notifies the topic `registry`.
 * @throws {UserError} when a property is invalid, or another account has the email address, in any case
 */
export async function createAccount(tx: Transaction, account: NewAccount): Promise<Account> {
  checkNewAccount(account);
  const created = await unlessTaken(tx, insertAccount, { ...valuesOf(account), createdAt: tx.now });
  await record(tx, accountEvent('created', created));
  await tx.notify('registry');
  return created;
}

/**
 * Changes an account and notifies the topic `registry`. A smaller plan takes nothing away. A change of nothing has no
 * effect.
 * @throws {UserError} when a property is invalid, the account does not exist or is deleted, or another account has the
 *   email address
 */
export async function updateAccount(tx: Transaction, id: number, change: AccountChange): Promise<Account> {
  const account = await lockAccount(tx, id);
  const values = { id, ...valuesOf(changedProperties(account, change)) };
  if (isDeepStrictEqual({ ...account, ...values, admin: values.admin === 1 }, account)) return account;
  return recordChange(tx, 'updated', account, await unlessTaken(tx, updateProperties, values));
}

/**
 * Suspends an account: its keys are rejected from the next request on. Notifies the topic `registry`. Idempotent: the
 * first time stays.
 * @throws {UserError} when the account does not exist or is deleted
 */
export async function suspendAccount(tx: Transaction, id: number): Promise<Account> {
  const account = await lockAccount(tx, id);
  if (account.suspendedAt !== undefined) return account;
  return changeLife(tx, 'suspended', account, { ...account, suspendedAt: tx.now });
}

/**
 * Resumes a suspended account, and cancels its deletion. Notifies the topic `registry`. Idempotent.
 * @throws {UserError} when the account does not exist, or the grace period of its deletion has ended
 */
export async function resumeAccount(tx: Transaction, id: number): Promise<Account> {
  const account = await lockAccount(tx, id);
  const { suspendedAt, deleteAt = Number.POSITIVE_INFINITY, ...resumed } = account;
  if (deleteAt <= tx.now) throw new UserError(`The account ${id} is being deleted and cannot be resumed.`);
  if (suspendedAt === undefined) return account;
  return changeLife(tx, 'resumed', account, resumed);
}

/**
 * Returns the account with this id.
 * @throws {UserError} when the account does not exist
 */
export async function getAccount(reader: Reader, id: number): Promise<Account> {
  const row = await reader.first(accountById, { id });
  if (row === undefined) throw unknownAccount(id);
  return accountOf(row);
}

/** Returns the account with this email address, in any case, or `undefined`. */
export async function findAccountByEmail(reader: Reader, email: string): Promise<Account | undefined> {
  const row = await reader.first(accountByEmail, { email: email.toLowerCase() });
  return row === undefined ? undefined : accountOf(row);
}

export async function listAccounts(reader: Reader): Promise<Account[]> {
  return (await reader.all(allAccounts, {})).map(accountOf);
}

function valuesOf({ email, name, plan = 'free', perMinute, perDay, admin = false }: NewAccount): Properties {
  const limits = { perMinute: perMinute ?? null, perDay: perDay ?? null };
  return { email: email.toLowerCase(), name, plan, ...limits, admin: Number(admin) };
}

/** Locks an account until the transaction ends. @throws {UserError} when it does not exist or is deleted */
export async function lockAccount(tx: Transaction, id: number): Promise<Account> {
  const row = await tx.first(lockedAccount, { id });
  if (row === undefined) throw unknownAccount(id);
  if (row.deletedAt !== null) throw new UserError(`The account ${id} was deleted at ${formatTime(row.deletedAt)}.`);
  return accountOf(row);
}

/** Stores whether an account is suspended and when it will be deleted, and records the event. */
export async function changeLife(tx: Transaction, action: AccountAction, before: Account, after: Account) {
  const { id, suspendedAt = null, deleteAt = null } = after;
  await tx.run(updateLife, { id, suspendedAt, deleteAt });
  return recordChange(tx, action, before, after);
}

async function recordChange(tx: Transaction, action: AccountAction, before: Account, after: Account): Promise<Account> {
  await record(tx, accountEvent(action, after, before));
  await tx.notify('registry');
  return after;
}

/** Inserts or updates an account. @throws {UserError} when another account has its email address */
async function unlessTaken<T extends Properties>(tx: Transaction, statement: Query<T, AccountRow>, values: T) {
  try {
    return accountOf((await tx.first(statement, values))!);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new UserError(`An account with the e-mail address ${values.email} already exists.`);
  }
}

function unknownAccount(id: number): UserError {
  return new UserError(`There is no account ${id}; \`petstore account list\` shows all of them.`);
}

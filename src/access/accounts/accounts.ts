import { isDeepStrictEqual } from 'node:util';
import { isUniqueViolation } from '../../lib/storage/database.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import {
  type Account,
  type AccountChange,
  changedProperties,
  checkNewAccount,
  type NewAccount,
} from '../../model/account.ts';
import { record } from '../../model/log/log.ts';
import { redactEvents } from '../../model/log/redaction.ts';
import type { ActionOf } from '../../model/nouns.ts';
import type { Role } from '../../model/roles.ts';
import {
  amongNumbers,
  type Params,
  type Query,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { type AccountEventData, accountEvent } from './events.ts';
import { addFounder } from './people.ts';
import {
  type AccountRow,
  accountByEmail,
  accountById,
  accountOf,
  allAccounts,
  insertAccount,
  keep,
  lockedAccount,
  type Properties,
  updateConfirmed,
  updateErased,
  updateFactorRequired,
  updateLife,
  updateProperties,
} from './rows.ts';

/**
 * Creates an account, whose owner is the person with its e-mail address, and notifies the topic `registry`.
 * @param confirmBy the time at which it is deleted unless its address is confirmed; see `deleteUnconfirmedAccounts`
 * @throws {UserError} when a property is invalid, or another account has the email address, in any case
 */
export async function createAccount(tx: Transaction, account: NewAccount, confirmBy?: number): Promise<Account> {
  checkNewAccount(account);
  const values = { ...valuesOf(account), createdAt: tx.now, confirmBy: confirmBy ?? null };
  const created = await unlessTaken(tx, insertAccount, values);
  await addFounder(tx, created);
  await recordAction(tx, 'created', created);
  await tx.notify('registry');
  return created;
}

/**
 * Changes an account and notifies the topic `registry`. A smaller plan deletes no data. A change without differences
 * has no effect.
 * @throws {UserError} when a property is invalid, the account does not exist or is deleted, another account has the
 *   email address, or the only active admin would lose its rights
 */
export async function updateAccount(tx: Transaction, id: number, change: AccountChange): Promise<Account> {
  if (change.admin === false) await requireOtherAdmin(tx, id);
  const account = await lockAccount(tx, id);
  const values = { id, ...valuesOf(changedProperties(account, change)) };
  if (isDeepStrictEqual({ ...account, ...values, admin: values.admin === 1 }, account)) return account;
  const updated = await unlessTaken(tx, updateProperties, values);
  if (updated.email === account.email) return recordChange(tx, 'updated', account, updated);
  await tx.run(updateConfirmed, { id, confirmedAt: null });
  const { emailConfirmedAt: _, ...unconfirmed } = updated;
  return recordChange(tx, 'updated', account, unconfirmed);
}

/**
 * Records that the owner of an account receives e-mail at its address, or has opened a link of the operator.
 * Idempotent.
 */
export async function confirmEmail(tx: Transaction, { id, emailConfirmedAt }: Account): Promise<void> {
  if (emailConfirmedAt === undefined) await tx.run(updateConfirmed, { id, confirmedAt: tx.now });
}

/** Records the event `account.password_changed`: the audit log shows who changed or reset it. */
export async function recordPasswordChange(tx: Transaction, account: Account): Promise<void> {
  await recordAction(tx, 'password_changed', account);
}

/** Sets whether every member of an account needs a second factor. Idempotent. */
export async function requireSecondFactor(tx: Transaction, id: number, isRequired: boolean): Promise<void> {
  const account = await lockAccount(tx, id);
  if ((account.secondFactorRequired === true) === isRequired) return;
  const { secondFactorRequired: _, ...changed } = account;
  await tx.run(updateFactorRequired, { id, required: isRequired ? 1 : null });
  await recordChange(tx, 'updated', account, { ...changed, ...(isRequired && { secondFactorRequired: true }) });
}

/** Records that a member added or removed a second factor. */
export async function recordFactorChange(tx: Transaction, account: Account, personId: number): Promise<void> {
  await recordAction(tx, 'second_factor_changed', account, undefined, { member: { personId } });
}

/** Records that a person joined or left an account, or has another role. */
export async function recordMember(
  tx: Transaction,
  action: 'member_joined' | 'member_left' | 'role_changed',
  account: Account,
  member: { readonly personId: number; readonly role: Role },
): Promise<void> {
  await recordAction(tx, action, account, undefined, { member });
}

/**
 * Suspends an account: its keys are rejected from the next request on. Notifies the topic `registry`. Idempotent: keeps
 * the first time of suspension. If the owner had requested the deletion of the account, the owner can no longer cancel
 * it.
 * @throws {UserError} when the account does not exist, is deleted, or is the only active admin
 */
export async function suspendAccount(tx: Transaction, id: number): Promise<Account> {
  await requireOtherAdmin(tx, id);
  const account = await lockAccount(tx, id);
  const { deletionByOwner, ...suspended } = account;
  // The owner can no longer cancel the deletion.
  if (account.suspendedAt !== undefined && !deletionByOwner) return account;
  return changeLife(tx, 'suspended', account, { ...suspended, suspendedAt: account.suspendedAt ?? tx.now });
}

/**
 * Resumes a suspended account, and cancels its deletion. Notifies the topic `registry`. Idempotent.
 * @throws {UserError} when the account does not exist, or the grace period of its deletion has ended
 */
export async function resumeAccount(tx: Transaction, id: number): Promise<Account> {
  const account = await lockAccount(tx, id);
  requireNotInDeletion(account, tx.now);
  const { suspendedAt, deleteAt: _, deletionByOwner: __, ...resumed } = account;
  if (suspendedAt === undefined) return account;
  return changeLife(tx, 'resumed', account, resumed);
}

/**
 * Keeps an account although its address was never confirmed, because a command acts for it.
 * @throws {UserError} when the account does not exist, is deleted, or is in the sandbox
 */
export async function keepAccount(tx: Transaction, id: number): Promise<void> {
  requireLasting(await getAccount(tx, id));
  await tx.run(keep, { id });
}

/** Records that the animals of an account were transferred to another account; see `orders/transfer.ts`. */
export async function recordTransfer(tx: Transaction, id: number, toAccountId: number): Promise<void> {
  const account = await getAccount(tx, id);
  await recordAction(tx, 'transferred', account, account, { toAccountId });
}

/**
 * Suspends an account and schedules its deletion after `graceMs`; see `operate/deletion/`. A later call replaces the
 * time. Notifies the topic `registry`.
 * @throws {UserError} when the account does not exist, is deleted, is being deleted, or is the only active admin
 */
export async function requestDeletion(tx: Transaction, id: number, graceMs: number): Promise<Account> {
  await requireOtherAdmin(tx, id);
  const { deletionByOwner: _, ...account } = await lockAccount(tx, id);
  return startDeletion(tx, account, graceMs);
}

/**
 * The same for the owner of the account, who can cancel it during the grace period.
 * @throws {UserError} also when the account is suspended
 */
export async function requestOwnDeletion(tx: Transaction, id: number, graceMs: number): Promise<Account> {
  await requireOtherAdmin(tx, id);
  const account = await lockAccount(tx, id);
  if (account.suspendedAt !== undefined) throw new UserError(`The account ${id} is suspended.`);
  return startDeletion(tx, { ...account, deletionByOwner: true }, graceMs);
}

/**
 * Cancels the deletion that the owner of an account requested, and resumes the account.
 * @throws {UserError} when the owner did not request it, or the grace period has ended
 */
export async function cancelOwnDeletion(tx: Transaction, id: number): Promise<Account> {
  const { deletionByOwner } = await lockAccount(tx, id);
  if (!deletionByOwner) throw new UserError('Only the operator of the store can resume this account.');
  return resumeAccount(tx, id);
}

function startDeletion(tx: Transaction, account: Account, graceMs: number): Promise<Account> {
  requireNotInDeletion(account, tx.now);
  const { suspendedAt = tx.now } = account;
  return changeLife(tx, 'deletion_requested', account, { ...account, suspendedAt, deleteAt: tx.now + graceMs });
}

/**
 * Replaces the personal data of an account, also in its events. The row stays for orders and history; another account
 * may then use the e-mail address. Notifies the topic `registry`.
 */
export async function eraseAccount(tx: Transaction, id: number): Promise<void> {
  const { deleteAt, ...account } = await lockAccount(tx, id);
  const name = 'Deleted account';
  await tx.run(updateErased, { id, email: `deleted-${id}@account.invalid`, name, now: tx.now });
  await redactEvents<AccountEventData>(tx, 'account', [id], ({ data: { account, was, ...data } }) => ({
    ...data,
    account: { ...account, name },
    ...(was && { was: 'name' in was ? { ...was, name } : was }),
  }));
  await recordChange(tx, 'deleted', { ...account, name }, { ...account, name, admin: false });
}

/**
 * Returns the account with this id, even if it is deleted.
 * @throws {UserError} when the account does not exist
 */
export async function getAccount(reader: Reader, id: number): Promise<Account> {
  const row = await reader.first(accountById, { id });
  if (row === undefined) throw unknownAccount(id);
  return accountOf(row);
}

/** Returns the name of an account, which everyone may see; `undefined` if the account does not exist. */
export async function accountName(reader: Reader, id: number): Promise<string | undefined> {
  return (await reader.first(accountById, { id }))?.name;
}

/** Returns the names of accounts by id. */
export async function accountNames(reader: Reader, ids: Iterable<number>): Promise<ReadonlyMap<number, string>> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return new Map();
  const rows = await reader.all(namesOfAccounts, { ids: JSON.stringify(wanted) });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns the account with this email address, ignoring case, or `undefined`. */
export async function findAccountByEmail(reader: Reader, email: string): Promise<Account | undefined> {
  const row = await reader.first(accountByEmail, { email: email.toLowerCase() });
  return row === undefined ? undefined : accountOf(row);
}

/** Returns all accounts except those of the sandbox. */
export async function listAccounts(reader: Reader): Promise<Account[]> {
  return (await reader.all(allAccounts, {})).map(accountOf);
}

function valuesOf({ email, name, plan = 'free', perMinute, perDay, admin = false }: NewAccount): Properties {
  const limits = { perMinute: perMinute ?? null, perDay: perDay ?? null };
  return { email: email.toLowerCase(), name, plan, ...limits, admin: Number(admin) };
}

/**
 * Locks an account until the transaction ends. @throws {UserError} when it does not exist, is deleted, or is in the
 * sandbox
 */
export async function lockAccount(tx: Transaction, id: number): Promise<Account> {
  const row = await tx.first(lockedAccount, { id });
  if (row === undefined) throw unknownAccount(id);
  const account = accountOf(row);
  requireLasting(account);
  return account;
}

/** @throws {UserError} when the account is deleted, or is in the sandbox, whose accounts end with their keys */
export function requireLasting({ id, deletedAt, sandbox }: Account): void {
  if (sandbox)
    throw new UserError(`The account ${id} belongs to the sandbox: it ends with its key and cannot be changed.`);
  if (deletedAt !== undefined) throw new UserError(`The account ${id} was deleted at ${formatTime(deletedAt)}.`);
}

function requireNotInDeletion({ id, deleteAt = Number.POSITIVE_INFINITY }: Account, now: number): void {
  if (deleteAt <= now) throw new UserError(`The grace period of account ${id} is over: it is being deleted.`);
}

/** Stores whether an account is suspended and when it will be deleted, and records the event. */
async function changeLife(
  tx: Transaction,
  action: ActionOf<'account'>,
  before: Account,
  after: Account,
): Promise<Account> {
  const { id, suspendedAt = null, deleteAt = null, deletionByOwner } = after;
  await tx.run(updateLife, { id, suspendedAt, deleteAt, deletionByOwner: deletionByOwner ? 1 : null });
  return recordChange(tx, action, before, after);
}

async function recordChange(
  tx: Transaction,
  action: ActionOf<'account'>,
  before: Account,
  after: Account,
): Promise<Account> {
  await recordAction(tx, action, after, before);
  await tx.notify('registry');
  return after;
}

/** Records an event. Its actor is the account of the session, or the operator if there is no session. */
async function recordAction(tx: Transaction, ...[action, account, before, more]: Parameters<typeof accountEvent>) {
  const accountId = tx.origin && 'accountId' in tx.origin ? tx.origin.accountId : null;
  await record(tx, { ...accountEvent(action, account, before, more), accountId });
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

/**
 * Throws if this account is the only active admin. Locks the admins until the transaction ends, so that two admins
 * cannot lose their rights at the same time. Call it before the transaction locks an account.
 * @throws {UserError} with a sentence about the required action
 */
async function requireOtherAdmin(tx: Transaction, id: number): Promise<void> {
  const admins = await tx.all(activeAdmins, {});
  if (admins.some(admin => admin.id !== id) || !admins.some(admin => admin.id === id)) return;
  throw new UserError(`Account ${id} is the only active admin: make another account an admin first.`);
}

/** Uses an index of the admins, and locks them in the order of their ids. */
const activeAdmins = query((db, _: Params<Record<never, never>>, engine) =>
  db
    .selectFrom('accounts')
    .select('id')
    .where('admin', '=', sql.lit(1))
    .where('suspended_at', 'is', null)
    .orderBy('id')
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const namesOfAccounts = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('accounts')
    .select(['id', 'name'])
    .where(eb => amongNumbers(eb.ref('id'), p.ids, engine)),
);

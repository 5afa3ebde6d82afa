import type { NewEvent } from '../events/event.ts';
import { record } from '../events/log.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import { formatTime } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import { limitsOf } from '../plans/plan.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { type Account, checkNewAccount, type NewAccount } from './account.ts';

/**
 * Creates an account and notifies the topic `registry`.
 * @throws {UserError} when a property is invalid, or another account has the email address, in any case
 */
export async function createAccount(tx: Transaction, account: NewAccount): Promise<Account> {
  checkNewAccount(account);
  const email = account.email.toLowerCase();
  const { name, plan = 'free', perMinute = null, perDay = null, admin = false } = account;
  const values = { email, name, plan, perMinute, perDay, admin: Number(admin), createdAt: tx.now };
  const created = accountOf((await insertUnlessTaken(tx, values))!);
  await record(tx, accountEvent(created));
  await tx.notify('registry');
  return created;
}

/**
 * Returns the account with this id.
 * @throws {UserError} when the account does not exist
 */
export async function getAccount(reader: Reader, id: number): Promise<Account> {
  const row = await reader.first(accountById, { id });
  if (row === undefined) throw new UserError(`There is no account ${id}; \`petstore account list\` shows all of them.`);
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

async function insertUnlessTaken(tx: Transaction, values: Omit<Row, 'id'>): Promise<Row | undefined> {
  try {
    return await tx.first(insertAccount, values);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new UserError(`An account with the e-mail address ${values.email} already exists.`);
  }
}

/** Returns the event for an account that the operator created: without its e-mail address, because events cannot be deleted. */
function accountEvent({ id, name, plan, perMinute, perDay, admin, createdAt }: Account): NewEvent {
  const limits = limitsOf({ plan, per_minute: perMinute, per_day: perDay });
  const data = { account: { name, plan, limits, admin, createdAt: formatTime(createdAt) }, ownerId: id };
  return { kind: 'account', action: 'created', subjectId: id, accountId: null, data };
}

/** An account as the queries return it. */
type Row = Omit<Account, 'admin'> & { readonly admin: number };

function accountOf(row: Row): Account {
  return { ...row, admin: row.admin === 1 };
}

const columns = [
  'id',
  'email',
  'name',
  'plan',
  'per_minute as perMinute',
  'per_day as perDay',
  'admin',
  'created_at as createdAt',
] as const;

const insertAccount = query((db, p: Params<Omit<Row, 'id'>>) =>
  db
    .insertInto('accounts')
    .values({
      email: p.email,
      name: p.name,
      plan: p.plan,
      per_minute: p.perMinute,
      per_day: p.perDay,
      admin: p.admin,
      created_at: p.createdAt,
    })
    .returning(columns),
);

const accountById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('accounts').select(columns).where('id', '=', p.id),
);

const accountByEmail = query((db, p: Params<{ email: string }>) =>
  db.selectFrom('accounts').select(columns).where('email', '=', p.email),
);

const allAccounts = query(db => db.selectFrom('accounts').select(columns).orderBy('id'));

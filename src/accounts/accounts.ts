import { record } from '../events/log.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import { UserError } from '../lib/user-error.ts';
import { type MaybePromise, type Params, query, type Reader, type Tables, type Transaction } from '../schema.ts';
import { type Account, checkNewAccount, type NewAccount } from './account.ts';
import { accountEvent } from './account-events.ts';

/**
 * Creates an account and notifies the topic `registry`.
 * @throws {UserError} when a property is invalid, or another account has the email address, in any case
 */
export async function createAccount(tx: Transaction, account: NewAccount): Promise<Account> {
  checkNewAccount(account);
  const email = account.email.toLowerCase();
  const row = await rejectTakenEmail(email, () =>
    tx.first(insertAccount, {
      email,
      name: account.name,
      plan: account.plan ?? 'free',
      perMinute: account.perMinute ?? null,
      perDay: account.perDay ?? null,
      admin: account.admin === true ? 1 : 0,
      createdAt: tx.now,
    }),
  );
  const created = accountOf(row!);
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

/** Returns all accounts, by id. */
export async function listAccounts(reader: Reader): Promise<Account[]> {
  return (await reader.all(allAccounts, {})).map(accountOf);
}

async function rejectTakenEmail<T>(email: string, insert: () => MaybePromise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new UserError(`An account with the e-mail address ${email} already exists.`);
  }
}

type Row = Omit<Tables['accounts'], 'id'> & { id: number };

function accountOf(row: Row): Account {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    plan: row.plan,
    perMinute: row.per_minute,
    perDay: row.per_day,
    admin: row.admin === 1,
    createdAt: row.created_at,
  };
}

type NewRow = {
  email: string;
  name: string;
  plan: Account['plan'];
  perMinute: number | null;
  perDay: number | null;
  admin: number;
  createdAt: number;
};

const insertAccount = query((db, p: Params<NewRow>) =>
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
    .returningAll(),
);

const accountById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('accounts').selectAll().where('id', '=', p.id),
);

const accountByEmail = query((db, p: Params<{ email: string }>) =>
  db.selectFrom('accounts').selectAll().where('email', '=', p.email),
);

const allAccounts = query(db => db.selectFrom('accounts').selectAll().orderBy('id'));

import type { Builder } from '../../lib/storage/query.ts';
import type { Membership, Person } from '../../model/person.ts';
import type { Role } from '../../model/roles.ts';
import { type Params, query, type Reader, type Tables, type Transaction } from '../../model/schema.ts';
import { type AccountRow, accountColumns, accountOf } from './rows.ts';

/**
 * Returns the person with this id, also one who has left every account; `undefined` if there is none. The owner of an
 * account that a node of the previous release created has no row until `backfillOwner`.
 */
export async function findPerson(reader: Reader, id: number): Promise<Person | undefined> {
  const row = await reader.first(personById, { id });
  if (row !== undefined) return personOf(row);
  const founded = await reader.first(unownedById, { id });
  return founded && founderOf(founded);
}

/** Returns the person who signs in with an e-mail address, ignoring case; `undefined` if there is none. */
export async function findPersonByEmail(reader: Reader, address: string): Promise<Person | undefined> {
  const email = address.toLowerCase();
  const row = await reader.first(personByEmail, { email });
  if (row !== undefined) return personOf(row);
  const founded = await reader.first(unownedByEmail, { email });
  return founded && founderOf(founded);
}

/**
 * Locks a person until the transaction ends, so that joining one account and leaving another follow each other. Call it
 * after the lock of the account.
 */
export async function lockPerson(tx: Transaction, id: number): Promise<Person | undefined> {
  await backfillOwner(tx, id);
  const row = await tx.first(lockedPerson, { id });
  return row && personOf(row);
}

/** Returns the accounts of a person that are not deleted, in the order of joining. */
export async function listMemberships(reader: Reader, personId: number): Promise<Membership[]> {
  const rows = await reader.all(membershipsOf, { personId });
  if (rows.length > 0) return rows.map(({ role, ...account }) => ({ role, account: accountOf(account) }));
  const founded = await reader.first(unownedById, { id: personId });
  return founded === undefined ? [] : [{ role: 'owner', account: accountOf(founded) }];
}

/**
 * Makes the person with the address of a new account its owner: a new person with the id and the name of the account,
 * unless a person has the address already.
 */
export async function addFounder(tx: Transaction, account: Omit<Person, 'emailConfirmedAt'>): Promise<void> {
  await insertPerson(tx, account);
  const { id: personId } = (await tx.first(personByEmail, { email: account.email }))!;
  await insertMember(tx, { accountId: account.id, personId, role: 'owner' });
}

/** Stores the owner of an account that a node of the previous release created. Idempotent. */
export async function backfillOwner(tx: Transaction, id: number): Promise<void> {
  const founded = await tx.first(unownedById, { id });
  if (founded === undefined) return;
  // A founder whose address a node of the previous release has changed may still have it; see `carryOverFounders`.
  if ((await insertPerson(tx, founderOf(founded))) === 0) return;
  await insertMember(tx, { accountId: id, personId: id, role: 'owner' });
}

/** Inserts a person. Does nothing if a person has the id or the address. Returns the number of rows. */
export async function insertPerson(tx: Transaction, { emailConfirmedAt, ...person }: Person): Promise<number> {
  return tx.run(addPerson, { ...person, emailConfirmedAt: emailConfirmedAt ?? null });
}

/** Inserts a member, or brings back one who had left. */
export async function insertMember(
  tx: Transaction,
  member: { accountId: number; personId: number; role: Role },
): Promise<void> {
  await tx.run(addMember, { ...member, now: tx.now });
}

/** Returns a new id for a person: the next one of the accounts, so that it is not the id of an account. */
export async function newPersonId(tx: Transaction): Promise<number> {
  return (await tx.newId?.('accounts')) ?? (await tx.first(nextAccountId, {}))!.id;
}

/** Stores the name, the address and its confirmation. @throws for the address of another person: a unique violation */
export async function updatePerson(tx: Transaction, { emailConfirmedAt, ...person }: Person): Promise<void> {
  await backfillOwner(tx, person.id);
  await tx.run(setPerson, { ...person, emailConfirmedAt: emailConfirmedAt ?? null });
}

/** A person as stored: `emailConfirmedAt` is null before the confirmation. */
export type PersonRow = Omit<Person, 'emailConfirmedAt'> & { readonly emailConfirmedAt: number | null };

/** Returns a person without the properties of the row that are null. */
export function personOf({ emailConfirmedAt, ...person }: PersonRow): Person {
  return { ...person, ...(emailConfirmedAt !== null && { emailConfirmedAt }) };
}

function founderOf({ id, email, name, createdAt, emailConfirmedAt }: AccountRow): Person {
  return personOf({ id, email, name, createdAt, emailConfirmedAt });
}

export const personColumns = [
  'id',
  'email',
  'name',
  'created_at as createdAt',
  'email_confirmed_at as emailConfirmedAt',
] as const;

const personById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('people').select(personColumns).where('id', '=', p.id),
);

const lockedPerson = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('people')
    .select(personColumns)
    .where('id', '=', p.id)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const personByEmail = query((db, p: Params<{ email: string }>) =>
  db.selectFrom('people').select(personColumns).where('email', '=', p.email),
);

/** Selects accounts without a member, which nodes of the previous release created. */
const unowned = (db: Builder<Tables>) =>
  db
    .selectFrom('accounts')
    .select(accountColumns)
    .where('sandbox', 'is', null)
    .where('deleted_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('members').select('person_id').whereRef('members.account_id', '=', 'accounts.id'))),
    );

const unownedById = query((db, p: Params<{ id: number }>) => unowned(db).where('id', '=', p.id));

const unownedByEmail = query((db, p: Params<{ email: string }>) => unowned(db).where('email', '=', p.email));

const membershipsOf = query((db, p: Params<{ personId: number }>) =>
  db
    .selectFrom('members')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .select([...accountColumns, 'role'])
    .where('person_id', '=', p.personId)
    .where('left_at', 'is', null)
    .where('deleted_at', 'is', null)
    .orderBy('joined_at')
    .orderBy('members.account_id'),
);

const addPerson = query((db, p: Params<PersonRow>) =>
  db
    .insertInto('people')
    .values({
      id: p.id,
      email: p.email,
      name: p.name,
      created_at: p.createdAt,
      email_confirmed_at: p.emailConfirmedAt,
    })
    .onConflict(conflict => conflict.doNothing()),
);

const setPerson = query((db, p: Params<PersonRow>) =>
  db
    .updateTable('people')
    .set({ email: p.email, name: p.name, email_confirmed_at: p.emailConfirmedAt })
    .where('id', '=', p.id),
);

const addMember = query((db, p: Params<{ accountId: number; personId: number; role: Role; now: number }>) =>
  db
    .insertInto('members')
    .values({ account_id: p.accountId, person_id: p.personId, role: p.role, joined_at: p.now, left_at: null })
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'person_id'])
        .doUpdateSet({ role: p.role, joined_at: p.now, left_at: null, notices: null })
        .where('members.left_at', 'is not', null),
    ),
);

/** SQLite only: the next id of the sequence of accounts. */
const nextAccountId = query(db =>
  (db as unknown as Builder<{ sqlite_sequence: { name: string; seq: number } }>)
    .updateTable('sqlite_sequence')
    .set(({ eb }) => ({ seq: eb('seq', '+', 1) }))
    .where('name', '=', 'accounts')
    .returning('seq as id'),
);

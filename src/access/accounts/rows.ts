import type { Account } from '../../model/account.ts';
import { type Params, query } from '../../model/schema.ts';

type OptionalFlag = 'deletionByOwner' | 'secondFactorRequired' | 'sandbox';
type OptionalTime = 'suspendedAt' | 'deleteAt' | 'deletedAt' | 'emailConfirmedAt';

/** An account as the queries return it. */
export type AccountRow = Omit<Account, 'admin' | OptionalFlag | OptionalTime> & {
  readonly admin: number;
  readonly deletionByOwner: number | null;
  readonly emailConfirmedAt: number | null;
  readonly suspendedAt: number | null;
  readonly deleteAt: number | null;
  readonly deletedAt: number | null;
  readonly secondFactorRequired: number | null;
  readonly sandbox: number | null;
};

export function accountOf(account: AccountRow): Account {
  const { suspendedAt, deleteAt, deletionByOwner, deletedAt, emailConfirmedAt, ...others } = account;
  const { secondFactorRequired, sandbox, ...row } = others;
  return {
    ...row,
    admin: row.admin === 1,
    ...(suspendedAt !== null && { suspendedAt }),
    ...(deleteAt !== null && { deleteAt }),
    ...(deletionByOwner === 1 && { deletionByOwner: true }),
    ...(emailConfirmedAt !== null && { emailConfirmedAt }),
    ...(deletedAt !== null && { deletedAt }),
    ...(secondFactorRequired === 1 && { secondFactorRequired: true }),
    ...(sandbox !== null && { sandbox: true }),
  };
}

/** The columns of an account, under the names of `AccountRow`. */
export const accountColumns = [
  'id',
  'email',
  'name',
  'plan',
  'per_minute as perMinute',
  'per_day as perDay',
  'admin',
  'created_at as createdAt',
  'suspended_at as suspendedAt',
  'delete_at as deleteAt',
  'deletion_by_owner as deletionByOwner',
  'email_confirmed_at as emailConfirmedAt',
  'deleted_at as deletedAt',
  'second_factor_required as secondFactorRequired',
  'sandbox',
] as const;

/** The columns of an account that the operator chooses. */
export type Properties = Pick<AccountRow, 'email' | 'name' | 'plan' | 'perMinute' | 'perDay' | 'admin'>;

const values = (p: Params<Properties>) => ({
  email: p.email,
  name: p.name,
  plan: p.plan,
  per_minute: p.perMinute,
  per_day: p.perDay,
  admin: p.admin,
});

export const insertAccount = query((db, p: Params<Properties & { createdAt: number; confirmBy: number | null }>) =>
  db
    .insertInto('accounts')
    .values({ ...values(p), created_at: p.createdAt, confirm_by: p.confirmBy })
    .returning(accountColumns),
);

// Any change keeps an account whose address was never confirmed.
const kept = { confirm_by: null };

export const updateProperties = query((db, p: Params<Properties & { id: number }>) =>
  db
    .updateTable('accounts')
    .set({ ...values(p), ...kept })
    .where('id', '=', p.id)
    .returning(accountColumns),
);

type Life = { id: number; suspendedAt: number | null; deleteAt: number | null; deletionByOwner: number | null };

export const updateLife = query((db, p: Params<Life>) =>
  db
    .updateTable('accounts')
    .set({ suspended_at: p.suspendedAt, delete_at: p.deleteAt, deletion_by_owner: p.deletionByOwner, ...kept })
    .where('id', '=', p.id),
);

export const updateConfirmed = query((db, p: Params<{ id: number; confirmedAt: number | null }>) =>
  db
    .updateTable('accounts')
    .set({ email_confirmed_at: p.confirmedAt, ...kept })
    .where('id', '=', p.id),
);

export const updateFactorRequired = query((db, p: Params<{ id: number; required: number | null }>) =>
  db
    .updateTable('accounts')
    .set({ second_factor_required: p.required, ...kept })
    .where('id', '=', p.id),
);

export const keep = query((db, p: Params<{ id: number }>) =>
  db.updateTable('accounts').set(kept).where('id', '=', p.id).where('confirm_by', 'is not', null),
);

export const updateErased = query((db, p: Params<{ id: number; email: string; name: string; now: number }>) =>
  db
    .updateTable('accounts')
    .set({ email: p.email, name: p.name, admin: 0, deleted_at: p.now, email_confirmed_at: null })
    .where('id', '=', p.id),
);

export const accountById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('accounts').select(accountColumns).where('id', '=', p.id),
);

export const lockedAccount = query((db, p: Params<{ id: number }>, engine) => {
  const account = db.selectFrom('accounts').select(accountColumns).where('id', '=', p.id);
  return engine === 'postgres' ? account.forUpdate() : account;
});

export const accountByEmail = query((db, p: Params<{ email: string }>) =>
  db.selectFrom('accounts').select(accountColumns).where('email', '=', p.email),
);

/** All accounts except those of the sandbox. */
export const allAccounts = query(db =>
  db.selectFrom('accounts').select(accountColumns).where('sandbox', 'is', null).orderBy('id'),
);

import { type RegistryJob, registryJob } from '../../access/accounts/registry-job.ts';
import {
  type Database,
  type Params,
  query,
  type Reader,
  selectJsonNumbers,
  sql,
  type Transaction,
} from '../../model/schema.ts';

interface VisibilityDeps {
  readonly database: Database;
  /** Production's database, which stores accounts. */
  readonly accounts: Database;
  now(): number;
}

/**
 * Returns the job that hides the organizations of suspended accounts, and shows those of resumed ones. No transaction
 * spans the databases of accounts and of staging, so the row of an organization has a copy of the suspension.
 */
export function visibilityJob({ database, accounts, now }: VisibilityDeps): RegistryJob<'organizations'> {
  return registryJob('organizations', { accounts, now }, async () => ({
    rows: await updateVisibility(database, accounts),
  }));
}

/**
 * Hides the organizations of suspended accounts, and shows the others. Idempotent. Returns the number of changed ones.
 */
export async function updateVisibility(database: Database, accounts: Reader): Promise<number> {
  if ((await database.first(anyOrganization, {})) === undefined) return 0;
  const suspended = (await accounts.all(suspendedAccounts, {})).map(({ id }) => id);
  const ids = JSON.stringify(suspended);
  const { hide, show } = Object.groupBy(await database.all(outdated, { ids }), ({ hidden }) =>
    hidden ? 'show' : 'hide',
  );
  if (hide === undefined && show === undefined) return 0;
  const setAll = (tx: Transaction, hidden: number, rows: readonly { readonly id: number }[] = []) =>
    tx.run(setHidden, { ids: JSON.stringify(rows.map(({ id }) => id)), hidden });
  return database.write(async tx => (await setAll(tx, 1, hide)) + (await setAll(tx, 0, show)));
}

const anyOrganization = query(db => db.selectFrom('organizations').select('id').limit(1));

/** Accounts that are suspended, or whose data is not deleted yet. */
const suspendedAccounts = query(db =>
  db
    .selectFrom('accounts')
    .select('id')
    .where('suspended_at', 'is not', null)
    .where(eb => eb.or([eb('deleted_at', 'is', null), eb('delete_at', 'is not', null)])),
);

/** The organizations whose mark is wrong, given the ids of suspended accounts. */
const outdated = query((db, p: Params<{ ids: string }>, engine) => {
  const rows = db.selectFrom('organizations').select(['id', 'hidden']);
  const suspended = selectJsonNumbers(p.ids, engine);
  const visible = rows.where('hidden', '=', sql.lit(0)).where('id', 'in', suspended);
  return visible.unionAll(rows.where('hidden', '=', sql.lit(1)).where('id', 'not in', suspended));
});

const setHidden = query((db, p: Params<{ ids: string; hidden: number }>, engine) =>
  db.updateTable('organizations').set({ hidden: p.hidden }).where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

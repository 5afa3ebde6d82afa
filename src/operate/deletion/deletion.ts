import { eraseAccount, getAccount } from '../../access/accounts/accounts.ts';
import { eraseKeyNames, revokeKeysOf } from '../../access/keys/keys.ts';
import { deleteMembers } from '../../access/people/members.ts';
import { batchJob } from '../../lib/jobs/batch-job.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { deleteFact, insertFact, lockedFact, storeFact } from '../../model/facts.ts';
import { assignPositions } from '../../model/log/ordering.ts';
import { type Database, type NextDue, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { scheduleOwnEvents } from './events.ts';
import { deleteSandboxAccount, deleteSandboxBatch } from './sandbox.ts';
import { stepNames, steps } from './steps.ts';

/** The databases that hold data of accounts. */
export interface DeletionDeps {
  /** Production's, which also stores the accounts. */
  readonly accounts: Database;
  /** Staging's database. Without it, a process that serves staging deletes the account's data there. */
  readonly staging?: Database | undefined;
}

/**
 * Returns the job that deletes accounts whose grace period is over: first their data on production, then their keys and
 * personal data, finally their data on staging.
 *
 * The account's row requests the deletion, and a fact in each database stores the progress with every batch. So an
 * interrupted deletion continues, and several processes can run it. Accounts of the sandbox have no such fact: each
 * batch deletes the rows that are left, and the last batch the account itself.
 */
export function deletionJob(deps: DeletionDeps, now: () => number): JobType<never, 'accounts'> {
  return batchJob('accounts', () => deleteBatch(deps, now()), PAUSE_MS);
}

/** Due when the grace period of an account is over. @param staging whether this process serves staging */
export const nextDeletion =
  (staging: boolean): NextDue =>
  db =>
    db
      .selectFrom('accounts')
      .select(({ fn }) => sql<number | null>`${fn.min('delete_at')} + ${sql.lit(IN_FLIGHT_MS)}`.as('dueAt'))
      .where('delete_at', 'is not', null)
      .$if(!staging, accounts => accounts.where('deleted_at', 'is', null).where('sandbox', 'is', null));

/**
 * Runs one transaction of the deletion with the earliest due time.
 * @returns 0 if none is due
 */
export async function deleteBatch({ accounts, staging }: DeletionDeps, now: number): Promise<number> {
  const account = await accounts.first(staging === undefined ? dueOnProduction : due, { before: now - IN_FLIGHT_MS });
  if (account === undefined) return 0;
  const { id, createdAt, deletedAt, sandbox } = account;
  if (sandbox !== null && staging !== undefined) {
    // Subscribers can then read an event before it is deleted.
    await assignPositions(staging);
    const isLeft =
      (await staging.write(tx => deleteSandboxBatch(tx, id))) || (await scheduleOwnEvents(staging, id, createdAt)) > 0;
    if (!isLeft) await accounts.write(tx => deleteSandboxAccount(tx, id));
  } else if (deletedAt === null) {
    const isDone = !(await accounts.write(tx => deleteSome(tx, id)));
    if (isDone) await accounts.write(tx => completeAccount(tx, id));
  } else if (staging === undefined || !(await staging.write(tx => deleteSome(tx, id)))) {
    await accounts.write(tx => tx.run(endDeletion, { id }));
    await staging?.write(tx => tx.run(deleteFact, { name: progressOf(id) }));
  }
  return 1;
}

/** Soon after an account is suspended, its requests may still run, and nodes may still accept its keys. */
const IN_FLIGHT_MS = 60_000;
/** The pause after each transaction, so that other writes are not delayed. */
const PAUSE_MS = 10;

/** The name of the fact with the progress of a deletion: a step and the last completed id; or `done`. */
const progressOf = (accountId: number) => `deletion of account ${accountId}`;
const DONE = 'done';

/** Runs one batch of the current step. @returns false if no step is left */
async function deleteSome(tx: Transaction, accountId: number): Promise<boolean> {
  const name = progressOf(accountId);
  await tx.run(insertFact, { name, value: `${stepNames[0]} 0` });
  // Another process may delete the fact meanwhile.
  const { value = DONE } = (await tx.first(lockedFact, { name })) ?? {};
  if (value === DONE) return false;
  const [step, after] = value.split(' ') as [string, string];
  const last = await steps[step]!(tx, accountId, Number(after));
  const next = stepNames[stepNames.indexOf(step) + 1];
  await tx.run(storeFact, {
    name,
    value: last !== undefined ? `${step} ${last}` : next === undefined ? DONE : `${next} 0`,
  });
  return true;
}

/** Deletes the keys, members and personal data of an account, unless another process has deleted them. */
async function completeAccount(tx: Transaction, id: number): Promise<void> {
  const { value } = (await tx.first(lockedFact, { name: progressOf(id) })) ?? {};
  if (value !== DONE) return;
  if ((await getAccount(tx, id)).deletedAt === undefined) {
    await revokeKeysOf(tx, id);
    await eraseKeyNames(tx, id);
    await deleteMembers(tx, id);
    await eraseAccount(tx, id);
  }
  await tx.run(deleteFact, { name: progressOf(id) });
}

const selectDue = (production: boolean) =>
  query((db, p: Params<{ before: number }>) =>
    db
      .selectFrom('accounts')
      .select(['id', 'created_at as createdAt', 'deleted_at as deletedAt', 'sandbox'])
      .where('delete_at', '<=', p.before)
      .$if(production, accounts => accounts.where('deleted_at', 'is', null).where('sandbox', 'is', null))
      .orderBy('delete_at')
      .limit(1),
  );

const due = selectDue(false);
/** Accounts with data on production. Other accounts wait for a process that serves staging. */
const dueOnProduction = selectDue(true);

const endDeletion = query((db, p: Params<{ id: number }>) =>
  db.updateTable('accounts').set({ delete_at: null }).where('id', '=', p.id),
);

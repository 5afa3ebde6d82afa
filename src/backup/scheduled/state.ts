import { randomBytes } from 'node:crypto';
import { factNamed, insertFact, lockedFact, storeFact } from '../../facts.ts';
import type { Database, Transaction } from '../../schema.ts';
import type { GoodBackup } from './make-backup.ts';

/** What all nodes of a store know of its scheduled backups. It is stored in production's database. */
export interface BackupState {
  /** A random id, in the names of the backups. */
  readonly storeId: string;
  /** The process that makes a backup, and until when no other one does, in milliseconds since the Unix epoch. */
  readonly lease?: { readonly holder: string; readonly until: number };
  /** The latest good backup; absent if there is none. */
  readonly last?: GoodBackup;
}

const FACT = 'scheduled-backups';

/** Returns the state, which begins without a backup. */
export async function readBackupState(database: Database): Promise<BackupState> {
  const known = await database.first(factNamed, { name: FACT });
  return known === undefined ? updateBackupState(database, state => state) : JSON.parse(known.value);
}

/** Replaces the state by what `change` returns, which may run more than once, and returns it. */
export function updateBackupState(
  database: Database,
  change: (state: BackupState, now: number) => BackupState,
): Promise<BackupState> {
  return database.write(async (tx: Transaction) => {
    const storeId = randomBytes(4).toString('hex');
    await tx.run(insertFact, { name: FACT, value: JSON.stringify({ storeId } satisfies BackupState) });
    const state = JSON.parse((await tx.first(lockedFact, { name: FACT }))!.value) as BackupState;
    const changed = change(state, tx.now);
    if (changed !== state) await tx.run(storeFact, { name: FACT, value: JSON.stringify(changed) });
    return changed;
  });
}

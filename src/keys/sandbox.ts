import { randomBytes } from 'node:crypto';
import { lockBound } from '../plans/lock.ts';
import { insertingOne, type Params, query, type Transaction } from '../schema.ts';
import { type IssuedKey, type Scope, scopeText } from './key.ts';
import { issueKey } from './keys.ts';

/** The scopes of a trial key. */
export const sandboxScopes: readonly string[] = [
  'pets:read',
  'pets:write',
  'organizations:write',
  'orders:read',
  'orders:write',
  'account:read',
] satisfies Scope[];

/** The validity of a trial key. */
const SANDBOX_MS = 15 * 60_000;

/** The limits of the plan alone. */
const NO_BUDGET = { perMinute: null, perDay: null };

/** The most accounts of the sandbox at a time. */
const SANDBOX_MAX = 200;

/**
 * Creates a trial key: one for staging that ends after 15 minutes, of an account of its own, which is deleted then with all its data;
 * see `accounts/deletion/sandbox.ts`. Nobody can sign in to the account: it has no password, and its e-mail address cannot
 * exist. No event is recorded, because all of it is deleted.
 * @returns the key with its token; `undefined` while there are too many
 */
export async function createSandboxKey(tx: Transaction): Promise<IssuedKey | undefined> {
  await lockBound(tx, 'sandbox', 0);
  if ((await tx.first(countSandboxes, {}))!.count >= SANDBOX_MAX) return undefined;
  const expiresAt = tx.now + SANDBOX_MS;
  const email = `sandbox-${randomBytes(16).toString('hex')}@account.invalid`;
  const accountId = await tx.insert(insertSandbox, { email, createdAt: tx.now, deleteAt: expiresAt });
  const scopes = scopeText(sandboxScopes);
  return issueKey(tx, {
    accountId,
    deployment: 'staging',
    scopes,
    expiresAt,
    networks: null,
    name: null,
    ...NO_BUDGET,
  });
}

const countSandboxes = query(db =>
  db
    .selectFrom('accounts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('sandbox', '=', 1),
);

const insertSandbox = query((db, p: Params<{ email: string; createdAt: number; deleteAt: number }>, engine) =>
  insertingOne(
    db.insertInto('accounts').values({
      ...{ email: p.email, name: 'Sandbox', plan: 'free', admin: 0, sandbox: 1 },
      ...{ created_at: p.createdAt, delete_at: p.deleteAt },
    }),
    engine,
  ),
);

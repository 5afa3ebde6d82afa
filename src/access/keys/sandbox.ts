import { hash, randomBytes } from 'node:crypto';
import type { IssuedKey } from '../../model/key.ts';
import { insertingOne, type Params, query, type Transaction } from '../../model/schema.ts';
import { type Scope, scopeText } from '../../model/scopes.ts';
import { lockBound } from '../plans/lock.ts';
import { issueKey } from './keys.ts';
import { matchesHash, parseToken } from './token.ts';

/** The scopes of a trial key. */
export const sandboxScopes: readonly string[] = [
  'pets:read',
  'pets:write',
  'orders:read',
  'orders:write',
  'account:read',
  'messages:read',
  'messages:write',
] satisfies Scope[];

/** The validity of a trial key. */
export const SANDBOX_MS = 15 * 60_000;

/** The budget of a key that has only the limits of its plan. */
const NO_BUDGET = { perMinute: null, perDay: null };

/** The maximum number of sandbox accounts at a time, in total and per network. */
export const sandboxMax = { all: 200, perNetwork: 40 } as const;

/**
 * Creates a trial key: a staging key that ends after 15 minutes. It has a separate account, which is then deleted with
 * all its data; see `operate/deletion/sandbox.ts`. Nobody can sign in to the account: it has no password, and its
 * e-mail address cannot exist. Records no event, because all its data is deleted.
 * @param network the network of the visitor; the e-mail address contains a part of its hash
 * @returns the key with its token, or the bound that is reached
 */
export async function createSandboxKey(tx: Transaction, network: string): Promise<IssuedKey | keyof typeof sandboxMax> {
  await lockBound(tx, 'sandbox', 0);
  const beginning = `sandbox-${hash('sha256', network, 'hex').slice(0, 16)}`;
  const { all, own } = (await tx.first(countSandboxes, { pattern: `${beginning}%` }))!;
  if (own >= sandboxMax.perNetwork) return 'perNetwork';
  if (all >= sandboxMax.all) return 'all';
  const expiresAt = tx.now + SANDBOX_MS;
  const email = `${beginning}${randomBytes(12).toString('hex')}@account.invalid`;
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

/** Ends a trial key, and deletes its account as if it had expired; does nothing for other tokens. */
export async function endSandboxKey(tx: Transaction, token: string): Promise<void> {
  const { id } = parseToken(token) ?? {};
  if (id === undefined) return;
  const key = await tx.first(sandboxKeyById, { id });
  if (key === undefined || !matchesHash(token, Buffer.from(key.hash, 'latin1'))) return;
  await tx.run(expireKey, { id, now: tx.now });
  await tx.run(deleteAccountNow, { accountId: key.accountId, now: tx.now });
  await tx.notify('registry');
}

const countSandboxes = query((db, p: Params<{ pattern: string }>) =>
  db
    .selectFrom('accounts')
    .select(({ fn, eb }) => [
      fn.countAll<number>().as('all'),
      fn.count<number>(eb.case().when('email', 'like', p.pattern).then(1).end()).as('own'),
    ])
    .where('sandbox', '=', 1),
);

const sandboxKeyById = query((db, p: Params<{ id: string }>) =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.id', 'keys.account_id')
    .select(['keys.hash', 'accounts.id as accountId'])
    .where('keys.id', '=', p.id)
    .where('accounts.sandbox', '=', 1),
);

const expireKey = query((db, p: Params<{ id: string; now: number }>) =>
  db.updateTable('keys').set({ expires_at: p.now }).where('id', '=', p.id).where('expires_at', '>', p.now),
);

const deleteAccountNow = query((db, p: Params<{ accountId: number; now: number }>) =>
  db.updateTable('accounts').set({ delete_at: p.now }).where('id', '=', p.accountId).where('delete_at', '>', p.now),
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

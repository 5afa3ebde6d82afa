import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { type Params, query, type Reader, retentionRule, type Tables, type Transaction } from '../../model/schema.ts';
import { hashSecret, newSecret } from './session.ts';

export type LinkPurpose = Tables['links']['purpose'];

/** A link that signs a person in once. */
export interface Link {
  readonly personId: number;
  readonly purpose: LinkPurpose;
  /** The recipient, or the address that it confirms. */
  readonly email: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** The validity of links, by purpose. */
export const LINK_MS = { confirm: 7 * DAY_MS, reset: HOUR_MS, sign_in: HOUR_MS } as const;
/** The maximum number of links of a person for one purpose; a new link replaces the oldest. */
export const LINKS_MAX = 10;

/** Returns the path of the page that a link opens. */
export function linkPath(secret: string): string {
  return `/links/${secret}`;
}

/**
 * Creates a link. Beyond `LINKS_MAX` links of the person for this purpose, the oldest are deleted.
 * @returns its secret, which is not stored, and when it expires
 */
export async function createLink(
  tx: Transaction,
  { personId, purpose, email }: Pick<Link, 'personId' | 'purpose' | 'email'>,
): Promise<{ readonly secret: string; readonly expiresAt: number }> {
  const secret = newSecret();
  const expiresAt = tx.now + LINK_MS[purpose];
  await tx.run(insertLink, { personId, purpose, email, hash: hashSecret(secret), now: tx.now, expiresAt });
  const links = await tx.all(linksOfPerson, { personId, purpose });
  for (const { id } of links.slice(LINKS_MAX)) await tx.run(deleteLink, { id });
  return { secret, expiresAt };
}

/** Returns the link with a secret, without using it; `undefined` if it was used, has expired or never existed. */
export async function findLink(reader: Reader, secret: string, now: number): Promise<Link | undefined> {
  const link = await reader.first(linkByHash, { hash: hashSecret(secret) });
  return link !== undefined && link.expiresAt > now ? link : undefined;
}

/** Consumes a link. Returns it; `undefined` if it was used, has expired, never existed or is for another purpose. */
export async function takeLink(tx: Transaction, secret: string, purpose: LinkPurpose): Promise<Link | undefined> {
  return tx.first(deleteByHash, { hash: hashSecret(secret), purpose, now: tx.now });
}

/** Deletes the links of a person. */
export async function deleteLinks(tx: Transaction, personId: number): Promise<void> {
  await tx.run(deleteOfPerson, { personId });
}

/** Deletes expired links; a retention rule. */
export const deleteExpiredLinks = retentionRule('links', ['id'], 'expires_at');

const columns = ['account_id as personId', 'purpose', 'email', 'expires_at as expiresAt'] as const;

type NewLink = { personId: number; purpose: LinkPurpose; hash: string; email: string; now: number; expiresAt: number };

const insertLink = query((db, p: Params<NewLink>) =>
  db.insertInto('links').values({
    account_id: p.personId,
    purpose: p.purpose,
    hash: p.hash,
    email: p.email,
    created_at: p.now,
    expires_at: p.expiresAt,
  }),
);

const linksOfPerson = query((db, p: Params<{ personId: number; purpose: LinkPurpose }>) =>
  db
    .selectFrom('links')
    .select('id')
    .where('account_id', '=', p.personId)
    .where('purpose', '=', p.purpose)
    .orderBy('id', 'desc'),
);

const linkByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('links').select(columns).where('hash', '=', p.hash),
);

const deleteByHash = query((db, p: Params<{ hash: string; purpose: LinkPurpose; now: number }>) =>
  db
    .deleteFrom('links')
    .where('hash', '=', p.hash)
    .where('purpose', '=', p.purpose)
    .where('expires_at', '>', p.now)
    .returning(columns),
);

const deleteLink = query((db, p: Params<{ id: number }>) => db.deleteFrom('links').where('id', '=', p.id));

const deleteOfPerson = query((db, p: Params<{ personId: number }>) =>
  db.deleteFrom('links').where('account_id', '=', p.personId),
);

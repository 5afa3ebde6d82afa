import { lockBound } from '../../access/plans/lock.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import { type Params, query, type Reader, sql, type Tables, type Transaction } from '../../model/schema.ts';

/** The store of one caller of the classic Swagger Petstore. */
export interface ClassicSandbox {
  /** The name in the database; see `Tables`. */
  readonly name: string;
  /** The network of a caller without a key; null for the sandbox of an account. */
  readonly network: string | null;
}

export function accountSandbox(accountId: number): ClassicSandbox {
  return { name: `account ${accountId}`, network: null };
}

/** The tables of sandboxes, which backups and copies leave out. */
export const classicTables = ['classic_documents', 'classic_sandboxes'] as const satisfies readonly (keyof Tables)[];

export type DocumentKind = Tables['classic_documents']['kind'];

/** A document in a sandbox, as JSON. */
export interface ClassicDocument {
  readonly kind: DocumentKind;
  readonly id: string;
  readonly document: string;
}

/** How long a document stays after it was last written. */
const KEPT_MS = DAY_MS;

/** The bounds of a sandbox, and of the sandboxes of callers without a key. */
export const classicBounds = {
  documents: 1000,
  bytes: MEBIBYTE,
  /** The sandboxes that one network can create. */
  perNetwork: 20,
  sandboxes: 5000,
  /** The bytes of all these sandboxes with which no further one is created. */
  totalBytes: 512 * MEBIBYTE,
} as const;

/** Returns a document of a sandbox, or undefined. */
export async function findDocument(
  reader: Reader,
  { name: sandbox }: ClassicSandbox,
  key: Omit<ClassicDocument, 'document'>,
  now: number,
): Promise<string | undefined> {
  return (await reader.first(documentWithId, { sandbox, ...key, now }))?.document;
}

/** Returns the documents of a kind, in the order in which they were last written. */
export async function listDocuments(
  reader: Reader,
  { name: sandbox }: ClassicSandbox,
  kind: DocumentKind,
  now: number,
): Promise<readonly string[]> {
  return (await reader.all(documentsOfKind, { sandbox, kind, now })).map(({ document }) => document);
}

/** Deletes a document. Reports whether it existed. */
export async function removeDocument(
  tx: Transaction,
  { name: sandbox }: ClassicSandbox,
  key: Omit<ClassicDocument, 'document'>,
): Promise<boolean> {
  return (await tx.run(deleteDocument, { sandbox, ...key, now: tx.now })) > 0;
}

/**
 * Stores the documents that `change` returns, or nothing if it returns undefined. Creates the sandbox if it is new.
 * Changes of one sandbox wait for each other.
 * @param change may read documents with the transaction, and delete them
 * @throws {Problem} `overloaded` if no further sandbox can be created, `storage_limit_exceeded` if this one would be too
 *   large
 */
export async function storeDocuments(
  tx: Transaction,
  sandbox: ClassicSandbox,
  change: () => Promise<readonly ClassicDocument[] | undefined>,
): Promise<void> {
  const isKnown = await lockSandbox(tx, sandbox);
  const documents = await change();
  if (documents === undefined || documents.length === 0) return;
  if (!isKnown) await createSandbox(tx, sandbox);
  const expiresAt = tx.now + KEPT_MS;
  for (const { document, ...key } of documents) {
    const bytes = Buffer.byteLength(document);
    await tx.queue(upsertDocument, { sandbox: sandbox.name, ...key, document, bytes, expiresAt });
  }
  const { documents: count, bytes } = (await tx.first(sizeOf, { sandbox: sandbox.name, now: tx.now }))!;
  if (count > classicBounds.documents || bytes > classicBounds.bytes) {
    const { documents: most, bytes: mostBytes } = classicBounds;
    const message = `A sandbox has at most ${countText(most)} documents and ${mostBytes / MEBIBYTE} MiB. Delete some.`;
    throw problem('storage_limit_exceeded', message);
  }
  await tx.run(updateSandbox, { name: sandbox.name, bytes, expiresAt });
}

/** Locks a sandbox until the transaction ends. Reports whether it exists. */
async function lockSandbox(tx: Transaction, { name }: ClassicSandbox): Promise<boolean> {
  const isKnown = (await tx.first(lockedSandbox, { name, now: tx.now })) !== undefined;
  tx.refreshNow();
  return isKnown;
}

async function createSandbox(tx: Transaction, sandbox: ClassicSandbox): Promise<void> {
  const { name, network } = sandbox;
  await lockBound(tx, 'classic sandboxes', 0);
  if (await lockSandbox(tx, sandbox)) return;
  if (network !== null) {
    const { sandboxes, own, bytes } = (await tx.first(countSandboxes, { network, now: tx.now }))!;
    const { perNetwork, sandboxes: most, totalBytes } = classicBounds;
    if (own >= perNetwork) {
      throw full(`A network has at most ${perNetwork} sandboxes. Use one that exists, or an API key.`);
    }
    if (sandboxes >= most || bytes >= totalBytes)
      throw full('All sandboxes are in use. Try again later, or use an API key.');
  }
  await tx.run(insertSandbox, { name, network, expiresAt: tx.now + KEPT_MS });
}

function full(message: string) {
  return problem('overloaded', message, { headers: ['Retry-After', '3600'] });
}

/** Deletes the sandbox of an account, at most `limit` documents at a time. Returns the number of deleted rows. */
export async function deleteSandboxOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  const { name } = accountSandbox(accountId);
  const documents = await tx.run(deleteDocumentsOf, { name, limit });
  return documents > 0 ? documents : await tx.run(deleteSandbox, { name });
}

type Key = { sandbox: string; kind: DocumentKind; id: string };

const documentWithId = query((db, p: Params<Key & { now: number }>) =>
  db
    .selectFrom('classic_documents')
    .select('document')
    .where('sandbox', '=', p.sandbox)
    .where('kind', '=', p.kind)
    .where('id', '=', p.id)
    .where('expires_at', '>', p.now),
);

const documentsOfKind = query((db, p: Params<Omit<Key, 'id'> & { now: number }>) =>
  db
    .selectFrom('classic_documents')
    .select('document')
    .where('sandbox', '=', p.sandbox)
    .where('kind', '=', p.kind)
    .where('expires_at', '>', p.now)
    .orderBy('expires_at')
    .orderBy('id'),
);

const deleteDocument = query((db, p: Params<Key & { now: number }>) =>
  db
    .deleteFrom('classic_documents')
    .where('sandbox', '=', p.sandbox)
    .where('kind', '=', p.kind)
    .where('id', '=', p.id)
    .where('expires_at', '>', p.now),
);

const upsertDocument = query((db, p: Params<Key & { document: string; bytes: number; expiresAt: number }>) =>
  db
    .insertInto('classic_documents')
    .values({
      sandbox: p.sandbox,
      kind: p.kind,
      id: p.id,
      document: p.document,
      bytes: p.bytes,
      expires_at: p.expiresAt,
    })
    .onConflict(conflict =>
      conflict
        .columns(['sandbox', 'kind', 'id'])
        .doUpdateSet({ document: p.document, bytes: p.bytes, expires_at: p.expiresAt }),
    ),
);

const sizeOf = query((db, p: Params<{ sandbox: string; now: number }>) =>
  db
    .selectFrom('classic_documents')
    .select(({ fn }) => [fn.countAll<number>().as('documents'), sql<number>`coalesce(sum(bytes), 0)`.as('bytes')])
    .where('sandbox', '=', p.sandbox)
    .where('expires_at', '>', p.now),
);

const lockedSandbox = query((db, p: Params<{ name: string; now: number }>, engine) =>
  db
    .selectFrom('classic_sandboxes')
    .select('name')
    .where('name', '=', p.name)
    .where('expires_at', '>', p.now)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const countSandboxes = query((db, p: Params<{ network: string; now: number }>) =>
  db
    .selectFrom('classic_sandboxes')
    .select(({ fn }) => [
      fn.countAll<number>().as('sandboxes'),
      sql<number>`coalesce(sum(case when network = ${p.network} then 1 else 0 end), 0)`.as('own'),
      sql<number>`coalesce(sum(bytes), 0)`.as('bytes'),
    ])
    .where('network', 'is not', null)
    .where('expires_at', '>', p.now),
);

const insertSandbox = query((db, p: Params<{ name: string; network: string | null; expiresAt: number }>) =>
  db
    .insertInto('classic_sandboxes')
    .values({ name: p.name, network: p.network, bytes: sql.lit(0), expires_at: p.expiresAt })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ network: p.network, expires_at: p.expiresAt })),
);

const updateSandbox = query((db, p: Params<{ name: string; bytes: number; expiresAt: number }>) =>
  db.updateTable('classic_sandboxes').set({ bytes: p.bytes, expires_at: p.expiresAt }).where('name', '=', p.name),
);

const deleteDocumentsOf = query((db, p: Params<{ name: string; limit: number }>) =>
  db
    .deleteFrom('classic_documents')
    .where('sandbox', '=', p.name)
    .where(
      sql<boolean>`(kind, id) in (select kind, id from classic_documents where sandbox = ${p.name} limit ${p.limit})`,
    ),
);

const deleteSandbox = query((db, p: Params<{ name: string }>) =>
  db.deleteFrom('classic_sandboxes').where('name', '=', p.name),
);

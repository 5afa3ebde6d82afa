import { deletingOldest, type Transaction } from '../../model/schema.ts';

/** Deletes expired documents of the classic Swagger Petstore; once there are none, expired sandboxes. A retention rule. */
export async function deleteExpiredSandboxes(tx: Transaction, limit: number): Promise<number> {
  const expired = { before: tx.now, limit };
  return (await tx.run(deleteDocuments, expired)) || (await tx.run(deleteSandboxes, expired));
}

const deleteDocuments = deletingOldest('classic_documents', ['sandbox', 'kind', 'id'], 'expires_at');
const deleteSandboxes = deletingOldest('classic_sandboxes', ['name'], 'expires_at');

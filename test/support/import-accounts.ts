import { createAccount } from '../../src/access/accounts/accounts.ts';
import { createKey } from '../../src/access/keys/keys.ts';
import type { RequestOrigin } from '../../src/lib/origin.ts';
import type { Database, DeploymentName } from '../../src/model/schema.ts';

/** Creates the accounts 1 and 2, and a key of the first. Returns the origin of a request with this key. */
export async function addImporters(
  accounts: Database,
  deployment: DeploymentName = 'production',
  expiresAt?: number,
): Promise<RequestOrigin> {
  return accounts.write(async tx => {
    for (const name of ['Ann', 'Bo']) await createAccount(tx, { email: `${name}@example.org`, name });
    const key = await createKey(tx, { accountId: 1, deployment, ...(expiresAt !== undefined && { expiresAt }) });
    return { accountId: 1, keyId: key.id, requestId: 'r', address: '192.0.2.1' };
  });
}

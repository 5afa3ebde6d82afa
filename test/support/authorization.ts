import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { newToken } from '../../src/access/keys/token.ts';
import type { TestClock } from '../../src/lib/clock.ts';
import type { ErrorCode } from '../../src/model/errors.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import type { DeploymentName } from '../../src/model/schema.ts';
import { send, type TestService } from './serving.ts';

/** A credential that no operation accepts, and the code of the error. */
export type RejectedCredential = readonly [code: ErrorCode, credential: string];

/**
 * Creates a key for each reason to reject one, except a ban.
 * @param credentialOf returns what callers send, while the key is still valid: the key itself, or a token issued for it
 */
export async function rejectedCredentials(
  service: TestService,
  clock: TestClock,
  deployment: DeploymentName,
  credentialOf = async ({ token }: IssuedKey, _deployment: DeploymentName) => token,
): Promise<RejectedCredential[]> {
  const registry = service.app.databases.production;
  const other = deployment === 'production' ? 'staging' : 'production';
  const create = async (options: { expiresAt?: number; deployment?: DeploymentName } = {}) => {
    const key = await service.newKey({ deployment, ...options });
    return { ...key, credential: await credentialOf(key, options.deployment ?? deployment) };
  };
  const valid = await create();
  const revoked = await create();
  await registry.write(tx => revokeKey(tx, revoked.id));
  const suspended = await create();
  await registry.write(tx => suspendAccount(tx, suspended.accountId));
  const expired = await create({ expiresAt: clock.now() + 1 });
  clock.advance(2);
  return [
    ['malformed_api_key', `${valid.credential}x`],
    ['invalid_api_key', newToken(deployment).token],
    ['revoked_api_key', revoked.credential],
    ['expired_api_key', expired.credential],
    ['wrong_deployment', (await create({ deployment: other })).credential],
    ['account_suspended', suspended.credential],
  ];
}

/** Sends requests of a key of the plan Free after a 429 until it is banned. While the clock stands still, the ban does not end. */
export async function provokeBan(clock: TestClock, baseUrl: string, token: string): Promise<void> {
  const ask = () => send(`${baseUrl}/pets`, { key: token });
  for (let requests = 0; requests < 61; requests++) await ask();
  clock.advance(2500);
  for (let violations = 0; violations < 20; violations++) await ask();
}

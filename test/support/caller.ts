import { createAccount } from '../../src/access/accounts/accounts.ts';
import { assertApiResponse, type Reply, send, type TestService } from './serving.ts';

type Ask = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>;

/** Sends requests with the key of an account, and checks every response against the document. */
export interface Caller {
  readonly accountId: number;
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Reply>;
  readonly post: Ask;
  readonly patch: Ask;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

let callers = 0;

/** Creates an Enterprise account with a key. */
export async function newCaller(serving: TestService, isAdmin = false): Promise<Caller> {
  const { id: accountId } = await serving.app.databases.production.write(tx =>
    createAccount(tx, {
      email: `caller-${++callers}@example.org`,
      name: 'A caller',
      plan: 'enterprise',
      perMinute: 1_000_000,
      perDay: 1_000_000,
      admin: isAdmin,
    }),
  );
  const key = await serving.newKey({ accountId });
  const ask: Caller['ask'] = async (method, path, body, headers = {}) => {
    const reply = await send(serving.urls.production + path, {
      method,
      key,
      headers,
      ...(body !== undefined && { body }),
    });
    assertApiResponse(reply, `${method} ${path}`);
    return reply;
  };
  return {
    accountId,
    ask,
    get: (path, headers) => ask('GET', path, undefined, headers),
    post: (path, body, headers) => ask('POST', path, body, headers),
    patch: (path, body, headers) => ask('PATCH', path, body, headers),
  };
}

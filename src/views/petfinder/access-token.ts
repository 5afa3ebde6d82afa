import { createHmac } from 'node:crypto';
import type { KeyAuthenticator } from '../../access/keys/authenticator.ts';
import type { CachedKey } from '../../access/keys/key-cache.ts';
import { parseToken } from '../../access/keys/token.ts';
import { countedAddress } from '../../access/limits/address.ts';
import type { Clock } from '../../lib/clock.ts';
import { equalsInConstantTime } from '../../lib/constant-time.ts';
import type { Problem } from '../../lib/http/problem.ts';
import type { AuthenticationResult } from '../../lib/http/server/authenticator.ts';
import type { AdmittedViewRequest, ViewOperation, ViewRequest } from '../../lib/http/server/view.ts';
import { problem } from '../../model/errors.ts';
import { TOKEN_PATH } from './errors.ts';

/** How long an access token is valid. */
const EXPIRES_SECONDS = 3600;
/** The only scope of an access token, which every operation needs. */
export const SCOPE = 'pets:read';
const BODY_BYTES_MAX = 8 * 1024;

/** The parts of a process that access tokens use. */
interface TokenDeps {
  readonly authenticator: KeyAuthenticator;
  readonly clock: Clock;
}

/**
 * The access tokens of a view: `KEY.EXPIRY.SIGNATURE`. A token is not stored. Its signature is an HMAC with the stored
 * hash of the key, and every request reads the key, so that a token ends with its key. Rotation changes the signature: it
 * ends the tokens of the old key, which can issue others while it still works. A token has no scope but `pets:read`.
 */
export class AccessTokens {
  readonly #authenticator: KeyAuthenticator;
  readonly #clock: Clock;

  constructor({ authenticator, clock }: TokenDeps) {
    this.#authenticator = authenticator;
    this.#clock = clock;
  }

  /** Authenticates a request with an access token, and counts it for its key. */
  async authenticate(request: ViewRequest): Promise<AuthenticationResult> {
    const { header, address } = request;
    const [, content, keyId, expiry, signature] = tokenPattern.exec(header('authorization') ?? '') ?? [];
    const isCurrent = content !== undefined && Number(expiry) * 1000 > this.#clock.now();
    if (!isCurrent) return this.#authenticator.authenticate({ authorization: undefined, address });
    const isSigned = (key: CachedKey) => equalsInConstantTime(signatureOf(content, key), signature!);
    const result = await this.#authenticator.authenticateBy({ authorization: undefined, address }, keyId!, isSigned);
    if (!result.authenticated) return result;
    const scopes = new Set([SCOPE].filter(scope => result.caller.scopes.has(scope)));
    return { ...result, caller: { ...result.caller, admin: false, scopes } };
  }

  /** The operation that issues an access token for the id of a key and the key. */
  operation(): ViewOperation {
    return {
      ...{ operationId: 'petfinder.issueToken', method: 'POST', path: TOKEN_PATH, bytesMax: BODY_BYTES_MAX },
      authenticate: ({ address }) => ({ visitor: countedAddress(address()), headers: [] }),
      handle: request => this.#issue(request),
    };
  }

  async #issue(request: AdmittedViewRequest) {
    const { id, secret = '', grantType } = credentialsOf(request);
    // A key with another id is no credential, but counts as a failed attempt.
    const authorization = parseToken(secret)?.id === id ? `Bearer ${secret}` : undefined;
    const { address } = request;
    const result = await this.#authenticator.authenticate({ authorization, address });
    const caller = request.identify(result);
    if (grantType === undefined) throw grantProblem('required', 'grant_type is required.');
    if (grantType !== 'client_credentials')
      throw grantProblem('invalid_value', 'grant_type must be client_credentials.');
    const content = `${caller.keyId}.${Math.floor(this.#clock.now() / 1000) + EXPIRES_SECONDS}`;
    const token = `${content}.${signatureOf(content, await this.#authenticator.keyOf(caller))}`;
    return {
      status: 200,
      bytes: JSON.stringify({ token_type: 'Bearer', expires_in: EXPIRES_SECONDS, access_token: token }),
    };
  }
}

const tokenPattern = /^bearer +(([0-9A-Za-z]{12})\.(\d{10,11}))\.([\w-]{43}) *$/i;

function signatureOf(content: string, { hash, replacedBy }: CachedKey): string {
  return createHmac('sha256', hash).update(`petfinder ${content} ${replacedBy}`).digest('base64url');
}

function grantProblem(code: string, message: string): Problem {
  return problem('invalid_parameter', message, { errors: [{ path: 'grant_type', code, message }] });
}

interface ClientCredentials {
  readonly id: string | undefined;
  readonly secret: string | undefined;
  readonly grantType: string | undefined;
}

/** Returns the credentials of a client: from the `Authorization` header, or else the body, or else the query. */
function credentialsOf({ header, body, search }: AdmittedViewRequest): ClientCredentials {
  const sent = { ...textsOf(new URLSearchParams(search)), ...textsOf(parseBody(body.toString('utf8'))) };
  const [, basic] = /^basic +(\S+) *$/i.exec(header('authorization') ?? '') ?? [];
  const [id, secret] = basic === undefined ? [sent['client_id'], sent['client_secret']] : basicOf(basic);
  return { id, secret, grantType: sent['grant_type'] };
}

/** Returns the members of a JSON body, or the fields of a form; many clients send the wrong content type. */
function parseBody(text: string): Iterable<readonly [string, unknown]> {
  if (!text.trimStart().startsWith('{')) return new URLSearchParams(text);
  try {
    return Object.entries(JSON.parse(text) as object);
  } catch {
    return [];
  }
}

function textsOf(entries: Iterable<readonly [string, unknown]>): Readonly<Record<string, string>> {
  const texts = Array.from(entries).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts);
}

/** Returns the user and the password of HTTP Basic. */
function basicOf(base64: string): readonly [string | undefined, string | undefined] {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(base64, 'base64').toString('utf8')) ?? [];
  return [id, secret];
}

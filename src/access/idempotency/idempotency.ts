import { createHash } from 'node:crypto';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { Caller, RouteRequest, RouteResponse } from '../../lib/http/route.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX, IDEMPOTENCY_KEY_MS } from '../../lib/http/route.ts';
import { JsonText } from '../../lib/http/server/json.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { onePer } from '../../lib/one-per.ts';
import type { Origin } from '../../lib/origin.ts';
import { problem } from '../../model/errors.ts';
import { boundOf } from '../../model/plan.ts';
import {
  type Database,
  type Params,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';
import { type Deployment, nowOf } from '../deployment.ts';
import { countDeleted, countStored } from '../plans/stored-bytes.ts';

/** The response to a change. Its body is a JSON value. A replay repeats only the headers `Location` and `ETag`. */
export interface IdempotentResponse extends RouteResponse {
  /** Top-level members of the body that contain a secret. They are not stored: a replay has `null` instead. */
  readonly secrets?: readonly string[];
}

/** Properties of the responses of an operation that determine how they are stored. */
interface ResponseOptions {
  /**
   * Top-level members of the body that repeat those of the request. They are not stored: a replay copies them from the
   * retry, whose body is the same.
   */
  readonly echoed?: readonly string[];
  /** Whether the change may share a transaction with others of the account; see `Database.write`. */
  readonly shared?: boolean;
}

/** The options of changes that may share transactions. */
export const sharedWithOthers: ResponseOptions = { shared: true };

/** The parts of a request that determine whether it is a retry. */
interface IdempotentRequest
  extends Pick<
    RouteRequest<Deployment, unknown, unknown, unknown>,
    'context' | 'operationId' | 'path' | 'query' | 'body' | 'headers'
  > {
  readonly caller: Pick<Caller, 'accountId' | 'plan'>;
  readonly origin: Origin | undefined;
}

/**
 * Runs `handler` in a transaction, once per `Idempotency-Key` of an account. For 24 hours, a retry with the same key
 * replays the stored response byte for byte and changes nothing. Without the header, every request runs the handler.
 *
 * The response is stored in the transaction of the change. An error stores nothing, so a retry runs the handler again.
 * @param handler may run more than once, as in `Database.write`
 * @throws {Problem} `idempotency_key_reused` if the key was used for a different request, `idempotency_key_in_use`
 *   while another request with the key is being processed, `invalid_parameter` for a malformed key,
 *   `storage_limit_exceeded` if the account may not store the response; any error of `handler`
 */
export async function withIdempotency(
  request: IdempotentRequest,
  handler: (tx: Transaction) => MaybePromise<IdempotentResponse>,
  options: ResponseOptions = {},
): Promise<RouteResponse> {
  const { context, origin, headers } = request;
  const { database } = context;
  const key = headers['idempotency-key'];
  if (key === undefined) {
    return database.write(handler, origin, options.shared ? request.caller.accountId : undefined);
  }
  const keyed = keyedRequest(request, key, options);
  return withKeyLock(database, keyed, () => database.write(tx => replayOrRun(tx, keyed, handler), origin));
}

/**
 * The same for a change with a step outside its transaction, such as a request to another server. `prepare` is skipped
 * if the response is replayed. If it throws, nothing is stored.
 *
 * The data may change between `prepare` and `handler`, so `handler` checks its preconditions again.
 * @throws {Problem} like `withIdempotency`; any error of `prepare`
 */
export async function withIdempotencyAfter<T>(
  request: IdempotentRequest,
  prepare: () => Promise<T>,
  handler: (tx: Transaction, prepared: T) => MaybePromise<IdempotentResponse>,
): Promise<RouteResponse> {
  const { context, origin, headers } = request;
  const { database } = context;
  const key = headers['idempotency-key'];
  if (key === undefined) {
    const prepared = await prepare();
    return database.write(tx => handler(tx, prepared), origin);
  }
  const keyed = keyedRequest(request, key);
  return withKeyLock(database, keyed, async () => {
    const replay = await findReplay(database, keyed, nowOf(context));
    if (replay !== undefined) return replay;
    const prepared = await prepare();
    return database.write(tx => replayOrRun(tx, keyed, () => handler(tx, prepared)), origin);
  });
}

/**
 * Rejects an invalid request that reuses the `Idempotency-Key` of a different one: that error takes precedence over the
 * errors of its body.
 * @param request the request with the part of its body that could be read
 * @throws {Problem} `idempotency_key_reused`
 */
export async function rejectReusedKey(request: IdempotentRequest): Promise<void> {
  const { context, headers } = request;
  const key = headers['idempotency-key'];
  if (key !== undefined && isKey(key)) await findReplay(context.database, keyedRequest(request, key), nowOf(context));
}

/**
 * Reports whether the account has a stored response for the `Idempotency-Key` of a request, even of a different
 * request.
 */
export async function hasStoredResponse(request: Omit<IdempotentRequest, 'body'>): Promise<boolean> {
  const { context, caller, headers } = request;
  const key = headers['idempotency-key'];
  if (key === undefined) return false;
  requireKey(key);
  const stored = await context.database.first(findResponse, { accountId: caller.accountId, key });
  return stored !== undefined && !isExpired(stored, nowOf(context));
}

/** Deletes responses stored at `upTo` or before, by default expired ones, at most `limit`. Returns their number. */
export async function deleteResponses(
  tx: Transaction,
  limit: number,
  upTo = tx.now - IDEMPOTENCY_KEY_MS,
): Promise<number> {
  const deleted = await tx.all(deleteUpTo, { upTo, limit });
  countDeleted(tx, deleted);
  return deleted.length;
}

interface KeyedRequest extends ResponseOptions {
  /** The key with its deployment and account. */
  readonly subject: string;
  readonly accountId: number;
  readonly key: string;
  /** A digest of operation, path, query and parsed body: the same for every retry, regardless of whitespace. */
  readonly fingerprint: string;
  /** The parsed body of the request. */
  readonly body: unknown;
  /** The maximum number of bytes that the account may store. */
  readonly storedMax: number;
}

/** @throws {Problem} `invalid_parameter` for a malformed key */
function keyedRequest(request: IdempotentRequest, key: string, options: ResponseOptions = {}): KeyedRequest {
  const { context, caller, operationId, path, query, body = null } = request;
  requireKey(key);
  const { accountId } = caller;
  // Contains the deployment: PostgreSQL may keep both deployments in one database, and its advisory locks belong to the
  // whole database.
  const subject = `${context.name} ${accountId} ${key}`;
  const digest = createHash('sha256').update(JSON.stringify([operationId, path, query, body]));
  const storedMax = boundOf(context.bounds, caller, 'storedBytes');
  return { ...options, subject, accountId, key, fingerprint: digest.digest('base64url'), body, storedMax };
}

/** Runs `work` unless another request of this process uses the same key. */
async function withKeyLock(
  database: Database,
  { subject }: KeyedRequest,
  work: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const locked = lockedKeysOf(database);
  if (locked.has(subject)) throw keyInUse();
  locked.add(subject);
  try {
    return await work();
  } finally {
    locked.delete(subject);
  }
}

/** Replays the stored response, or runs `handler` and stores its response in the same transaction. */
async function replayOrRun(
  tx: Transaction,
  keyed: KeyedRequest,
  handler: (tx: Transaction) => MaybePromise<IdempotentResponse>,
): Promise<RouteResponse> {
  const { subject, accountId, key, fingerprint, echoed = [] } = keyed;
  // Another node may be processing the key. With SQLite, only one process serves requests.
  if (tx.engine === 'postgres') await tx.queue(tryAdvisoryLock, { subject }, requireOne);
  const stored = await tx.first(findResponse, { accountId, key });
  if (stored !== undefined && !isExpired(stored, tx.now)) return replayOf(stored, keyed);

  const { secrets = [], ...response } = await handler(tx);
  const { status, body } = response;
  const text = body === undefined ? '' : JSON.stringify(body);
  const omitted = [...secrets, ...echoed].map(member => [member, null]);
  const row = {
    accountId,
    key,
    fingerprint,
    status: status ?? null,
    body: omitted.length === 0 ? text : JSON.stringify({ ...(body as object), ...Object.fromEntries(omitted) }),
    location: headerOf(response, 'Location'),
    etag: headerOf(response, 'ETag'),
    now: tx.now,
  };
  if (stored !== undefined) {
    countDeleted(tx, await tx.all(deleteExpired, { accountId, key, expiredAt: tx.now - IDEMPOTENCY_KEY_MS }));
  }
  // If the advisory lock failed, another node may have stored a response.
  await tx.queue(storeResponse, row, requireOne);
  await countStored(tx, accountId, Buffer.byteLength(row.body), keyed.storedMax);
  return body === undefined ? response : { ...response, body: new JsonText(text) };
}

/** The keys that this process is processing. */
const lockedKeysOf = onePer<Database, Set<string>>(() => new Set());

function requireKey(key: string): void {
  if (isKey(key)) return;
  const message = `Must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters without a comma, such as a UUID.`;
  throw invalidParameter('Idempotency-Key', message);
}

/** Reports whether a key is valid. A comma means that two headers were joined. */
function isKey(text: string): boolean {
  return text.length <= IDEMPOTENCY_KEY_LENGTH_MAX && /^[\x21-\x2b\x2d-\x7e]+$/.test(text);
}

/** Returns the response of a retry, as of `now`. Throws like `replayOf`. */
async function findReplay(reader: Reader, keyed: KeyedRequest, now: number): Promise<RouteResponse | undefined> {
  const { accountId, key } = keyed;
  const stored = await reader.first(findResponse, { accountId, key });
  return stored === undefined || isExpired(stored, now) ? undefined : replayOf(stored, keyed);
}

function isExpired({ createdAt }: { readonly createdAt: number }, now: number): boolean {
  return createdAt <= now - IDEMPOTENCY_KEY_MS;
}

/** Returns the response of a retry; throws `idempotency_key_reused` if the key belongs to another request. */
function replayOf(stored: StoredResponse, keyed: KeyedRequest): RouteResponse {
  if (stored.fingerprint !== keyed.fingerprint) throw problem('idempotency_key_reused');
  const { status, body, location, etag } = stored;
  const headers = ['Idempotency-Replayed', 'true'];
  if (location !== null) headers.push('Location', location);
  if (etag !== null) headers.push('ETag', etag);
  return {
    ...(status !== null && { status }),
    ...(body !== '' && { body: new JsonText(complete(body, keyed)) }),
    headers,
  };
}

/** Returns the text of a stored body with the echoed members. A body stored by an earlier release already has them. */
function complete(stored: string, { echoed = [], body }: KeyedRequest): string {
  if (echoed.length === 0) return stored;
  const members = JSON.parse(stored);
  for (const member of echoed) members[member] ??= (body as Record<string, unknown>)[member];
  return JSON.stringify(members);
}

function headerOf({ headers = [] }: RouteResponse, name: string): string | null {
  const index = headers.indexOf(name);
  return index < 0 ? null : headers[index + 1]!;
}

/** Requires that a statement locked or inserted a row. */
function requireOne(rows: number): void {
  if (rows === 0) throw keyInUse();
}

function keyInUse() {
  return problem('idempotency_key_in_use', undefined, { headers: ['Retry-After', '1'] });
}

/** Returns a row if the transaction gets the lock, which it then holds until it ends. */
const tryAdvisoryLock = query((db, p: Params<{ subject: string }>) =>
  db
    .selectNoFrom(sql.lit(1).as('locked'))
    .where(sql<boolean>`pg_try_advisory_xact_lock(hashtext('petstore idempotency'), hashtext(${p.subject}))`),
);

const responseColumns = ['fingerprint', 'status', 'body', 'location', 'etag'] as const;

/** Returns the stored response even if it has expired. */
const findResponse = query((db, p: Params<{ accountId: number; key: string }>) =>
  db
    .selectFrom('idempotency')
    .select([...responseColumns, 'created_at as createdAt'])
    .where('account_id', '=', p.accountId)
    .where('key', '=', p.key),
);

type StoredResponse = Pick<Tables['idempotency'], (typeof responseColumns)[number]>;
type NewResponse = StoredResponse & { accountId: number; key: string; now: number };

const storeResponse = query((db, p: Params<NewResponse>) =>
  db
    .insertInto('idempotency')
    .values({
      account_id: p.accountId,
      key: p.key,
      fingerprint: p.fingerprint,
      status: p.status,
      body: p.body,
      location: p.location,
      etag: p.etag,
      created_at: p.now,
    })
    .onConflict(conflict => conflict.columns(['account_id', 'key']).doNothing()),
);

/** The columns of a deleted response that `countDeleted` uses. */
const countedColumns = ['account_id as accountId', sql<number>`octet_length(body)`.as('bytes')] as const;

const deleteExpired = query((db, p: Params<{ accountId: number; key: string; expiredAt: number }>) =>
  db
    .deleteFrom('idempotency')
    .where('account_id', '=', p.accountId)
    .where('key', '=', p.key)
    .where('created_at', '<=', p.expiredAt)
    .returning(countedColumns),
);

const deleteUpTo = query((db, p: Params<{ upTo: number; limit: number }>, engine) =>
  db
    .deleteFrom('idempotency')
    .returning(countedColumns)
    .where(eb =>
      eb(
        eb.refTuple('account_id', 'key'),
        'in',
        eb
          .selectFrom('idempotency')
          .select(['account_id', 'key'])
          .where('created_at', '<=', p.upTo)
          .orderBy('created_at')
          .limit(p.limit)
          .$if(engine === 'postgres', responses => responses.forUpdate().skipLocked())
          .$asTuple('account_id', 'key'),
      ),
    ),
);

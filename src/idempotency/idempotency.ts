import { createHash } from 'node:crypto';
import { type Deployment, nowOf } from '../deployment.ts';
import { problem } from '../errors.ts';
import type { RouteRequest, RouteResponse } from '../lib/http/route.ts';
import { type Database, type Params, query, type Soon, sql, type Transaction } from '../schema.ts';
import { RETENTION_MS } from './retention.ts';

/** What a change answers: its body is a JSON value; of its headers `Location` and `ETag` come again for a retry. */
export interface IdempotentResponse extends RouteResponse {
  /** Top-level members of the body that show a secret: a retry gets `null` in their place. */
  readonly secrets?: readonly string[];
}

/**
 * Does the work of a request in a transaction, and of its retries nothing: where it carries an `Idempotency-Key` under
 * which the same account was answered within 24 hours, that answer comes again, byte for byte.
 *
 * The answer of a success is stored in the transaction of the fact. A refusal stores nothing, so a retry is judged anew.
 * @param work as `Database.write` takes it: it may run more than once
 * @throws {Problem} `idempotency_key_reused` when the key came with another request, `idempotency_key_in_use` while that
 *   has no answer yet, `invalid_parameter` for a key that is none; and what the work throws
 */
export async function withIdempotency(
  call: Keyable,
  work: (tx: Transaction) => Soon<IdempotentResponse>,
): Promise<RouteResponse> {
  const { database } = call.context;
  const key = keyOf(call);
  if (key === undefined) return database.write(work);
  return alone(database, keyedOf(call, key), keyed => database.write(tx => onceIn(tx, keyed, work)));
}

/**
 * The same with something that goes before the transaction and may wait for anything, such as somebody else's answer. It
 * is left out for a retry of what was answered; where it throws nothing is stored.
 *
 * Between the two everything may have changed: the work looks at it again.
 * @throws {Problem} as `once`
 */
export async function withIdempotencyAfter<T>(
  call: Keyable,
  ahead: () => Promise<T>,
  work: (tx: Transaction, result: T) => Soon<IdempotentResponse>,
): Promise<RouteResponse> {
  const { database } = call.context;
  const key = keyOf(call);
  if (key === undefined) {
    const result = await ahead();
    return database.write(tx => work(tx, result));
  }
  return alone(database, keyedOf(call, key), async keyed => {
    const tooOld = nowOf(call.context) - RETENTION_MS;
    const replay = replayFor(keyed, await database.first(storedAnswer, { ...keyed, tooOld }));
    if (replay !== undefined) return replay;
    const result = await ahead();
    return database.write(tx => onceIn(tx, keyed, written => work(written, result)));
  });
}

/** What of a call tells its retries from others. */
type Keyable = Pick<
  RouteRequest<Deployment, unknown, unknown, unknown>,
  'context' | 'caller' | 'operationId' | 'path' | 'query' | 'body' | 'header'
>;

function keyOf({ header }: Keyable): string | undefined {
  const key = header('idempotency-key');
  if (key !== undefined && !isKey(key)) throw notAKey();
  return key;
}

function keyedOf(call: Keyable, key: string): Keyed {
  const { context, caller } = call;
  // Both deployments may be in one database on PostgreSQL, where the locks of a database know no tables.
  const subject = `${context.name} ${caller.accountId} ${key}`;
  return { subject, accountId: caller.accountId, key, fingerprint: fingerprintOf(call) };
}

/** Does work while no other request of this process with the same key is worked on. */
async function alone(
  database: Database,
  keyed: Keyed,
  work: (keyed: Keyed) => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const running = runningOn(database);
  if (running.has(keyed.subject)) throw inUse();
  running.add(keyed.subject);
  try {
    return await work(keyed);
  } finally {
    running.delete(keyed.subject);
  }
}

/**
 * Demands of a request whose body is about to be refused that it does not carry the key of another: whoever retries with
 * another body is told so, whatever is wrong with that. `undefined` where it carries none.
 * @param call its body as far as it could be read
 * @throws {Problem} `idempotency_key_reused`
 */
export function rejectReusedKey(call: Keyable): Promise<void> | undefined {
  const key = call.header('idempotency-key');
  return key !== undefined && isKey(key) ? requireSame(call, key) : undefined;
}

async function requireSame(call: Keyable, key: string): Promise<void> {
  const { context, caller } = call;
  const tooOld = nowOf(context) - RETENTION_MS;
  const stored = await context.database.first(storedAnswer, { accountId: caller.accountId, key, tooOld });
  if (stored !== undefined && stored.fingerprint !== fingerprintOf(call)) throw problem('idempotency_key_reused');
}

/** A request that carries a key. */
interface Keyed {
  /** The key and whose it is. */
  readonly subject: string;
  readonly accountId: number;
  readonly key: string;
  readonly fingerprint: string;
}

async function onceIn(
  tx: Transaction,
  keyed: Keyed,
  work: (tx: Transaction) => Soon<IdempotentResponse>,
): Promise<RouteResponse> {
  const { subject, accountId, key, fingerprint } = keyed;
  // Another node may be at it; on the embedded engine there is none.
  if (tx.engine === 'postgres' && !(await tx.first(tryAlone, { subject }))!.alone) throw inUse();
  const tooOld = tx.now - RETENTION_MS;
  const replay = replayFor(keyed, await tx.first(storedAnswer, { accountId, key, tooOld }));
  if (replay !== undefined) return replay;

  const { secrets, ...answer } = await work(tx);
  const bytes = answer.body === undefined ? '' : JSON.stringify(answer.body);
  const alone = await tx.run(storeAnswer, {
    accountId,
    key,
    fingerprint,
    status: answer.status ?? null,
    body: secrets === undefined ? bytes : JSON.stringify(hidden(answer.body, secrets)),
    location: headerOf(answer, 'Location'),
    etag: headerOf(answer, 'ETag'),
    now: tx.now,
    tooOld,
  });
  if (alone === 0) throw inUse();
  return answer.body === undefined ? answer : { ...answer, body: Buffer.from(bytes) };
}

/** The keys under which this process works right now, by database. */
const runningByDatabase = new WeakMap<Database, Set<string>>();

function runningOn(database: Database): Set<string> {
  let running = runningByDatabase.get(database);
  if (running === undefined) {
    running = new Set();
    runningByDatabase.set(database, running);
  }
  return running;
}

/** 1–255 visible ASCII characters; a comma would be two headers that were made one. */
function isKey(text: string): boolean {
  return /^[\x21-\x2b\x2d-\x7e]{1,255}$/.test(text);
}

/** What a retry has in common with the first try: operation, path, query and body, however the text was spaced. */
function fingerprintOf({
  operationId,
  path,
  query,
  body,
}: Pick<RouteRequest<never, unknown, unknown, unknown>, 'operationId' | 'path' | 'query' | 'body'>): string {
  const request = JSON.stringify([operationId, path, query, body ?? null]);
  return createHash('sha256').update(request).digest('base64url');
}

interface StoredAnswer {
  readonly fingerprint: string;
  readonly status: number | null;
  readonly body: string;
  readonly location: string | null;
  readonly etag: string | null;
}

function replayFor({ fingerprint }: Keyed, stored: StoredAnswer | undefined): RouteResponse | undefined {
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== fingerprint) throw problem('idempotency_key_reused');
  return replayOf(stored);
}

function replayOf({ status, body, location, etag }: StoredAnswer): RouteResponse {
  const headers = ['Idempotency-Replayed', 'true'];
  if (location !== null) headers.push('Location', location);
  if (etag !== null) headers.push('ETag', etag);
  return {
    ...(status !== null && { status }),
    ...(body !== '' && { body: Buffer.from(body) }),
    headers,
  };
}

function hidden(body: unknown, secrets: readonly string[]): object {
  return { ...(body as object), ...Object.fromEntries(secrets.map(member => [member, null])) };
}

function headerOf({ headers = [] }: RouteResponse, name: string): string | null {
  const place = headers.indexOf(name);
  return place < 0 ? null : headers[place + 1]!;
}

function inUse() {
  return problem('idempotency_key_in_use', undefined, { headers: ['Retry-After', '1'] });
}

function notAKey() {
  const message = 'Must be 1 to 255 visible ASCII characters without a comma, such as a UUID.';
  return problem('invalid_parameter', `Invalid parameters. Idempotency-Key: ${message}`, {
    errors: [{ path: 'Idempotency-Key', code: 'invalid_value', message }],
  });
}

/** Until the transaction ends. */
const tryAlone = query((db, p: Params<{ subject: string }>) =>
  db.selectNoFrom(
    sql<boolean>`pg_try_advisory_xact_lock(hashtext('petstore idempotency'), hashtext(${p.subject}))`.as('alone'),
  ),
);

const storedAnswer = query((db, p: Params<{ accountId: number; key: string; tooOld: number }>) =>
  db
    .selectFrom('idempotency')
    .select(['fingerprint', 'status', 'body', 'location', 'etag'])
    .where('account_id', '=', p.accountId)
    .where('key', '=', p.key)
    .where('created_at', '>', p.tooOld),
);

const storeAnswer = query(
  (
    db,
    p: Params<{
      accountId: number;
      key: string;
      fingerprint: string;
      status: number | null;
      body: string;
      location: string | null;
      etag: string | null;
      now: number;
      tooOld: number;
    }>,
  ) =>
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
      // An answer that is too old to come again may still be there; a newer one is never written over, whoever believes
      // to be alone.
      .onConflict(conflict =>
        conflict
          .columns(['account_id', 'key'])
          .doUpdateSet(eb => ({
            fingerprint: eb.ref('excluded.fingerprint'),
            status: eb.ref('excluded.status'),
            body: eb.ref('excluded.body'),
            location: eb.ref('excluded.location'),
            etag: eb.ref('excluded.etag'),
            created_at: eb.ref('excluded.created_at'),
          }))
          .where('idempotency.created_at', '<=', p.tooOld),
      ),
);

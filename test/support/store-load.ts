import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { RESPONSE_MS } from './selection.ts';
import { type Reply, send } from './serving.ts';

/** Expected statuses under faults. Any other one is an error. */
const EXPECTED = new Set([200, 201, 204, 403, 404, 409, 422, 429, 503]);

/** A request of the load. It writes its `mark`, so that the log shows how often it was executed. */
interface Request {
  readonly mark: string;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** The outcome of a request. */
interface Told extends Request {
  readonly status: number;
  readonly text: string;
}

/** A store under load: its callers and their responses. */
export class StoreLoad {
  /** The owner of the pets, who takes the steps, and the callers who hold and order. */
  readonly #keys: readonly string[];
  readonly #answerMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #pets: number[] = [];
  readonly #holds: { id: number; key: string; petId: number }[] = [];
  readonly #orders: number[] = [];
  /** Final responses by mark, and requests without a response or with an unknown outcome. */
  readonly #told = new Map<string, Told>();
  #open: Request[] = [];
  /** The number of responses by status. */
  readonly seen: Record<string, number> = {};
  slowestMs = 0;
  again = 0;

  /**
   * @param keys the owner's key, then those of the other callers
   * @param answerMs the maximum response time
   */
  constructor(keys: readonly string[], { answerMs = RESPONSE_MS } = {}) {
    this.#keys = keys;
    this.#answerMs = answerMs;
  }

  /** The number of final responses. */
  get answered(): number {
    return this.#told.size;
  }

  /** Sends one request after the other until told to stop or the server is gone. */
  async call(url: string, going: () => boolean, { staysOn = false } = {}): Promise<void> {
    while (going()) {
      const request = this.#anyRequest();
      const known = await this.#ask(url, request);
      if (!known) this.#open.push(request);
      if (!known && !staysOn) return;
      if (!known) await pause(20);
    }
  }

  /** Repeats every request with an unknown outcome, with the same key, until its outcome is known. */
  async retry(url: string): Promise<void> {
    const open = this.#open;
    this.#open = [];
    await Promise.all(
      open.map(async request => {
        for (let attempt = 1; !(await this.#ask(url, request)); attempt++) {
          assert.ok(attempt < 300, `${request.method} ${request.path} gets no answer`);
          await pause(20);
        }
        this.again++;
      }),
    );
  }

  /** Asserts for a sample that retries return the acknowledged response byte for byte. */
  async assertReplays(url: string, count: number): Promise<void> {
    const done = [...this.#told.values()].filter(({ status, method }) => status < 300 && method !== 'DELETE');
    const some = new Set(Array.from({ length: Math.min(count, done.length) }, () => done[pick(done.length)]!));
    await Promise.all(
      Array.from(some, async ({ status, text, ...request }) => {
        let reply = await this.#send(url, request);
        // A busy machine may have no capacity for all of them at once: such a response asks to try again.
        for (let attempt = 1; reply.body?.code === 'overloaded' && attempt < 300; attempt++) {
          await pause(20);
          reply = await this.#send(url, request);
        }
        assert.deepEqual(
          [reply.status, reply.text, reply.headers['idempotency-replayed']],
          [status, text, 'true'],
          `${request.method} ${request.path}`,
        );
      }),
    );
  }

  /** Asserts that each success was executed once and each error never. Changes without effect may be executed once. */
  assertOnce(log: readonly { readonly action: string; readonly data: string }[]): void {
    const done = new Map<string, number>();
    for (const { action, data } of log) {
      // A deletion repeats the last state.
      if (action === 'deleted') continue;
      for (const mark of new Set(data.match(/mark [\w-]{36}/g))) {
        // Later events of the same resource repeat the mark. Only the one that introduced it counts.
        if (brings(JSON.parse(data), mark)) done.set(mark, (done.get(mark) ?? 0) + 1);
      }
    }
    assert.deepEqual(this.#open, [], 'something was never answered');
    for (const { mark, method, path, status, text } of this.#told.values()) {
      // Releases and extensions write no mark, and a deleted pet keeps its name.
      if (method === 'DELETE' || /\/(release|extension)$/.test(path)) continue;
      assert.equal(done.get(mark) ?? 0, status < 300 ? 1 : 0, `${method} ${path} was answered ${status} ${text}`);
    }
  }

  /** Asserts that every acknowledged resource is in the log. */
  assertKept(log: readonly { readonly kind: string; readonly subject_id: number }[]): void {
    const there = new Set(log.map(({ kind, subject_id }) => `${kind} ${subject_id}`));
    const kinds: Record<string, string> = { '/pets': 'pet', '/holds': 'hold', '/store/orders': 'order' };
    for (const { path, status, text } of this.#told.values()) {
      const kind = kinds[path];
      if (status === 201 && kind) assert.ok(there.has(`${kind} ${JSON.parse(text).id}`), `a ${kind} is lost: ${text}`);
    }
  }

  /** Sends a request once. Returns whether its outcome is known. */
  async #ask(url: string, request: Request): Promise<boolean> {
    const fromMs = performance.now();
    let reply: Reply;
    try {
      reply = await this.#send(url, request);
    } catch {
      return false;
    }
    const tookMs = performance.now() - fromMs;
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    const { status, text, body } = reply;
    const what = status < 300 ? `${request.method} ${status}` : `${status} ${body?.code}`;
    this.seen[what] = (this.seen[what] ?? 0) + 1;
    // An expiry that has passed before the request runs is rejected.
    const late = status === 400 && body.errors?.[0].path === '/expiresAt';
    assert.ok(EXPECTED.has(status) || late, `${request.method} ${request.path}: ${status} ${text}`);
    assert.ok(tookMs <= this.#answerMs, `${request.method} ${request.path} took ${Math.round(tookMs)} ms: ${text}`);
    if (status === 503 || body?.code === 'idempotency_key_in_use') return false;
    this.#learn(request, reply);
    return true;
  }

  #learn(request: Request, { status, text, body }: Reply): void {
    this.#told.set(request.mark, { ...request, status, text });
    if (status !== 201) return;
    if (request.path === '/pets') this.#pets.push(body.id);
    if (request.path === '/holds') this.#holds.push({ id: body.id, key: request.key, petId: body.petIds[0] });
    if (request.path === '/store/orders') this.#orders.push(body.id);
  }

  #send(url: string, { mark, key, method, path, body }: Request): Promise<Reply> {
    const headers = method === 'DELETE' ? {} : { 'Idempotency-Key': mark.slice('mark '.length) };
    return send(`${url}${path}`, { method, key, headers, ...(body !== undefined && { body }), agent: this.#agent });
  }

  /** Few pets and many callers, so that they compete. */
  #anyRequest(): Request {
    const mark = `mark ${randomUUID()}`;
    const [owner, ...others] = this.#keys as [string, ...string[]];
    const key = others[pick(others.length)]!;
    const dice = Math.random();
    if (dice < 0.08 || this.#pets.length < 16) {
      return { mark, key: owner, method: 'POST', path: '/pets', body: { name: mark, categoryId: 1 + pick(8) } };
    }
    const recent = <Item>(items: readonly Item[], most: number) =>
      items[items.length - 1 - pick(Math.min(most, items.length))]!;
    const petId = recent(this.#pets, 24);
    if (dice < 0.25) {
      const petIds = [...new Set([petId, recent(this.#pets, 24)])];
      const expiresAt = new Date(Date.now() + 1100 + pick(1500)).toISOString();
      return { mark, key, method: 'POST', path: '/holds', body: { petIds, expiresAt, note: mark } };
    }
    if (dice < 0.4) return { mark, key, method: 'POST', path: '/store/orders', body: { petId, note: mark } };
    if (dice < 0.47) {
      return {
        mark,
        key: owner,
        method: 'PATCH',
        path: `/pets/${petId}`,
        body: { name: mark, categoryId: 1 + pick(8) },
      };
    }
    if (dice < 0.51) {
      const status = ['available', 'pending', 'sold'][pick(3)];
      return { mark, key: owner, method: 'PATCH', path: `/pets/${petId}`, body: { status, statusReason: mark } };
    }
    if (dice < 0.53) return { mark, key: owner, method: 'DELETE', path: `/pets/${petId}` };
    if (dice < 0.7 && this.#holds.length > 0) {
      const hold = recent(this.#holds, 12);
      if (dice < 0.57) return { mark, key: hold.key, method: 'POST', path: `/holds/${hold.id}/release` };
      if (dice < 0.61) {
        const expiresAt = new Date(Date.now() + 1100 + pick(1500)).toISOString();
        return { mark, key: hold.key, method: 'POST', path: `/holds/${hold.id}/extension`, body: { expiresAt } };
      }
      const body = { petId: hold.petId, holdId: hold.id, note: mark };
      return { mark, key: hold.key, method: 'POST', path: '/store/orders', body };
    }
    if (this.#orders.length > 0) {
      const id = recent(this.#orders, 16);
      const step = ['approval', 'delivery', 'cancellation', 'return'][pick(4)];
      return { mark, key: owner, method: 'POST', path: `/store/orders/${id}/${step}`, body: { note: mark } };
    }
    return { mark, key: owner, method: 'POST', path: '/pets', body: { name: mark, categoryId: 1 + pick(8) } };
  }
}

/** Reports whether this event introduced the mark. */
function brings(
  data: {
    readonly note?: string;
    readonly was?: { readonly name?: string; readonly statusReason?: string; readonly status?: string };
    readonly pet?: { readonly name: string; readonly statusReason?: string };
    readonly hold?: { readonly note?: string };
    readonly order?: { readonly note?: string };
  },
  mark: string,
): boolean {
  const { note, was, pet, hold, order } = data;
  if (note === mark) return true;
  if (hold !== undefined || order !== undefined) return was === undefined && (hold ?? order)!.note === mark;
  if (pet?.name === mark) return was === undefined || was.name !== undefined;
  return pet?.statusReason === mark && was?.statusReason !== undefined;
}

function pick(count: number): number {
  return Math.floor(Math.random() * count);
}

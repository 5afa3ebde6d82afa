import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Reply, send } from './serving.ts';

/** Answers that callers of the store have to reckon with; whatever else comes is a fault. */
const EXPECTED = new Set([200, 201, 204, 403, 404, 409, 422, 429, 503]);

/** One request of the load. Its `mark` stands in what it writes, so that the log tells how often it was done. */
interface Request {
  readonly mark: string;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** What became of a request. */
interface Told extends Request {
  readonly status: number;
  readonly text: string;
}

/** A store under load: who calls, and what they were told. */
export class StoreLoad {
  /** The one that owns the animals and takes the steps, and those that hold and order. */
  readonly #keys: readonly string[];
  readonly #answerMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #pets: number[] = [];
  readonly #holds: { id: number; key: string; petId: number }[] = [];
  readonly #orders: number[] = [];
  /** By mark: what was answered; what was not, or with an outcome that is not known. */
  readonly #told = new Map<string, Told>();
  #open: Request[] = [];
  /** How often each answer came. */
  readonly seen: Record<string, number> = {};
  slowestMs = 0;
  again = 0;

  /**
   * @param keys of the owner first, then of those who hold and order
   * @param answerMs how long an answer may take
   */
  constructor(keys: readonly string[], { answerMs = 3000 } = {}) {
    this.#keys = keys;
    this.#answerMs = answerMs;
  }

  /** How many requests were answered for good. */
  get answered(): number {
    return this.#told.size;
  }

  /** Calls one after the other, until it is told that it is over or the server is gone. */
  async call(url: string, going: () => boolean, { staysOn = false } = {}): Promise<void> {
    while (going()) {
      const request = this.#anyRequest();
      const known = await this.#ask(url, request);
      if (!known) this.#open.push(request);
      if (!known && !staysOn) return;
      if (!known) await pause(20);
    }
  }

  /** Sends everything again of which nothing is known, with the same key, until something is. */
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

  /** Demands that what was acknowledged comes again byte for byte, for some of it. */
  async assertReplays(url: string, count: number): Promise<void> {
    const done = [...this.#told.values()].filter(({ status, method }) => status < 300 && method !== 'DELETE');
    const some = new Set(Array.from({ length: Math.min(count, done.length) }, () => done[pick(done.length)]!));
    await Promise.all(
      Array.from(some, async ({ status, text, ...request }) => {
        const reply = await this.#send(url, request);
        assert.deepEqual(
          [reply.status, reply.text, reply.headers['idempotency-replayed']],
          [status, text, 'true'],
          `${request.method} ${request.path}`,
        );
      }),
    );
  }

  /** Demands that each success was done once and each refusal never; for requests that change nothing, at most once. */
  assertOnce(log: readonly { readonly action: string; readonly data: string }[]): void {
    const done = new Map<string, number>();
    for (const { action, data } of log) {
      // What is taken out is told of once more as it was.
      if (action === 'deleted') continue;
      for (const mark of new Set(data.match(/mark [\w-]{36}/g))) {
        // Later events of the same thing say it again: only the one that brought it counts.
        if (brings(JSON.parse(data), mark)) done.set(mark, (done.get(mark) ?? 0) + 1);
      }
    }
    assert.deepEqual(this.#open, [], 'something was never answered');
    for (const { mark, method, path, status, text } of this.#told.values()) {
      // A release and an extension say nothing of their own, and an animal that is taken out keeps its name.
      if (method === 'DELETE' || /\/(release|extension)$/.test(path)) continue;
      assert.equal(done.get(mark) ?? 0, status < 300 ? 1 : 0, `${method} ${path} was answered ${status} ${text}`);
    }
  }

  /** Demands that every acknowledged thing is in the log. */
  assertKept(log: readonly { readonly kind: string; readonly subject_id: number }[]): void {
    const there = new Set(log.map(({ kind, subject_id }) => `${kind} ${subject_id}`));
    const kinds: Record<string, string> = { '/pets': 'pet', '/holds': 'hold', '/store/orders': 'order' };
    for (const { path, status, text } of this.#told.values()) {
      const kind = kinds[path];
      if (status === 201 && kind) assert.ok(there.has(`${kind} ${JSON.parse(text).id}`), `a ${kind} is lost: ${text}`);
    }
  }

  /** Asks once; whether something is known of the outcome then. */
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
    // An end that has come before the request was done is refused.
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

  /** Few animals and many callers, so that they meet. */
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

/** Whether this event is the one that brought the mark. */
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

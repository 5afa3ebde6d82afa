import { getAccount, requireLasting } from '../../accounts/accounts.ts';
import { routes } from '../../api.ts';
import { type Deployment, nowOf } from '../../deployment.ts';
import { operator } from '../../events/event.ts';
import type { Caller, Route, RouteRequest } from '../../lib/http/route.ts';
import type { Database, DeploymentName, Reader } from '../../schema.ts';
import type { Invocation } from '../command.ts';
import { withAccounts } from '../databases.ts';
import type { Value } from '../text.ts';

export interface StoreRequest {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The account that the request is for; the operator where it is absent. */
  readonly accountId?: number | undefined;
}

export interface StorePage {
  readonly items: readonly Value[];
  /** The cursor of the next page; `undefined` at the end. */
  readonly next: string | undefined;
}

/** An operation that commands call. */
export type StoreRoute = Route<Deployment>;

export function operationNamed(operationId: string): StoreRoute {
  return routes.find(route => route.operationId === operationId)!;
}

/** One deployment, whose operations the command line calls without HTTP. */
export class Store {
  readonly name: DeploymentName;
  readonly database: Database;
  readonly #invocation: Invocation;

  constructor(name: DeploymentName, database: Database, invocation: Invocation) {
    this.name = name;
    this.database = database;
    this.#invocation = invocation;
  }

  /** The time for reads, or of the transaction in `atomically`: whole milliseconds since the Unix epoch. */
  get now(): number {
    return nowOf({ clock: this.#invocation.clock, database: this.database });
  }

  /** Runs an operation and returns the body of its response. @throws {Problem} as the operation does */
  async send(operationId: string, request: StoreRequest): Promise<Value> {
    return (await this.#handle(operationId, request)).value;
  }

  /** Runs a list operation and returns one page. @throws {Problem} as the operation does */
  async page(operationId: string, request: StoreRequest): Promise<StorePage> {
    const { value, headers } = await this.#handle(operationId, request);
    const index = headers.indexOf('x-next');
    const next = index < 0 ? '' : headers[index + 1]!;
    const cursor = new URLSearchParams(next.slice(next.indexOf('?'))).get('cursor');
    return { items: value as unknown as Value[], next: cursor ?? undefined };
  }

  /** Runs several operations in one transaction. `work` may run more than once. */
  atomically<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.database.write(tx => {
      const database: Pick<Database, 'engine' | 'all' | 'first' | 'readTimestamp' | 'write'> = {
        engine: tx.engine,
        all: (query, params) => tx.all(query, params),
        first: (query, params) => tx.first(query, params),
        readTimestamp: () => tx.now,
        write: async run => run(tx),
      };
      return work(new Store(this.name, database as unknown as Database, this.#invocation));
    });
  }

  /** Throws when no account has this id, or it is deleted. Accounts are stored once, in production's database. @throws {UserError} */
  async requireAccount(id: number): Promise<void> {
    const isProduction = this.name === 'production';
    const find = (accounts: Reader) => getAccount(accounts, id);
    requireLasting(await (isProduction ? find(this.database) : withAccounts(this.#invocation, find)));
  }

  async #handle(operationId: string, { path = {}, query = {}, body, accountId }: StoreRequest) {
    const route = operationNamed(operationId);
    const { name, database } = this;
    const { clock, config } = this.#invocation;
    // Operations that need more of a deployment have no command.
    const context = { name, database, clock, categories: config.categories, bounds: config.bounds };
    // Handlers pass the caller on as an Actor, which the operator is, too: with `null` for the account. The bounds of
    // plans do not apply to the operator.
    const actor = accountId === undefined ? operator : { accountId, admin: false };
    const search = `?${new URLSearchParams(query as Record<string, string>)}`;
    const request: RouteRequest<unknown, unknown, unknown, unknown> = {
      context,
      caller: { ...actor, deployment: name, plan: 'enterprise' } as Caller,
      path,
      query,
      body,
      header: () => undefined,
      prefer: new Map(),
      operationId,
      requestId: '',
      origin: undefined,
      checkPreconditions() {},
      isStillAuthorized: () => true,
      connection: { destroyed: false, readableEnded: false },
      baseUrl: '',
      url: route.path + search,
      search,
      routePath: route.path,
    };
    const { body: json, headers = [] } = await route.handle(request as never);
    return { value: (Buffer.isBuffer(json) ? JSON.parse(String(json)) : json) as Value, headers };
  }
}

/** The most items on one page. */
export const PAGE_MAX = 100;

/** Reads pages until there are `limit` items or the list ends. A page may be short, or even empty, and have a next one. */
export async function readPages(
  read: (page: Record<string, unknown>) => Promise<StorePage>,
  limit = Number.POSITIVE_INFINITY,
  cursor?: string,
): Promise<StorePage> {
  const items: Value[] = [];
  let next = cursor;
  do {
    const size = Math.min(PAGE_MAX, limit - items.length);
    const page = await read({ limit: size, ...(next !== undefined && { cursor: next }) });
    items.push(...page.items);
    next = page.next;
  } while (next !== undefined && items.length < limit);
  return { items, next };
}

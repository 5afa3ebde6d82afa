import { keepAccount } from '../../access/accounts/accounts.ts';
import { nowOf } from '../../access/deployment.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import {
  callList,
  callOperation,
  type LocalContext,
  type LocalPage,
  type LocalRequest,
  type LocalRoute,
  operationNamed,
} from '../../views/local-call.ts';
import type { Invocation } from '../command.ts';
import { withAccounts } from '../databases.ts';
import type { Value } from '../text.ts';

export { type LocalRequest as StoreRequest, type LocalRoute as StoreRoute, operationNamed };

export interface StorePage extends LocalPage {
  readonly items: readonly Value[];
}

/** A deployment whose operations the command line calls without HTTP. */
export class Store {
  readonly name: DeploymentName;
  readonly database: Database;
  readonly #invocation: Invocation;

  constructor(name: DeploymentName, database: Database, invocation: Invocation) {
    this.name = name;
    this.database = database;
    this.#invocation = invocation;
  }

  /** The time of reads, or of the transaction in `atomically`: whole milliseconds since the Unix epoch. */
  get now(): number {
    return nowOf({ clock: this.#invocation.clock, database: this.database });
  }

  /** Runs an operation and returns the body of its response. @throws {Problem} like the operation */
  async send(operationId: string, request: LocalRequest): Promise<Value> {
    return (await callOperation(this.#context, operationId, request)).value as Value;
  }

  /** Runs a list operation and returns one page. @throws {Problem} like the operation */
  async page(operationId: string, request: LocalRequest): Promise<StorePage> {
    return callList(this.#context, operationId, request);
  }

  /** Runs several operations in one transaction. `work` may run more than once. */
  atomically<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.database.write(tx => {
      const database: Pick<Database, 'engine' | 'all' | 'first' | 'readTimestamp' | 'dataVersion' | 'write'> = {
        engine: tx.engine,
        all: (query, params) => tx.all(query, params),
        first: (query, params) => tx.first(query, params),
        readTimestamp: () => tx.now,
        // What an open transaction reads must not be cached.
        dataVersion: () => undefined,
        write: async run => run(tx),
      };
      return work(new Store(this.name, database as unknown as Database, this.#invocation));
    });
  }

  /**
   * Throws when no account has this id, or it is deleted. Otherwise keeps the account, even if its address is not
   * confirmed. Accounts are stored in production's database.
   * @throws {UserError}
   */
  async requireAccount(id: number): Promise<void> {
    const isProduction = this.name === 'production';
    const keep = (accounts: Database) => accounts.write(tx => keepAccount(tx, id));
    await (isProduction ? keep(this.database) : withAccounts(this.#invocation, keep));
  }

  get #context(): LocalContext {
    const { name, database } = this;
    const { clock, config } = this.#invocation;
    // Operations that need other parts of a deployment have no command.
    return { name, database, clock, categories: config.categories, bounds: config.bounds };
  }
}

/** The maximum number of items on a page. */
const PAGE_MAX = 100;

/**
 * Reads pages until there are `limit` items or the list ends. A page may be short or empty and still have a next page.
 */
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

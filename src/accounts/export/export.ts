import { eventsOf } from '../../events/log.ts';
import { keyState } from '../../keys/key.ts';
import { listKeys } from '../../keys/keys.ts';
import { formatTime, withTimes } from '../../lib/time.ts';
import { callList, type LocalContext } from '../../local-call.ts';
import type { Database } from '../../schema.ts';
import { listSessions } from '../../sessions/sessions.ts';
import { getAccount } from '../accounts.ts';

/** The most items on one page. */
const PAGE_MAX = 100;

/** The lists of a deployment: the operation, and its filters. */
const lists = {
  animals: ['listPets', { owner: 'me', view: 'full' }],
  orders: ['listOrders', {}],
  holds: ['listHolds', {}],
  sentMessages: ['listMessages', { box: 'sent' }],
  inbox: ['listMessages', { box: 'inbox' }],
  webhooks: ['listWebhooks', {}],
} as const satisfies Record<string, readonly [operation: string, query: object]>;

/** The options of an export. */
export interface ExportOptions {
  /** Production's database. */
  readonly accounts: Database;
  readonly deployments: readonly LocalContext[];
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Writes a value as JSON; `JSON.stringify` by default. */
  readonly stringify?: (value: unknown) => string;
}

/**
 * Yields the data of an account as the parts of one JSON object: the account with its keys, sessions and events, and per deployment
 * what it has, as the account sees it. It reads page by page, so that its size is not limited by memory.
 */
export async function* exportAccount(
  { accounts, deployments, now, stringify = JSON.stringify }: ExportOptions,
  id: number,
): AsyncGenerator<string> {
  const own = {
    account: withTimes(await getAccount(accounts, id)),
    keys: (await listKeys(accounts, id)).map(key => ({ ...withTimes(key), state: keyState(key, now) })),
    sessions: (await listSessions(accounts, id, now)).map(withTimes),
    events: await ownEvents(accounts, id),
  };
  yield stringify(own).slice(0, -1);
  for (const deployment of deployments) {
    yield `,"${deployment.name}":{`;
    let separator = '';
    for (const [member, [operation, filters]] of Object.entries(lists)) {
      yield `${separator}"${member}":[`;
      yield* itemsOf(deployment, operation, filters, id, stringify);
      yield ']';
      separator = ',';
    }
    yield '}';
  }
  yield '}';
}

/** Yields the items of a list, a page at a time. */
async function* itemsOf(
  deployment: LocalContext,
  operation: string,
  filters: object,
  accountId: number,
  stringify: (value: unknown) => string,
): AsyncGenerator<string> {
  let cursor: string | undefined;
  let separator = '';
  do {
    const query = { ...filters, limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) };
    const { items, next } = await callList(deployment, operation, { query, accountId });
    if (items.length > 0) {
      yield separator + items.map(item => stringify(item)).join(',');
      separator = ',';
    }
    cursor = next;
  } while (cursor !== undefined);
}

/** Returns the events of the account itself and of its keys. Those of its other resources are listed by `GET /v1/events`. */
async function ownEvents(accounts: Database, id: number) {
  const events = [
    ...(await eventsOf<object>(accounts, 'account', id)),
    ...(await eventsOf<object>(accounts, 'key', id)),
  ];
  return events.map(({ kind, action, at, data }) => ({ type: `${kind}.${action}`, time: formatTime(at), ...data }));
}

import { getAccount } from '../../accounts/accounts.ts';
import { eventsOf } from '../../events/log.ts';
import { listKeys } from '../../keys/keys.ts';
import { formatTime } from '../../lib/time.ts';
import type { Database, DeploymentName } from '../../schema.ts';
import type { Command, Invocation } from '../command.ts';
import { storedLocations, withAccounts, withDatabase } from '../databases.ts';
import { PAGE_MAX, Store } from '../store/store.ts';
import { escapeJson } from '../terminal.ts';
import { type Value, withTimes } from '../text.ts';
import { accountArgument, idOf } from './account.ts';
import { keyValue } from './key.ts';

export const accountExport: Command = {
  name: 'account export',
  summary: 'Print the data of an account, as one JSON value.',
  details:
    'The account with its API keys and events, and per deployment its animals, orders, holds, messages and webhooks, as the account sees them: without tokens and secrets, and without the audit log, refused requests and deliveries. Reads page by page beside a running server, so what changes meanwhile may be missing.',
  arguments: accountArgument,
  examples: { 'petstore account export 7 > account-7.json': 'to give to its owner' },
  async run(invocation) {
    const { terminal } = invocation;
    const id = idOf(invocation);
    const own = await withAccounts(invocation, async accounts => ({
      account: withTimes(await getAccount(accounts, id)),
      keys: (await listKeys(accounts, id)).map(key => keyValue(key, invocation.clock.now())),
      events: await ownEvents(accounts, id),
    }));
    await terminal.write(escapeJson(own).slice(0, -1));
    for (const [name, location] of storedLocations(invocation.config)) {
      await terminal.write(`,"${name}":{`);
      await withDatabase(invocation, location, database => writeLists(invocation, name, database, id));
      await terminal.write('}');
    }
    terminal.print('}');
    return undefined;
  },
};

/** The lists of a deployment: the operation, and its filters. */
const lists = {
  animals: ['listPets', { owner: 'me', view: 'full' }],
  orders: ['listOrders', {}],
  holds: ['listHolds', {}],
  sentMessages: ['listMessages', { box: 'sent' }],
  inbox: ['listMessages', { box: 'inbox' }],
  webhooks: ['listWebhooks', {}],
} as const satisfies Record<string, readonly [operation: string, query: object]>;

/** Writes what an account has on a deployment, a page at a time. */
async function writeLists(
  invocation: Invocation,
  name: DeploymentName,
  database: Database,
  accountId: number,
): Promise<void> {
  const store = new Store(name, database, invocation);
  let separator = '';
  for (const [member, [operation, filters]] of Object.entries(lists)) {
    await invocation.terminal.write(`${separator}"${member}":[`);
    let cursor: string | undefined;
    let written = 0;
    do {
      const query = { ...filters, limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) };
      const { items, next } = await store.page(operation, { query, accountId });
      const page = items.map(escapeJson).join(',');
      await invocation.terminal.write(written > 0 && items.length > 0 ? `,${page}` : page);
      written += items.length;
      cursor = next;
    } while (cursor !== undefined);
    await invocation.terminal.write(']');
    separator = ',';
  }
}

/** Returns the events of the account itself and of its keys. Those of its other resources are listed by `GET /v1/events`. */
async function ownEvents(accounts: Database, id: number): Promise<Value[]> {
  const events = [
    ...(await eventsOf<object>(accounts, 'account', id)),
    ...(await eventsOf<object>(accounts, 'key', id)),
  ];
  return events.map(({ kind, action, at, data }) => ({ type: `${kind}.${action}`, time: formatTime(at), ...data }));
}

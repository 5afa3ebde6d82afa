import { getAccount } from '../../access/accounts/accounts.ts';
import { listKeys } from '../../access/keys/keys.ts';
import { SANDBOX_MS } from '../../access/keys/sandbox.ts';
import { listInvitations } from '../../access/people/invitations.ts';
import { listMembers, memberNames } from '../../access/people/members.ts';
import { noticesOf } from '../../access/people/notices.ts';
import { listSecondFactors } from '../../access/sessions/second-factors.ts';
import { listAccountSessions } from '../../access/sessions/sessions.ts';
import { IDEMPOTENCY_KEY_MS } from '../../lib/http/route.ts';
import { DAY_MS, durationIn, formatTime, HOUR_MS, withTimes } from '../../lib/time.ts';
import type { Account } from '../../model/account.ts';
import { keyState } from '../../model/key.ts';
import { eventsOf } from '../../model/log/log.ts';
import { loggedRequestOf } from '../../model/logged-request.ts';
import { messageIdOf } from '../../model/message.ts';
import type { Noun, NounList } from '../../model/noun.ts';
import { type NounTableName, nouns } from '../../model/nouns.ts';
import { organizationValues } from '../../model/organization.ts';
import { EVENT_BYTES_DAYS } from '../../model/rules.ts';
import type { Database, Tables } from '../../model/schema.ts';
import { USAGE_KEPT_MS, usageByKeyAndHour } from '../../operate/usage/counts.ts';
import { listRequests } from '../../operate/usage/log.ts';
import { type InboxPart, inboxPages, inboxParts } from '../../store/inbox/clean-up.ts';
import { listInbox } from '../../store/inbox/list.ts';
import { findOrganization } from '../../store/organizations/organizations.ts';
import { callList, type LocalContext } from '../local-call.ts';

/** The maximum number of items on a page. */
const PAGE_MAX = 100;

// Orders come before holds, as in earlier releases.
const { pet, order, ...others } = nouns;

/** The lists of a deployment: the member, the operation, and its filters. */
const lists = [pet, order, ...Object.values<Noun>(others)].flatMap(({ exported }) =>
  typeof exported === 'string'
    ? []
    : Object.entries<NounList | null>(exported).flatMap(([member, list]) =>
        list === null ? [] : [[member, ...list] as const],
      ),
);

/** The tables with rows of an account that do not belong to a noun. */
type AccountTable = Exclude<
  { [Name in keyof Tables]: 'account_id' extends keyof Tables[Name] ? Name : never }[keyof Tables],
  NounTableName
>;

/**
 * The member of the export with the rows of each such table, or the reason why the export omits them. A new table needs
 * an entry.
 */
export const exportedTables = {
  keys: 'keys',
  sessions: 'sessions',
  members: 'members',
  invitations: 'invitations',
  events: 'events',
  usage: 'usage',
  requests: 'requests',
  // Each alert is an event; the rows prevent a second one on the same day.
  usage_alerts: 'events',
  order_counts: { leftOut: 'derived from the orders' },
  photo_bytes: { leftOut: 'derived from the animals' },
  stored_bytes: { leftOut: 'derived from the messages' },
  imported_rows: { leftOut: 'only numbers of rows, for two days' },
  event_bytes: { leftOut: `only numbers of bytes, for ${EVENT_BYTES_DAYS} days` },
  refusals: { leftOut: 'listed by the audit log' },
  sandbox_accounts: { leftOut: `only accounts of the sandbox, which last ${durationIn('minute', SANDBOX_MS)}` },
  idempotency: { leftOut: `copies of responses, for ${durationIn('day', IDEMPOTENCY_KEY_MS, 'article')}` },
  passwords: { leftOut: 'secret' },
  sign_ins: { leftOut: 'secret' },
  links: { leftOut: 'secret' },
  account_emails: { leftOut: 'only until they are sent' },
  message_notices: { leftOut: 'only until they are sent' },
  mail_stops: { leftOut: 'secret' },
  message_notes: 'notes',
  message_replies: 'replies',
  blocked_senders: 'blockedSenders',
} as const satisfies Record<AccountTable, string | { readonly leftOut: string }>;

/** The options of an export. */
interface ExportOptions {
  /** Production's database. */
  readonly accounts: Database;
  readonly deployments: readonly LocalContext[];
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Writes a value as JSON; `JSON.stringify` by default. */
  readonly stringify?: (value: unknown) => string;
}

/**
 * Yields the data of an account as the parts of one JSON object: the account with its keys, sessions, events, usage and
 * request log, and per deployment its organization and other resources, as the account sees them. Reads page by page,
 * so that memory does not limit the size.
 */
export async function* exportAccount(
  { accounts, deployments, now, stringify = JSON.stringify }: ExportOptions,
  id: number,
): AsyncGenerator<string> {
  const account = await getAccount(accounts, id);
  const own = {
    account: withTimes(account),
    keys: (await listKeys(accounts, id)).map(key => ({ ...withTimes(key), state: keyState(key, now) })),
    ...(await membersOf(accounts, account)),
    invitations: (await listInvitations(accounts, id, now)).map(withTimes),
    sessions: (await listAccountSessions(accounts, id, now)).map(withTimes),
    events: await ownEvents(accounts, id),
  };
  yield stringify(own).slice(0, -1);
  yield* arrayOf('usage', usagePages(accounts, id, now), stringify);
  yield* arrayOf('requests', requestPages(accounts, id), stringify);
  for (const deployment of deployments) {
    const organization = await findOrganization(deployment.database, id);
    yield `,"${deployment.name}":{"organization":${stringify(organization ? organizationValues.fullOf(organization) : null)}`;
    for (const [member, operation, filters] of lists) {
      yield `,"${member}":[`;
      yield* itemsOf(deployment, operation, filters, id, stringify);
      yield ']';
    }
    yield* arrayOf('inboxStates', inboxStatePages(deployment.database, id), stringify);
    for (const part of inboxParts) yield* arrayOf(part, inboxItems(deployment.database, part, id), stringify);
    yield '}';
  }
  yield '}';
}

/** Returns the members of an account with their choices and second factors, without secrets, and former members. */
async function membersOf(accounts: Database, account: Account) {
  const current = await listMembers(accounts, account.id);
  const members = await Promise.all(
    current.map(async member => {
      const { app, passkeys, recoveryCodes } = await listSecondFactors(accounts, member.id);
      const secondFactors = [
        ...(app === undefined ? [] : [{ kind: 'app', ...app }]),
        ...passkeys.map(({ name, createdAt, lastUsedAt }) => ({ kind: 'passkey', name, createdAt, lastUsedAt })),
      ];
      const notices = noticesOf(account, member);
      return { ...withTimes(member), notices, secondFactors: secondFactors.map(withTimes), recoveryCodes };
    }),
  );
  const formerMembers = Array.from(await memberNames(accounts, account.id), ([id, name]) => ({ id, name }));
  return { members, formerMembers: formerMembers.filter(former => current.every(({ id }) => id !== former.id)) };
}

/** Yields a member whose value is an array, a page of its items at a time. */
async function* arrayOf(
  name: string,
  pages: AsyncIterable<readonly unknown[]>,
  stringify: (value: unknown) => string,
): AsyncGenerator<string> {
  yield `,"${name}":[`;
  let separator = '';
  for await (const items of pages) {
    if (items.length === 0) continue;
    yield separator + items.map(item => stringify(item)).join(',');
    separator = ',';
  }
  yield ']';
}

/** Yields the usage of the account by key and hour, a day at a time. */
async function* usagePages(accounts: Database, accountId: number, now: number) {
  const dayHours = DAY_MS / HOUR_MS;
  const last = Math.floor(now / HOUR_MS);
  for (let from = last - USAGE_KEPT_MS / HOUR_MS; from <= last; from += dayHours) {
    const rows = await usageByKeyAndHour(accounts, { accountId, from, until: from + dayHours });
    yield rows.map(({ hour, ...row }) => ({ start: formatTime(hour * HOUR_MS), ...row }));
  }
}

/** Yields the request log of the account, newest first. */
async function* requestPages(accounts: Database, accountId: number) {
  let cursor: string | undefined;
  do {
    const page = await listRequests(
      accounts,
      accountId,
      {},
      { limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) },
    );
    yield page.rows.map(row => ({ deployment: row.deployment, ...loggedRequestOf(row) }));
    cursor = page.next;
  } while (cursor !== undefined);
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

/** Yields where the account has put each message that it received, and who takes care of it, a page at a time. */
async function* inboxStatePages(database: Database, accountId: number) {
  for (const folder of ['open', 'archived', 'spam'] as const) {
    let cursor: string | undefined;
    do {
      const request = { limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) };
      const { rows, next } = await listInbox(database, accountId, { folder }, request);
      yield rows.map(({ id, unread, assignedTo }) => ({
        ...{ messageId: messageIdOf(id), folder, unread: unread === 1, assignedTo },
      }));
      cursor = next;
    } while (cursor !== undefined);
  }
}

/** Yields what the account stores about its messages, a page at a time. */
async function* inboxItems(database: Database, part: InboxPart, accountId: number) {
  for await (const rows of inboxPages(database, part, accountId)) {
    yield rows.map(({ messageId, ...row }) => ({
      ...withTimes(row),
      ...(messageId !== undefined && { messageId: messageIdOf(messageId) }),
    }));
  }
}

/** Returns the events of the account itself and of its keys. `GET /v1/events` lists those of its other resources. */
async function ownEvents(accounts: Database, id: number) {
  const events = [
    ...(await eventsOf<object>(accounts, 'account', id)),
    ...(await eventsOf<object>(accounts, 'key', id)),
  ];
  return events.map(({ kind, action, at, data }) => ({ type: `${kind}.${action}`, time: formatTime(at), ...data }));
}

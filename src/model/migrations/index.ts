import { addColumn, type Migration } from '../../lib/storage/migration.ts';
import { nounTables } from '../nouns.ts';
import { initialSchema } from './0001-initial-schema.ts';
import { holdsAndOrders } from './0002-holds-and-orders.ts';
import { messages } from './0003-messages.ts';
import { webhooks } from './0004-webhooks.ts';
import { messageBounds } from './0011-message-bounds.ts';
import { webhookKeys } from './0012-webhook-keys.ts';
import { audit } from './0014-audit.ts';
import { keyBudgets } from './0015-key-budgets.ts';
import { sessions } from './0016-sessions.ts';
import { usage } from './0017-usage.ts';
import { profiles } from './0022-profiles.ts';
import { organizations } from './0023-organizations.ts';
import { photos } from './0024-photos.ts';
import { traitCounts } from './0026-trait-counts.ts';
import { imports } from './0027-imports.ts';
import { photoSources } from './0031-photo-sources.ts';
import { foldedLetters } from './0035-folded-letters.ts';
import { importBudgets } from './0036-import-budgets.ts';
import { people } from './0047-people.ts';
import { secondFactors } from './0048-second-factors.ts';
import { inbox } from './0050-inbox.ts';
import { messageNotices } from './0051-message-notices.ts';
import { classicSandboxes } from './0052-classic-sandboxes.ts';

/**
 * The migrations of no single noun, and of nouns that were defined before nouns had their own. Long ones have files.
 */
const shared: readonly Migration[] = [
  initialSchema,
  holdsAndOrders,
  messages,
  webhooks,
  { name: '0005-old-days-go', up: () => ['create index day_counts_by_day on day_counts (day)'] },
  addColumn('0006-mail-comes-to-all', 'messages', 'mail_left', 'text'),
  // Adds the number of open orders of each account.
  {
    name: '0007-bounds',
    up: ({ int, end }) => [
      `create table order_counts (account_id ${int} primary key, open ${int} not null) ${end}`,
      `insert into order_counts (account_id, open)
       select account_id, count(*) from orders where status in ('placed', 'approved') group by account_id`,
    ],
  },
  // Counts the pending deliveries of each webhook, and adds the end of the events that wait in the log.
  {
    name: '0008-pending-deliveries',
    up: ({ int }) => [
      `alter table webhooks add column pending ${int} not null default 0`,
      `alter table webhooks add column waits_up_to ${int}`,
      `update webhooks set pending =
       (select count(*) from deliveries where webhook_id = webhooks.id and deliveries.status = 'pending')`,
      `create index webhooks_waiting on webhooks (id) where status = 'active' and waits_up_to is not null`,
      `create index webhooks_unused on webhooks (updated_at)
       where status <> 'active' and (pending > 0 or waits_up_to is not null)`,
      'create index redeliveries_by_webhook on redeliveries (webhook_id, id)',
    ],
  },
  {
    name: '0009-pets-by-account',
    work: { title: 'indexes the pets of each account', table: 'pets', rowUs: { sqlite: 0.5, postgres: 0.5 } },
    up: () => ['create index pets_by_account on pets (account_id, id)'],
  },
  {
    name: '0010-categories-by-creator',
    up: ({ int }) => [
      `alter table categories add column creator_id ${int}`,
      'create index categories_by_creator on categories (creator_id) where creator_id is not null',
    ],
  },
  messageBounds,
  webhookKeys,
  // Adds the suspension and deletion of accounts, and the networks of keys.
  {
    name: '0013-account-lifecycle',
    up: ({ int, text }) => [
      `alter table accounts add column suspended_at ${int}`,
      `alter table accounts add column delete_at ${int}`,
      `alter table accounts add column deleted_at ${int}`,
      'create index accounts_to_delete on accounts (delete_at) where delete_at is not null',
      `alter table keys add column networks ${text}`,
    ],
  },
  audit,
  keyBudgets,
  sessions,
  usage,
  // Adds the messages of visitors that wait until their e-mail address is confirmed.
  {
    name: '0018-visitor-messages',
    up: ({ id, int, text, end }) => [
      `create table visitor_messages (
       id ${id}, pet_id ${int} not null, name ${text} not null, email ${text} not null, text ${text} not null,
       url ${text} not null, hash ${text}, created_at ${int} not null, expires_at ${int} not null, due_at ${int},
       failures ${int} not null default 0
     ) ${end}`,
      'create unique index visitor_messages_by_hash on visitor_messages (hash)',
      'create index visitor_messages_due on visitor_messages (due_at) where due_at is not null',
      'create index visitor_messages_by_expiry on visitor_messages (expires_at)',
    ],
  },
  // Marks the accounts of the sandbox.
  {
    name: '0019-sandbox',
    up: ({ int }) => [
      `alter table accounts add column sandbox ${int}`,
      'create index accounts_in_sandbox on accounts (id) where sandbox = 1',
    ],
  },
  // Adds the queue of e-mail about accounts, and whether the owner of an account asked for its deletion.
  {
    name: '0020-account-emails',
    up: ({ id, int, text, end }) => [
      `alter table accounts add column deletion_by_owner ${int}`,
      `create table account_emails (
       id ${id}, kind ${text} not null, account_id ${int}, email ${text} not null, url ${text} not null,
       created_at ${int} not null, due_at ${int} not null, failures ${int} not null
     ) ${end}`,
      'create index account_emails_due on account_emails (due_at)',
      'create index account_emails_by_account on account_emails (account_id)',
      'create index account_emails_by_time on account_emails (created_at)',
    ],
  },
  // Adds until when the address of an account must be confirmed. Accounts that exist need no confirmation.
  {
    name: '0021-unconfirmed-accounts',
    up: ({ int }) => [
      `alter table accounts add column confirm_by ${int}`,
      'create index accounts_to_confirm on accounts (confirm_by) where confirm_by is not null',
    ],
  },
  profiles,
  organizations,
  photos,
  // Adds the index of the words of pets. A job adds the words of existing pets; see `store/search/word-index.ts`.
  {
    name: '0025-words',
    up: ({ engine, int, text }) => [
      `create table pet_words (word ${text} not null, pet_id ${int} not null, primary key (word, pet_id))
     ${engine === 'sqlite' ? 'without rowid, strict' : ''}`,
      `insert into facts (name, value)
       select 'words', case when exists (select 1 from pets) then 'filling 0' else 'complete' end`,
      `insert into facts (name, value) values ('words_of_descriptions', 'off')`,
    ],
  },
  traitCounts,
  imports,
  // Lets an order have several pets. The orders of a pet are found by its reservations, which every order has.
  {
    name: '0028-bonded-orders',
    up: ({ text }) => [
      `alter table orders add column pet_ids ${text}`,
      'drop index orders_by_pet',
      'create index reservations_by_pet_and_order on reservations (pet_id, order_id) where order_id is not null',
    ],
  },
  {
    name: '0029-category-values',
    up: ({ text }) => ['breeds', 'colors'].map(column => `alter table categories add column ${column} ${text}`),
  },
  {
    name: '0030-pets-by-owner',
    up: () => [
      `insert into pet_counts (kind, key, slot, pets)
       select 'owner', cast(account_id as text), 0, count(*) from pets group by account_id`,
    ],
  },
  photoSources,
  // Adds the postal codes that operators import.
  {
    name: '0032-postal-codes',
    up: ({ engine, int, text }) => [
      `create table postal_codes (
       country ${text} not null, code ${text} not null, latitude ${int} not null, longitude ${int} not null,
       places ${int} not null, import_number ${int} not null, primary key (country, code)
     ) ${engine === 'sqlite' ? 'without rowid, strict' : ''}`,
    ],
  },
  {
    name: '0033-photo-deletions',
    up: ({ int }) => [`alter table photos add column deleting_since ${int}`],
  },
  {
    name: '0034-organization-photos',
    up: ({ text }) => [`alter table organizations add column photos ${text}`],
  },
  foldedLetters,
  importBudgets,
  // Adds the round robin of deliveries between the accounts that caused their events.
  {
    name: '0037-delivery-turns',
    work: { title: 'adds the turns of deliveries', table: 'deliveries', rowUs: { sqlite: 1.5, postgres: 0.3 } },
    up: ({ int }) => [
      ...['cause_id', 'turn', 'ahead'].map(column => `alter table deliveries add column ${column} ${int}`),
      'create index deliveries_by_turn on deliveries (webhook_id, turn, due_at) where due_at is not null',
      `create index deliveries_by_cause on deliveries (webhook_id, cause_id, turn)
       where status = 'pending' and turn is not null`,
      'create index deliveries_ahead on deliveries (webhook_id, place) where ahead = 1',
      `insert into facts (name, value) values ('dispatched-ahead', '0')`,
    ],
  },
  // Adds the resources whose events are to be deleted, and the number of events that were.
  {
    name: '0038-event-deletions',
    up: ({ id, int, text, end }) => [
      `create table event_deletions (
       id ${id}, kind ${text} not null, subject_id ${int} not null, keeps ${text}, due_at ${int} not null
     ) ${end}`,
      'create index event_deletions_by_time on event_deletions (due_at)',
      'create index event_deletions_by_subject on event_deletions (kind, subject_id)',
      `insert into facts (name, value) values ('deleted events', '0')`,
    ],
  },
  addColumn('0039-import-pauses', 'imports', 'paused_until', 'int'),
  {
    name: '0040-photo-sizes',
    work: {
      title: 'finds the photos whose sizes are not counted',
      table: 'photos',
      rowUs: { sqlite: 0.7, postgres: 0.6 },
    },
    up: ({ int }) => [
      `alter table photos add column sizes_bytes ${int}`,
      'create index photos_uncounted on photos (hash) where sizes_bytes is null',
      "insert into facts (name, value) select 'photo-sizes', 'pets 0' where exists (select 1 from photos)",
    ],
  },
  {
    name: '0041-sandbox-accounts',
    up: ({ int, end }) => [`create table sandbox_accounts (account_id ${int} not null primary key) ${end}`],
  },
  // Lets events leave out long values that are stored elsewhere; see `model/log/long-values.ts`.
  {
    name: '0042-long-values',
    up: ({ int, text, end }) => [
      `create table replaced_values (
      pet_id ${int} not null,
      member ${text} not null,
      event_id ${int} not null,
      primary key (pet_id, member, event_id)
    ) ${end}`,
      `alter table nodes add column migration ${text}`,
    ],
  },
  addColumn('0043-import-dates', 'imports', 'date_order', 'text'),
  {
    name: '0045-notifications-to-mail',
    work: { title: 'indexes the messages to mail', table: 'messages', rowUs: { sqlite: 0.2, postgres: 0.2 } },
    up: () => [
      `create index notifications_to_mail on messages (to_account_id, id)
         where due_at is not null and account_id is null and pet_id is null`,
    ],
  },
  addColumn('0046-shelter-location', 'pets', 'shelter_location', 'text'),
  people,
  secondFactors,
  inbox,
  messageNotices,
  classicSandboxes,
];

/**
 * Every migration, oldest first: in the order of their names. A released migration is never edited, and its name never
 * changes, because databases store it.
 */
export const migrations: readonly Migration[] = [
  ...shared,
  ...nounTables.flatMap(({ migrations = [] }) => migrations),
].sort((one, other) => (one.name < other.name ? -1 : 1));

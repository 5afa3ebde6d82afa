import { addColumn, type Migration } from '../lib/storage/migration.ts';
import { initialSchema } from './0001-initial-schema.ts';
import { holdsAndOrders } from './0002-holds-and-orders.ts';
import { messages } from './0003-messages.ts';
import { webhooks } from './0004-webhooks.ts';
import { bounds } from './0007-bounds.ts';
import { pendingDeliveries } from './0008-pending-deliveries.ts';
import { messageBounds } from './0011-message-bounds.ts';
import { webhookKeys } from './0012-webhook-keys.ts';
import { accountLifecycle } from './0013-account-lifecycle.ts';
import { audit } from './0014-audit.ts';
import { keyBudgets } from './0015-key-budgets.ts';
import { sessions } from './0016-sessions.ts';
import { usage } from './0017-usage.ts';
import { visitorMessages } from './0018-visitor-messages.ts';
import { sandbox } from './0019-sandbox.ts';
import { accountEmails } from './0020-account-emails.ts';
import { unconfirmedAccounts } from './0021-unconfirmed-accounts.ts';
import { profiles } from './0022-profiles.ts';
import { organizations } from './0023-organizations.ts';
import { photos } from './0024-photos.ts';
import { words } from './0025-words.ts';
import { traitCounts } from './0026-trait-counts.ts';
import { imports } from './0027-imports.ts';
import { bondedOrders } from './0028-bonded-orders.ts';
import { photoSources } from './0031-photo-sources.ts';
import { postalCodes } from './0032-postal-codes.ts';
import { foldedLetters } from './0035-folded-letters.ts';
import { importBudgets } from './0036-import-budgets.ts';
import { deliveryTurns } from './0037-delivery-turns.ts';
import { eventDeletions } from './0038-event-deletions.ts';
import { longValues } from './0042-long-values.ts';

/**
 * Every migration, oldest first. Append only: a released migration is never edited, and its name never changes, because
 * databases store it. A migration of one statement stands here.
 */
export const migrations: readonly Migration[] = [
  initialSchema,
  holdsAndOrders,
  messages,
  webhooks,
  { name: '0005-old-days-go', up: () => ['create index day_counts_by_day on day_counts (day)'] },
  addColumn('0006-mail-comes-to-all', 'messages', 'mail_left', 'text'),
  bounds,
  pendingDeliveries,
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
  accountLifecycle,
  audit,
  keyBudgets,
  sessions,
  usage,
  visitorMessages,
  sandbox,
  accountEmails,
  unconfirmedAccounts,
  profiles,
  organizations,
  photos,
  words,
  traitCounts,
  imports,
  bondedOrders,
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
  postalCodes,
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
  deliveryTurns,
  eventDeletions,
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
  longValues,
  addColumn('0043-import-dates', 'imports', 'date_order', 'text'),
  {
    name: '0045-notifications-to-mail',
    work: { title: 'indexes the messages to mail', table: 'messages', rowUs: { sqlite: 0.2, postgres: 0.2 } },
    up: () => [
      `create index notifications_to_mail on messages (to_account_id, id)
         where due_at is not null and account_id is null and pet_id is null`,
    ],
  },
];

import type { Migration } from '../lib/storage/migration.ts';
import { theHouseStands } from './0001-initial-schema.ts';
import { theStoreOpens } from './0002-holds-and-orders.ts';
import { messagesArrive } from './0003-messages.ts';
import { webhooksGoOut } from './0004-webhooks.ts';
import { oldDaysGo } from './0005-day-count-retention.ts';
import { mailComesToAll } from './0006-email-recipients.ts';

/** Every step of the schema, oldest first. Append only. */
export const migrations: readonly Migration[] = [
  theHouseStands,
  theStoreOpens,
  messagesArrive,
  webhooksGoOut,
  oldDaysGo,
  mailComesToAll,
];

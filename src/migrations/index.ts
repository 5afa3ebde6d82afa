import { addColumn, type Migration } from '../lib/storage/migration.ts';
import { initialSchema } from './0001-initial-schema.ts';
import { holdsAndOrders } from './0002-holds-and-orders.ts';
import { messages } from './0003-messages.ts';
import { webhooks } from './0004-webhooks.ts';
import { dayCountRetention } from './0005-day-count-retention.ts';

/**
 * Every migration, oldest first. Append only: a released migration is never edited, and its name never changes, because
 * databases store it. A migration that only adds a column is one line here.
 */
export const migrations: readonly Migration[] = [
  initialSchema,
  holdsAndOrders,
  messages,
  webhooks,
  dayCountRetention,
  addColumn('0006-mail-comes-to-all', 'messages', 'mail_left', 'text'),
];

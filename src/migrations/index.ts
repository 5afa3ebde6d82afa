import type { Migration } from '../lib/storage/migration.ts';
import { theHouseStands } from './0001-the-house-stands.ts';
import { theStoreOpens } from './0002-the-store-opens.ts';
import { messagesArrive } from './0003-messages-arrive.ts';
import { webhooksGoOut } from './0004-webhooks-go-out.ts';
import { oldDaysGo } from './0005-old-days-go.ts';
import { mailComesToAll } from './0006-mail-comes-to-all.ts';

/** Every step of the schema, oldest first. Append only. */
export const migrations: readonly Migration[] = [
  theHouseStands,
  theStoreOpens,
  messagesArrive,
  webhooksGoOut,
  oldDaysGo,
  mailComesToAll,
];

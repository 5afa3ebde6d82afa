import type { Migration } from '../lib/storage/migration.ts';
import { theHouseStands } from './0001-the-house-stands.ts';

/** Every step of the schema, oldest first. Append only. */
export const migrations: readonly Migration[] = [theHouseStands];

import { join } from 'node:path';
import { createDatabase, withoutPostgres } from './engines.ts';
import { skipFor } from './selection.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A place without data: a data directory, or one database or two with one. */
export interface EmptyPlace {
  /** The settings that name it. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** The kinds of places that a store can be in. */
export const emptyPlaces: { name: string; skip: string | false; create(): Promise<EmptyPlace> }[] = [
  {
    name: 'of the embedded engine',
    skip: false,
    create: async () => ({ environment: { PETSTORE_DATA_DIR: join(temporaryDirectory(), 'data') }, async close() {} }),
  },
  {
    name: 'of PostgreSQL',
    skip: skipFor(withoutPostgres),
    async create() {
      const { url, remove } = await createDatabase({ empty: true });
      return { environment: { PETSTORE_DATABASE_URL: url, ...directories() }, close: remove };
    },
  },
  {
    name: 'of two PostgreSQL databases',
    skip: skipFor(withoutPostgres),
    async create() {
      const [one, other] = [await createDatabase({ empty: true }), await createDatabase({ empty: true })];
      return {
        environment: {
          ...{ PETSTORE_DATABASE_URL: one.url, PETSTORE_STAGING_DATABASE_URL: other.url },
          ...directories(),
        },
        close: async () => void (await Promise.all([one.remove(), other.remove()])),
      };
    },
  },
];

/** The directories of a store on PostgreSQL, which its server and commands share. */
function directories() {
  return { PETSTORE_DATA_DIR: temporaryDirectory(), PETSTORE_PHOTOS_DIRECTORY: temporaryDirectory() };
}

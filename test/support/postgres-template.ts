import { migrateDatabase, onServer, postgresUrl, run, TEMPLATE_SETTING, withoutPostgres } from './engines.ts';

const name = `petstore_test_template_${process.pid}`;

/** Creates the template of a whole run: a migrated database, of which every suite on PostgreSQL gets a copy. */
export async function globalSetup(): Promise<void> {
  if (withoutPostgres !== undefined) return;
  await onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`));
  await migrateDatabase(Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href);
  process.env[TEMPLATE_SETTING] = name;
}

/** Deletes the template. */
export async function globalTeardown(): Promise<void> {
  if (withoutPostgres !== undefined) return;
  await onServer(connection => run(connection, `drop database if exists ${name} with (force)`));
}

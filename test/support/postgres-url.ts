/** The PostgreSQL server for the databases of tests. */
export const postgresUrl = process.env.PETSTORE_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** The tests share a busy machine: PostgreSQL gets 15 s for a connection and 24 s for a call. */
export const TIMEOUT_SCALE = 10;

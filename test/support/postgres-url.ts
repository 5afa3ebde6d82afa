/** The PostgreSQL server for the databases of tests. */
export const postgresUrl = process.env.PETSTORE_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

// Runs a statement of ten minutes on a connection without limits. Arguments: the URL of a server, and the name of the connection.

import { postgresServer } from '../../src/lib/storage/postgres/connection.ts';

const [url, name] = process.argv.slice(2) as [string, string];
const connection = await postgresServer(url).connect(name, { unlimited: true });
await connection.query(Number.POSITIVE_INFINITY, 'select pg_sleep(600)');

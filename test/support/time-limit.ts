// Ends a process in which no test has ended for a quarter of an hour, and says what keeps it alive. A server or a connection
// that a failed test leaves open would otherwise keep the whole run waiting. `npm run test:long` has no limit.
import { afterEach } from 'node:test';
import { long } from './selection.ts';

const LIMIT_MINUTES = 15;

// The runner of the files loads this too.
const isFile = process.env['NODE_TEST_CONTEXT'] !== undefined;

if (isFile && !long) {
  const limit = setTimeout(() => {
    const active = process.getActiveResourcesInfo().join(', ');
    console.error(`${process.argv[1]} has ended no test for ${LIMIT_MINUTES} minutes. Active: ${active}`);
    process.exit(1);
  }, LIMIT_MINUTES * 60_000);
  limit.unref();
  afterEach(() => void limit.refresh());
}

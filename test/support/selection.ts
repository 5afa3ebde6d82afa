import { describe, it } from 'node:test';

/**
 * Which tests a run includes. `test/run --quick` selects the files of the quick tests; in those, suites on PostgreSQL and
 * Valkey are skipped.
 */
const quick = process.env.PETSTORE_TEST_QUICK === '1';

/** Whether this is a run of the long tests (`npm run test:long`), with many more rounds. */
export const long = process.env.PETSTORE_TEST_LONG === '1';

/**
 * How long a response may take while the service lacks something it needs, and how long it may take to recover. The long
 * tests run alone and require what the documentation promises. Other runs share the processors with other test files,
 * which delay a response by several seconds on a slow machine.
 */
export const RESPONSE_MS = long ? 3000 : 10_000;
export const RECOVERY_MS = long ? 5000 : 10_000;

/** Why suites that need a server are skipped in this run. `undefined` in a run of all tests. */
export const withoutServers = quick ? 'not one of the quick tests' : undefined;

/** Whether a missing server or program fails its tests instead of skipping them. */
const mustRunAll = process.env.CI === 'true' && !quick;

/**
 * Returns why the suites of a server are skipped; `undefined` if it can be reached. Tries five times: a busy machine may
 * take longer to load the tests than a connection may take.
 */
export async function reasonWithout(tryToConnect: () => Promise<void>, setting: string): Promise<string | undefined> {
  let reason: string | undefined;
  for (let tries = 0; tries < 5; tries++) {
    try {
      await tryToConnect();
      return undefined;
    } catch (error) {
      reason = `left out: ${(error as Error).message} (${setting})`;
    }
  }
  return reason;
}

/** Returns the `skip` option of tests that cannot run for the reason `missing`. In CI they run, and fail. */
export function skipFor(missing: string | undefined): string | false {
  return missing === undefined || mustRunAll ? false : missing;
}

/** Registers a suite. If something is missing, one line says why it is skipped; in CI it fails. */
export function describeUnless(missing: string | undefined, name: string, suite: () => void) {
  if (missing === undefined) describe(name, suite);
  else if (mustRunAll) it(name, () => Promise.reject(new Error(missing)));
  else it(name, { skip: missing }, () => {});
}

/** How many parts the test files that go through all operations are divided into, each run by a process of its own. */
export const PARTS = 3;

/** Returns the operations that this process tests: all, or those of some tags in a run of all tests. */
export function operationsHere<Operation extends { readonly tag: string }>(operations: readonly Operation[]) {
  const part = process.env['PETSTORE_TEST_PART'];
  if (part === undefined) return operations;
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return operations.filter(({ tag }) => tags.indexOf(tag) % PARTS === Number(part));
}

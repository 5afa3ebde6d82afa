import type { Database, Transaction } from '../../src/model/schema.ts';

/** The message of the errors that `interruptions` throws. */
export const INTERRUPTED = 'interrupted';

/** Returns a function that makes databases fail as in a crash: every third write is rolled back, and the result of every fifth lost. */
export function interruptions(): (database: Database) => Database {
  let writes = 0;
  return database =>
    new Proxy(database, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        if (name !== 'write') return member.bind(target);
        return async (work: (tx: Transaction) => Promise<unknown>) => {
          const number = ++writes;
          const result = await target.write(async tx => {
            const value = await work(tx);
            if (number % 3 === 0) throw new Error(INTERRUPTED);
            return value;
          });
          if (number % 5 === 0) throw new Error(INTERRUPTED);
          return result;
        };
      },
    });
}

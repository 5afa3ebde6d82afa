import { type Database, type Params, query, sql } from './schema.ts';

/**
 * The fact with the URL of the pages on the server that started last, for commands on its machine and for links in
 * e-mails.
 */
export const PORTAL_FACT = 'portal-url';

/** Selects the value of a fact: a single value that a deployment stores under a name. */
export const factNamed = query((db, p: Params<{ name: string }>) =>
  db.selectFrom('facts').select('value').where('name', '=', p.name),
);

/** Selects the value of a fact, and locks it until the transaction ends. */
export const lockedFact = query((db, p: Params<{ name: string }>, engine) =>
  db
    .selectFrom('facts')
    .select('value')
    .where('name', '=', p.name)
    .$if(engine === 'postgres', fact => fact.forUpdate()),
);

/** Stores a fact unless it is stored already; returns 1 row if it was not. */
export const insertFact = query((db, p: Params<{ name: string; value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: p.name, value: p.value })
    .onConflict(conflict => conflict.column('name').doNothing()),
);

/** Stores a fact, or replaces its value. */
export const storeFact = query((db, p: Params<{ name: string; value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: p.name, value: p.value })
    .onConflict(conflict => conflict.column('name').doUpdateSet(eb => ({ value: eb.ref('excluded.value') }))),
);

export const deleteFact = query((db, p: Params<{ name: string }>) => db.deleteFrom('facts').where('name', '=', p.name));

/** The fact that no older release serves a PostgreSQL database; named after its first use. */
const UPGRADED = 'long-values';

/**
 * Records that every process which serves a PostgreSQL database knows the migration `0042-long-values`. Before that, an
 * older release must be able to use its data and pages.
 */
export async function recordUpgraded(database: Database): Promise<void> {
  await database.write(tx => tx.run(insertFact, { name: UPGRADED, value: 'left out' }));
}

/** Whether no older release serves a PostgreSQL database, in SQL. */
export const isUpgraded = sql<boolean>`exists (select 1 from facts where name = ${sql.lit(UPGRADED)})`;

import { randomBytes } from 'node:crypto';
import { type Database, type Params, query } from '../schema.ts';

/**
 * Returns the prefix of this database's keys in Valkey, the same for all its nodes, so that several databases can share
 * one Valkey.
 */
export async function sharedPrefix(database: Database): Promise<string> {
  const known = await database.first(prefix, {});
  if (known !== undefined) return known.value;
  return await database.write(async tx => {
    await tx.run(addPrefix, { value: `petstore ${randomBytes(9).toString('base64url')} ` });
    return (await tx.first(prefix, {}))!.value;
  });
}

const NAME = 'shared-counts-prefix';

const prefix = query(db => db.selectFrom('facts').select('value').where('name', '=', NAME));

const addPrefix = query((db, p: Params<{ value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: NAME, value: p.value })
    .onConflict(conflict => conflict.doNothing()),
);

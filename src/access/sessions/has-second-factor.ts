import { type Params, query, type Reader, sql } from '../../model/schema.ts';

/** Reports whether a person has a second factor, an authenticator app or a passkey, and must give it to sign in. */
export async function hasSecondFactor(reader: Reader, personId: number): Promise<boolean> {
  return (await reader.first(anyFactor, { personId })) !== undefined;
}

const anyFactor = query((db, p: Params<{ personId: number }>) =>
  db
    .selectFrom('authenticator_apps')
    .select(sql<number>`1`.as('found'))
    .where('person_id', '=', p.personId)
    .where('confirmed_at', 'is not', null)
    .unionAll(db.selectFrom('passkeys').select(sql<number>`1`.as('found')).where('person_id', '=', p.personId))
    .limit(1),
);

import { type Params, query, type Reader } from '../../model/schema.ts';

/** The number of an inbox's newest messages that `countMessagesByPet` reads. */
const MESSAGES_READ = 2000;

/** Returns the numbers of open messages to an account about each animal that have no reply, among its newest 2,000. */
export async function countMessagesByPet(reader: Reader, accountId: number): Promise<ReadonlyMap<number, number>> {
  const rows = await reader.all(messagesByPet, { accountId, read: MESSAGES_READ });
  return new Map(rows.map(({ petId, messages }) => [petId!, messages]));
}

const messagesByPet = query((db, p: Params<{ accountId: number; read: number }>) => {
  const newest = db
    .selectFrom('messages')
    .select('pet_id')
    .where('to_account_id', '=', p.accountId)
    .where('arrived_at', 'is not', null)
    .where('folder', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('message_replies').select('message_id').whereRef('message_id', '=', 'messages.id'))),
    )
    .orderBy('id', 'desc')
    .limit(p.read);
  return db
    .selectFrom(newest.as('newest'))
    .select(({ fn }) => ['pet_id as petId', fn.countAll<number>().as('messages')])
    .where('pet_id', 'is not', null)
    .groupBy('pet_id');
});

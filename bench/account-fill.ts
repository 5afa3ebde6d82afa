import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { createAccount } from '../src/access/accounts/accounts.ts';
import { memberNames } from '../src/access/people/members.ts';
import { openOffline } from '../src/lib/storage/open.ts';
import { DAY_MS, formatDate, formatTime } from '../src/lib/time.ts';
import type { NewPet } from '../src/model/pet.ts';
import type { Transaction } from '../src/model/schema.ts';
import { copyDatabase } from '../src/operate/copy/copy-database.ts';
import { createHold, releaseHold } from '../src/store/holds/holds.ts';
import { placeOrder } from '../src/store/orders/orders.ts';
import { approveOrder, cancelOrder, deliverOrder } from '../src/store/orders/steps.ts';
import { createPet } from '../src/store/pets/pets.ts';
import { LOCATION_FACT } from '../src/store/photos/location.ts';
import type { TestService } from '../test/support/serving.ts';
import { signedIn, signedInAs, type Visitor } from '../test/web/session.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The numbers of rows of the filled account. */
export const sizes = {
  animals: 10_000,
  messages: 20_000,
  orders: 2000,
  holds: 1000,
  members: 50,
  webhooks: 50,
  deliveries: 10_000,
  changes: 10_000,
  requests: 10_000,
} as const;

const ROWS_PER_WRITE = 250;
/** A hash of a photo begins with the id of its animal. */
const HASH_LENGTH = 64;

/**
 * Fills the service with an account of these sizes, and returns its owner. Half of the messages, all further changes
 * and half of the deliveries are of one animal and one webhook: the first. Animals and what is reserved are written by
 * the functions of the store, all else by statements.
 */
export async function fillAccount(service: TestService): Promise<Visitor> {
  const { production } = service.app.databases;
  const owner = await signedIn(service, { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000_000 });
  const { accountId } = owner;
  const adopter = await production.write(tx => createAccount(tx, { email: 'adopter@example.org', name: 'An adopter' }));
  while ((await memberNames(production, accountId)).size < sizes.members) await signedInAs(service, accountId, 'staff');

  const inWrites = async (count: number, write: (tx: Transaction, index: number) => Promise<unknown>) => {
    for (let from = 0; from < count; from += ROWS_PER_WRITE) {
      await production.write(async tx => {
        for (let index = from; index < Math.min(count, from + ROWS_PER_WRITE); index++) await write(tx, index);
      });
    }
  };
  await inWrites(sizes.animals, (tx, index) => createPet(tx, accountId, animal(index + 1), 'open'));
  const actorOf = (index: number) => ({ accountId: index % 2 === 0 ? accountId : adopter.id, admin: false });
  const first = { holds: 1001, orders: 3001 };
  await inWrites(sizes.holds, async (tx, index) => {
    const expiresAt = formatTime(tx.now + 3 * DAY_MS);
    const hold = { petId: first.holds + index, note: 'For the family of next door', expiresAt };
    const { id } = await createHold(tx, actorOf(index), hold, Number.POSITIVE_INFINITY);
    if (index % 4 === 3) await releaseHold(tx, actorOf(index), id);
  });
  await inWrites(sizes.orders, async (tx, index) => {
    const { id } = await placeOrder(tx, actorOf(index), { petId: first.orders + index, note: 'On Saturday' });
    const actor = actorOf(0);
    if (index % 5 === 0) await cancelOrder(tx, actor, id, {});
    else if (index % 5 > 1) await approveOrder(tx, actor, id, {});
    if (index % 5 > 3) await deliverOrder(tx, actor, id, {});
  });
  for (let key = 0; key < 20; key++) await service.newKey({ accountId, name: 'A key' });

  const sqlite = new SqliteDatabase(service.file);
  for (const statement of statementsFor(accountId, Date.now() - 10 * DAY_MS)) sqlite.exec(statement);
  sqlite.close();
  return owner;
}

/** Copies the filled database to a migrated PostgreSQL database, which takes a tenth of the time of filling it there. */
export async function copyToPostgres(service: TestService, url: string): Promise<void> {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'filled.db');
  const sqlite = new SqliteDatabase(service.file);
  sqlite.prepare('vacuum into ?').run(file);
  sqlite.close();
  await using opened = new AsyncDisposableStack();
  const source = await openOffline({ file });
  opened.defer(() => source.close());
  const target = await openOffline({ url });
  opened.defer(() => target.close());
  await source.begin([]);
  await copyDatabase(source, target, () => {});
  await target.rows(`delete from facts where name = '${LOCATION_FACT}'`);
}

const names = ['Bella', 'Max', 'Luna', 'Charlie', 'Lucy', 'Cooper', 'Daisy', 'Milo', 'Zoë', 'Rocky', 'Maggie'];
const breeds = ['Beagle', 'Labrador Retriever', 'Domestic Short Hair', 'Siamese', 'Dachshund', 'Rex', 'Poodle'];
const tags = ['friendly', 'senior', 'foster', 'shy', 'house trained', 'special diet', 'urgent'];

/** Returns an animal with a full profile. */
function animal(id: number): NewPet {
  const from = <T>(list: readonly T[], salt: number) => list[(id * salt) % list.length]!;
  return {
    name: `${from(names, 3)} ${id}`,
    categoryId: 1 + (id % 8),
    status: id % 10 === 0 && id > 5000 ? 'sold' : 'available',
    externalId: `A-${100_000 + id}`,
    microchips: [String(900_000_000_000_000 + id)],
    breeds: { primary: from(breeds, 5) },
    tags: [from(tags, 1), from(tags, 2)],
    sex: id % 2 === 0 ? 'female' : 'male',
    size: 'medium',
    intake: { date: formatDate((15_000 + (id % 4000)) * DAY_MS), kind: 'stray' },
    price: { amount: 100 + (id % 100), currency: 'USD' },
    ...(id % 7 !== 0 && { description: 'A friendly animal that likes long walks and short naps. '.repeat(8).trim() }),
    ...(id % 3 === 0 && id > 5000 && { group: { id: `Litter ${id % 500}`, kind: 'litter' } }),
  };
}

/** @param at when everything happened, in milliseconds since the Unix epoch */
function statementsFor(accountId: number, at: number): string[] {
  const numbers = (rows: number) => `with recursive numbers(id) as (
    select 1 union all select id + 1 from numbers where id < ${rows})`;
  const memberOf = (id: string) =>
    `(select min(person_id) + ${id} % ${sizes.members - 1} from members where account_id = ${accountId})`;
  const text = `'A visitor sent this. The visitor has confirmed the e-mail address.' || ${NEW_PARAGRAPH}
    || 'Visitor ' || id || ' <visitor-' || id || '@example.org>' || ${NEW_PARAGRAPH}
    || 'Is this animal still looking for a home? We have a garden and two children.'`;
  const hashOf = (letter: string) => `substr('${letter.repeat(HASH_LENGTH)}' || id, length('' || id) + 1)`;
  const photoOf = (letter: string) => `'{"id":"' || ${hashOf(letter)} || '","width":1200,"height":800,"bytes":200000}'`;
  const photos = ['a', 'b'].map(
    letter => `insert into photos (hash, type, bytes, width, height, refs, sizes_bytes)
      select ${hashOf(letter)}, 'image/jpeg', 200000, 1200, 800, 1, 90000 from pets where id % 5 > 0`,
  );
  const origin = `'{"accountId":${accountId},"sessionId":1,"requestId":"r","address":"127.0.0.1","personId":' || ${memberOf('id')} || '}'`;
  return [
    ...photos,
    `update pets set photos = '[' || ${photoOf('a')} || ',' || ${photoOf('b')} || ']' where id % 5 > 0`,
    `${numbers(sizes.messages)} insert into messages (to_account_id, pet_id, reply_to, text, status, arrived_at,
       created_at, updated_at, unread, folder, assigned_to)
     select ${accountId}, case when id % 2 = 0 then 1 else 1 + id % ${sizes.animals} end,
       'visitor-' || id || '@example.org', ${text}, 'delivered', ${at} + id, ${at} + id, ${at} + id,
       case when id / 2 % 3 = 0 then 1 end,
       case id / 2 % 10 when 8 then 'spam' when 7 then 'archived' when 6 then 'archived' end,
       case when id % 4 = 0 then ${memberOf('id')} end
     from numbers`,
    `insert into message_replies (message_id, account_id, person_id, email, url, text, created_at, sent_at)
     select id, ${accountId}, ${memberOf('id')}, reply_to, 'https://example.org', 'Yes, come and see.', ${at} + id, ${at} + id
     from messages where id % 7 = 0`,
    `insert into message_notes (message_id, account_id, person_id, text, created_at)
     select id, ${accountId}, ${memberOf('id')}, 'Called back, no answer.', ${at} + id from messages where id % 11 = 0`,
    `${numbers(sizes.webhooks)} insert into webhooks (account_id, url, status, created_at, updated_at)
     select ${accountId}, 'https://example.org/' || id, 'inactive', ${at}, ${at} from numbers`,
    `${numbers(sizes.deliveries)} insert into deliveries (webhook_id, place, type, lane, status, created_at, updated_at)
     select case when id % 2 = 0 then 1 else 1 + id % ${sizes.webhooks} end, id, 'pet.created', 'pet ' || id,
       case id % 9 when 0 then 'failed' else 'delivered' end, ${at} + id, ${at} + id from numbers`,
    `insert into delivery_attempts (delivery_id, number, at, duration_ms, status, answer)
     select id, 1, ${at} + id, 12, 200, 'ok' from deliveries`,
    `${numbers(sizes.changes)} insert into events (at, kind, action, subject_id, account_id, data, origin, audit_account_id)
     select ${at} + id, 'pet', 'updated', 1, ${accountId}, '{"was":{"shelterLocation":"Room ' || id || '"},' || substr(data, 2),
       ${origin}, ${accountId}
     from numbers cross join (select data from events where kind = 'pet' and subject_id = 1 order by events.id limit 1) as creation`,
    `${numbers(sizes.requests)} insert into requests (account_id, deployment, key_id, request_id, at, method, path,
       operation, status, duration_us)
     select ${accountId}, 'production', (select min(id) from keys where account_id = ${accountId}), 'r' || id,
       ${at} + id, 'GET', '/pets', 'listPets', 200, 1500 from numbers`,
    `insert into usage (account_id, deployment, hour, key_id, succeeded, client_errors, rate_limited, banned, server_errors, unlogged)
     select ${accountId}, 'production', ${Math.floor(at / 3_600_000)} + hours.id, keys.id, 100, 3, 1, 0, 0, 0
     from (${numbers(240)} select id from numbers) as hours cross join keys where account_id = ${accountId}`,
    `${numbers(50)} insert into imports (account_id, plan, origin, mode, preset, format, dry_run, state, chunks, next_chunk,
       after_id, up_to_id, row_count, rows_read, created, updated, unchanged, failed, removed, warnings, created_at, started_at, ended_at)
     select ${accountId}, 'enterprise', '{}', 'upsert', 'petstore', 'csv', 0, 'completed', 1, 2, 0, 0, 1000, 1000, 0, 0, 0, 1000, 0, 0,
       ${at}, ${at}, ${at} from numbers`,
    `${numbers(1000)} insert into import_errors (import_id, number, error)
     select 50, id, '{"level":"error","line":' || id || ',"column":"status","code":"invalid","message":"Not a status."}' from numbers`,
  ];
}

/** Two line feeds as a value of SQL. */
const NEW_PARAGRAPH = "'\n\n'";

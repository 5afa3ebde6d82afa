import type { RawBuilder } from 'kysely';
import type { EngineName } from '../../lib/storage/query.ts';
import { tablesOf } from '../../lib/storage/tables.ts';
import { migrations } from '../../model/migrations/index.ts';
import { type CheckSelect, type CheckValues, differences } from '../../model/noun.ts';
import { nounTables } from '../../model/nouns.ts';
import { type Params, type Query, query, sql } from '../../model/schema.ts';
import { bytesStored } from '../../store/messages/rows.ts';
import { birthBlocks } from '../../store/pets/facets.ts';
import { storedTraits } from '../../store/profile/traits.ts';

const member = (path: string, engine: EngineName) =>
  engine === 'postgres'
    ? sql`last.data::json #>> ${sql.lit(`{${path.replace('.', ',')}}`)}`
    : sql`last.data ->> ${sql.lit(`$.${path}`)}`;

/** The photos of all pets and organizations: `account_id` and `photo`, as JSON. */
const heldPhotos = (engine: EngineName) => {
  const each = engine === 'postgres' ? sql`json_array_elements(cast(photos as json)) as photo` : sql`json_each(photos)`;
  const photo = engine === 'postgres' ? sql`photo` : sql`value as photo`;
  return sql`(
    select account_id, ${photo} from pets, ${each}
    union all select organizations.id, ${photo} from organizations, ${each}
  ) as held_photos`;
};

const photoMember = (name: 'id' | 'bytes' | 'original', engine: EngineName) => {
  const member = engine === 'postgres' ? sql`(photo ->> ${sql.lit(name)})` : sql`(photo ->> ${sql.lit(`$.${name}`)})`;
  return name === 'bytes' ? sql`cast(${member} as bigint)` : member;
};

const position = (engine: EngineName) => sql.ref(engine === 'postgres' ? 'seq' : 'id');

/** The last event of each pet. */
const lastEvents = sql`(
  select events.* from events
  join (select max(id) as last_id from events where kind = 'pet' group by subject_id) as latest on id = last_id
) as last`;

/** The numbers of animals by category, status and trait; see `store/pets/facets.ts`. */
const countedTraits = (engine: EngineName) =>
  [
    ...storedTraits.map(({ name, column }) => ({
      value: sql`${sql.lit(`${name}/`)} || ${sql.ref(column)}`,
      condition: sql`${sql.ref(column)} is not null`,
    })),
    ...birthBlocks.map(size => ({
      value: sql`${sql.lit(size === birthBlocks[0] ? 'born/' : `~${size}/`)} || cast(${floorOf(size)} as text)`,
      condition: sql`age is null and birth_date is not null`,
    })),
  ].flatMap(({ value, condition }) =>
    [sql`cast(category_id as text)`, sql`'0'`].map(
      category => sql`
        select ${plainText(sql`'animals by trait ' || ${category} || '/' || status || '/' || ${value}`, engine)} as name,
          1 as counted
        from pets where ${condition}`,
    ),
  );

/** Returns the index of the block of days that contains a birth; SQL division of integers rounds towards 0. */
function floorOf(size: number) {
  const day = sql`(birth_date / 86400000)`;
  const days = sql.lit(size);
  return sql`((${day} - ((${day} % ${days}) + ${days}) % ${days}) / ${days})`;
}

/** Every invariant that one statement can check, except those that the schema enforces. */
export const checks: readonly Check[] = [
  check(
    'one reservation per animal',
    () => sql`
      select 'Animal ' || pet_id || ' has ' || count(*) || ' active reservations.' as finding
      from reservations where active = 1 group by pet_id having count(*) > 1`,
  ),
  check(
    'status of reserved animals',
    () => sql`
      select 'Animal ' || pet_id || ' is reserved, but ' || case
        when pets.id is null then 'does not exist' when status <> 'pending' then 'its status is ' || status
        else 'its row and its reservation expire at different times' end || '.' as finding
      from reservations left join pets on pets.id = pet_id
      where active = 1
        and (pets.id is null or status <> 'pending' or coalesce(reserved_until, -1) <> coalesce(until, -1))`,
  ),
  check(
    'expiry of animals',
    () => sql`
      select 'Animal ' || id || ' has the expiry of a reservation, but no active one.' as finding
      from pets where reserved_until is not null
        and not exists (select 1 from reservations where pet_id = pets.id and active = 1)`,
  ),
  counter(
    'numbers of animals',
    sql`select 'animals by ' || kind || ' ' || key as name, pets as stored from pet_counts`,
    engine => sql`
      ${sql.join(countedTraits(engine), sql` union all `)} union all
      select 'animals by status ' || status as name, count(*) as counted from pets group by status
      union all select 'animals by owner ' || ${plainText(sql`cast(account_id as text)`, engine)}, count(*)
      from pets group by account_id
      union all select 'animals by category ' || ${plainText(sql`cast(category_id as text)`, engine)}, count(*)
      from pets group by category_id`,
  ),
  counter(
    'stored bytes',
    sql`select 'stored bytes of account ' || account_id as name, bytes as stored from stored_bytes`,
    () => sql`
      select 'stored bytes of account ' || account_id as name, ${bytesStored} as counted
      from messages where account_id is not null
      union all select 'stored bytes of account ' || account_id, octet_length(body) from idempotency
      union all select 'stored bytes of account ' || account_id, octet_length(text)
      from message_notes
      union all select 'stored bytes of account ' || account_id, octet_length(text) from message_replies
      union all select 'stored bytes of account ' || account_id, octet_length(rows)
      from import_chunks join imports on imports.id = import_id`,
  ),
  counter(
    'bytes of photos',
    sql`select 'bytes of photos of account ' || account_id as name, bytes as stored from photo_bytes`,
    engine => sql`
      select 'bytes of photos of account ' || account_id as name, ${photoMember('bytes', engine)} as counted
      from ${heldPhotos(engine)}`,
  ),
  check(
    'sizes of photos',
    (_, engine) => sql`
      select 'A photo of account ' || account_id || ' counts ' || counted || ' bytes, and has ' || expected || ': ' || hash || '.'
        as finding
      from (
        select account_id, hash, ${photoMember('bytes', engine)} as counted, bytes + sizes_bytes as expected
        from ${heldPhotos(engine)} join photos on hash = ${photoMember('id', engine)}
        where ${photoMember('original', engine)} is not null
      ) as held where counted <> expected`,
  ),
  counter(
    'uses of photos',
    sql`select 'uses of photo ' || hash as name, refs as stored from photos`,
    engine => sql`
      select 'uses of photo ' || ${plainText(photoMember('id', engine), engine)} as name, 1 as counted
      from ${heldPhotos(engine)}`,
  ),
  check(
    'members of accounts',
    () => sql`
      select 'Person ' || person_id || ' is a member of account ' || account_id || ', but ' || case
        when people.id is null then 'has no row.' else 'the account does not exist.' end as finding
      from members left join people on people.id = person_id left join accounts on accounts.id = account_id
      where people.id is null or accounts.id is null
      union all select 'Account ' || account_id || ' has members, but no owner.'
      from members where left_at is null group by account_id
      having count(case when role = 'owner' then 1 end) = 0`,
  ),
  check(
    'second factors',
    () =>
      sql`${sql.join(
        (['authenticator_apps', 'passkeys', 'recovery_codes', 'sign_ins'] as const).map(
          table => sql`
            select distinct ${sql.lit(`A row of ${table} belongs to person `)} || person_id || ', who does not exist.' as finding
            from ${sql.table(table)} where person_id not in (select id from people)`,
        ),
        sql` union all `,
      )}`,
  ),
  check(
    'positions of events',
    (_, engine) => sql`
      select 'The log ends at position ' || last || ', but has ' || present || ' events, and ' || deleted || ' were deleted.' as finding
      from (
        select max(${position(engine)}) as last, count(${position(engine)}) as present,
          (select cast(value as bigint) from facts where name = 'deleted events') as deleted
        from events
      ) as log where last <> present + deleted`,
  ),
  check('positions of the dispatch', (_, engine) => {
    const end = sql`(select coalesce(max(${position(engine)}), 0) from events)`;
    return sql`
      select 'Events are dispatched up to position ' || value || ', beyond the end of the log.' as finding
      from facts where name = 'dispatched' and cast(value as bigint) > ${end}
      union all select 'Webhook ' || id || ' continues after position ' || behind_place || ', beyond the end of the log.'
      from webhooks where behind_place > ${end}`;
  }),
  check(
    'last events of animals',
    (_, engine) => sql`
      select 'Animal ' || pets.id || case when last.id is null then ' has no event.'
        else ' differs from its last event, ' || last.id || '.' end as finding
      from pets left join ${lastEvents} on last.subject_id = pets.id
      where last.id is null or last.action = 'deleted' or ${member('pet.name', engine)} <> name
        or ${member('pet.status', engine)} <> status
        or cast(${member('pet.categoryId', engine)} as bigint) <> category_id`,
  ),
  check(
    'animals of events',
    () => sql`
      select 'Animal ' || subject_id || ' does not exist, but event ' || last.id || ' does not delete it.' as finding
      from ${lastEvents} where action <> 'deleted' and not exists (select 1 from pets where pets.id = subject_id)`,
  ),
  check(
    'long values of animals',
    () => sql`
      select 'The ' || member || ' that animal ' || pet_id || ' had before event ' || event_id || ' is missing.' as finding
      from replaced_values left join events on events.id = event_id and kind = 'pet' and subject_id = pet_id
        and action in ('updated', 'deleted')
      where events.id is null`,
  ),
  ...nounTables.flatMap(({ checks }) => Object.entries(checks).map(([name, select]) => check(name, select))),
  check('ids', (_, engine) => {
    const next = (table: string) =>
      engine === 'postgres'
        ? sql`pg_sequence_last_value(cast(pg_get_serial_sequence(${sql.lit(table)}, 'id') as regclass))`
        : sql`(select seq from sqlite_sequence where name = ${sql.lit(table)})`;
    const numbered = tablesOf(migrations).filter(({ assignsIds }) => assignsIds);
    const tops = numbered.map(
      ({ name }) =>
        sql`select ${sql.lit(name)} as name, (select max(id) from ${sql.table(name)}) as top, ${next(name)} as last`,
    );
    return sql`
      select 'The next id of ' || name || ' is ' || (coalesce(last, 0) + 1) || ', but id ' || top || ' exists.' as finding
      from (${sql.join(tops, sql` union all `)}) as sequences where top > coalesce(last, 0)`;
  }),
];

/** Objects that PostgreSQL itself reports as incomplete. */
export const postgresCheck = check(
  'indexes and constraints',
  () => sql`
    select 'The index ' || cast(relname as text) || ' is invalid.' as finding
    from pg_index join pg_class on pg_class.oid = indexrelid
    where not indisvalid and cast(cast(relnamespace as regnamespace) as text) = current_schema()
    union all select 'The constraint ' || cast(conname as text) || ' is not validated.' from pg_constraint
    where not convalidated and cast(cast(connamespace as regnamespace) as text) = current_schema()`,
);

const accountsOfNouns = nounTables.flatMap(({ name, accounts }) =>
  accounts.map(column => sql`select ${sql.ref(column)} as id from ${sql.table(name)}`),
);

/** Selects the ids of accounts that rows refer to, ascending, after a given id. */
export const namedAccounts = query((db, p: Params<{ after: number; limit: number }>) =>
  db
    .selectFrom(sql<{ id: number }>`(${sql.join(accountsOfNouns, sql` union `)})`.as('named'))
    .select('id')
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit),
);

/** An invariant of a deployment's database. */
export interface Check {
  /** The name of the check, as shown while it runs. */
  readonly name: string;
  /** Selects one sentence for each row that violates the invariant; null if the row is damaged. */
  readonly query: Query<Values, { finding: string | null }>;
}

interface Values extends CheckValues {
  limit: number;
}

/**
 * @param select returns one statement that selects one column `finding`: a single statement reads one snapshot on
 *   either engine
 */
function check(name: string, select: CheckSelect): Check {
  return {
    name,
    query: query((db, p: Params<Values>, engine) =>
      db
        .selectFrom(sql<{ finding: string | null }>`(${select(p, engine)})`.as('broken'))
        .select('finding')
        .limit(p.limit),
    ),
  };
}

/** Returns a check that a stored number equals the sum of rows, for each key. */
function counter(name: string, stored: RawBuilder<unknown>, rows: (engine: EngineName) => RawBuilder<unknown>): Check {
  return check(name, (_, engine) => differences(stored, rows(engine)));
}

/** Makes texts of columns and expressions comparable. */
const plainText = (text: RawBuilder<unknown>, engine: EngineName) =>
  engine === 'postgres' ? sql`(${text}) collate "C"` : text;

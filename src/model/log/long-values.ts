import { type PetState, petFields } from '../pet.ts';
import { type Params, query, type Reader, selectJsonNumbers, sql, type Transaction } from '../schema.ts';
import type { Event, NewEvent } from './event.ts';

// Each long value of an animal is stored once. While the animal has the value, it is in the animal's row, and events
// omit it. The event of the change that replaces the value, or deletes the animal, contains it as the previous value,
// and `replaced_values` refers to that event. So a change stores about its own size, and a new price does not store the
// description again.

/** The members of an animal that may be long; events omit only these. */
const longMembers = ['description', 'extra', 'videos', 'specialNeedsNotes'] as const satisfies (keyof PetState)[];
type LongMember = (typeof longMembers)[number];

/** The length from which values are omitted, in characters of JSON. Stored events depend on it: never raise it. */
const LENGTH_MIN = 200;

/** The omitted members of an event of an animal: they are null in its `pet`. */
interface Shortened {
  readonly omitted?: readonly LongMember[];
}

type PetData = Shortened & {
  readonly pet: Partial<PetState>;
  readonly was?: { readonly [K in LongMember]?: PetState[K] | null };
};

/**
 * Returns the data that the log stores for an event: without the long values that the animal's row has. `rowBytes` is
 * the number of bytes of long values that the change wrote to that row. Returns undefined for an event without long
 * values.
 */
export function withoutLongValues({
  kind,
  action,
  data,
}: NewEvent): { readonly data: object; readonly rowBytes: number } | undefined {
  if (kind !== 'pet' || action === 'deleted') return undefined;
  const { pet, was = {} } = data as PetData;
  const omitted = longIn(pet);
  if (omitted.length === 0) return undefined;
  const added = action === 'created' ? omitted : omitted.filter(member => member in was);
  return {
    data: { ...data, pet: { ...pet, ...Object.fromEntries(omitted.map(member => [member, null])) }, omitted },
    rowBytes: added.reduce((sum, member) => sum + Buffer.byteLength(JSON.stringify(pet[member])), 0),
  };
}

/** Records that the event of a change of a pet, just inserted, contains the long values that its change removed from the row. */
export async function recordReplaced(tx: Transaction, { action, subjectId, data }: NewEvent): Promise<void> {
  const { pet, was = {} } = data as PetData;
  const replaced = longIn(action === 'deleted' ? pet : was);
  if (replaced.length > 0) await tx.queue(insertReplaced, { petId: subjectId, members: JSON.stringify(replaced) });
}

function longIn(values: PetData['was'] & object): LongMember[] {
  return longMembers.filter(member => {
    const value = values[member];
    if (value === undefined || value === null) return false;
    return (typeof value === 'string' ? value : JSON.stringify(value)).length >= LENGTH_MIN;
  });
}

/**
 * Returns events of any kind with the long values that the log omits. Values of a deleted sandbox account stay absent.
 */
export async function withLongValues<E extends Event<unknown>>(reader: Reader, events: readonly E[]): Promise<E[]> {
  const sought = events.flatMap(event => {
    const { omitted = [] } = event.data as Shortened;
    return omitted.map(member => ({ event, member }));
  });
  if (sought.length === 0) return [...events];

  // Read the rows first: a value that is replaced afterwards is in the event that replaced it.
  const petIds = JSON.stringify([...new Set(sought.map(({ event }) => event.subjectId))]);
  const rows = new Map((await reader.all(longColumns, { petIds })).map(row => [row.id, row]));
  const keys = JSON.stringify(sought.map(({ event, member }) => [event.subjectId, member, event.id]));
  const found = await reader.all(replacements, { keys });
  const ids = JSON.stringify([...new Set(found.flatMap(({ eventId }) => eventId ?? []))]);
  const replacing = new Map((await reader.all(eventsById, { ids })).map(row => [row.id, row]));

  const values = new Map<E, { [K in LongMember]?: unknown }>();
  for (const [index, { event, member }] of sought.entries()) {
    const { eventId } = found[index]!;
    const value =
      eventId === null
        ? currentValue(rows.get(event.subjectId), member)
        : previousValue(replacing.get(eventId), member);
    values.set(event, { ...values.get(event), [member]: value });
  }
  return events.map(event => {
    const own = values.get(event);
    if (own === undefined) return event;
    const { omitted: _, pet, ...data } = event.data as PetData;
    const whole = Object.entries({ ...pet, ...own }).filter(([, value]) => value !== undefined);
    return { ...event, data: { pet: Object.fromEntries(whole), ...data } };
  });
}

function currentValue(row: LongColumns | undefined, member: LongMember): unknown {
  const stored = row?.[member] ?? undefined;
  const field = petFields[member];
  return stored !== undefined && 'codec' in field ? field.codec.decode(stored) : stored;
}

function previousValue(
  row: { readonly action: string; readonly data: string } | undefined,
  member: LongMember,
): unknown {
  if (row === undefined) return undefined;
  const { pet, was } = JSON.parse(row.data) as PetData;
  return (row.action === 'deleted' ? pet : was)?.[member] ?? undefined;
}

type LongColumns = { readonly id: number } & { readonly [K in LongMember]: string | null };

const longColumns = query((db, p: Params<{ petIds: string }>, engine) =>
  db
    .selectFrom('pets')
    .select(['id', 'description', 'extra', 'videos', 'special_needs_notes as specialNeedsNotes'])
    .where('id', 'in', selectJsonNumbers(p.petIds, engine)),
);

/**
 * Selects, for each animal, member and event in `keys` and in their order, the first later event that replaced the
 * value.
 */
const replacements = query((db, p: Params<{ keys: string }>, engine) => {
  const [keys, petId, member, after] =
    engine === 'sqlite'
      ? [sql`json_each(${p.keys})`, sql`value ->> 0`, sql`value ->> 1`, sql`value ->> 2`]
      : [
          sql`json_array_elements(cast(${p.keys} as json)) with ordinality as keys (value, key)`,
          ...[sql`(value ->> 0)::bigint`, sql`value ->> 1`, sql`(value ->> 2)::bigint`],
        ];
  return db
    .selectFrom(
      sql<{ key: number; eventId: number | null }>`(
        select key, (
          select min(event_id) from replaced_values where pet_id = ${petId} and member = ${member} and event_id > ${after}
        ) as "eventId" from ${keys}
      )`.as('found'),
    )
    .select('eventId')
    .orderBy('key');
});

const eventsById = query((db, p: Params<{ ids: string }>, engine) =>
  db.selectFrom('events').select(['id', 'action', 'data']).where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

/** Refers to the last event of the animal, which the transaction has just recorded. */
const insertReplaced = query((db, p: Params<{ petId: number; members: string }>, engine) =>
  db
    .insertInto('replaced_values')
    .columns(['pet_id', 'member', 'event_id'])
    .expression(
      sql`select cast(${p.petId} as bigint), ${engine === 'sqlite' ? sql`value` : sql`members`},
            (select max(id) from events where kind = 'pet' and subject_id = ${p.petId})
          from ${
            engine === 'sqlite'
              ? sql`json_each(${p.members})`
              : sql`json_array_elements_text(cast(${p.members} as json)) as members`
          }`,
    ),
);

/** Deletes the references to long values of animals whose events are deleted. */
export const forgetReplaced = query((db, p: Params<{ petIds: string }>, engine) =>
  db.deleteFrom('replaced_values').where('pet_id', 'in', selectJsonNumbers(p.petIds, engine)),
);

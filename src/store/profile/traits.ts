import type { Expression } from 'kysely';
import type { TSchema } from 'typebox';
import { memberKey } from '../../lib/fields/columns.ts';
import { Type } from '../../lib/type.ts';
import { Age, ages } from '../../model/age.ts';
import { Coat, profileFields, Sex, Size, YesNoUnknown } from '../../model/profile.ts';
import { amongTexts, type Params, type Reader, sql } from '../../model/schema.ts';

/** A field of the profile that is a filter of lists. */
interface Trait {
  /** Its column, and the key of its value in a row. */
  readonly column: string;
  readonly key: string;
  readonly schema: TSchema;
  readonly description: string;
  /** The SQL of its value as of `now`. */
  value(now: Expression<number>): Expression<string>;
}

/** The traits by the names of their filters. */
const traits: Readonly<Record<string, Trait>> = {
  sex: { ...stored('sex'), schema: Sex, description: 'Only animals of this sex.' },
  age: { ...stored('age'), schema: Age, description: 'Only animals of this age.', value: ageAsOf },
  size: { ...stored('size'), schema: Size, description: 'Only animals of this size.' },
  coat: { ...stored('coat'), schema: Coat, description: 'Only animals with this coat.' },
  ...answers('goodWith', profileFields.goodWith, member => memberKey('goodWith', member)),
  ...answers('traits', profileFields.traits, member => member),
};

/** The filters of a list by traits: for each, the values of which an animal has one. */
export type TraitFilter = Readonly<Record<string, readonly string[]>>;

/** The filters of a list by traits. For each trait, an animal must have one of the values. */
export const traitChoices: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(traits).map(([name, { schema }]) => [name, (schema as { readonly enum?: readonly string[] }).enum!]),
);

/** The query parameters of the filters. */
export const traitParameters: Readonly<Record<string, TSchema>> = Object.fromEntries(
  Object.entries(traits).map(([name, { schema, description }]) => {
    const [first] = traitChoices[name]!;
    return [name, Type.Optional(Type.Array(schema, { minItems: 1, maxItems: 6, description, examples: [[first]] }))];
  }),
);

/** Returns the filters by traits among the parameters of a request; `undefined` if there are none. */
export function traitFilterOf(parameters: Readonly<Record<string, unknown>>): TraitFilter | undefined {
  const found = Object.entries(parameters).filter(([name, value]) => name in traits && value !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found.map(([name, value]) => [name, value as string[]]));
}

/** The parameters of a query that filters by traits: JSON arrays. */
export type TraitValues = { readonly [Name in `trait_${string}`]: string };

/** Returns the query parameters of a filter. */
export function traitValues(filter: TraitFilter = {}): TraitValues {
  return Object.fromEntries(Object.entries(filter).map(([name, values]) => [`trait_${name}`, JSON.stringify(values)]));
}

/**
 * Returns the condition that an animal has one of the values of each trait. No index serves this condition.
 * @param names the traits of the filter
 */
export function hasTraits(
  names: readonly string[],
  p: Params<TraitValues & { readonly now: number }>,
  engine: Reader['engine'],
): Expression<boolean> {
  const conditions = names.map(name => amongTexts(traits[name]!.value(p.now), p[`trait_${name}`]!, engine));
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** Each trait with its column and the key of its value in a row. */
export const storedTraits = Object.entries(traits).map(([name, { column, key }]) => ({ name, column, key }));

/** The columns of the traits as of `now`, under their names. */
export function traitColumns(now: Expression<number>) {
  return Object.entries(traits).map(([name, { value }]) => sql<string | null>`${value(now)}`.as(name));
}

function stored(column: string, key = column): Pick<Trait, 'column' | 'key' | 'value'> {
  return { column, key, value: () => sql<string>`${sql.ref(column)}` };
}

/** The stored age, or else the age from the date of birth; see `ageAt`. */
function ageAsOf(now: Expression<number>): Expression<string> {
  const bands = ages.map(({ age, upTo }) => sql`when birth_date > ${now} - ${sql.lit(upTo)} then ${sql.lit(age)}`);
  return sql<string>`coalesce(age, case when birth_date is null then null ${sql.join(bands, sql` `)} else 'senior' end)`;
}

/** The traits that are members of an object of answers, each with a column. */
function answers(
  field: string,
  { columns, schema }: { readonly columns: Readonly<Record<string, string>>; readonly schema: object },
  nameOf: (member: string) => string,
): Record<string, Trait> {
  const { description, properties } = schema as {
    description: string;
    properties: Record<string, { description: string }>;
  };
  return Object.fromEntries(
    Object.entries(columns).map(([member, name]) => {
      const text = `${description} ${properties[member]!.description} Only animals with one of these values.`;
      return [nameOf(member), { ...stored(name, memberKey(field, member)), schema: YesNoUnknown, description: text }];
    }),
  );
}

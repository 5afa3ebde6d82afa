import { readFileSync } from 'node:fs';
import type { Static, TSchema } from 'typebox';
import { nearest } from '../../lib/suggestion.ts';
import { wordsIn } from '../../lib/text.ts';
import { Type } from '../../lib/type.ts';
import { Age } from '../../model/age.ts';
import { problem } from '../../model/errors.ts';
import type { PetRow, Warning } from '../../model/pet.ts';
import {
  type Breeds,
  Coat,
  type Colors,
  energies,
  GoodWith,
  Group,
  intakeKinds,
  outcomeKinds,
  Sex,
  Size,
  Traits,
  YesNoUnknown,
} from '../../model/profile.ts';
import { type Params, query, type Reader, sql } from '../../model/schema.ts';

/** The lists of values that differ between categories. */
const lists = ['breeds', 'colors', 'coats'] as const;
type List = (typeof lists)[number];
export type KnownValues = Readonly<Record<List, string[]>>;

const texts = (description: string) => Type.Array(Type.String(), { description });

/** The known values of the profile of the animals of a category. */
export const CategoryAttributes = Type.Object(
  {
    rootId: Type.Integer({ format: 'int64', description: 'The top-level category that this category belongs to.' }),
    breeds: texts('Known breeds. A pet can have another breed.'),
    colors: texts('Known colors. A pet can have another color.'),
    coats: texts('Usual coats.'),
    sexes: texts('Every value of `sex`.'),
    ages: texts('Every value of `age`, from the youngest.'),
    sizes: texts('Every value of `size`, from the smallest.'),
    energies: Type.Array(Type.Integer(), { description: 'Every value of `energy`, from calm to very active.' }),
    goodWith: texts('The members of `goodWith`.'),
    traits: texts('The members of `traits`.'),
    answers: texts('Every value of the members of `goodWith` and `traits`.'),
    intakeKinds: texts('Every value of `kind` of an `intake`.'),
    outcomeKinds: texts('Every value of `kind` of an `outcome`.'),
    groupKinds: texts('Every value of `kind` of a `group`.'),
  },
  { title: 'CategoryAttributes', description: 'The values of the profile of the animals of a category.' },
);
export type CategoryAttributes = Static<typeof CategoryAttributes>;

/** Returns the values of a category; throws `no_such_category`. */
export async function getAttributes(reader: Reader, categoryId: number): Promise<CategoryAttributes> {
  const values = await knownValues(reader, categoryId);
  if (values === undefined) throw problem('no_such_category', `There is no category ${categoryId}.`);
  return { ...values, ...fixed };
}

/**
 * Returns the known values of a category: the built-in ones of its root, and those that it and its ancestors add;
 * `undefined` if it does not exist. A root without built-in values has every coat.
 */
export async function knownValues(
  reader: Reader,
  categoryId: number,
): Promise<(KnownValues & { readonly rootId: number }) | undefined> {
  const path = await reader.all(ancestry, { id: categoryId });
  const root = path.at(-1);
  if (root === undefined) return undefined;
  const { breeds, colors, coats } = builtIn().get(root.id) ?? { breeds: [], colors: [], coats: Coat.enum };
  const added = (list: 'breeds' | 'colors') => path.flatMap(one => JSON.parse(one[list] ?? '[]') as string[]);
  return {
    rootId: root.id,
    breeds: merged(breeds, added('breeds')),
    colors: merged(colors, added('colors')),
    coats: [...coats],
  };
}

/** An unknown value of a pet. */
export interface UnknownValue {
  /** Its JSON Pointer in the pet. */
  readonly path: string;
  readonly list: List;
  readonly value: string;
}

/** Returns the unknown breeds, colors and coat of a pet. */
export function unknownValues(
  known: KnownValues,
  pet: Pick<PetRow, 'breeds' | 'colors' | 'coat'>,
): readonly UnknownValue[] {
  const breeds = JSON.parse(pet.breeds ?? '{}') as Breeds;
  const colors = JSON.parse(pet.colors ?? '{}') as Colors;
  const values: (readonly [path: string, list: List, value: string | null | undefined])[] = [
    ['/breeds/primary', 'breeds', breeds.primary],
    ['/breeds/secondary', 'breeds', breeds.secondary],
    ['/colors/primary', 'colors', colors.primary],
    ['/colors/secondary', 'colors', colors.secondary],
    ['/colors/tertiary', 'colors', colors.tertiary],
    ['/coat', 'coats', pet.coat],
  ];
  return values.flatMap(([path, list, value]) => {
    if (value === null || value === undefined || known[list].length === 0 || known[list].includes(value)) return [];
    return [{ path, list, value }];
  });
}

/** Returns the warning about an unknown value, with the nearest known one. The pet keeps its value. */
export function unknownValueWarning(known: KnownValues, { path, list, value }: UnknownValue): Warning {
  const near = nearestKnown(known[list], value);
  const message = `${value} is not a known value${near === undefined ? '.' : `; did you mean ${near}?`}`;
  return { path, code: 'unknown_value', message, value, ...(near !== undefined && { suggestion: near }) };
}

/** Returns a warning for each unknown value of a pet. */
export async function warningsAbout(reader: Reader, pet: PetRow): Promise<Warning[]> {
  if (pet.breeds === null && pet.colors === null && pet.coat === null) return [];
  const known = await knownValues(reader, pet.categoryId);
  return known === undefined ? [] : unknownValues(known, pet).map(value => unknownValueWarning(known, value));
}

/**
 * Returns the known value that is most similar to another one: a name, or one of the names of `Budgie / Budgerigar`,
 * with few different letters; otherwise the first that begins with it.
 */
export function nearestKnown(known: readonly string[], value: string): string | undefined {
  const names = new Map<string, string>();
  for (const name of known) for (const one of [name, ...name.split(' / ')]) names.getOrInsert(one, name);
  const near = nearest(value, [...names.keys()]);
  if (near !== undefined) return names.get(near);
  const beginning = value.toLowerCase();
  return known.find(name => name.toLowerCase().startsWith(beginning));
}

const membersOf = ({ properties }: { readonly properties: Readonly<Record<string, TSchema>> }) =>
  Object.keys(properties);

const fixed = {
  sexes: Sex.enum,
  ages: Age.enum,
  sizes: Size.enum,
  energies: [...energies],
  goodWith: membersOf(GoodWith),
  traits: membersOf(Traits),
  answers: YesNoUnknown.enum,
  intakeKinds: [...intakeKinds],
  outcomeKinds: [...outcomeKinds],
  groupKinds: Group.properties.kind.enum,
};

/** @param known sorted */
function merged(known: readonly string[], added: readonly string[]): string[] {
  return added.length === 0 ? [...known] : [...new Set([...known, ...added])].sort(byName);
}

const byName = (one: string, other: string) => one.localeCompare(other, 'en');

let breeds: ReadonlySet<string> | undefined;

/** Returns the built-in breeds of all categories in the form of searches, with each name of `Budgie / Budgerigar`. */
export function knownBreeds(): ReadonlySet<string> {
  breeds ??= new Set(
    Array.from(builtIn().values())
      .flatMap(values => values.breeds)
      .flatMap(name => name.split(' / '))
      .map(name => wordsIn(name).join(' ')),
  );
  return breeds;
}

let parsed: ReadonlyMap<number, KnownValues> | undefined;

/**
 * Returns the values of the built-in categories, by their ids.
 * @source `known-values.txt`: a line `ID LIST: VALUE; VALUE` for each list
 */
function builtIn(): ReadonlyMap<number, KnownValues> {
  if (parsed !== undefined) return parsed;
  const values = new Map<number, Record<List, string[]>>();
  for (const line of readFileSync(new URL('known-values.txt', import.meta.url), 'utf8').split('\n')) {
    const [, id, list, texts = ''] = /^(\d+) (\w+): ?(.*)$/.exec(line) ?? [];
    if (list === undefined) continue;
    const ofCategory = values.getOrInsertComputed(Number(id), () => ({ breeds: [], colors: [], coats: [] }));
    const found = texts.split('; ').filter(text => text !== '');
    // Coats keep their order, from the shortest.
    ofCategory[list as List] = list === 'coats' ? found : found.sort(byName);
  }
  parsed = values;
  return values;
}

/** A category and its ancestors, the root last. */
const ancestry = query((db, p: Params<{ id: number }>) =>
  db
    .withRecursive('above(id, parent_id, breeds, colors, level)', with_ =>
      with_
        .selectFrom('categories')
        .select(['id', 'parent_id', 'breeds', 'colors', sql<number>`0`.as('level')])
        .where('id', '=', p.id)
        .unionAll(
          with_
            .selectFrom('categories')
            .innerJoin('above', 'above.parent_id', 'categories.id')
            .select([
              'categories.id as id',
              'categories.parent_id as parent_id',
              'categories.breeds as breeds',
              'categories.colors as colors',
              sql<number>`above.level + 1`.as('level'),
            ]),
        ),
    )
    .selectFrom('above')
    .select(['id', 'breeds', 'colors'])
    .orderBy('level'),
);

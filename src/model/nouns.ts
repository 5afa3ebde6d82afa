import type { TableOf } from '../lib/fields/field.ts';
import { category } from './category.ts';
import { hold } from './hold.ts';
import { message } from './message.ts';
import type { Noun, NounEvents } from './noun.ts';
import { order } from './order.ts';
import { organization } from './organization.ts';
import { account, audit, ban, event, imports, key, webhook } from './other-nouns.ts';
import { pet } from './pet.ts';

/** Every noun, in the order of the documentation. */
export const nouns = {
  pet,
  import: imports,
  category,
  organization,
  hold,
  order,
  message,
  account,
  key,
  ban,
  audit,
  event,
  webhook,
} satisfies Readonly<Record<string, Noun>>;

type Nouns = typeof nouns;

/** The nouns with separate operations. */
export type TaggedNoun = { [N in keyof Nouns]: Nouns[N]['tag'] extends null ? never : N }[keyof Nouns];

type NounTableOf = NonNullable<Nouns[keyof Nouns]['table']>;

/** The names of the tables of nouns. */
export type NounTableName = NounTableOf['name'];

/** The tables whose columns derive from fields, as Kysely describes them. */
export type NounTables = {
  [T in NounTableOf as T['fields'] extends null ? never : T['name']]: TableOf<T['fields']>;
};

/** The kind of an event: the noun of its subject. */
export type EventKind = { [N in keyof Nouns]: Nouns[N]['events'] extends null ? never : N }[keyof Nouns];

/** The recorded actions of a kind. */
export type ActionOf<Kind extends EventKind> = keyof NonNullable<Nouns[Kind]['events']>['actions'] & string;

/** The events of each noun that has any. */
export const nounEvents = Object.fromEntries(
  Object.entries<Noun>(nouns).flatMap(([kind, { events }]) => (events === null ? [] : [[kind, events]])),
) as Readonly<Record<EventKind, NounEvents>>;

/** The steps of the deletion of an account that nouns name. */
export type DeletionStep = Extract<Nouns[keyof Nouns]['deletion'], readonly string[]>[number];

/** The table of each noun that has one. */
export const nounTables = Object.values<Noun>(nouns).flatMap(({ table }) => table ?? []);

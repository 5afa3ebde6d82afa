import type { RawBuilder } from 'kysely';
import type { TSchema } from 'typebox';
import type { Fields } from '../lib/fields/field.ts';
import type { Migration } from '../lib/storage/migration.ts';
import { type EngineName, type Params, sql } from '../lib/storage/query.ts';
import type { CommandForm } from './command-form.ts';
import type { Scope } from './scopes.ts';

/**
 * The definition of a noun: the data from which the product derives its parts, besides fields and schemas. `nouns.ts`
 * lists all nouns.
 */
export interface Noun {
  /** The tag of its operations in the documents; null if it has no separate operations. */
  readonly tag: Tag | null;
  /** Its table; null if its rows are only in production's database, or if it has no table. */
  readonly table: NounTable | null;
  /** Its events; null if it has none. */
  readonly events: NounEvents | null;
  /**
   * The part of the noun in the export of an account: by member, the list operation and its query, or null if
   * `export.ts` reads it differently. A text is the reason why the export omits it.
   */
  readonly exported: Readonly<Record<string, NounList | null>> | string;
  /**
   * How the deletion of an account deletes its resources: it deletes the rows, and the resource in their events, or
   * runs these steps of `operate/deletion/steps.ts`.
   */
  readonly deletion: 'rows' | readonly string[];
  /** The command-line forms of its operations, by verb: `list` is `petstore pet list`. */
  readonly commands: Readonly<Record<string, CommandForm>>;
}

export type NounList = readonly [operation: string, query: object];

/** The groups of tags, in the order of the documents. */
export const tagGroups = ['Catalogue', 'Store', 'Events', 'Account', 'Messages'] as const;

export interface Tag {
  readonly name: string;
  readonly description: string;
  readonly group: (typeof tagGroups)[number];
}

/** The table of a noun on each deployment. */
export interface NounTable {
  readonly name: string;
  /** The fields from which its columns derive; null if `schema.ts` has the table. */
  readonly fields: Fields | null;
  /** The migrations that create and change it. Without this list, they are in `migrations/`, as those of earlier nouns. */
  readonly migrations?: readonly Migration[];
  /** The columns with the ids of accounts that exist, the owner first. */
  readonly accounts: readonly string[];
  /** The checks of `petstore verify` by name, besides those of the ids and accounts of its rows. */
  readonly checks: Readonly<Record<string, CheckSelect>>;
}

/** The events of a noun. Their kind is the name of the noun. */
export interface NounEvents {
  /**
   * The effect of each action on the resource, by its name in the past tense. With the kind it forms the type,
   * `pet.created`.
   */
  readonly actions: Readonly<Record<string, 'creates' | 'changes' | 'deletes'>>;
  /** A key needs one of these scopes to see the events. */
  readonly scopes: readonly Scope[];
  /**
   * The accounts that see the events, besides admins: everyone; the `parties`, which are the owners in the event and
   * the account of the resource; or the `correspondents`, which are the account of the resource and, once it is
   * delivered, its recipient.
   */
  readonly visibleTo: 'everyone' | 'parties' | 'correspondents';
  /**
   * The accounts that see all members of an event that several accounts can see: the owners in the event, or the
   * account of the resource.
   */
  readonly belongsTo: 'owners' | 'account';
  /**
   * The resource in an event: after the change, or before its deletion. Null if `events/public/event-schemas.ts` has
   * it.
   */
  readonly data: TSchema | null;
  /** Returns the members that derive from the status, which the log omits. `at` is the time of the event. */
  derived?(status: unknown, at: number): Readonly<Record<string, unknown>>;
  /** Returns the id that callers see, if it is not the stored one. */
  shownId?(id: number): string;
}

/** Returns a `select` of one column `finding`, with one sentence for each row that violates an invariant. */
export type CheckSelect = (p: Params<CheckValues>, engine: EngineName) => RawBuilder<unknown>;

export interface CheckValues {
  /** The time of the check. Rows that end after it are not violations: they may have ended meanwhile. */
  readonly now: number;
}

/** Returns the select of a check that stored numbers equal counted ones: `name` and `stored`, `name` and `counted`. */
export function differences(stored: RawBuilder<unknown>, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
      select 'The stored number of ' || name || ' is ' || sum(stored) || ', and the rows have ' || sum(counted) || '.' as finding
      from (
        select name, stored, 0 as counted from (${stored}) as stored
        union all select name, 0, counted from (${rows}) as counted
      ) as numbers
      group by name having sum(stored) <> sum(counted)`;
}

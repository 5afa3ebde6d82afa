import { formatTime } from '../lib/time.ts';
import { sql } from '../schema.ts';
import type { Hold, HoldStatus } from './hold.ts';

/** A hold with its pets. Times are milliseconds since the Unix epoch. */
export interface HoldRow {
  readonly id: number;
  /** By id ascending, including pets that have been ordered. */
  readonly petIds: readonly number[];
  /** The owner of each pet, in the order of `petIds`. */
  readonly ownerIds: readonly number[];
  readonly accountId: number;
  readonly status: HoldStatus;
  readonly note: string | null;
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Increases with every change, from 1; part of the ETag. */
  readonly version: number;
}

/** A row of `holdColumns`, in which pets and owners are one text. */
export type HoldRecord = Omit<HoldRow, 'petIds' | 'ownerIds'> & { readonly pets: string | null };

/**
 * The columns of a hold as of a time. A hold whose expiry has passed reads as expired, with one more change, whether or
 * not its row has been updated.
 * @param now an expression: whole milliseconds since the Unix epoch
 */
export const holdColumns = (now: unknown) => {
  const expired = sql`holds.ended_at is null and holds.expires_at <= ${now}`;
  return [
    'holds.id',
    'holds.account_id as accountId',
    'holds.note',
    'holds.expires_at as expiresAt',
    'holds.created_at as createdAt',
    statusAt(now).as('status'),
    sql<number | null>`case when ${expired} then holds.expires_at else holds.ended_at end`.as('endedAt'),
    sql<number>`case when ${expired} then holds.expires_at else holds.updated_at end`.as('updatedAt'),
    sql<number>`case when ${expired} then holds.version + 1 else holds.version end`.as('version'),
    sql<string | null>`(
      select string_agg(pet_id || ' ' || owner_id, ',' order by pet_id) from reservations where hold_id = holds.id
    )`.as('pets'),
  ] as const;
};

/** The status of a hold as of a time, as an expression. */
export const statusAt = (now: unknown) => sql<HoldStatus>`case
  when holds.ended_at is not null then holds.outcome when holds.expires_at <= ${now} then 'expired' else 'active' end`;

/** Returns the hold of a row of `holdColumns`. */
export function parseHold({ pets, ...row }: HoldRecord): HoldRow {
  const pairs = pets === null ? [] : pets.split(',').map(pet => pet.split(' ').map(Number) as [number, number]);
  return { ...row, petIds: pairs.map(([petId]) => petId), ownerIds: pairs.map(([, ownerId]) => ownerId) };
}

/** Returns a hold as responses show it. */
export function holdOf({ note, endedAt, ...row }: HoldRow): Hold {
  return {
    id: row.id,
    petIds: [...row.petIds],
    accountId: row.accountId,
    status: row.status,
    ...(note !== null && { note }),
    expiresAt: formatTime(row.expiresAt),
    ...(endedAt !== null && { endedAt: formatTime(endedAt) }),
    createdAt: formatTime(row.createdAt),
    updatedAt: formatTime(row.updatedAt),
  };
}

/** Returns the entity tag of a version of a hold. */
export function holdEtag({ id, version }: Pick<HoldRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

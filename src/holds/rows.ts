import { formatTime } from '../lib/time.ts';
import { sql } from '../schema.ts';
import type { Hold, HoldStatus } from './hold.ts';

/** A hold with all there is to say about it. Times are milliseconds since the Unix epoch. */
export interface HoldRow {
  readonly id: number;
  /** By rising id; also those that were ordered since. */
  readonly petIds: readonly number[];
  /** Whose they are, in the same order. */
  readonly ownerIds: readonly number[];
  readonly accountId: number;
  readonly status: HoldStatus;
  readonly note: string | null;
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Counts the changes, from 1; what makes the ETag. */
  readonly version: number;
}

/** A hold as its columns have it: the animals and their owners are one text. */
export type HoldRecord = Omit<HoldRow, 'petIds' | 'ownerIds'> & { readonly pets: string | null };

/**
 * The columns of a hold as callers see it at a time. One that has run out by then is expired, whether or not its row
 * says so yet, and changed once more.
 * @param now the time, as an expression: whole milliseconds since the Unix epoch
 */
export const holdColumns = (now: unknown) => {
  const ranOut = sql`holds.ended_at is null and holds.expires_at <= ${now}`;
  return [
    'holds.id',
    'holds.account_id as accountId',
    'holds.note',
    'holds.expires_at as expiresAt',
    'holds.created_at as createdAt',
    statusAt(now).as('status'),
    sql<number | null>`case when ${ranOut} then holds.expires_at else holds.ended_at end`.as('endedAt'),
    sql<number>`case when ${ranOut} then holds.expires_at else holds.updated_at end`.as('updatedAt'),
    sql<number>`case when ${ranOut} then holds.version + 1 else holds.version end`.as('version'),
    sql<string | null>`(
      select string_agg(pet_id || ' ' || owner_id, ',' order by pet_id) from reservations where hold_id = holds.id
    )`.as('pets'),
  ] as const;
};

/** How a hold is at a time, as an expression. */
export const statusAt = (now: unknown) => sql<HoldStatus>`case
  when holds.ended_at is not null then holds.outcome when holds.expires_at <= ${now} then 'expired' else 'active' end`;

/** The hold that a row of `holdColumns` is. */
export function parseHold({ pets, ...row }: HoldRecord): HoldRow {
  const each = pets === null ? [] : pets.split(',').map(pet => pet.split(' ').map(Number) as [number, number]);
  return { ...row, petIds: each.map(([petId]) => petId), ownerIds: each.map(([, ownerId]) => ownerId) };
}

/** A hold as it is answered. */
export function holdOf({
  id,
  petIds,
  accountId,
  status,
  note,
  expiresAt,
  endedAt,
  createdAt,
  updatedAt,
}: HoldRow): Hold {
  return {
    id,
    petIds: [...petIds],
    accountId,
    status,
    ...(note !== null && { note }),
    expiresAt: formatTime(expiresAt),
    ...(endedAt !== null && { endedAt: formatTime(endedAt) }),
    createdAt: formatTime(createdAt),
    updatedAt: formatTime(updatedAt),
  };
}

/** The entity tag of a hold: another one after every change. */
export function holdEtag({ id, version }: Pick<HoldRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

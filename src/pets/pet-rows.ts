import type { Expression, SqlBool } from 'kysely';
import { formatTime } from '../lib/time.ts';
import { type PetStatus, type Reader, sql } from '../schema.ts';
import type { FullPet, Pet, Price } from './pet.ts';

/**
 * The columns of an animal as callers see it at a time. A hold or an order that has run out by then counts as gone,
 * whether or not its row says so yet: the animal is available, and changed once more.
 * @param now the time, as an expression: whole milliseconds since the Unix epoch
 */
export const petColumns = (now: unknown) =>
  [
    'id',
    'name',
    'category_id as categoryId',
    sql<PetStatus>`case when reserved_until <= ${now} then 'available' else status end`.as('status'),
  ] as const;

/** The same with all there is to say. */
export const fullPetColumns = (now: unknown) =>
  [
    ...petColumns(now),
    sql<string | null>`case when reserved_until <= ${now} then null else status_reason end`.as('statusReason'),
    'price_amount as priceAmount',
    'price_currency as priceCurrency',
    'account_id as accountId',
    'created_at as createdAt',
    sql<number>`case when reserved_until <= ${now} then reserved_until else updated_at end`.as('updatedAt'),
    sql<number>`case when reserved_until <= ${now} then version + 1 else version end`.as('version'),
  ] as const;

/** Whether a number is in a JSON array of numbers. */
export function among(number: Expression<number>, json: Expression<string>, engine: Reader['engine']) {
  return engine === 'sqlite'
    ? sql<SqlBool>`${number} in (select value from json_each(${json}))`
    : sql<SqlBool>`${number} = any (array(select value::bigint from json_array_elements_text(${json}::json)))`;
}

/** An animal with all there is to say, as its columns have it. */
export interface PetRow extends Required<Pet> {
  readonly statusReason: string | null;
  readonly priceAmount: number | null;
  readonly priceCurrency: string | null;
  readonly accountId: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** An animal as the contract shows it: these fields and no others. */
export function petOf({ id, name, categoryId, status }: PetRow): Pet {
  return { id, name, categoryId, status };
}

/** An animal with everything (`view=full`). */
export function fullPetOf(row: PetRow): FullPet {
  const price = priceOf(row);
  return {
    ...(petOf(row) as Required<Pet>),
    ...(row.statusReason !== null && { statusReason: row.statusReason }),
    ...(price && { price }),
    accountId: row.accountId,
    createdAt: formatTime(row.createdAt),
    updatedAt: formatTime(row.updatedAt),
    etag: petEtag(row),
  };
}

/** The price in two columns. */
export function priceOf({
  priceAmount,
  priceCurrency,
}: Pick<PetRow, 'priceAmount' | 'priceCurrency'>): Price | undefined {
  return priceAmount === null ? undefined : { amount: priceAmount, currency: priceCurrency! };
}

/** The entity tag of an animal: another one after every change. */
export function petEtag({ id, version }: Pick<PetRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

import { relative } from 'node:path';

export { withTimes } from '../lib/time.ts';

import type { Style } from './command.ts';
import { priceText } from './money.ts';
import { list, table } from './terminal.ts';

/** A JSON object to print. */
// biome-ignore lint/suspicious/noExplicitAny: the members differ from command to command
export type Value = Record<string, any>;

/** Returns the path of the launcher for commands to paste, relative to the current directory if it is below that. */
export function launcher(): string {
  const path = `${import.meta.dirname}/../../bin/petstore`;
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? `/${relative('/', path)}` : near;
}

/** Returns the members of an object as names and values. Omits absent members. */
export function describe(value: Value): string {
  const rows = Object.entries(value).map(([name, member]) => [labelOf(name), valueText(member)] as const);
  return list(rows.filter(([, text]) => text !== ''));
}

/** Returns objects as a table of the named members; `empty` when there are none. */
export function listing(style: Style, items: readonly Value[], columns: readonly string[], empty: string): string {
  const heading = columns.map(name => labelOf(name).toUpperCase());
  const rows = items.map(item => columns.map(name => valueText(item[name]) || '-'));
  return table(style, heading, rows, empty);
}

/** Returns a member's label: `reply to` for `replyTo`, `created` for `createdAt`, `account` for `accountId`. */
export function labelOf(name: string): string {
  const noun = name
    .replace(/(Id|At)$/, '')
    .replace(/yIds$/, 'ies')
    .replace(/Ids$/, 's');
  return noun.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
}

/** Returns the text of a member's value; an empty text for an absent value. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value !== 'object') return String(value);
  const object = value as Value;
  if ('currency' in object) return priceText(object as { amount: number; currency: string });
  return 'at' in object ? stepText(object) : JSON.stringify(object);
}

/** Returns the text of an order's step: `2027-01-01T12:00:00.000Z by account 2: picked up by her sister`. */
function stepText({ at, accountId, note }: Value): string {
  const actor = accountId === undefined ? 'the operator' : `account ${accountId}`;
  return `${at} by ${actor}${note === undefined ? '' : `: ${note}`}`;
}

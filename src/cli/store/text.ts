import type { Style } from '../command.ts';
import { list, table } from '../terminal.ts';
import { priceText } from './money.ts';
import type { Value } from './store.ts';

/** What people see of a resource, in this order: names and values. Members that are not named here follow by themselves. */
const views: Readonly<Record<string, (value: Value) => Value>> = {
  pet: ({ id, etag, statusReason, keptFor, history, ...pet }) => ({
    animal: id,
    ...pet,
    ...(pet.status && { status: withReason(pet.status, statusReason) }),
    ...(keptFor && { keptFor: reservationText(keptFor) }),
  }),
  category: ({ id, placeholder, ...category }) => ({
    category: id,
    ...category,
    name: withReason(category.name, placeholder ? 'a placeholder' : undefined),
  }),
  hold: ({ id, petIds, ...hold }) => ({ hold: id, animals: petIds, ...hold }),
  order: ({ id, petId, quantity, complete, ...order }) => ({ order: id, animal: petId, ...order }),
  message: ({ id, accountId, toAccountId, petId, createdAt, message, attempts, ...more }) => ({
    message: id,
    from: partyText(accountId),
    to: partyText(toAccountId),
    animal: petId,
    replyTo: more.replyTo,
    ...more,
    sent: createdAt,
    attempts: attempts.map(attemptText).join('\n'),
    text: message,
  }),
  webhook: ({ id, disabledReason, ...webhook }) => ({
    webhook: id,
    types: 'all',
    categoryIds: 'all',
    ...webhook,
    status: withReason(webhook.status, disabledReason),
  }),
};

/** Returns a resource as names and values, with its history where it has one. */
export function describe(style: Style, kind: string, value: Value): string {
  const rows = Object.entries(views[kind]!(value))
    .map(([name, member]) => [labelOf(name), valueText(member)] as const)
    .filter(([, text]) => text !== '');
  return value.history === undefined ? list(rows) : `${list(rows)}\n\n${historyTable(style, value.history)}`;
}

/** Returns resources as a table: their ids, and the named values. */
export function listing(
  style: Style,
  kind: string,
  items: readonly Value[],
  columns: readonly string[],
  empty: string,
): string {
  const heading = ['ID', ...columns.map(name => labelOf(name).toUpperCase())];
  const rows = items.map(item => {
    const view = views[kind]!(item);
    return [String(item.id), ...columns.map(name => cellText(kind, name, valueText(view[name])))];
  });
  return table(style, heading, rows, empty);
}

/** The most characters of a message in a table. */
const EXCERPT_LENGTH = 40;

function cellText(kind: string, column: string, text: string): string {
  if (text === '') return '-';
  if (kind !== 'message' || column !== 'text') return text;
  const characters = Array.from(text.trim().replaceAll(/\s+/g, ' '));
  return characters.length <= EXCERPT_LENGTH
    ? characters.join('')
    : `${characters.slice(0, EXCERPT_LENGTH - 1).join('')}…`;
}

/** Returns `reply to` for `replyTo`, `created` for `createdAt`, `account` for `accountId`. */
function labelOf(name: string): string {
  return name
    .replace(/(Id|At)$/, '')
    .replace(/Ids$/, 's')
    .replace('categorys', 'categories')
    .replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
}

/** Returns the text of a member's value; an empty text for an absent value. */
function valueText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value !== 'object') return String(value);
  const object = value as Value;
  if ('currency' in object) return priceText(object as { amount: number; currency: string });
  return 'at' in object ? stepText(object) : JSON.stringify(object);
}

/** Returns a step of an order: `2027-01-01T12:00:00.000Z by account 2: picked up by her sister`. */
function stepText({ at, accountId, note }: Value): string {
  const actor = accountId === undefined ? 'the operator' : `account ${accountId}`;
  return `${at} by ${actor}${note === undefined ? '' : `: ${note}`}`;
}

/** Returns `pending (in foster)`. */
function withReason(text: string, reason: string | undefined): string {
  return reason === undefined ? text : `${text} (${reason})`;
}

function reservationText({ holdId, orderId, until }: Value): string {
  const holder = holdId === undefined ? `order ${orderId}` : `hold ${holdId}`;
  return until === undefined ? holder : `${holder} until ${until}`;
}

function partyText(accountId: number | undefined): string {
  return accountId === undefined ? 'the store' : `account ${accountId}`;
}

function attemptText({ at, by, outcome, reason }: Value): string {
  return `${at} ${by === 'inbox' ? 'into the inbox' : `by e-mail: ${outcome}`}${reason === undefined ? '' : `, ${reason}`}`;
}

function historyTable(style: Style, history: readonly Value[]): string {
  const rows = history.map(entry => [
    entry.at,
    actorText(entry),
    `${entry.type}${causeText(entry)}${changesText(entry)}`,
  ]);
  return table(style, ['WHEN', 'BY', 'WHAT'], rows, '');
}

function actorText({ accountId, reason }: Value): string {
  if (accountId !== undefined) return `account ${accountId}`;
  return reason?.endsWith('_expired') ? '-' : 'operator';
}

/** Returns ` (hold released, hold 3)`. */
function causeText({ reason, holdId, orderId }: Value): string {
  const parts = [reason?.replaceAll('_', ' '), holdId && `hold ${holdId}`, orderId && `order ${orderId}`].filter(
    Boolean,
  );
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** Returns `: status available → pending, name Rex → Max`. */
function changesText({ type, changes = {} }: Value): string {
  // The last state of a deleted animal follows from the entries before.
  if (type === 'deleted') return '';
  const parts = Object.entries<Value>(changes).map(([name, { from, to }]) => {
    const label = name === 'statusReason' ? 'reason' : labelOf(name);
    return `${label} ${type === 'created' ? '' : `${valueText(from) || 'none'} → `}${valueText(to) || 'none'}`;
  });
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

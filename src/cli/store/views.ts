import type { Style } from '../command.ts';
import { table } from '../terminal.ts';
import { describe, labelOf, type Value, valueText } from '../text.ts';

/** The text form of a kind of resource: names and values in reading order. Other members follow. */
const views: Readonly<Record<string, (value: Value) => Value>> = {
  pet: ({ id, etag, statusReason, keptFor, history, ...pet }) => ({
    animal: id,
    ...pet,
    ...(pet.status && { status: withReason(pet.status, statusReason) }),
    ...(keptFor && { keptFor: reservationText(keptFor) }),
  }),
  category: ({ id, placeholder, ...category }) =>
    category.rootId !== undefined
      ? category
      : {
          category: id,
          ...category,
          name: withReason(category.name, placeholder ? 'a placeholder' : undefined),
        },
  organization: ({ id, name, etag, address = {}, location, hours = {}, adoption = {}, ...organization }) => ({
    organization: id,
    name,
    ...address,
    ...(location && { location: `${location.latitude}, ${location.longitude}` }),
    ...organization,
    ...hours,
    adoptionPolicy: adoption.policy,
    adoptionPage: adoption.url,
  }),
  hold: ({ id, petIds, ...hold }) => ({ hold: id, animals: petIds, ...hold }),
  order: ({ id, petId, petIds, quantity, complete, ...order }) => ({ order: id, animal: petIds ?? petId, ...order }),
  message: ({ id, accountId, toAccountId, petId, replyTo, createdAt, message, attempts, ...more }) => ({
    message: id,
    from: partyText(accountId),
    to: partyText(toAccountId),
    animal: petId,
    replyTo,
    ...more,
    sent: createdAt,
    attempts: attempts.map(attemptText).join('\n'),
    text: message,
  }),
  audit: entry => entry,
  webhook: ({ id, disabledReason, ...webhook }) => ({
    webhook: id,
    types: 'all',
    categoryIds: 'all',
    ...webhook,
    status: withReason(webhook.status, disabledReason),
  }),
};

const viewOf = (kind: string) => views[kind] ?? (({ id, ...value }: Value) => ({ [kind]: id, ...value }));

/** Returns a resource as names and values, with its history if it has one. */
export function resourceText(style: Style, kind: string, value: Value): string {
  const text = describe(viewOf(kind)(value));
  return value.history === undefined ? text : `${text}\n\n${historyTable(style, value.history)}`;
}

/** The maximum length of a message in a table, in characters. */
const EXCERPT_LENGTH = 40;

/** Returns a resource as a row of a table: its id and view, with the beginning of a message on one line. */
export function rowOf(kind: string, value: Value): Value {
  const row = { id: value.id, ...viewOf(kind)(value) };
  if (kind !== 'message') return row;
  const characters = Array.from(String(value.message).trim().replaceAll(/\s+/g, ' '));
  const excerpt = characters.slice(0, EXCERPT_LENGTH - 1).join('');
  return { ...row, text: characters.length > EXCERPT_LENGTH ? `${excerpt}…` : characters.join('') };
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
  const whatOf = (entry: Value) => `${entry.type}${causeText(entry)}${changesText(entry)}`;
  const rows = history.map(entry => [entry.at, actorText(entry), whatOf(entry)]);
  return table(style, ['WHEN', 'BY', 'WHAT'], rows, '');
}

function actorText({ accountId, reason }: Value): string {
  if (accountId !== undefined) return `account ${accountId}`;
  return reason?.endsWith('_expired') ? '-' : 'operator';
}

/** Returns ` (hold released, hold 3)`. */
function causeText({ reason, holdId, orderId }: Value): string {
  const parts = [reason?.replaceAll('_', ' '), holdId && `hold ${holdId}`, orderId && `order ${orderId}`];
  const text = parts.filter(Boolean).join(', ');
  return text === '' ? '' : ` (${text})`;
}

/** Returns `: status available → pending, name Rex → Max`. */
function changesText({ type, changes = {} }: Value): string {
  // The last state of a deleted animal is clear from the entries before.
  if (type === 'deleted') return '';
  const parts = Object.entries<Value>(changes).map(([name, { from, to }]) => {
    const label = name === 'statusReason' ? 'reason' : labelOf(name);
    return `${label} ${type === 'created' ? '' : `${valueText(from) || 'none'} → `}${valueText(to) || 'none'}`;
  });
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

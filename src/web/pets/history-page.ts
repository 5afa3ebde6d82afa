import { personsBehind } from '../../access/audit/actors.ts';
import { memberNames } from '../../access/people/members.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { parseTime } from '../../lib/time.ts';
import type { PetHistoryEntry, PetReason, PetStatus, Price } from '../../model/pet.ts';
import { petHistory } from '../../store/pets/history.ts';
import { listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage, ownActor } from '../page.ts';
import { ANIMALS_PATH, HOLDS_PATH, ORDERS_PATH } from '../paths.ts';
import { wordsOf } from '../schema-form.ts';
import { placedLabel } from './form-groups.ts';
import { ownPet } from './form-pages.ts';
import { priceText, statusNames } from './parts.ts';

/** What happened to an animal, in words, oldest first. */
export const animalHistoryPage = accountPage({
  path: `${ANIMALS_PATH}/{petId}/history`,
  permission: 'read',
  title: 'History',
  async show(visit) {
    const { deployment, account } = visit;
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const { rows, ...links } = await petHistory(deployment.database, ownActor(visit), pet.id, listPage(visit));
    const persons = await personsBehind(
      deployment.database,
      account.id,
      rows.map(({ id }) => id),
    );
    const names = await memberNames(visit.site.accounts, account.id);
    const items = rows.map(entry => {
      const personId = persons.get(entry.id);
      return entryView(visit, entry, personId === undefined ? undefined : (names.get(personId) ?? 'A former member'));
    });
    return {
      title: `History of ${pet.name}`,
      body: html`<p><a href="${ANIMALS_PATH}/${pet.id}"><bdi>${pet.name}</bdi></a></p>
<ol class="timeline">${items}</ol>
${pageLinks(visit, links)}`,
    };
  },
});

/** Why the store changed an animal, as people say it. */
const reasons: Readonly<Record<PetReason, string>> = {
  held: 'Put on hold',
  hold_released: 'No longer on hold',
  hold_expired: 'The hold ran out',
  order_placed: 'Ordered',
  order_cancelled: 'The order was cancelled',
  order_expired: 'The order ran out',
  order_delivered: 'Handed over',
  order_returned: 'Came back',
  category_merged: 'Its kind was merged with another',
  transferred: 'Moved to another account',
};

const events: Readonly<Record<PetHistoryEntry['type'], string>> = {
  created: 'Added',
  updated: 'Changed',
  deleted: 'Deleted',
};

function entryView(visit: AccountVisit, entry: PetHistoryEntry, person: string | undefined): Html {
  const { at, type, reason, changes = {}, holdId, orderId, accountId } = entry;
  const what = reason === undefined ? events[type] : (reasons[reason as PetReason] ?? wordsOf(String(reason)));
  const link =
    orderId !== undefined
      ? html` (<a href="${ORDERS_PATH}/${orderId}">order ${orderId}</a>)`
      : holdId !== undefined && html` (<a href="${HOLDS_PATH}/${holdId}">hold ${holdId}</a>)`;
  const by =
    person === undefined
      ? accountId !== undefined && accountId !== visit.account.id && html` by account ${accountId}`
      : html` by <bdi>${person}</bdi>`;
  // The store changes the status with the reason; only people change the rest.
  const shown = type === 'updated' && reason === undefined ? Object.entries(changes) : [];
  return html`<li><strong>${what}</strong>${link}${by}, ${timeHtml(parseTime(at)!)}${
    shown.length > 0 && html`<ul>${shown.map(([member, change]) => html`<li>${changeText(member, change)}</li>`)}</ul>`
  }</li>
`;
}

interface Change {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Returns a change of a field in words; without values that are too long for a line. */
function changeText(member: string, { from, to }: Change): Html {
  const label = placedLabel(member) ?? wordsOf(member);
  const [before, after] = [valueText(member, from), valueText(member, to)];
  if (to === undefined) return html`${label} removed`;
  if (after === undefined || (from !== undefined && before === undefined)) return html`${label} changed`;
  return from === undefined
    ? html`${label}: <bdi>${after}</bdi>`
    : html`${label}: <bdi>${before}</bdi> → <bdi>${after}</bdi>`;
}

/** The maximum length of a value in the history, in characters. */
const VALUE_MAX = 80;

function valueText(member: string, value: unknown): string | undefined {
  if (member === 'status') return statusNames[value as PetStatus];
  if (member === 'price') return value == null ? undefined : priceText(value as Price);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = Array.isArray(value) && value.every(one => typeof one === 'string') ? value.join(', ') : value;
  return typeof text === 'string' && text.length <= VALUE_MAX ? text : undefined;
}

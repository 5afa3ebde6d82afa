import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { countText } from '../../lib/text.ts';
import { GROUP_ID_MAX } from '../../model/profile.ts';
import { mainCategories } from '../../store/categories/paths.ts';
import { countMessagesByPet } from '../../store/messages/count-by-pet.ts';
import { countOwned } from '../../store/pets/counts.ts';
import { listOwnPets, type OwnPage } from '../../store/pets/own-pets.ts';
import { SEARCH_LENGTH_MAX } from '../../store/search/words.ts';
import { choicesOf, field, notice, select } from '../forms.ts';
import { listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import { table } from '../parts.ts';
import { ANIMALS_PATH } from '../paths.ts';
import { bulkChoices } from './bulk-actions.ts';
import { BULK_MAX, BULK_PATH, changeNotice } from './bulk-page.ts';
import {
  isFiltered,
  listField,
  listPath,
  type OwnChoice,
  orders,
  ownChoiceOf,
  ownFilterOf,
  queryOf,
  shows,
  statusChoices,
} from './own-choice.ts';
import { ownColumns, SELECTION } from './own-columns.ts';
import { beginLinks, noAnimalsView } from './parts.ts';

/** The animals of the account, to search, filter and change. */
export const ownAnimalsPage = accountPage({
  path: ANIMALS_PATH,
  permission: 'read',
  title: 'Your animals',
  menu: 'desk',
  menuItem: { text: 'Animals' },
  async show(visit) {
    const { deployment, account, query } = visit;
    const { database } = deployment;
    const choice = ownChoiceOf(query);
    const messages = await countMessagesByPet(database, account.id);
    const filter = await ownFilterOf(visit, choice, messages);
    const page = await listOwnPets(database, filter, choice.sort, listPage(visit), nowOf(deployment));
    const isNew = page.total === 0 && (await countOwned(database, account.id)) === 0;
    const mayChange = visit.may('animals');
    const columns = await ownColumns(visit, choice, page.rows, messages);
    return {
      description: 'Search, filter and change the animals of this account.',
      styles: ['animals.css', 'own-animals.css'],
      scripts: isNew ? [] : ['selection.js', 'edit-in-row.js'],
      body: html`${query.has('saved') && notice('status', html`<p>The animal is saved.</p>`)}${query.has('deleted') && notice('status', html`<p>The animal is deleted.</p>`)}${await changeNotice(visit)}
${
  isNew
    ? noAnimalsView
    : html`${mayChange && beginLinks}
${await filterForm(visit, choice)}
${totalView(choice, page)}
${page.total === 0 ? noneMatchView(choice) : table('Your animals', columns, page.rows, 'There are no further animals.')}
${page.rows.length > 0 && mayChange && selectionForm(choice, page.total)}
${pageLinks({ ...visit, query: queryOf(choice) }, page)}`
}`,
    };
  },
});

async function filterForm({ deployment }: AccountVisit, choice: OwnChoice): Promise<Html> {
  const { q, status, category, tag, show, sort } = choice;
  const categories = await mainCategories(deployment.database);
  const kinds = categories.map(({ id, name }) => ({ value: `${id}`, label: name, checked: id === category }));
  const isMore = category !== undefined || tag !== '' || show !== '' || sort !== 'newest';
  return html`<form action="${ANIMALS_PATH}" class="filter own-filter" role="search" aria-label="Your animals">
${field({ name: 'q', label: 'Name, code or microchip', type: 'search', value: q, optional: true, maxLength: SEARCH_LENGTH_MAX })}
${select({ name: 'status', label: 'Status', choices: choicesOf(statusChoices, status) })}
<button class="secondary">Search</button>
<details${isMore && html` open`}><summary>More filters, and the order</summary>
${select({ name: 'category', label: 'Category', choices: [{ value: '', label: 'Any category' }, ...kinds] })}
${field({ name: 'tag', label: 'Tag or group', value: tag, optional: true, maxLength: GROUP_ID_MAX })}
${select({ name: 'show', label: 'Show', choices: choicesOf(shows, show) })}
${select({ name: 'sort', label: 'Sort by', choices: choicesOf(orders, sort) })}
</details>
</form>`;
}

function totalView(choice: OwnChoice, { total, before }: OwnPage): Html {
  const number =
    total === 0 ? undefined : html`<strong>${countText(total)}</strong> ${total === 1 ? 'animal' : 'animals'}`;
  const rest =
    before !== undefined &&
    html`${number && ' among '}${number === undefined ? 'Looked at ' : ''}${countText(SCAN_LIMIT)} of your animals. <a href="${listPath(choice, { before })}">Look at older ones</a>`;
  return html`<p class="total">${number}${rest}${isFiltered(choice) && number && html` · <a href="${ANIMALS_PATH}">Clear the filters</a>`}</p>`;
}

function noneMatchView(choice: OwnChoice): Html {
  return html`<div class="empty"><p>No animals match.</p>
<p>${choice.status !== 'any' && html`<a href="${listPath(choice, { status: 'any' })}">Look among animals of any status</a>${isFiltered(choice) && ' or '}`}${isFiltered(choice) && html`<a href="${ANIMALS_PATH}">clear the filters</a>`}</p></div>`;
}

/** The form to which the checkboxes of all rows belong. */
function selectionForm(choice: OwnChoice, total: number): Html {
  return html`<form id="${SELECTION}" action="${BULK_PATH}" class="selection" aria-label="Change several animals">
${listField(choice)}
${select({ name: 'change', label: 'With the selected animals', choices: bulkChoices })}
<button class="secondary">Continue</button>
<div class="choices">${total > 1 && html`<label class="choice"><input type="checkbox" name="all" value="yes"> ${total > BULK_MAX ? `The first ${countText(BULK_MAX)} of ${countText(total)}` : `All ${countText(total)}`} that match</label>`}</div>
</form>`;
}

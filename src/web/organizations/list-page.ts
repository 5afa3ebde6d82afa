import { isCountry } from '../../lib/countries.ts';
import { type Html, html } from '../../lib/html/html.ts';
import {
  KEY_LENGTH_MAX,
  type OrganizationRow,
  organizationValues,
  STATE_LENGTH_MAX,
} from '../../model/organization.ts';
import { listOrganizations } from '../../store/organizations/list.ts';
import { pageLinks } from '../lists.ts';
import { publicPage, type Visit } from '../page.ts';
import { scanOf } from '../pets/list-page.ts';

const PAGE_SIZE = 24;
/** The maximum length of a mission in the list, in characters. */
const MISSION_MAX = 200;

/** The organizations of the deployment, with a search by name or place. */
export const organizationsPage = publicPage({
  path: '/organizations',
  title: 'Organizations',
  async show(visit) {
    const { query, deployment } = visit;
    const name = textOf(query, 'name', KEY_LENGTH_MAX);
    const state = textOf(query, 'state', STATE_LENGTH_MAX);
    const country = textOf(query, 'country', 2).toUpperCase();
    const isKnown = country === '' || isCountry(country);
    const filter = { name, state, ...(isKnown && { country }), sort: 'name' } as const;
    const page = { limit: PAGE_SIZE, cursor: query.get('cursor') || undefined, request: scanOf(visit) };
    const found = await listOrganizations(deployment.database, filter, page);
    return {
      description: 'Shelters and rescues with animals that look for a home: find one by its name or location.',
      styles: ['animals.css'],
      body: html`<p class="lead">Shelters and rescues, and the animals that they have.</p>
${filterForm({ name, state, country, error: isKnown ? undefined : 'Enter two letters, such as US.' })}
${found.rows.length === 0 ? emptyView(found.next) : html`<ul class="grid">${found.rows.map(card)}</ul>`}
${pageLinks(visit, found)}`,
    };
  },
});

/** Returns a text of the query without NUL, which PostgreSQL cannot store. */
function textOf(query: Visit['query'], name: string, maxLength: number): string {
  return (query.get(name) ?? '').replaceAll('\0', '').trim().slice(0, maxLength);
}

function filterForm(shown: { name: string; state: string; country: string; error: string | undefined }): Html {
  const { name, state, country, error } = shown;
  return html`<form action="/organizations" class="filter">
<div class="field">
<label for="name">Name begins with</label>
<input id="name" name="name" type="search" value="${name}" maxlength="${KEY_LENGTH_MAX}" dir="auto">
</div>
<div class="field">
<label for="country">Country</label>
<input id="country" name="country" value="${country}" maxlength="2" size="4" placeholder="US" spellcheck="false"${error !== undefined && html` aria-invalid="true" aria-describedby="country-error"`}>
</div>
<div class="field">
<label for="state">State or region</label>
<input id="state" name="state" value="${state}" maxlength="${STATE_LENGTH_MAX}" size="8" placeholder="CA">
</div>
<button class="secondary">Search</button>
${error !== undefined && html`<p class="error" id="country-error">${error}</p>`}
</form>`;
}

function card(row: OrganizationRow): Html {
  const { id, name, address, mission = '' } = organizationValues.fullOf(row);
  const place = [address?.city, address?.state, address?.country].filter(Boolean).join(', ');
  const short = mission.length > MISSION_MAX ? `${mission.slice(0, MISSION_MAX).toWellFormed().trimEnd()}…` : mission;
  return html`<li class="card"><h2><a href="/organizations/${id}"><bdi>${name}</bdi></a></h2>
${place !== '' && html`<p class="quiet"><bdi>${place}</bdi></p>`}
${short !== '' && html`<p dir="auto">${short}</p>`}</li>
`;
}

function emptyView(next: string | undefined): Html {
  if (next !== undefined)
    return html`<p class="empty">None of the organizations read so far match. There are more.</p>`;
  return html`<div class="empty"><p>No organizations match.</p>\n<p><a href="/organizations">Show all</a></p></div>`;
}

import { accountName } from '../../access/accounts/accounts.ts';
import { nowOf } from '../../access/deployment.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { withoutMarks } from '../../lib/text.ts';
import type { Organization } from '../../model/organization.ts';
import { anyone, type FullPet, type PetHistoryEntry } from '../../model/pet.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { findPublicOrganization } from '../../store/organizations/organizations.ts';
import { petHistory } from '../../store/pets/history.ts';
import { listPets } from '../../store/pets/list.ts';
import { PREFIX } from '../../views/urls.ts';
import { publicPage, type View, type Visit } from '../page.ts';
import { gallery, imageOf } from '../photos/photo-view.ts';
import { shareTags, structuredData } from '../share.ts';
import { type Attempt, ask, askView } from './ask.ts';
import { animalCards, contextOf } from './cards.ts';
import { findPet } from './find-pet.ts';
import { scanOf } from './list-page.ts';
import { drawing, picture, priceText, statusNames } from './parts.ts';
import { descriptionOf, petData } from './pet-data.ts';
import { answersView, profileFacts, summaryView } from './profile-view.ts';

/** An animal, with all fields that any key can read. */
export const animalPage = publicPage({
  path: '/animals/{petId}',
  title: 'Animal',
  // A message of a visitor who is not signed in does not act for an account. Browsers do not send the session cookie
  // with forms of other sites.
  withoutToken: true,
  async show(visit) {
    const pet = await findPet(visit);
    return pet && animalView(visit, pet);
  },
  async submit(visit) {
    const pet = await findPet(visit);
    if (pet === undefined) return undefined;
    const outcome = await ask(visit, pet.id);
    if (typeof outcome === 'string') return { location: `/animals/${pet.id}?asked=${outcome}#ask` };
    return { ...(await animalView(visit, pet, outcome)), status: outcome.refusal?.status ?? 422 };
  },
});

/** @param attempt the message, if it could not be sent */
async function animalView(visit: Visit, pet: FullPet, attempt?: Attempt): Promise<View> {
  const { deployment, site, request } = visit;
  const { database } = deployment;
  const path = (await categoryPaths(database, [pet.categoryId])).get(pet.categoryId) ?? [];
  const keeper = {
    organization: await findPublicOrganization(database, pet.accountId),
    name: await accountName(site.accounts, pet.accountId),
  };
  const history = await petHistory(database, anyone, pet.id, {
    limit: 20,
    cursor: visit.query.get('history') || undefined,
  });
  const title = withoutMarks(pet.name);
  const description = descriptionOf(pet, path);
  const image = imageOf(pet, request.publicUrl);
  const card = { url: `${request.publicUrl}/animals/${pet.id}`, title, description, ...(image && { image }) };
  return {
    title,
    description,
    head: html`${shareTags(card)}${structuredData(petData(pet, path, keeper, request.publicUrl))}`,
    styles: ['animals.css'],
    body: html`<div class="profile">
${picture(pet, drawing(path), 'eager')}
<div>
${summaryView(pet)}
${profileFacts(pet, path, keeper, nowOf(deployment))}
</div>
</div>
${pet.photos !== undefined && pet.photos.length > 1 && gallery(pet)}
${answersView(pet)}
${askView(visit, pet, attempt)}
${keeper.organization && (await moreView(visit, pet, keeper.organization))}
<h2 id="history">History</h2>
<ol class="history">${history.rows.map(entryView)}</ol>
${history.next !== undefined && html`<p><a href="/animals/${pet.id}?${new URLSearchParams({ history: history.next }).toString()}#history">Later changes</a></p>`}
<p><a href="/animals/${pet.id}/card">Card to print</a></p>
<p class="quiet small">Number ${String(pet.id)} · last change ${timeHtml(Date.parse(pet.updatedAt))} · for programs: <code>GET ${PREFIX}/pets/${pet.id}</code></p>`,
  };
}

/** The maximum number of other animals of the shelter on the page of an animal. */
const MORE_MAX = 4;

/** Returns other animals of a shelter that can be adopted; `undefined` if there are none. */
async function moreView(visit: Visit, { id }: FullPet, { id: ownerId, name }: Organization): Promise<Html | undefined> {
  const { database } = visit.deployment;
  const filter = { ownerId, status: ['available'], sort: '-id' } as const;
  const page = { limit: MORE_MAX + 1, cursor: undefined, request: scanOf(visit) };
  const found = await listPets(database, filter, page, nowOf(visit.deployment), 'card');
  const others = found.rows.filter(other => other.id !== id).slice(0, MORE_MAX);
  if (others.length === 0) return undefined;
  return html`<h2>More from this shelter</h2>
${animalCards(others, await contextOf(database, others))}
<p><a href="/organizations/${ownerId}#animals">All animals of <bdi>${name}</bdi></a></p>`;
}

function entryView({ at, type, reason, changes = {} }: PetHistoryEntry): Html {
  const what = type === 'created' ? 'Added' : reason === undefined ? 'Changed' : (reasons[String(reason)] ?? 'Changed');
  const parts = type === 'created' ? [] : Object.entries(changes).flatMap(([name, change]) => changeText(name, change));
  return html`<li><p>${what}${parts.length > 0 && html`: ${parts.map((part, index) => html`${index > 0 && '; '}${part}`)}`}</p><p class="quiet">${timeHtml(Date.parse(at))}</p></li>
`;
}

const reasons: Readonly<Record<string, string>> = {
  held: 'Put on hold',
  hold_released: 'Released from a hold',
  hold_expired: 'Its hold expired',
  order_placed: 'Ordered',
  order_cancelled: 'Its order was cancelled',
  order_expired: 'Its order expired',
  order_delivered: 'Went to its new home',
  order_returned: 'Came back',
  category_merged: 'Its category was merged',
  transferred: 'Moved to another owner',
};

/** The members whose changes the page shows; the history of the API has all changes. */
const labels: Readonly<Record<string, string>> = {
  name: 'name',
  status: 'status',
  statusReason: 'reason',
  price: 'price',
};

function changeText(name: string, { from, to }: { readonly from?: unknown; readonly to?: unknown }): Html[] {
  const label = labels[name];
  if (label === undefined) return [];
  const show = (value: unknown) => html`<bdi>${valueText(name, value)}</bdi>`;
  if (to === undefined) return [html`no ${label}`];
  return [html`${label} ${from !== undefined && html`${show(from)} → `}${show(to)}`];
}

function valueText(name: string, value: unknown): string {
  if (name === 'price') return priceText(value as NonNullable<FullPet['price']>);
  return name === 'status' ? statusNames[value as FullPet['status']] : String(value);
}

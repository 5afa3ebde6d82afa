import { nowOf } from '../../access/deployment.ts';
import { mailtoUrl } from '../../lib/email.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { capitalized, withoutMarks } from '../../lib/text.ts';
import { type Organization, weekdays } from '../../model/organization.ts';
import { findPublicOrganization } from '../../store/organizations/organizations.ts';
import { addressText, shelterData } from '../../store/organizations/public-data.ts';
import { listPets } from '../../store/pets/list.ts';
import { idOf, pageLinks } from '../lists.ts';
import { publicPage } from '../page.ts';
import { facts } from '../parts.ts';
import { animalCards, contextOf } from '../pets/cards.ts';
import { scanOf } from '../pets/list-page.ts';
import { gallery, imageOf } from '../photos/photo-view.ts';
import { shareTags, structuredData } from '../share.ts';

const PAGE_SIZE = 24;

/** An organization with its animals that can be adopted. */
export const organizationPage = publicPage({
  path: '/organizations/{organizationId}',
  title: 'Organization',
  async show(visit) {
    const { database } = visit.deployment;
    const id = idOf(visit.parameters['organizationId']);
    const organization = id === undefined ? undefined : await findPublicOrganization(database, id);
    if (organization === undefined) return undefined;
    const filter = { ownerId: organization.id, status: ['available'], sort: '-id' } as const;
    const page = { limit: PAGE_SIZE, cursor: visit.query.get('cursor') || undefined, request: scanOf(visit) };
    const found = await listPets(database, filter, page, nowOf(visit.deployment), 'card');
    const title = withoutMarks(organization.name);
    const { mission, adoption } = organization;
    const description = mission === undefined ? `Animals of ${title} that look for a home.` : withoutMarks(mission);
    const url = `${visit.request.publicUrl}/organizations/${organization.id}`;
    const image = imageOf({ ...organization, name: title }, visit.request.publicUrl);
    return {
      title,
      description,
      head: html`${shareTags({ url, title, description, ...(image && { image }) })}${structuredData(shelterData(organization, visit.request.publicUrl))}`,
      styles: ['animals.css'],
      body: html`${mission !== undefined && html`<p class="lead" dir="auto">${mission}</p>`}
${gallery(organization)}
${profileFacts(organization)}
${adoption?.policy !== undefined && html`<h2>How to adopt</h2>\n<p class="prose" dir="auto">${adoption.policy}</p>`}
${adoption?.url !== undefined && html`<p>${outside(adoption.url, 'More about adoptions')}</p>`}
<h2 id="animals">Animals</h2>
${
  found.rows.length === 0
    ? html`<p class="empty">${found.next === undefined ? 'No animals look for a home at the moment.' : 'None of the animals read so far look for a home. There are more.'}</p>`
    : animalCards(found.rows, await contextOf(database, found.rows))
}
${pageLinks(visit, found)}
<p><a href="/organizations">All organizations</a></p>`,
    };
  },
});

function profileFacts({ address, location, phone, email, website, hours, socialMedia = [] }: Organization): Html {
  return facts([
    ['Address', address && html`<bdi>${addressText(address)}</bdi>`],
    ['Map', location && mapLink(location)],
    ['Phone', phone && html`<a href="tel:${phone.replaceAll(/[^\d+]/g, '')}"><bdi>${phone}</bdi></a>`],
    ['E-mail', email && html`<a href="${mailtoUrl(email)}">${email}</a>`],
    ['Website', website && outside(website, website)],
    [
      'Hours',
      hours &&
        html`<ul class="plain-list">${weekdays.map(day => hours[day] !== undefined && html`<li>${capitalized(day)}: <bdi>${hours[day]}</bdi></li>`)}</ul>`,
    ],
    [
      'Elsewhere',
      socialMedia.length === 0
        ? undefined
        : html`<ul class="plain-list">${socialMedia.map(url => html`<li>${outside(url, url)}</li>`)}</ul>`,
    ],
  ]);
}

function mapLink({ latitude, longitude }: NonNullable<Organization['location']>): Html {
  return outside(
    `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=14/${latitude}/${longitude}`,
    'OpenStreetMap',
  );
}

/** Returns a link that an owner has chosen, marked so that search engines do not count it as a recommendation. */
function outside(url: string, text: string): Html {
  return html`<a href="${url}" rel="nofollow ugc noopener"><bdi>${text}</bdi></a>`;
}

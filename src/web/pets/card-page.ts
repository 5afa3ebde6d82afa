import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { qrCode } from '../../lib/html/qr-code.ts';
import { withoutMarks } from '../../lib/text.ts';
import type { Organization } from '../../model/organization.ts';
import type { FullPet } from '../../model/pet.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { findPublicOrganization } from '../../store/organizations/organizations.ts';
import { addressText } from '../../store/organizations/public-data.ts';
import { publicPage, type Visit } from '../page.ts';
import { facts } from '../parts.ts';
import { findPet } from './find-pet.ts';
import { drawing, picture, priceText } from './parts.ts';
import { answersView, looks } from './profile-view.ts';
import { breedText } from './trait-names.ts';

/** The sizes of paper, each with a style sheet for it. */
const papers = { a5: 'A5', a6: 'A6' } as const;
type Paper = keyof typeof papers;

/** A printable card of an animal for its kennel, with a QR code of its page. */
export const cardPage = publicPage({
  path: '/animals/{petId}/card',
  title: 'Card',
  async show(visit) {
    const pet = await findPet(visit);
    if (pet === undefined) return undefined;
    const { database } = visit.deployment;
    const path = (await categoryPaths(database, [pet.categoryId])).get(pet.categoryId) ?? [];
    const organization = await findPublicOrganization(database, pet.accountId);
    const asked = visit.query.get('paper');
    const paper = asked !== null && Object.hasOwn(papers, asked) ? (asked as Paper) : 'a5';
    const title = `Card of ${withoutMarks(pet.name)}`;
    return {
      title,
      description: `A card of ${withoutMarks(pet.name)} to print.`,
      styles: ['animals.css', 'card.css', `card-${paper}.css`],
      head: html`<meta name="robots" content="noindex">\n`,
      body: html`${controls(pet, paper)}
<article class="sheet">
<div class="top">
${picture(pet, drawing(path), 'eager')}
<div>
<h2 class="name"><bdi>${pet.name}</bdi></h2>
<p class="lead"><bdi>${breedText(pet) ?? path.at(-1)?.name}</bdi></p>
${keyFacts(pet, nowOf(visit.deployment))}
</div>
</div>
<div class="answer-groups">${answersView(pet)}</div>
${footer(visit, pet, organization)}
</article>`,
    };
  },
});

/** Returns the parts that only the screen shows. */
function controls({ id }: FullPet, paper: Paper): Html {
  const sizes = Object.entries(papers).map(([name, title]) => {
    return html`<a href="/animals/${id}/card?paper=${name}"${name === paper && html` aria-current="page"`}>${title}</a>`;
  });
  return html`<nav class="controls" aria-label="Card"><a href="/animals/${id}">← The animal</a> <span>Paper: ${sizes[0]} ${sizes[1]}</span>
<span class="quiet">Print this page with your browser.</span></nav>`;
}

function keyFacts(pet: FullPet, now: number): Html {
  const { price, energy } = pet;
  return facts([...looks(pet, now), ['Energy', energy && `${energy} of 5`], ['Fee', price && priceText(price)]]);
}

function footer({ request }: Visit, { id, name }: FullPet, organization: Organization | undefined): Html {
  const url = `${request.publicUrl}/animals/${id}`;
  const { phone, email, address } = organization ?? {};
  return html`<div class="bottom">
${qrCode(url, `QR code of the page of ${name}`)}
<div>
${organization && html`<p><strong><bdi>${organization.name}</bdi></strong></p>`}
${address && html`<p><bdi>${addressText(address)}</bdi></p>`}
${(phone ?? email) && html`<p>${phone && html`<bdi>${phone}</bdi>`}${phone && email && ' · '}${email && html`<bdi>${email}</bdi>`}</p>`}
<p class="url">${url}</p>
</div>
</div>`;
}

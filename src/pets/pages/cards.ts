import { categoryPaths, type NamedCategory } from '../../categories/paths.ts';
import { dayHtml, type Html, html } from '../../lib/html/html.ts';
import type { OrganizationRow } from '../../organizations/organization.ts';
import { publicOrganizations } from '../../organizations/organizations.ts';
import type { Reader } from '../../schema.ts';
import type { FullPet } from '../pet.ts';
import { picture, priceText, statusBadge } from './parts.ts';
import { breedText, distanceText, shortText } from './trait-names.ts';

/** What cards show beside the animals. */
export interface CardContext {
  readonly paths: ReadonlyMap<number, readonly NamedCategory[]>;
  readonly organizations: ReadonlyMap<number, Pick<OrganizationRow, 'addressCity' | 'addressState' | 'name'>>;
}

/** Returns the categories and the organizations of animals. */
export async function contextOf(reader: Reader, pets: readonly FullPet[]): Promise<CardContext> {
  const paths = await categoryPaths(
    reader,
    pets.map(({ categoryId }) => categoryId),
  );
  const organizations = await publicOrganizations(
    reader,
    pets.map(({ accountId }) => accountId),
  );
  return { paths, organizations };
}

/** Returns a grid of animals, each with a link to its page. */
export function animalCards(pets: readonly FullPet[], context: CardContext): Html {
  return html`<ul class="grid animals">${pets.map(pet => card(pet, context))}</ul>`;
}

function card(pet: FullPet, { paths, organizations }: CardContext): Html {
  const { id, name, status, price, createdAt, distance } = pet;
  const path = paths.get(pet.categoryId);
  const place = placeText(organizations.get(pet.accountId));
  const short = shortText(pet);
  return html`<li class="card animal">
${picture(pet, path)}
<div class="text">
<h2><a href="/animals/${id}"><bdi>${name}</bdi></a></h2>
<p class="quiet"><bdi>${breedText(pet) ?? path?.at(-1)?.name}</bdi></p>
${short !== '' && html`<p class="quiet">${short}</p>`}
<p>${statusBadge(status)}${price && html` <span class="price">${priceText(price)}</span>`}</p>
<p class="since">${
    place === undefined && distance === undefined
      ? html`Here since ${dayHtml(new Date(createdAt))}`
      : html`${place !== undefined && html`<bdi>${place}</bdi>`}${place !== undefined && distance && ' · '}${distance && distanceText(distance)}`
  }</p>
</div>
</li>
`;
}

/** Returns where an organization is: `Portland, OR`; its name if it has no address, and nothing without an organization. */
function placeText(
  organization: Pick<OrganizationRow, 'addressCity' | 'addressState' | 'name'> | undefined,
): string | undefined {
  const { addressCity, addressState, name } = organization ?? {};
  return [addressCity, addressState].filter(Boolean).join(', ') || name;
}

import { dayHtml, type Html, html } from '../../lib/html/html.ts';
import type { OrganizationRow } from '../../model/organization.ts';
import type { PetCard } from '../../model/pet.ts';
import type { Reader } from '../../model/schema.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { publicOrganizations } from '../../store/organizations/organizations.ts';
import { drawing, otherDrawing, picture, priceText, statusBadges } from './parts.ts';
import { breedText, distanceText, shortText } from './trait-names.ts';

/** The data that cards show besides the animals. */
interface CardContext {
  readonly categories: ReadonlyMap<number, { readonly name: string; readonly drawn: Html }>;
  /** The locations of the organizations of accounts. */
  readonly places: ReadonlyMap<number, Html>;
}

/** Returns the categories of animals, and the locations of their organizations. */
export async function contextOf(reader: Reader, pets: readonly PetCard[]): Promise<CardContext> {
  const paths = await categoryPaths(
    reader,
    pets.map(({ categoryId }) => categoryId),
  );
  const organizations = await publicOrganizations(
    reader,
    pets.map(({ accountId }) => accountId),
  );
  const categories = Array.from(paths, ([id, path]) => {
    return [id, { name: path.at(-1)!.name, drawn: drawing(path) }] as const;
  });
  const places = Array.from(organizations, ([accountId, one]) => [accountId, placeOf(one)] as const);
  return { categories: new Map(categories), places: new Map(places) };
}

/** Returns a grid of animals, each with a link to its page. */
export function animalCards(pets: readonly PetCard[], context: CardContext): Html {
  return html`<ul class="grid animals">${pets.map(pet => card(pet, context))}</ul>`;
}

function card(pet: PetCard, { categories, places }: CardContext): Html {
  const { id, name, status, price, createdAt, distance } = pet;
  const category = categories.get(pet.categoryId);
  const drawn = category?.drawn ?? otherDrawing;
  const place = places.get(pet.accountId);
  const isHereSince = place === undefined && distance === undefined;
  const short = shortText(pet);
  return html`<li class="card animal">
${pet.photos === undefined ? drawn : picture(pet, drawn)}
<div class="text">
<h2><a href="/animals/${id}"><bdi>${name}</bdi></a></h2>
<p class="quiet"><bdi>${breedText(pet) ?? category?.name}</bdi></p>
${short !== '' && html`<p class="quiet">${short}</p>`}
<p>${statusBadges[status]}${price && html` <span class="price">${priceText(price)}</span>`}</p>
<p class="since">${isHereSince && 'Here since '}${isHereSince && dayHtml(new Date(createdAt))}${place}${place && distance && ' · '}${distance && distanceText(distance)}</p>
</div>
</li>
`;
}

/** Returns the location of an organization: `Portland, OR`; its name if it has no address. */
function placeOf({ addressCity, addressState, name }: PlacedOrganization): Html {
  return html`<bdi>${[addressCity, addressState].filter(Boolean).join(', ') || name}</bdi>`;
}

type PlacedOrganization = Pick<OrganizationRow, 'addressCity' | 'addressState' | 'name'>;

import { decimalsOf } from '../../lib/currency.ts';
import { withoutMarks } from '../../lib/text.ts';
import type { FullPet } from '../../model/pet.ts';
import { photoPath } from '../../model/photo.ts';
import type { NamedCategory } from '../../store/categories/paths.ts';
import { shelterData } from '../../store/organizations/public-data.ts';
import { statusNames } from './parts.ts';
import type { Keeper } from './profile-view.ts';
import { answersOf, breedText, colorText, shortText } from './trait-names.ts';

/** The longest description of a card, in code points. */
const DESCRIPTION_MAX = 200;

/** Returns the description of an animal on a card or in a search result. */
export function descriptionOf(pet: FullPet, path: readonly NamedCategory[]): string {
  const what = [breedText(pet) ?? path.at(-1)?.name, shortText(pet)].filter(Boolean).join(' · ') || 'an animal';
  const text = `${withoutMarks(pet.name)}: ${statusNames[pet.status].toLowerCase()}, ${what}.`;
  const whole =
    pet.description === undefined ? text : `${text} ${withoutMarks(pet.description).replaceAll(/\s+/g, ' ')}`;
  const characters = [...whole];
  return characters.length <= DESCRIPTION_MAX ? whole : `${characters.slice(0, DESCRIPTION_MAX - 1).join('')}…`;
}

const availability = { available: 'InStock', pending: 'Reserved', sold: 'SoldOut' } as const;

/**
 * Returns an animal in the vocabulary of schema.org. It has no type for pets, so animals are an `IndividualProduct`,
 * the type of unique items.
 */
export function petData(
  pet: FullPet,
  path: readonly NamedCategory[],
  { organization, name }: Keeper,
  publicUrl: string,
) {
  const url = `${publicUrl}/animals/${pet.id}`;
  const { price, weight, photos = [] } = pet;
  const property = (title: string, value: string | number | undefined) =>
    value === undefined ? [] : [{ '@type': 'PropertyValue', name: title, value }];
  return {
    '@type': 'IndividualProduct',
    name: pet.name,
    url,
    sku: String(pet.id),
    category: path.map(category => category.name).join(' > ') || undefined,
    description: pet.description,
    color: colorText(pet),
    image: photos.map(photo => publicUrl + photoPath(photo.id, 1280)),
    ...(weight && { weight: { '@type': 'QuantitativeValue', value: weight.value, unitText: weight.unit } }),
    additionalProperty: [
      ...property('breed', breedText(pet)),
      ...property('sex', pet.sex),
      ...property('age', pet.age),
      ...property('size', pet.size),
      ...property('coat', pet.coat),
      ...property('birthDate', pet.birthDate),
      ...answersOf(pet).flatMap(({ title, answers }) =>
        answers.flatMap(({ label, value }) => property(`${title}: ${label}`, value)),
      ),
    ],
    offers: {
      '@type': 'Offer',
      url,
      availability: `https://schema.org/${availability[pet.status]}`,
      ...(price && {
        price: (price.amount / 10 ** decimalsOf(price.currency)).toFixed(decimalsOf(price.currency)),
        priceCurrency: price.currency,
      }),
      ...(organization !== undefined
        ? { seller: shelterData(organization, publicUrl) }
        : name !== undefined && { seller: { '@type': 'Organization', name } }),
    },
  };
}

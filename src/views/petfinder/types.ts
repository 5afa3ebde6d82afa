import { Problem } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest } from '../../lib/http/server/view.ts';
import { capitalized } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import type { CategoryAttributes } from '../../store/profile/attributes.ts';
import { bodyOf, linkBaseOf } from './calls.ts';

/** A type of animals: a top-level category. */
interface AnimalType {
  /** The id of the category. */
  readonly id: number;
  readonly name: string;
  readonly slug: string;
}

/** The types of Petfinder's API, which are the built-in categories. */
const animalTypes: readonly AnimalType[] = [
  { id: 1, name: 'Dog', slug: 'dog' },
  { id: 2, name: 'Cat', slug: 'cat' },
  { id: 3, name: 'Rabbit', slug: 'rabbit' },
  { id: 4, name: 'Small & Furry', slug: 'small-furry' },
  { id: 5, name: 'Horse', slug: 'horse' },
  { id: 6, name: 'Bird', slug: 'bird' },
  { id: 7, name: 'Scales, Fins & Other', slug: 'scales-fins-other' },
  { id: 8, name: 'Barnyard', slug: 'barnyard' },
];
const withUnknownGender: readonly string[] = ['bird', 'scales-fins-other'];

/** The types by their names and slugs in lower case. */
export const typesByName: Readonly<Record<string, AnimalType>> = Object.fromEntries(
  animalTypes.flatMap(type => [type.name.toLowerCase(), type.slug].map(name => [name, type])),
);

/** Returns the type of the animals of a top-level category, which has its name if it is not built in. */
export function typeOf(category: AnimalType): AnimalType {
  return animalTypes.find(({ id }) => id === category.id) ?? category;
}

export async function listTypes(request: AdmittedViewRequest) {
  const types = await Promise.all(animalTypes.map(type => shownType(request, type).catch(withoutCategory)));
  return { types: types.filter(type => type !== undefined) };
}

export async function getType(request: AdmittedViewRequest) {
  return { type: await shownType(request, typeInPath(request)) };
}

export async function listBreeds(request: AdmittedViewRequest) {
  const type = typeInPath(request);
  const { breeds } = await attributesOf(request, type);
  const _links = { type: { href: typeLink(linkBaseOf(request), type) } };
  return { breeds: breeds.map(name => ({ name, _links })) };
}

/** Returns the link to a type. @param base the start of links */
export function typeLink(base: string, { slug }: Pick<AnimalType, 'slug'>): string {
  return `${base}/types/${slug}`;
}

async function shownType(request: AdmittedViewRequest, type: AnimalType) {
  const { coats, colors } = await attributesOf(request, type);
  const self = typeLink(linkBaseOf(request), type);
  return {
    name: type.name,
    coats: coats.map(capitalized),
    colors,
    genders: ['Male', 'Female', ...(withUnknownGender.includes(type.slug) ? ['Unknown'] : [])],
    _links: { self: { href: self }, breeds: { href: `${self}/breeds` } },
  };
}

function typeInPath({ parameters }: AdmittedViewRequest): AnimalType {
  const name = parameters['type']!.toLowerCase();
  if (Object.hasOwn(typesByName, name)) return typesByName[name]!;
  throw problem('no_such_category');
}

function attributesOf(request: AdmittedViewRequest, { id }: AnimalType): Promise<CategoryAttributes> {
  return bodyOf(request, 'getCategoryAttributes', { path: { categoryId: String(id) } });
}

/** An operator may have merged the category into another. */
function withoutCategory(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'no_such_category') return undefined;
  throw error;
}

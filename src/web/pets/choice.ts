import { PetStatus } from '../../model/pet.ts';
import type { Database } from '../../model/schema.ts';
import type { PetSearch } from '../../store/pets/find.ts';
import { NEAR_LENGTH_MAX } from '../../store/pets/near.ts';
import { type TraitFilter, traitChoices, traitFilterOf } from '../../store/profile/traits.ts';
import { readTypedSearch } from '../../store/search/typed-search.ts';
import { SEARCH_LENGTH_MAX } from '../../store/search/words.ts';
import { idOf } from '../lists.ts';

/** The filters and the sort order of a visitor. */
export interface SearchChoice {
  readonly category: number | undefined;
  readonly status: PetStatus | 'any';
  /** By default the best match of a search, the nearest in a list near a place, otherwise the newest. */
  readonly sort: PetSearch['sort'] | undefined;
  readonly cursor: string | undefined;
  /** The words that a visitor searches for; empty for all animals. */
  readonly q: string;
  /** The words that were removed from `q`, and the original `q`; see `TypedSearch`. */
  readonly unmatched: readonly string[];
  readonly spelled: string;
  /** A postal code, a city or coordinates as typed by the visitor; empty for everywhere. */
  readonly near: string;
  readonly within: string;
  readonly traits: TraitFilter;
}

/** The sort orders that a visitor can choose, besides the default. */
export const sorts = {
  relevance: 'Best match',
  distance: 'Nearest first',
  recent: 'Newest first',
  id: 'Oldest first',
  name: 'Name, A to Z',
  '-name': 'Name, Z to A',
  random: 'Surprise me',
} as const;

/** The distances that a visitor can choose. */
export const distances = {
  '10mi': '10 miles',
  '25mi': '25 miles',
  '50mi': '50 miles',
  '100mi': '100 miles',
  '250mi': '250 miles',
  '25km': '25 km',
  '50km': '50 km',
  '100km': '100 km',
  '250km': '250 km',
} as const;

export const DEFAULTS = { status: 'available', within: '50mi' } as const;

/** Reads the choice from the query of the page. Ignores invalid values. */
export function choiceOf(query: URLSearchParams): SearchChoice {
  const [status = '', sort = '', within = '', q = '', near = ''] = ['status', 'sort', 'within', 'q', 'near'].map(
    name => query.get(name) ?? '',
  );
  return {
    category: idOf(query.get('category')),
    status:
      status === 'any' || PetStatus.enum.includes(status as PetStatus)
        ? (status as SearchChoice['status'])
        : DEFAULTS.status,
    sort: Object.hasOwn(sorts, sort) ? (sort as SearchChoice['sort']) : undefined,
    cursor: query.get('cursor') || undefined,
    q: q.trim().slice(0, SEARCH_LENGTH_MAX),
    unmatched: [],
    spelled: '',
    near: near.trim().slice(0, NEAR_LENGTH_MAX),
    within: Object.hasOwn(distances, within) ? within : DEFAULTS.within,
    traits: traitsIn(query),
  };
}

function traitsIn(query: URLSearchParams): TraitFilter {
  const chosen = Object.entries(traitChoices).map(([name, values]) => {
    const given = new Set(query.getAll(name).flatMap(text => text.split(',')));
    return [name, values.filter(value => given.has(value))] as const;
  });
  return traitFilterOf(Object.fromEntries(chosen.filter(([, values]) => values.length > 0))) ?? {};
}

/**
 * Returns a choice in which ages, traits and places among the typed words become filters, without words that no animal
 * matches.
 */
export async function withTypedFilters(database: Database, choice: SearchChoice): Promise<SearchChoice> {
  const { traits, near, ...words } = await readTypedSearch(database, choice.q);
  const chosen = Object.keys({ ...choice.traits, ...traits }).map(name => {
    const values = new Set([...(choice.traits[name] ?? []), ...(traits[name] ?? [])]);
    return [name, traitChoices[name]!.filter(value => values.has(value))] as const;
  });
  return { ...choice, ...words, near: near ?? choice.near, traits: Object.fromEntries(chosen) };
}

/** Returns the sort order of a choice, or the default if none is chosen or it requires a missing word or place. */
export function sortOf({ sort, q, near }: SearchChoice): PetSearch['sort'] {
  if (sort !== undefined && (sort !== 'relevance' || q !== '') && (sort !== 'distance' || near !== '')) return sort;
  if (q !== '') return 'relevance';
  return near === '' ? 'recent' : 'distance';
}

/** Returns the path of the first page of the list with another choice. Omits default values. */
export function pathOf(choice: SearchChoice, change: Partial<Omit<SearchChoice, 'cursor'>>): string {
  const { category, status, sort, q, near, within, traits } = { ...choice, ...change };
  const query = new URLSearchParams({
    ...(q !== '' && { q }),
    ...(near !== '' && { near, within }),
    ...(category !== undefined && { category: String(category) }),
    ...Object.fromEntries(Object.entries(traits).map(([name, values]) => [name, values.join(',')])),
    ...(status !== DEFAULTS.status && { status }),
    ...(sort !== undefined && { sort }),
  });
  return query.size === 0 ? '/animals' : `/animals?${query}`;
}

/**
 * Returns the path of the list with another trait chosen. @param values the chosen values; an empty list removes the
 * trait
 */
export function pathWithTrait(choice: SearchChoice, name: string, values: readonly string[]): string {
  const { [name]: _, ...others } = choice.traits;
  return pathOf(choice, { traits: values.length === 0 ? others : { ...others, [name]: values } });
}

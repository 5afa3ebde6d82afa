import type { Database } from '../../schema.ts';
import { idOf } from '../../web/lists.ts';
import type { PetSearch } from '../find.ts';
import { NEAR_LENGTH_MAX } from '../near.ts';
import { PetStatus } from '../pet.ts';
import { type TraitFilter, traitChoices, traitFilterOf } from '../traits.ts';
import { readTypedSearch } from '../typed-search.ts';
import { SEARCH_LENGTH_MAX } from '../words.ts';

/** The filters and the sort order of a visitor. */
export interface Choice {
  readonly category: number | undefined;
  readonly status: PetStatus | 'any';
  /** Without one: the best match of a search, the nearest in a list near a place, otherwise the newest. */
  readonly sort: PetSearch['sort'] | undefined;
  readonly cursor: string | undefined;
  /** What a visitor searches for; empty for everything. */
  readonly q: string;
  /** The words that were left out of `q`, and `q` with them; see `TypedSearch`. */
  readonly unmatched: readonly string[];
  readonly spelled: string;
  /** A postal code, a city or coordinates as the visitor typed them; empty for everywhere. */
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

/** Reads what the address of the page says; what makes no sense counts as not chosen. */
export function choiceOf(query: URLSearchParams): Choice {
  const [status = '', sort = '', within = '', q = '', near = ''] = ['status', 'sort', 'within', 'q', 'near'].map(
    name => query.get(name) ?? '',
  );
  return {
    category: idOf(query.get('category')),
    status:
      status === 'any' || PetStatus.enum.includes(status as PetStatus) ? (status as Choice['status']) : DEFAULTS.status,
    sort: Object.hasOwn(sorts, sort) ? (sort as Choice['sort']) : undefined,
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
 * Returns a choice in which the ages, the traits and the place that the visitor typed among the words are filters, without the
 * words that no animal matches.
 */
export async function withTypedFilters(database: Database, choice: Choice): Promise<Choice> {
  const { traits, near, ...words } = await readTypedSearch(database, choice.q);
  const chosen = Object.keys({ ...choice.traits, ...traits }).map(name => {
    const values = new Set([...(choice.traits[name] ?? []), ...(traits[name] ?? [])]);
    return [name, traitChoices[name]!.filter(value => values.has(value))] as const;
  });
  return { ...choice, ...words, near: near ?? choice.near, traits: Object.fromEntries(chosen) };
}

/** Returns the sort order of a choice, or its default if there is none or what it needs is missing. */
export function sortOf({ sort, q, near }: Choice): PetSearch['sort'] {
  if (sort !== undefined && (sort !== 'relevance' || q !== '') && (sort !== 'distance' || near !== '')) return sort;
  if (q !== '') return 'relevance';
  return near === '' ? 'recent' : 'distance';
}

/** Returns the query parameters of a choice, without what is chosen by default. */
export function parametersOf({ category, status, sort, q, near, within, traits }: Choice): Record<string, string> {
  return {
    ...(q !== '' && { q }),
    ...(near !== '' && { near, within }),
    ...(category !== undefined && { category: String(category) }),
    ...Object.fromEntries(Object.entries(traits).map(([name, values]) => [name, values.join(',')])),
    ...(status !== DEFAULTS.status && { status }),
    ...(sort !== undefined && { sort }),
  };
}

/** Returns the path of the first page of the list with another choice. */
export function pathOf(choice: Choice, change: Partial<Omit<Choice, 'cursor'>>): string {
  const query = new URLSearchParams(parametersOf({ ...choice, ...change }));
  return query.size === 0 ? '/animals' : `/animals?${query}`;
}

/** Returns the path of the list with another trait chosen. @param values none removes it */
export function pathWithTrait(choice: Choice, name: string, values: readonly string[]): string {
  const { [name]: _, ...others } = choice.traits;
  return pathOf(choice, { traits: values.length === 0 ? others : { ...others, [name]: values } });
}

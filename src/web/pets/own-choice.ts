import { nowOf } from '../../access/deployment.ts';
import type { Html } from '../../lib/html/html.ts';
import { PetStatus } from '../../model/pet.ts';
import { GROUP_ID_MAX } from '../../model/profile.ts';
import { countMessagesByPet } from '../../store/messages/count-by-pet.ts';
import { categoriesOf } from '../../store/pets/filter.ts';
import { findOwnPets, type OwnFilter, type OwnSort } from '../../store/pets/own-pets.ts';
import { SEARCH_LENGTH_MAX } from '../../store/search/words.ts';
import { hidden } from '../forms.ts';
import { idOf, listPage } from '../lists.ts';
import type { AccountVisit } from '../page.ts';
import { ANIMALS_PATH } from '../paths.ts';
import { statusNames } from './parts.ts';

/** The statuses that a shelter can choose; '' is the default: the animals that have not left. */
export const statusChoices = { '': 'Available or reserved', ...statusNames, any: 'Any status' } as const;

/** Which of the animals are shown. The names are part of links on other pages. */
export const shows = {
  '': 'All of them',
  waiting: 'Waiting for a home',
  'no-photo': 'Without a photo',
  'no-description': 'Without a description',
  messages: 'With messages',
} as const;

export const orders = { newest: 'Newest first', name: 'Name, A to Z', longest: 'Here longest first' } as const;

/** The filters, the order and the page of the list of own animals. */
export interface OwnChoice {
  readonly q: string;
  readonly status: keyof typeof statusChoices;
  readonly category: number | undefined;
  /** A tag, or the name of a group. */
  readonly tag: string;
  readonly show: keyof typeof shows;
  readonly sort: OwnSort;
  /** In accounts with very many animals: the id before which the search continues. */
  readonly before: number | undefined;
  readonly cursor: string | undefined;
}

/** Reads the choice from a query. Ignores invalid values. */
export function ownChoiceOf(query: URLSearchParams): OwnChoice {
  const oneOf = <Name extends string>(choices: Readonly<Record<Name, string>>, name: string, byDefault: Name): Name => {
    const value = query.get(name) ?? byDefault;
    return Object.hasOwn(choices, value) ? (value as Name) : byDefault;
  };
  const text = (name: string, maxLength: number) => (query.get(name) ?? '').trim().slice(0, maxLength).toWellFormed();
  return {
    q: text('q', SEARCH_LENGTH_MAX),
    status: oneOf(statusChoices, 'status', ''),
    category: idOf(query.get('category')),
    tag: text('tag', GROUP_ID_MAX),
    show: oneOf(shows, 'show', ''),
    sort: oneOf(orders, 'sort', 'newest'),
    before: idOf(query.get('before')),
    cursor: query.get('cursor') || undefined,
  };
}

/** Returns the query of a choice, without default values. */
export function queryOf({ q, status, category, tag, show, sort, before, cursor }: OwnChoice): URLSearchParams {
  return new URLSearchParams({
    ...(q !== '' && { q }),
    ...(status !== '' && { status }),
    ...(category !== undefined && { category: String(category) }),
    ...(tag !== '' && { tag }),
    ...(show !== '' && { show }),
    ...(sort !== 'newest' && { sort }),
    ...(before !== undefined && { before: String(before) }),
    ...(cursor !== undefined && { cursor }),
  });
}

/** Returns the path of the list with another choice. A new choice begins with the first page. */
export function listPath(choice: OwnChoice, change: Partial<OwnChoice> = {}): string {
  const first = Object.keys(change).length === 0 ? {} : { cursor: undefined, before: undefined };
  const query = queryOf({ ...choice, ...first, ...change });
  return query.size === 0 ? ANIMALS_PATH : `${ANIMALS_PATH}?${query}`;
}

/** Reports whether a choice has a filter. */
export function isFiltered(choice: OwnChoice): boolean {
  return queryOf({ ...choice, sort: 'newest', before: undefined, cursor: undefined }).size > 0;
}

const LIST = 'list';

/** Returns the hidden field by which other pages return to the list. */
export function listField(choice: OwnChoice): Html {
  return hidden(LIST, queryOf(choice).toString());
}

/** Returns the query of a link to a page that returns to the list. */
export function listQuery(choice: OwnChoice): string {
  const list = queryOf(choice).toString();
  return list === '' ? '' : `?${new URLSearchParams({ [LIST]: list })}`;
}

/** Returns the choice of the list from which a page or a form was opened. */
export function choiceBehind(fields: URLSearchParams): OwnChoice {
  return ownChoiceOf(new URLSearchParams(fields.get(LIST) ?? ''));
}

/** Returns the filter of a choice. @param messages the numbers of messages about animals; see `countMessagesByPet` */
export async function ownFilterOf(
  { deployment: { database }, account }: AccountVisit,
  { q, status, category, tag, show, before }: OwnChoice,
  messages: ReadonlyMap<number, number>,
): Promise<OwnFilter> {
  const categories = await categoriesOf(database, { categoryId: category, includeDescendants: true });
  return {
    ownerId: account.id,
    text: q || undefined,
    label: tag || undefined,
    status: statusesOf(status).filter(one => show !== 'waiting' || one === 'available'),
    categoryIds: categories,
    lacks: show === 'no-photo' ? 'photo' : show === 'no-description' ? 'description' : undefined,
    ids: show === 'messages' ? [...messages.keys()] : undefined,
    before,
  };
}

function statusesOf(status: OwnChoice['status']): readonly PetStatus[] {
  if (status === '') return ['available', 'pending'];
  return status === 'any' ? PetStatus.enum : [status];
}

/** Returns the ids of all animals that match a choice, in the order of the list. */
export async function allMatching(visit: AccountVisit, choice: OwnChoice): Promise<readonly number[]> {
  const { deployment, account } = visit;
  const filter = await ownFilterOf(visit, choice, await countMessagesByPet(deployment.database, account.id));
  const { request } = listPage(visit);
  const { rows } = await findOwnPets(deployment.database, filter, choice.sort, nowOf(deployment), request);
  return rows.map(({ id }) => id);
}

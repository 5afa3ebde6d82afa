import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { listPets } from '../../store/pets/list.ts';
import { listPage } from '../lists.ts';
import type { AccountVisit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';

/** An animal that a row of a list names. */
export interface NamedPet {
  readonly name: string;
  readonly isOwn: boolean;
}

/** Returns the animals with these ids, by id. Deleted animals are missing. */
export async function petsNamed(visit: AccountVisit, ids: readonly number[]): Promise<ReadonlyMap<number, NamedPet>> {
  const id = [...new Set(ids)];
  if (id.length === 0) return new Map();
  const { deployment, account } = visit;
  const { request } = listPage(visit);
  const { rows } = await listPets(
    deployment.database,
    { id, sort: 'id' },
    { limit: id.length, request },
    nowOf(deployment),
    'card',
  );
  return new Map(rows.map(({ id, name, accountId }) => [id, { name, isOwn: accountId === account.id }]));
}

/** Returns a link to an animal: to its form for its owner, otherwise to its public page. */
export function petLink(id: number, pets: ReadonlyMap<number, NamedPet>): Html {
  const pet = pets.get(id);
  if (pet === undefined) return html`An animal that is gone`;
  return html`<a href="${pet.isOwn ? HOME_PATH : ''}/animals/${id}"><bdi>${pet.name}</bdi></a>`;
}

/** The same for several animals. */
export function petLinks(ids: readonly number[], pets: ReadonlyMap<number, NamedPet>): Html {
  return html`${ids.map((id, index) => html`${index > 0 && ', '}${petLink(id, pets)}`)}`;
}

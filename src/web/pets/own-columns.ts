import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { FullPet } from '../../model/pet.ts';
import { photoPath } from '../../model/photo.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { arrivalOf } from '../../store/pets/own-pets.ts';
import type { AccountVisit } from '../page.ts';
import type { Columns } from '../parts.ts';
import { ANIMALS_PATH, MESSAGES_PATH } from '../paths.ts';
import { listPath, listQuery, type OwnChoice } from './own-choice.ts';
import { drawing, otherDrawing, priceText, statusBadges } from './parts.ts';
import { ageText } from './profile-view.ts';
import { breedText } from './trait-names.ts';

/** The id of the form that the checkboxes of rows belong to. */
export const SELECTION = 'selection';

const TAGS_SHOWN = 3;

/** Returns the columns of the list of own animals. @param messages the numbers of messages about animals */
export async function ownColumns(
  visit: AccountVisit,
  choice: OwnChoice,
  pets: readonly FullPet[],
  messages: ReadonlyMap<number, number>,
): Promise<Columns<FullPet>> {
  const { deployment } = visit;
  const now = nowOf(deployment);
  const mayChange = visit.may('animals');
  const ids = pets.map(({ categoryId }) => categoryId);
  const paths = await categoryPaths(deployment.database, ids);
  return {
    Animal: pet => animalCell(pet, drawingOf(pet), mayChange),
    Breed: pet => html`<bdi>${breedText(pet) ?? paths.get(pet.categoryId)?.at(-1)?.name}</bdi>${labelsOf(pet, choice)}`,
    Age: pet => ageText(pet, now),
    Status: pet =>
      html`${statusBadges[pet.status]} <span class="small after-status">${pet.price && priceText(pet.price)}${mayChange && editLink(pet, choice)}</span>`,
    'Days here': pet => pet.status !== 'sold' && daysHere(pet, now),
    Place: ({ shelterLocation }) => shelterLocation !== undefined && html`<bdi>${shelterLocation}</bdi>`,
    Messages: ({ id, name }) => messagesCell(id, name, messages.get(id)),
  };

  function drawingOf({ categoryId }: FullPet): Html {
    return paths.has(categoryId) ? drawing(paths.get(categoryId)) : otherDrawing;
  }
}

function animalCell({ id, name, externalId, photos: [main] = [] }: FullPet, drawn: Html, mayChange: boolean): Html {
  const thumb =
    main === undefined
      ? html`<span class="thumb">${drawn}</span>`
      : html`<img class="thumb" src="${photoPath(main.id, 100)}" width="48" height="48" alt="" loading="lazy" decoding="async">`;
  return html`<div class="own">${mayChange && html`<input type="checkbox" id="animal-${id}" form="${SELECTION}" name="id" value="${id}" aria-label="Select ${name}">`}
${thumb}
<span><a href="${ANIMALS_PATH}/${id}"><bdi>${name}</bdi></a>${externalId !== undefined && html` <span class="quiet small"><bdi>${externalId}</bdi></span>`}</span></div>`;
}

/** Returns the tags and the group of an animal, each with a link to the animals that share it. */
function labelsOf({ tags = [], group }: FullPet, choice: OwnChoice): Html | undefined {
  const labels = [...(group === undefined ? [] : [group.id]), ...tags];
  if (labels.length === 0) return undefined;
  const shown = labels.slice(0, TAGS_SHOWN);
  const more = labels.length - shown.length;
  return html`<ul class="labels">${shown.map(
    label => html`<li><a href="${listPath(choice, { tag: label })}" rel="nofollow"><bdi>${label}</bdi></a></li>`,
  )}${more > 0 && html`<li>+${more}</li>`}</ul>`;
}

function editLink({ id, name }: FullPet, choice: OwnChoice): Html {
  return html`
<a href="${ANIMALS_PATH}/${id}/status${listQuery(choice)}" data-edit="${id}" aria-label="Edit status, price and tags of ${name}">Edit</a>`;
}

function daysHere(pet: FullPet, now: number): number {
  return Math.max(0, Math.floor((now - Date.parse(arrivalOf(pet))) / DAY_MS));
}

function messagesCell(id: number, name: string, count: number | undefined): Html | undefined {
  if (count === undefined) return undefined;
  const noun = count === 1 ? 'message' : 'messages';
  return html`<a href="${MESSAGES_PATH}?animal=${id}" aria-label="${count} ${noun} about ${name}">${count}</a>`;
}

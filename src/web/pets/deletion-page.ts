import { html } from '../../lib/html/html.ts';
import { withoutMarks } from '../../lib/text.ts';
import type { FullPet } from '../../model/pet.ts';
import { deletePet } from '../../store/pets/pets.ts';
import { formPage } from '../form-page.ts';
import { checkOf, form, hidden } from '../forms.ts';
import { type AccountVisit, ownActor, type View } from '../page.ts';
import { ANIMALS_PATH } from '../paths.ts';
import { ownPet } from './form-pages.ts';

/** Deletes an animal of the account, after a confirmation. */
export const deleteAnimalPage = formPage({
  path: `${ANIMALS_PATH}/{petId}/deletion`,
  permission: 'animals',
  title: 'Delete an animal',
  find: visit => ownPet(visit),
  view: deletionView,
  async change(visit, { id }) {
    const { deployment, origin } = visit;
    await deployment.database.write(tx => deletePet(tx, ownActor(visit), id, checkOf(visit, 'animal')), origin);
    return `${ANIMALS_PATH}?deleted=yes`;
  },
});

function deletionView(visit: AccountVisit, { id, name, etag, status }: FullPet, error?: string): View {
  const reserved = status === 'pending' ? RESERVED : '';
  return {
    title: `Delete ${withoutMarks(name)}`,
    errors: { '': error && `${error} ${reserved}`.trim() },
    body: html`<p>The animal is deleted for good, with its photos.</p>
<p>If it found a home, set its status to “Sold” and its outcome instead: a deleted animal is not in your statistics.</p>
${error === undefined && reserved !== '' && html`<p>${reserved}</p>`}
${form(
  visit,
  { action: `${ANIMALS_PATH}/${id}/deletion`, submit: 'Delete the animal', danger: true },
  hidden('etag', etag),
)}
<p><a href="${ANIMALS_PATH}/${id}">Back to the animal</a></p>`,
  };
}

const RESERVED =
  'An animal that is on hold or ordered cannot be deleted. Wait until the hold or the order ends, or end it first.';

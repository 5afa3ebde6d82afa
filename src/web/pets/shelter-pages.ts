import { html } from '../../lib/html/html.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { withoutMarks } from '../../lib/text.ts';
import type { FullPet } from '../../model/pet.ts';
import { deletePet } from '../../store/pets/pets.ts';
import { assertFormProblem, checkOf, form } from '../forms.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { ownPet } from './form-pages.ts';

/** Deletes an animal of the account, after a confirmation. */
export const deleteAnimalPage = accountPage({
  path: '/shelter/animals/{petId}/deletion',
  permission: 'animals',
  title: 'Delete an animal',
  async show(visit) {
    const pet = await ownPet(visit);
    return pet && deletionView(visit, pet);
  },
  async submit(visit) {
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const { deployment, origin } = visit;
    const actor = ownActor(visit);
    try {
      await deployment.database.write(tx => deletePet(tx, actor, pet.id, checkOf(visit, 'animal')), origin);
      return { location: '/shelter/animals?deleted=yes' };
    } catch (error) {
      assertFormProblem(error);
      return deletionView(visit, pet, error);
    }
  },
});

function deletionView(visit: AccountVisit, pet: FullPet, error?: Problem): View {
  const { id, name, etag } = pet;
  const isReserved = error?.code === 'pet_reserved';
  return {
    title: `Delete ${withoutMarks(name)}`,
    errors: { '': error && html`${error.message}${isReserved && ` ${RESERVED}`}` },
    body: html`<p>The animal is deleted for good, with its photos.</p>
<p>If it found a home, set its status to “Sold” and its outcome instead: a deleted animal is not in your statistics.</p>
${error === undefined && pet.status === 'pending' && html`<p>${RESERVED}</p>`}
${form(
  visit,
  { action: `/shelter/animals/${id}/deletion`, submit: 'Delete the animal', danger: true },
  html`<input type="hidden" name="etag" value="${etag}">`,
)}
<p><a href="/shelter/animals/${id}">Back to the animal</a></p>`,
  };
}

const RESERVED =
  'An animal that is on hold or ordered cannot be deleted. Wait until the hold or the order ends, or end it first.';

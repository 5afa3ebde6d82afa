import { nowOf } from '../../access/deployment.ts';
import { html } from '../../lib/html/html.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { withoutMarks } from '../../lib/text.ts';
import { type FullPet, PetPatch } from '../../model/pet.ts';
import { newCategoriesOf } from '../../store/categories/bound.ts';
import { updatePet } from '../../store/pets/pets.ts';
import { assertFormProblem, checkOf, choicesOf, field, form, select, textArea } from '../forms.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { ANIMALS_PATH } from '../paths.ts';
import { readChecked, type Texts } from '../schema-form.ts';
import { ownPet } from './form-pages.ts';
import { choiceBehind, listField, listPath, queryOf } from './own-choice.ts';
import { statusNames } from './parts.ts';
import { changesIn, errorsOf, textsOf } from './pet-form.ts';
import { TAGS_ERROR, tagsIn } from './tag-lines.ts';

/** The fields of this form, which are some of those of an animal. */
const names = ['status', 'price/amount', 'price/currency', 'tags'] as const;

/** The small form of an animal in the list: its status, price and tags. `edit-in-row.js` shows it below the row. */
export const petStatusPage = accountPage({
  path: `${ANIMALS_PATH}/{petId}/status`,
  permission: 'animals',
  title: 'Status, price and tags',
  async show(visit) {
    const pet = await ownPet(visit);
    return pet && formView(visit, pet, textsOf(pet));
  },
  async submit(visit) {
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const { deployment, account, origin, form: sent } = visit;
    const texts = { ...textsOf(pet), ...entriesOf(sent) };
    try {
      checkOf(visit, 'animal')(pet.etag);
      const patch = readChecked<PetPatch>(petPatch, changesIn(texts, textsOf(pet), nowOf(deployment)));
      const categories = newCategoriesOf(deployment, account);
      await deployment.database.write(
        tx => updatePet(tx, ownActor(visit), pet.id, patch, categories, checkOf(visit, 'animal')),
        origin,
      );
      const query = queryOf(choiceBehind(sent));
      query.set('saved', 'yes');
      return { location: `${ANIMALS_PATH}?${query}#animal-${pet.id}` };
    } catch (error) {
      assertFormProblem(error);
      return error.code === 'precondition_failed' ? staleView(visit) : formView(visit, pet, texts, error);
    }
  },
});

const petPatch = new BodyReader(PetPatch);

/** Returns the entries of the form. Without an amount, the animal has no price. Tags that were not changed stay. */
function entriesOf(sent: URLSearchParams): Texts {
  const entries = Object.fromEntries(names.map(name => [name, textIn(sent, name)])) as Record<string, string>;
  if (entries['price/amount']!.trim() === '') entries['price/currency'] = '';
  const tags = entries['tags']!;
  return tags === textIn(sent, 'was/tags') ? entries : { ...entries, tags: tagsIn(tags).join('\n') };
}

/** Returns the text of a field. Browsers send line breaks as CRLF. */
function textIn(sent: URLSearchParams, name: string): string {
  return (sent.get(name) ?? '').replaceAll('\r\n', '\n');
}

/** Returns the form with the current animal and the entries that were changed in the form. */
async function staleView(visit: AccountVisit): Promise<View | undefined> {
  const pet = await ownPet(visit);
  if (pet === undefined) return undefined;
  const current = textsOf(pet);
  const changed = names.filter(name => textIn(visit.form, name) !== textIn(visit.form, `was/${name}`));
  const texts = { ...current, ...Object.fromEntries(changed.map(name => [name, textIn(visit.form, name)])) };
  const view = formView(visit, pet, texts);
  const message =
    'The animal has changed since. Below is how it is now, with your entries. Check them, and save again.';
  return { ...view, errors: { '': message } };
}

function formView(visit: AccountVisit, pet: FullPet, texts: Texts, error?: Problem): View {
  const { id, name, etag } = pet;
  const choice = choiceBehind(visit.form.size > 0 ? visit.form : visit.query);
  const current = textsOf(pet);
  const errors = { ...errorsOf(texts, error) };
  if (errors['tags'] !== undefined) errors['tags'] = TAGS_ERROR;
  const shown = (name: (typeof names)[number]) => ({
    name,
    value: texts[name]!,
    error: errors[name] as string | undefined,
  });
  return {
    title: `Status, price and tags of ${withoutMarks(name)}`,
    errors,
    body: html`${form(
      visit,
      { action: `${ANIMALS_PATH}/${id}/status`, submit: 'Save' },
      html`${listField(choice)}<input type="hidden" name="etag" value="${etag}">
${names.map(name => html`<input type="hidden" name="was/${name}" value="${current[name]}">`)}
${select({ ...shown('status'), label: 'Status', choices: choicesOf(statusNames, texts['status']!) })}
${field({ ...shown('price/amount'), label: 'Price', optional: true })}
${field({ ...shown('price/currency'), label: 'Currency, such as EUR', optional: true, maxLength: 3 })}
${textArea({ ...shown('tags'), label: 'Tags, one a line', optional: true })}`,
    )}
<p><a href="${ANIMALS_PATH}/${id}">All entries of the animal</a> · <a href="${listPath(choice)}">Back to the list</a></p>`,
  };
}

import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { withoutMarks } from '../../lib/text.ts';
import { type FullPet, NewPet, PetPatch, petValues } from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import type { Transaction } from '../../model/schema.ts';
import { newCategoriesOf } from '../../store/categories/bound.ts';
import { categoriesWithin, categoryPaths } from '../../store/categories/paths.ts';
import { listPets } from '../../store/pets/list.ts';
import { createPet, deletePet, getPet, updatePet } from '../../store/pets/pets.ts';
import { checkOf, doneNotice, form, notice } from '../forms.ts';
import { found } from '../found.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { changeOnce, onceField } from '../once.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { type Columns, table } from '../parts.ts';
import { ownPhotosView } from '../photos/own-photos.ts';
import { LONG_FORM_BYTES_MAX, readChecked, type Texts } from '../schema-form.ts';
import { beginLinks, noAnimalsView, statusBadges } from './parts.ts';
import { changesIn, errorsOf, petFieldsView, textsIn, textsOf } from './pet-form.ts';

/** The animals of the account. */
export const ownAnimalsPage = accountPage({
  path: '/shelter/animals',
  permission: 'read',
  title: 'Your animals',
  menu: 'desk',
  menuItem: { text: 'Animals' },
  async show(visit) {
    const { deployment, account } = visit;
    const filter = { ownerId: account.id, sort: '-id' } as const;
    const page = await listPets(deployment.database, filter, listPage(visit), nowOf(deployment), 'full');
    const isFirst = page.rows.length === 0 && !visit.query.has('cursor');
    return {
      description: 'Add and edit the animals of this account.',
      styles: isFirst ? ['animals.css'] : [],
      body: html`${doneNotice(savedTexts, visit.query.get('saved'))}${visit.query.has('deleted') && notice('status', html`<p>The animal is deleted.</p>`)}
${
  isFirst
    ? noAnimalsView
    : html`${beginLinks}
${table('Your animals', columns, page.rows, 'There are no further animals.')}
${pageLinks(visit, page)}`
}`,
    };
  },
});

const columns: Columns<FullPet> = {
  Name: ({ id, name }) => html`<a href="/shelter/animals/${id}"><bdi>${name}</bdi></a>`,
  Status: ({ status }) => statusBadges[status],
  Photos: ({ photos }) => photos?.length ?? 0,
  Page: ({ id, name }) => html`<a href="/animals/${id}" aria-label="Public page of ${name}">Public page</a>`,
};

/** Adds an animal. */
export const newAnimalPage = accountPage({
  path: '/shelter/animals/new',
  permission: 'animals',
  title: 'Add an animal',
  menu: 'desk',
  menuItem: { text: 'New animal', indented: true, key: 'n' },
  formBytesMax: LONG_FORM_BYTES_MAX,
  show: visit => formView(visit, textsOf({ status: 'available' })),
  submit(visit) {
    const { deployment, account } = visit;
    const texts = textsIn(visit.form);
    return saved(visit, texts, undefined, async () => {
      // Compared with an empty form, every entered value is a change.
      const pet = changesIn(texts, textsOf({}));
      // Without a chosen category, its id is 0, which is rejected beside the field.
      const checked = readChecked<NewPet>(newPet, { ...pet, categoryId: Number(texts['categoryId']) });
      const petsMax = boundOf(deployment.bounds, account, 'pets');
      const categories = newCategoriesOf(deployment, account);
      const create = async (tx: Transaction) => {
        await createPet(tx, account.id, checked, categories, { petsMax });
        return undefined;
      };
      return (await changeOnce(visit, 'newAnimal', texts, create)).isRepeated ? 'before' : 'yes';
    });
  },
});

/** Edits an animal of the account. */
export const ownAnimalPage = accountPage({
  path: '/shelter/animals/{petId}',
  permission: 'animals',
  shownFor: 'read',
  title: 'Edit an animal',
  formBytesMax: LONG_FORM_BYTES_MAX,
  async show(visit) {
    const pet = await ownPet(visit);
    return pet && formView(visit, textsOf(pet), pet);
  },
  async submit(visit) {
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const { deployment, account, origin } = visit;
    const texts = textsIn(visit.form);
    return saved(visit, texts, pet, async () => {
      const patch = readChecked<PetPatch>(petPatch, changesIn(texts, textsOf(pet)));
      if (Object.keys(patch).length === 0) return 'yes';
      const actor = ownActor(visit);
      const categories = newCategoriesOf(deployment, account);
      await deployment.database.write(
        tx => updatePet(tx, actor, pet.id, patch, categories, checkOf(visit, 'animal')),
        origin,
      );
      return 'yes';
    });
  },
});

const newPet = new BodyReader(NewPet);
const petPatch = new BodyReader(PetPatch);

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
      if (!(error instanceof Problem) || error.status >= 500) throw error;
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

/** The messages about a saved form, by the value of `saved` in the query of the list. */
const savedTexts = {
  yes: 'The animal is saved.',
  before: 'The animal was saved before. To add another animal like this one, choose “Add an animal” again.',
} as const;

/** The maximum number of categories to choose from. */
const CATEGORIES_MAX = 200;

/** Saves an animal, or shows its form again with the entered texts and the errors. */
async function saved(
  visit: AccountVisit,
  texts: Texts,
  pet: FullPet | undefined,
  save: () => Promise<keyof typeof savedTexts>,
) {
  try {
    return { location: `/shelter/animals?saved=${await save()}` };
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error;
    return formView(visit, texts, pet, error);
  }
}

/** Returns the animal of the path; `undefined` if the account has no such animal. */
async function ownPet({ deployment, account, parameters }: AccountVisit): Promise<FullPet | undefined> {
  const id = idOf(parameters['petId']);
  const row = id && (await found(getPet(deployment.database, id, nowOf(deployment))));
  // Omit an age that derives from the date of birth: a form that sends it back would store it.
  return row && row.accountId === account.id ? petValues.fullOf(row) : undefined;
}

async function formView(visit: AccountVisit, texts: Texts, pet?: FullPet, error?: Problem): Promise<View> {
  return {
    ...(pet !== undefined && { title: `Edit ${pet.name}` }),
    styles: ['animals.css'],
    ...(pet !== undefined && { scripts: ['upload.js'] }),
    errors: errorsOf(texts, error),
    body: html`${form(visit, { action: visit.request.path, submit: 'Save' }, [
      pet && html`<p><a href="#photos">Photos of the animal</a></p>`,
      pet === undefined
        ? onceField(visit)
        : html`<input type="hidden" name="etag" value="${visit.form.get('etag') ?? pet.etag}">`,
      petFieldsView(texts, await categoriesFor(visit, idOf(texts['categoryId'])), error?.errors),
    ])}
${pet && ownPhotosView(visit, pet, 'animal')}
${links(pet)}`,
  };
}

function links(pet: FullPet | undefined): Html {
  return html`<p>${pet && html`<a href="/animals/${pet.id}">Public page</a> · <a href="/animals/${pet.id}/card">Card to print</a> · <a href="/shelter/animals/${pet.id}/deletion">Delete the animal</a> · `}<a href="/shelter/animals">Your animals</a></p>`;
}

/** Returns the main categories, and the category of the animal. */
async function categoriesFor({ deployment: { database } }: AccountVisit, id: number | undefined) {
  const main = await categoriesWithin(database, null, CATEGORIES_MAX);
  if (id === undefined || main.some(one => one.id === id)) return main;
  return [...main, ...((await categoryPaths(database, [id])).get(id)?.slice(-1) ?? [])];
}

import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { type FullPet, NewPet, PetPatch, petValues } from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import type { Transaction } from '../../model/schema.ts';
import { newCategoriesOf } from '../../store/categories/bound.ts';
import { categoryPaths, mainCategories } from '../../store/categories/paths.ts';
import { listPets } from '../../store/pets/list.ts';
import { createPet, getPet, updatePet } from '../../store/pets/pets.ts';
import { knownValues } from '../../store/profile/attributes.ts';
import { assertFormProblem, checkOf, hidden, notice } from '../forms.ts';
import { found } from '../found.ts';
import { idOf, listPage } from '../lists.ts';
import { changeOnce, onceField } from '../once.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { ANIMALS_PATH, MESSAGES_PATH } from '../paths.ts';
import { ownPhotosView, photosLaterView } from '../photos/own-photos.ts';
import { LONG_FORM_BYTES_MAX, readChecked, type Texts } from '../schema-form.ts';
import { changesIn, errorsOf, fieldErrors, hashesOf, mergedTexts, textsIn, textsLike, textsOf } from './pet-form.ts';
import { petFormView, sectionLinks } from './pet-form-view.ts';

/** Adds an animal. With `like` in the query, its form begins with the values of a litter. */
export const newAnimalPage = accountPage({
  path: `${ANIMALS_PATH}/new`,
  permission: 'animals',
  title: 'Add an animal',
  menu: 'desk',
  menuItem: { text: 'New animal', indented: true, key: 'n' },
  formBytesMax: LONG_FORM_BYTES_MAX,
  async show(visit) {
    const like = await ownPet(visit, visit.query.get('like'));
    const currency = await usualCurrency(visit);
    if (like !== undefined) {
      return formView(visit, { texts: textsLike(like, currency), message: savedView(like, 'another'), like });
    }
    const kind = idOf(visit.query.get('kind'));
    return formView(visit, { texts: textsOf({ status: 'available', ...(kind && { categoryId: kind }) }, currency) });
  },
  async submit(visit) {
    const { deployment, account } = visit;
    const texts = textsIn(visit.form);
    return saved(visit, { texts }, async () => {
      // Compared with an empty form, every entered value is a change.
      const pet = changesIn(texts, textsOf({}), nowOf(deployment));
      // Without a chosen category, its id is 0, which is rejected beside the field.
      const checked = readChecked<NewPet>(newPet, { ...pet, categoryId: Number(texts['categoryId']) });
      const petsMax = boundOf(deployment.bounds, account, 'pets');
      const categories = newCategoriesOf(deployment, account);
      const create = async (tx: Transaction) => {
        const { id } = await createPet(tx, account.id, checked, categories, { petsMax });
        return String(id);
      };
      const { isRepeated, location: id } = await changeOnce(visit, 'newAnimal', texts, create);
      if (visit.form.get('then') === 'another') return `${ANIMALS_PATH}/new?like=${id}&saved=yes`;
      return `${ANIMALS_PATH}/${id}?saved=${isRepeated ? 'before' : 'new'}`;
    });
  },
});

/** Edits an animal of the account. */
export const ownAnimalPage = accountPage({
  path: `${ANIMALS_PATH}/{petId}`,
  permission: 'animals',
  shownFor: 'read',
  title: 'Edit an animal',
  formBytesMax: LONG_FORM_BYTES_MAX,
  async show(visit) {
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const state = visit.query.get('saved');
    const message = state === 'new' || state === 'before' ? savedView(pet, state) : undefined;
    return formView(visit, { pet, texts: await shownTexts(visit, pet), message });
  },
  async submit(visit) {
    const pet = await ownPet(visit);
    if (pet === undefined) return undefined;
    const { deployment, origin } = visit;
    const texts = textsIn(visit.form);
    return saved(visit, { texts, pet }, async () => {
      const changes = changesIn(texts, await shownTexts(visit, pet), nowOf(deployment));
      const patch = readChecked<PetPatch>(petPatch, changes);
      const actor = ownActor(visit);
      const categories = newCategoriesOf(deployment, visit.account);
      if (Object.keys(patch).length > 0) {
        await deployment.database.write(
          tx => updatePet(tx, actor, pet.id, patch, categories, checkOf(visit, 'animal')),
          origin,
        );
      }
      return `${ANIMALS_PATH}?saved=yes`;
    });
  },
});

const newPet = new BodyReader(NewPet);
const petPatch = new BodyReader(PetPatch);

/** The number of the newest animals of which one has the usual currency. */
const PRICED_MAX = 10;

/** What the form shows. */
interface Shown {
  readonly texts: Texts;
  /** The animal; absent while it is added. */
  readonly pet?: FullPet | undefined;
  /** The animal of the same litter that was saved before. */
  readonly like?: FullPet | undefined;
  /** The message above the form. */
  readonly message?: Html | undefined;
}

/** Saves an animal, or shows its form again with the entered texts and the errors. */
async function saved(visit: AccountVisit, shown: Shown, save: () => Promise<string>) {
  try {
    return { location: await save() };
  } catch (error) {
    assertFormProblem(error);
    if (error.code === 'precondition_failed' && shown.pet !== undefined) return staleView(visit, shown.texts);
    return formView(visit, shown, { problem: error, etag: visit.form.get('etag'), hashes: visit.form.get('shown') });
  }
}

/** Shows the entries merged with the version that someone else saved, for which they can be sent again. */
async function staleView(visit: AccountVisit, sent: Texts): Promise<View | undefined> {
  const pet = await ownPet(visit);
  if (pet === undefined) return undefined;
  const current = await shownTexts(visit, pet);
  const { texts, conflicts } = mergedTexts(sent, current, visit.form.get('shown'));
  const problem = new Problem('precondition_failed', 412, STALE, { errors: conflicts });
  const view = await formView(visit, { texts, pet }, { problem, etag: pet.etag, hashes: hashesOf(current) });
  return { ...view, errors: { '': STALE, ...view.errors } };
}

const STALE =
  'The animal has changed since you opened this page: someone else saved it. Your entries are kept. Check them, and save again.';

/** Returns an animal of the account: that of the path by default. `undefined` if the account has no such animal. */
export async function ownPet(
  { deployment, account, parameters }: AccountVisit,
  petId: string | null | undefined = parameters['petId'],
): Promise<FullPet | undefined> {
  const id = idOf(petId);
  const row = id && (await found(getPet(deployment.database, id, nowOf(deployment))));
  // Omit an age that derives from the date of birth: a form that sends it back would store it.
  return row && row.accountId === account.id ? petValues.fullOf(row) : undefined;
}

async function shownTexts(visit: AccountVisit, pet: FullPet): Promise<Texts> {
  return textsOf(pet, pet.price === undefined ? await usualCurrency(visit) : undefined);
}

/** Returns the currency of the newest animal that has a price. */
async function usualCurrency(visit: AccountVisit): Promise<string> {
  const { deployment, account } = visit;
  const filter = { ownerId: account.id, sort: '-id' } as const;
  const newest = { ...listPage(visit, PRICED_MAX), cursor: undefined };
  const { rows } = await listPets(deployment.database, filter, newest, nowOf(deployment), 'card');
  return rows.find(({ price }) => price !== undefined)?.price?.currency ?? 'USD';
}

/** The reason why a form is shown again, and the version that its entries belong to. */
interface Again {
  readonly problem: Problem;
  readonly etag: string | null;
  readonly hashes: string | null;
}

async function formView(visit: AccountVisit, { texts, pet, like, message }: Shown, again?: Again): Promise<View> {
  const kind = idOf(texts['categoryId']);
  const { database } = visit.deployment;
  const [categories, known] = await Promise.all([
    categoriesFor(visit, kind),
    kind === undefined ? undefined : knownValues(database, kind),
  ]);
  const shown = {
    texts,
    categories,
    known,
    errors: again === undefined ? [] : fieldErrors(again.problem),
    isUnsaved: again !== undefined,
  };
  return {
    ...(pet !== undefined && { title: `Edit ${pet.name}` }),
    styles: ['animals.css', 'photos.css', 'animal-form.css'],
    scripts: ['animal-form.js', 'unsaved-entries.js', pet === undefined ? 'photo-choice.js' : 'upload.js'],
    errors: errorsOf(texts, again?.problem),
    body: html`${message}${pet && stepsView(visit, pet)}${sectionLinks}
${pet === undefined ? photosLaterView(like && `${ANIMALS_PATH}/${like.id}/photos`) : ownPhotosView(visit, pet, 'animal')}
${
  pet === undefined
    ? petFormView(visit, shown, onceField(visit), anotherButton)
    : petFormView(visit, shown, [
        hidden('etag', again?.etag ?? pet.etag),
        hidden('shown', again === undefined ? hashesOf(texts) : (again.hashes ?? '')),
      ])
}
${links(pet)}`,
  };
}

const anotherButton = html`<button name="then" value="another" class="secondary">Save and add another</button>`;

const savedTexts = {
  new: 'is saved. Add photos now: they help an animal to find its home.',
  before: 'was saved before, so nothing has changed.',
  another: 'is saved. Kind, breed and intake are filled in for the next animal.',
} as const;

/** Returns the message about an animal that was added. */
function savedView({ id, name }: FullPet, state: keyof typeof savedTexts): Html {
  const next =
    state === 'another'
      ? html`<a href="${ANIMALS_PATH}/${id}#photos">Photos of <bdi>${name}</bdi></a>`
      : html`<a href="${ANIMALS_PATH}/new?like=${id}">Add another like this one</a>`;
  return notice(
    'status',
    html`<p><bdi>${name}</bdi> ${savedTexts[state]}</p><p>${next} · <a href="${ANIMALS_PATH}">Your animals</a></p>`,
  );
}

/** Returns the links to what happens to an animal. */
function stepsView(visit: AccountVisit, { id, status }: FullPet): Html {
  const reserve = visit.may('orders') && status !== 'sold';
  return html`<p>${reserve && html`<a class="button secondary" href="${ANIMALS_PATH}/${id}/reservation">Hold or hand over</a> `}<a href="${ANIMALS_PATH}/${id}/history">History</a> · <a href="${MESSAGES_PATH}?animal=${id}">Messages</a></p>
`;
}

function links(pet: FullPet | undefined): Html {
  return html`<p>${pet && html`<a href="/animals/${pet.id}">Public page</a> · <a href="/animals/${pet.id}/card">Card to print</a> · <a href="${ANIMALS_PATH}/${pet.id}/deletion">Delete the animal</a> · `}<a href="${ANIMALS_PATH}">Your animals</a></p>`;
}

/** Returns the main categories, and the category of the animal. */
async function categoriesFor({ deployment: { database } }: AccountVisit, id: number | undefined) {
  const main = await mainCategories(database);
  if (id === undefined || main.some(one => one.id === id)) return main;
  return [...main, ...((await categoryPaths(database, [id])).get(id)?.slice(-1) ?? [])];
}

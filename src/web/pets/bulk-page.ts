import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { countText } from '../../lib/text.ts';
import type { FullPet } from '../../model/pet.ts';
import { newCategoriesOf } from '../../store/categories/bound.ts';
import { mainCategories } from '../../store/categories/paths.ts';
import { changePets, deleting, type ManyChanges, patching } from '../../store/pets/change-many.ts';
import { petsAmong } from '../../store/pets/own-pets.ts';
import { assertFormProblem, form, notice } from '../forms.ts';
import { idOf } from '../lists.ts';
import { changeOnceAfter, onceField } from '../once.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { ANIMALS_PATH } from '../paths.ts';
import { type BulkAction, bulkActions } from './bulk-actions.ts';
import { petLinks, petsNamed } from './names.ts';
import { allMatching, choiceBehind, listField, listPath, type OwnChoice, queryOf } from './own-choice.ts';

export const BULK_PATH = `${ANIMALS_PATH}/change`;

/** The maximum number of animals that one form changes. */
export const BULK_MAX = 500;
const NAMES_SHOWN = 20;

/** Changes several animals of the account, after a page that names their number. */
export const bulkPage = accountPage({
  path: BULK_PATH,
  permission: 'animals',
  title: 'Change several animals',
  async show(visit) {
    const { query } = visit;
    const choice = choiceBehind(query);
    const name = query.get('change') ?? '';
    const action = actionOf(name);
    if (action === undefined) return noneView(choice, 'Choose what to do.');
    const ids = query.get('all') === 'yes' ? await allMatching(visit, choice) : idsOf(query.getAll('id'));
    return bulkView(visit, { name, action, choice, ids });
  },
  async submit(visit) {
    const { form: sent } = visit;
    const choice = choiceBehind(sent);
    const name = sent.get('change') ?? '';
    const action = actionOf(name);
    if (action === undefined) return noneView(choice, 'Choose what to do.');
    const bulk = { name, action, choice, ids: idsOf((sent.get('ids') ?? '').split(',')) };
    if (bulk.ids.length === 0 || bulk.ids.length > BULK_MAX) return bulkView(visit, bulk);
    try {
      return { location: await submitted(visit, bulk) };
    } catch (error) {
      assertFormProblem(error);
      return bulkView(visit, bulk, error);
    }
  },
});

/** A change of several animals that a form asks for. */
interface Bulk {
  readonly name: string;
  readonly action: BulkAction;
  /** The list to which the page returns. */
  readonly choice: OwnChoice;
  readonly ids: readonly number[];
}

function actionOf(name: string): BulkAction | undefined {
  return Object.hasOwn(bulkActions, name) ? bulkActions[name] : undefined;
}

function idsOf(texts: readonly string[]): readonly number[] {
  return [...new Set(texts.flatMap(text => idOf(text) ?? []))];
}

/** The number of animals whose change counts as a page. */
const PER_PAGE = 25;

/** Changes the animals, once for each form. Returns the path of the list with the results. */
async function submitted(visit: AccountVisit, bulk: Bulk): Promise<string> {
  const { deployment, account, origin, form: sent } = visit;
  const { name, action, ids, choice } = bulk;
  const actor = ownActor(visit);
  const patchOf = action.patchIn?.(sent);
  const change = patchOf ? patching(actor, newCategoriesOf(deployment, account), patchOf) : deleting(actor);
  const texts = Object.fromEntries(Array.from(new Set(sent.keys()), key => [key, sent.getAll(key).join('\n')]));
  const { token: _, ...entries } = texts;
  let location: string | undefined;
  try {
    for (let counted = PER_PAGE; counted < ids.length; counted += PER_PAGE) visit.countPage();
    const outcome = await changeOnceAfter(visit, 'bulkChange', entries, async () => {
      location = resultPath(name, choice, await changePets(deployment.database, ids, change, origin));
      return location;
    });
    return outcome.location!;
  } catch (error) {
    // The animals are changed, even if there is no room to store that they are.
    if (location !== undefined && error instanceof Problem) return location;
    throw error;
  }
}

function resultPath(name: string, choice: OwnChoice, { changed, unchanged, refused }: ManyChanges): string {
  const query = queryOf(choice);
  query.set('done', name);
  query.set('changed', String(changed));
  if (unchanged > 0) query.set('unchanged', String(unchanged));
  const byCode = Map.groupBy(refused, ({ code }) => {
    if (code === 'not_owner') return 'pet_not_found';
    return Object.hasOwn(refusals, code) ? code : OTHER;
  });
  for (const [code, pets] of byCode) query.append(code, pets.map(({ id }) => id).join('.'));
  return `${ANIMALS_PATH}?${query}`;
}

const OTHER = 'other';

/** Why animals were refused, by the code of the error; each is a parameter of the result. */
const refusals: Readonly<Record<string, string | undefined>> = {
  pet_reserved: 'they are on hold or ordered',
  pet_not_found: 'they are gone, or not in this account',
  // The action says which rule.
  invalid_body: undefined,
  [OTHER]: 'of another rule',
};

/** Returns what a change of several animals did, from the query of the list; `undefined` without such a change. */
export async function changeNotice(visit: AccountVisit): Promise<Html | undefined> {
  const { query } = visit;
  const action = actionOf(query.get('done') ?? '');
  if (action === undefined) return undefined;
  const [changed, unchanged] = ['changed', 'unchanged'].map(name => idOf(query.get(name)) ?? 0);
  const refused = Object.keys(refusals).map(code => {
    const ids = idsOf((query.get(code) ?? '').split('.')).slice(0, BULK_MAX);
    return { ids, reason: refusals[code] ?? action.invalid ?? refusals[OTHER]! };
  });
  const pets = await petsNamed(
    visit,
    refused.flatMap(({ ids }) => ids),
  );
  const reasons = refused.filter(({ ids }) => ids.length > 0);
  return notice(
    reasons.length === 0 ? 'status' : 'alert',
    html`<p>${changed === 0 && unchanged === 0 ? 'Nothing was changed.' : `${action.verb}d ${animalsText(changed!)}.`}${unchanged! > 0 && ` ${unchanged === 1 ? '1 was' : `${countText(unchanged!)} were`} so already.`}</p>
${reasons.map(({ ids, reason }) => {
  const own = ids.filter(id => pets.get(id)?.isOwn);
  return html`<p>Not ${action.verb.toLowerCase()}d because ${reason}: ${own.length > 0 ? petLinks(own, pets) : animalsText(ids.length)}.</p>`;
})}`,
  );
}

function animalsText(count: number): string {
  return count === 1 ? '1 animal' : `${countText(count)} animals`;
}

function noneView(choice: OwnChoice, error: string): View {
  return {
    errors: { '': error },
    body: html`<p><a class="button secondary" href="${listPath(choice)}">Back to the list</a></p>`,
  };
}

async function bulkView(visit: AccountVisit, bulk: Bulk, problem?: Problem): Promise<View> {
  const { deployment, account, form: sent } = visit;
  const { name, action, choice, ids } = bulk;
  const chosen = ids.slice(0, BULK_MAX);
  const pets = await petsAmong(deployment.database, account.id, chosen, nowOf(deployment));
  const own = chosen.flatMap(id => pets.get(id) ?? []);
  if (own.length === 0) return noneView(choice, 'Choose at least one animal.');
  const animals = animalsText(own.length);
  const categories = await mainCategories(deployment.database);
  const error = problem?.errors === undefined ? undefined : action.field?.error;
  const fields = action.fields?.({ form: sent, pets: own, categories, error });
  return {
    title: action.title(animals),
    errors: problem && (error === undefined ? { '': messageOf(problem) } : { [action.field!.name]: error }),
    body: html`${ids.length > BULK_MAX && html`<p>${countText(ids.length)} animals match. A change is for up to ${countText(BULK_MAX)} animals: these are the first ones of the list. Repeat it for the others.</p>`}
<p>${namesOf(own)}</p>
${action.verb === 'Delete' && deletionHints(own)}
${form(
  visit,
  { action: BULK_PATH, submit: `${action.verb} ${animals}`, ...(action.verb === 'Delete' && { danger: true }) },
  html`${onceField(visit)}${listField(choice)}
<input type="hidden" name="change" value="${name}"><input type="hidden" name="ids" value="${own.map(({ id }) => id).join(',')}">
${fields}`,
)}
<p><a href="${listPath(choice)}">Back to the list</a></p>`,
  };
}

function namesOf(pets: readonly FullPet[]): Html {
  const shown = pets.slice(0, NAMES_SHOWN);
  const more = pets.length - shown.length;
  return html`${shown.map(({ id, name }, index) => html`${index > 0 && ', '}<a href="${ANIMALS_PATH}/${id}"><bdi>${name}</bdi></a>`)}${more > 0 && ` and ${countText(more)} more`}`;
}

function deletionHints(pets: readonly FullPet[]): Html {
  const reserved = pets.filter(({ status }) => status === 'pending').length;
  return html`<p>They are deleted for good, with their photos. Change the status of animals that found a home to “Sold” instead: a deleted animal is not in your statistics.</p>
${reserved > 0 && html`<p>Of these, ${animalsText(reserved)} may be on hold or ordered. Such animals are not deleted.</p>`}`;
}

function messageOf({ code, message }: Problem): string {
  return code === 'idempotency_key_in_use'
    ? 'These animals are being changed at the moment. Look at the list in a minute.'
    : message;
}

import { type Html, html } from '../../lib/html/html.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { countText } from '../../lib/text.ts';
import { invalidBody } from '../../model/errors.ts';
import { type FullPet, PetPatch, type PetRow } from '../../model/pet.ts';
import { BONDED_MAX, GROUP_ID_MAX, TAGS_MAX } from '../../model/profile.ts';
import { type Choice, choices, choicesOf, field, select, textArea } from '../forms.ts';
import { readChecked } from '../schema-form.ts';
import { statusNames } from './parts.ts';
import { TAGS_ERROR, tagsIn } from './tag-lines.ts';

/** What the fields of a change depend on. */
interface FieldContext {
  readonly form: URLSearchParams;
  /** The animals to change. */
  readonly pets: readonly FullPet[];
  readonly categories: readonly { readonly id: number; readonly name: string }[];
  /** The error of the field, if the form was rejected. */
  readonly error: string | undefined;
}

/** A change of several animals. */
export interface BulkAction {
  /** Its name among others. */
  readonly label: string;
  /** Returns the title of its page. @param animals their number: `12 animals` */
  title(animals: string): string;
  /** What happens to each animal. */
  readonly verb: 'Change' | 'Delete';
  /** The field of its form that can be wrong, and the error beside it. */
  readonly field?: { readonly name: string; readonly error: string };
  fields?(context: FieldContext): Html;
  /**
   * Returns the change of each animal; absent for a deletion.
   * @throws {Problem} for an invalid entry
   */
  patchIn?(form: URLSearchParams): (pet: PetRow) => PetPatch;
  /** Why animals are refused that would break a rule, after “because”. */
  readonly invalid?: string;
}

const petPatch = new BodyReader(PetPatch);

const patchOf = (patch: unknown): PetPatch => readChecked<PetPatch>(petPatch, patch);

/** The changes by their names in forms, in the order of the menu. */
export const bulkActions: Readonly<Record<string, BulkAction>> = {
  status: {
    label: 'Change the status',
    title: animals => `Change the status of ${animals}`,
    verb: 'Change',
    field: { name: 'status', error: 'Choose a status.' },
    fields: ({ form, error }) => chooser('status', 'New status', choicesOf(statusNames, form.get('status')), error),
    patchIn(form) {
      const patch = patchOf({ status: form.get('status') });
      return () => patch;
    },
  },
  category: {
    label: 'Change the category',
    title: animals => `Change the category of ${animals}`,
    verb: 'Change',
    field: { name: 'category', error: 'Choose a category.' },
    fields: ({ form, categories, error }) => {
      const value = form.get('category');
      const choices = categories.map(({ id, name }) => ({ value: `${id}`, label: name, checked: `${id}` === value }));
      return chooser('category', 'New category', choices, error);
    },
    patchIn(form) {
      const patch = patchOf({ categoryId: Number(form.get('category')) });
      return () => patch;
    },
  },
  'add-tags': {
    label: 'Add tags',
    title: animals => `Add tags to ${animals}`,
    verb: 'Change',
    field: { name: 'tags', error: TAGS_ERROR },
    fields: ({ form, error }) => textArea({ name: 'tags', label: 'Tags, one a line', value: form.get('tags'), error }),
    patchIn(form) {
      const added = tagsIn(form.get('tags') ?? '');
      if (added.length === 0) throw invalidBody('/tags', 'too_few', 'There is no tag.');
      patchOf({ tags: added });
      return pet => patchOf({ tags: [...new Set([...tagsOf(pet), ...added])] });
    },
    invalid: `they would have more than ${TAGS_MAX} tags`,
  },
  'remove-tags': {
    label: 'Remove tags',
    title: animals => `Remove tags from ${animals}`,
    verb: 'Change',
    field: { name: 'tags', error: 'Choose at least one tag.' },
    fields: tagChoices,
    patchIn(form) {
      const removed = new Set(form.getAll('tags'));
      if (removed.size === 0) throw invalidBody('/tags', 'too_few', 'There is no tag.');
      return pet => {
        const tags = tagsOf(pet).filter(tag => !removed.has(tag));
        return { tags: tags.length === 0 ? null : tags };
      };
    },
  },
  group: {
    label: 'Put into a group',
    title: animals => `Put ${animals} into a group`,
    verb: 'Change',
    field: { name: 'group', error: `Enter a name of up to ${GROUP_ID_MAX} characters.` },
    fields: ({ form, error }) => html`${field({
      ...{ name: 'group', label: 'Name of the group', value: form.get('group'), error },
      hint: 'Your own name for it. An animal is in one group at most.',
      maxLength: GROUP_ID_MAX,
    })}
${choices('radio', { name: 'kind', label: 'Kind', choices: groupKinds.map(kind => ({ ...kind, checked: kind.value === (form.get('kind') ?? 'litter') })) })}`,
    patchIn(form) {
      const kind = groupKinds.find(({ value }) => value === form.get('kind'))?.value ?? 'litter';
      const patch = patchOf({ group: { id: form.get('group')?.trim(), kind } });
      return () => patch;
    },
    invalid: `the group has ${BONDED_MAX} animals already, the maximum of a group that stays together`,
  },
  ungroup: {
    label: 'Take out of their group',
    title: animals => `Take ${animals} out of their group`,
    verb: 'Change',
    patchIn: () => () => ({ group: null }),
  },
  delete: { label: 'Delete', title: animals => `Delete ${animals}?`, verb: 'Delete' },
};

/** The choices of a change, for a select. */
export const bulkChoices = Object.entries(bulkActions).map(([value, { label }]) => ({ value, label }));

const groupKinds = [
  { value: 'litter', label: 'Litter', hint: 'Siblings, who can find homes one by one.' },
  {
    value: 'bonded',
    label: 'Stay together',
    hint: `Up to ${BONDED_MAX} animals that are held and ordered only together.`,
  },
] as const;

function tagsOf({ tags }: Pick<PetRow, 'tags'>): readonly string[] {
  return tags === null ? [] : JSON.parse(tags);
}

/** Returns a select without a default. */
function chooser(name: string, label: string, choices: readonly Choice[], error: string | undefined): Html {
  return select({ name, label, choices: [{ value: '', label: 'Choose one' }, ...choices], error, required: true });
}

/** The maximum number of tags to choose from. */
const TAGS_OFFERED = 100;

/** Returns the tags of the animals to choose from, those of most animals first. */
function tagChoices({ form, pets, error }: FieldContext): Html {
  const counts = new Map<string, number>();
  for (const tag of pets.flatMap(({ tags = [] }) => tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const offered = [...counts].sort(([, one], [, other]) => other - one).slice(0, TAGS_OFFERED);
  if (offered.length === 0) return html`<p>None of these animals has a tag.</p>`;
  const chosen = form.getAll('tags');
  return choices('checkbox', {
    ...{ name: 'tags', label: 'Tags to remove', error },
    choices: offered.map(([tag, count]) => ({
      value: tag,
      label: html`<bdi>${tag}</bdi> <span class="quiet">${countText(count)}</span>`,
      checked: chosen.includes(tag),
    })),
  });
}

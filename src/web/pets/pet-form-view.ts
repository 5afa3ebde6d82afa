import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import type { FieldError } from '../../lib/http/problem.ts';
import type { NamedCategory } from '../../store/categories/paths.ts';
import type { KnownValues } from '../../store/profile/attributes.ts';
import { select } from '../forms.ts';
import type { AccountVisit } from '../page.ts';
import type { Texts } from '../schema-form.ts';
import { groupsOf } from './form-groups.ts';
import { petForm, worded } from './pet-form.ts';

/** The content of the form of an animal. */
interface Shown {
  readonly texts: Texts;
  readonly errors: readonly FieldError[];
  /** The choices of its kind. */
  readonly categories: readonly Pick<NamedCategory, 'id' | 'name'>[];
  /** Whether the page shows entries that are not saved. */
  readonly isUnsaved: boolean;
  /** The breeds and colors that the form suggests; `undefined` without a kind. */
  readonly known: Pick<KnownValues, 'breeds' | 'colors'> | undefined;
}

const groups = groupsOf(petForm.names);

/** The currencies that the form suggests. Others can be typed. */
const currencies = ['USD', 'EUR', 'GBP', 'CAD', 'AUD', 'NZD', 'CHF', 'SEK', 'NOK', 'DKK', 'PLN', 'MXN', 'JPY', 'INR'];

/** Returns links to the sections of the form. */
export const sectionLinks = html`<nav class="sections" aria-label="Sections"><a href="#photos">Photos</a>${groups.map(
  ({ id, title }) => html` <a href="#${id}">${title}</a>`,
)}</nav>`;

/**
 * Returns the form of an animal. The browser keeps unsaved entries under the id in `data-entries-of`; with
 * `data-unsaved`, the page shows entries that are not saved.
 * @param hidden its hidden fields
 * @param buttons the buttons after “Save”
 */
export function petFormView(visit: AccountVisit, shown: Shown, hidden: HtmlValue, buttons?: Html): Html {
  const { texts, known } = shown;
  const errors = worded(texts, shown.errors);
  return html`<form method="post" action="${visit.request.path}" class="animal-form" data-entries-of="${visit.account.id}.${visit.signedIn.person.id}"${
    shown.isUnsaved && html` data-unsaved`
  }>
${visit.tokenField()}
${hidden}
${groups.map(
  ({ id, title, hint, fields }) => html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
<div class="fields">
${fields.map(look =>
  look.field === 'categoryId'
    ? kindView(shown, look.label ?? '', errors)
    : html`${petForm.fieldView(look.field, texts, errors, look)}\n`,
)}</div>
</section>
`,
)}
${suggestions('known-breeds', known?.breeds)}${suggestions('known-colors', known?.colors)}${suggestions('currencies', currencies)}
<div class="save"><button${visit.isReadOnly && html` disabled`}>Save</button>${buttons}</div>
</form>`;
}

function kindView({ texts, categories }: Shown, label: string, errors: readonly FieldError[]): Html {
  const name = 'categoryId';
  const { [name]: value = '' } = texts;
  const choices = categories.map(one => ({
    value: String(one.id),
    label: one.name,
    checked: String(one.id) === value,
  }));
  // Without an empty choice, browsers would send the first kind.
  const none = value === '' ? [{ value, label: 'Choose one' }] : [];
  const error = errors.find(({ path }) => path === `/${name}`)?.message;
  return select({ name, label, error, choices: [...none, ...choices], required: true });
}

function suggestions(id: string, values: readonly string[] = []): Html {
  return html`<datalist id="${id}">${values.map(value => html`<option value="${value}">`)}</datalist>\n`;
}

import { type Html, type HtmlValue, html } from '../lib/html/html.ts';
import { Problem } from '../lib/http/problem.ts';
import type { CreationCheck } from '../lib/http/route.ts';
import { UserError } from '../lib/user-error.ts';
import { problem } from '../model/errors.ts';
import type { FormErrors, Visit } from './page.ts';

/** A field of a form. */
interface Field {
  readonly name: string;
  readonly label: HtmlValue;
  /** The type of the input; `text` by default. */
  readonly type?: 'text' | 'email' | 'number' | 'search' | 'datetime-local' | 'date';
  readonly value?: string | number | null | undefined;
  /** The valid values, shown below the label. */
  readonly hint?: HtmlValue;
  /** The error, as a sentence. */
  readonly error?: string | undefined;
  /** The kind of value for autofill: `email`, `new-password`, … (HTML Standard). */
  readonly autocomplete?: string;
  /** Whether it may be empty; `unmarked` if its label does not say so, because nearly all fields of the form may. */
  readonly optional?: true | 'unmarked';
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
  /** The keyboard that a phone shows. */
  readonly inputMode?: 'decimal' | 'numeric';
  /** The label of the enter key of that keyboard. */
  readonly enterKeyHint?: 'next';
  /** Whether the direction of the text is that of its first letter. */
  readonly dir?: 'auto';
  /** The id of the `datalist` with suggestions. */
  readonly list?: string;
  /** The height of a field for several lines; 6 by default. */
  readonly rows?: number;
}

/** Returns a field that the form sends without showing it. */
export function hidden(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** The labels of password fields by name. No page repeats a password. */
export const passwordLabels = {
  password: 'Password',
  current: 'Current password',
  emailPassword: 'Password',
  confirmPassword: 'Password',
} as const;

export type PasswordName = keyof typeof passwordLabels;

export function isPasswordName(name: string): name is PasswordName {
  return Object.hasOwn(passwordLabels, name);
}

/** A field for a password. */
export type PasswordField = Omit<Field, 'name' | 'type' | 'value'> & { readonly name: PasswordName };

/** Returns a labelled input for a password, with its hint and its error. */
export function passwordField(options: PasswordField): Html {
  return input({ ...options, type: 'password' });
}

/** Returns a labelled input with its hint and its error beside it. */
export function field(options: Field): Html {
  return input(options);
}

/**
 * Returns a function for the fields of a form: after an error, each has its entry and its error.
 * @param errors the errors of the submitted form, by the name of the field
 */
export function fieldsOf(
  { form: sent }: Pick<Visit, 'form'>,
  errors: Readonly<Record<string, string | undefined>> = {},
) {
  return (name: string, label: HtmlValue, options: Omit<Field, 'name' | 'label' | 'error'> = {}): Html =>
    input({ ...options, name, label, value: sent.get(name) ?? options.value, error: errors[name] });
}

function input({
  name,
  label,
  type = 'text',
  value,
  hint,
  error,
  ...rest
}: Omit<Field, 'type' | 'rows'> & { type?: Field['type'] | 'password' }): Html {
  const { autocomplete = 'off', optional, maxLength, min, max, inputMode, enterKeyHint, dir, list } = rest;
  return html`<div class="field">
${labelView(name, label, optional)}
${hint && hintText(name, hint)}
<input id="${name}" name="${name}" type="${type}" value="${value ?? ''}" autocomplete="${autocomplete}"${attributes({
    ...{ required: !optional, maxlength: maxLength, min, max },
    ...{ inputmode: inputMode, enterkeyhint: enterKeyHint, dir, list },
    ...((hint || error) && description(name, hint, error)),
  })}>
${errorText(name, error)}
</div>`;
}

/** Returns a labelled field for several lines, with its hint and its error. */
export function textArea({
  name,
  label,
  value,
  hint,
  error,
  optional,
  maxLength,
  rows = 6,
}: Pick<Field, 'name' | 'label' | 'value' | 'hint' | 'error' | 'optional' | 'maxLength' | 'rows'>): Html {
  return html`<div class="field">
${labelView(name, label, optional)}
${hint && hintText(name, hint)}
<textarea id="${name}" name="${name}" rows="${rows}"${attributes({
    ...{ required: !optional, dir: 'auto', maxlength: maxLength },
    ...((hint || error) && description(name, hint, error)),
  })}>
${value ?? ''}</textarea>
${errorText(name, error)}
</div>`;
}

function labelView(name: string, label: HtmlValue, optional?: Field['optional']): Html {
  return html`<label for="${name}">${label}${optional === true && html` <span class="quiet">(optional)</span>`}</label>`;
}

function hintText(name: string, hint: HtmlValue): Html {
  return html`<p class="hint" id="${name}-hint">${hint}</p>`;
}

/** Returns the attributes that connect a field with its hint and its error. */
function description(name: string, hint: HtmlValue, error: string | undefined) {
  const ids = `${hint ? `${name}-hint ` : ''}${error === undefined ? '' : `${name}-error`}`;
  return { 'aria-describedby': ids.trimEnd(), 'aria-invalid': error === undefined ? undefined : 'true' };
}

/** Returns attributes by their names, which come from code only; omits those that are `undefined` or `false`. */
function attributes(values: Readonly<Record<string, string | number | boolean | undefined>>): Html[] {
  const shown: Html[] = [];
  for (const name in values) {
    const value = values[name];
    if (value !== undefined && value !== false)
      shown.push(value === true ? html` ${name}` : html` ${name}="${String(value)}"`);
  }
  return shown;
}

/** Returns the error of a field, to which `aria-describedby` refers; `undefined` if it has none. */
export function errorText(name: string, error: string | undefined): Html | undefined {
  return error === undefined ? undefined : html`<p class="error" id="${name}-error">${error}</p>`;
}

/** A choice of a select, radio buttons or checkboxes. */
export interface Choice {
  readonly value: string;
  readonly label: HtmlValue;
  readonly hint?: HtmlValue;
  readonly checked?: boolean;
}

/** Returns the choices with these values and labels. @param chosen the value that is selected */
export function choicesOf<Value extends string>(
  labels: Readonly<Record<Value, string>>,
  chosen?: string | null,
): Choice[] {
  return Object.entries<string>(labels).map(([value, label]) => ({ value, label, checked: value === chosen }));
}

/** Returns a select with its hint and its error beside it. @param required whether the empty choice is invalid */
export function select({
  name,
  label,
  hint,
  choices,
  error,
  required,
}: Pick<Field, 'name' | 'label' | 'hint' | 'error'> & { choices: readonly Choice[]; required?: true }): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
${hint && hintText(name, hint)}
<select id="${name}" name="${name}"${attributes({ required, ...((hint || error) && description(name, hint, error)) })}>${choices.map(
    ({ value, label, checked }) => html`<option value="${value}"${checked && html` selected`}>${label}</option>`,
  )}</select>
${errorText(name, error)}
</div>`;
}

/** Returns radio buttons in one row, for a few short answers. */
export function answerButtons({
  name,
  label,
  choices,
  hint,
  error,
}: Pick<Field, 'name' | 'label' | 'hint' | 'error'> & { choices: readonly Choice[] }): Html {
  return html`<div class="field answer" id="${name}" role="radiogroup" aria-labelledby="${name}-label"${attributes(
    description(name, hint, error),
  )}>
<span class="label" id="${name}-label">${label}</span>
${hint && hintText(name, hint)}
<div class="buttons">${choices.map(
    ({ value, label, checked }) =>
      html`<label><input type="radio" name="${name}" value="${value}"${checked && html` checked`}><span>${label}</span></label>`,
  )}</div>
${errorText(name, error)}
</div>`;
}

/** Returns a checkbox. @param off the value that the form sends if it is not checked */
export function checkbox({
  name,
  label,
  value,
  off,
  checked,
  error,
}: Pick<Field, 'name' | 'label' | 'error'> & { value: string; off: string; checked: boolean }): Html {
  return html`<div class="field"><input type="hidden" name="${name}" value="${off}">
<label class="choice"><input id="${name}" type="checkbox" name="${name}" value="${value}"${attributes({
    checked,
    ...(error && description(name, undefined, error)),
  })}> <span>${label}</span></label>
${errorText(name, error)}
</div>`;
}

/** Returns a group of radio buttons or checkboxes. */
export function choices(
  type: 'radio' | 'checkbox',
  {
    name,
    label,
    choices,
    error,
  }: { name: string; label: string; choices: readonly Choice[]; error?: string | undefined },
): Html {
  return html`<fieldset class="field" id="${name}"${error !== undefined && html` aria-describedby="${name}-error"`}>
<legend>${label}</legend>
${choices.map(
  ({ value, label, hint, checked }) =>
    html`<label class="choice"><input type="${type}" name="${name}" value="${value}"${checked && html` checked`}> <span>${label}${hint !== undefined && html` <span class="hint">${hint}</span>`}</span></label>
`,
)}${errorText(name, error)}
</fieldset>`;
}

/** Returns a form that is sent by POST, with its token and its button, which is disabled for members who only read. */
export function form(
  visit: Pick<Visit, 'tokenField' | 'isReadOnly'>,
  {
    action,
    submit,
    className = 'stacked',
    danger,
    secondary,
  }: { action: string; submit: string; className?: string; danger?: true; secondary?: true },
  fields?: HtmlValue,
): Html {
  return html`<form method="post" action="${action}" class="${className}">
${visit.tokenField()}
${fields}
<button${attributes({ class: danger ? 'danger' : secondary && 'secondary', disabled: visit.isReadOnly })}>${submit}</button>
</form>`;
}

/**
 * Returns the list of errors above a form, with links to the fields; `undefined` without errors. It has the focus when
 * the page opens; `site.js` sets the focus if browsers ignore `autofocus`, such as at addresses with a fragment.
 */
export function errorSummary(errors: FormErrors = {}): Html | undefined {
  const list = Object.entries(errors).filter(([, error]) => error);
  if (list.length === 0) return undefined;
  const items = list.map(([name, error]) => (name === '' ? error : html`<a href="#${name}">${error}</a>`));
  return html`<div class="notice alert errors" role="alert" tabindex="-1" autofocus>${
    list.length === 1
      ? html`<p>${items}</p>`
      : html`<p><strong>Some entries need another value.</strong></p><ul>${items.map(item => html`<li>${item}</li>`)}</ul>`
  }</div>`;
}

/**
 * Returns a message above a form or a list. @param kind screen readers announce `status` when they are idle, and
 * `alert` immediately
 */
export function notice(kind: 'status' | 'alert', content: HtmlValue): Html {
  return html`<div class="notice ${kind}" role="${kind}">${content}</div>`;
}

/**
 * Returns the message about a change that a form made, after the redirect to the page with the name of the change in
 * the query parameter `done`, which only selects one of the texts.
 * @param more additional text of the message
 */
export function doneNotice(
  { query }: Pick<Visit, 'query'>,
  texts: Readonly<Record<string, string>>,
  more?: Html,
): Html | undefined {
  const name = query.get('done');
  return name !== null && Object.hasOwn(texts, name) ? notice('status', html`<p>${texts[name]}</p>${more}`) : undefined;
}

/** Returns the text of a field without spaces around it, with line feeds as line ends; '' if the form lacks the field. */
export function enteredText({ form }: Pick<Visit, 'form'>, name: string): string {
  return form.get(name)?.trim().replaceAll('\r\n', '\n') ?? '';
}

/** Asserts that an error is about the form that was sent. @throws any other error */
export function assertFormProblem(error: unknown): asserts error is Problem {
  if (!(error instanceof Problem) || error.status >= 500) throw error;
}

/**
 * Returns the error of a change that a form made, as a sentence.
 * @throws any error that is not about the form
 */
export function formError(error: unknown): string {
  if (error instanceof UserError) return error.message;
  assertFormProblem(error);
  return error.errors?.[0]?.message ?? error.message;
}

/**
 * Returns the check that the resource which a form changes is still as it was shown: the form has its entity tag in
 * `etag`.
 * @param noun the name of the resource in the message
 */
export function checkOf({ form }: Pick<Visit, 'form'>, noun: string): CreationCheck {
  return etag => {
    if ((etag ?? '') === (form.get('etag') ?? '')) return;
    throw problem('precondition_failed', `The ${noun} has changed since. Open this page again.`);
  };
}
